export const Mine = async () => ({ event: async () => {} });
