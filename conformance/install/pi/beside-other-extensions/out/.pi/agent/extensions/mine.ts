export default function (pi) {
  pi.on("agent_settled", () => {});
}
