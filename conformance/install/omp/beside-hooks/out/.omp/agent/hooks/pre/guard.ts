export default (pi) => { pi.on("tool_call", () => undefined); };
