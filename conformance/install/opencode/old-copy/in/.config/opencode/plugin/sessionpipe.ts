// sessionpipe 0.0.1 sha256:f63a024115ccbb8d7c8ae1666f0b18d796258efa81f94f331e3733576a28f006
export const Sessionpipe = async () => ({});
