import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import { Sessionpipe } from "./opencode.ts";

const folder = mkdtempSync(join(tmpdir(), "opencode-"));
after(() => { rmSync(folder, { recursive: true }); });

/** Where the program, as the plugin finds it on PATH, writes what it reads. */
const READ = join(folder, "read");
writeFileSync(join(folder, "sessionpipe-hook"), `#!/bin/sh\ncat >> ${READ} && mv ${READ} ${READ}.done\n`);
chmodSync(join(folder, "sessionpipe-hook"), 0o755);
process.env.PATH = `${folder}:${process.env.PATH ?? ""}`;

/** Longer than anything takes on a machine that has other things to do. Milliseconds. */
const GENEROUS = 30_000;

type Line = Record<string, unknown>;

function start(directory = "/w"): Promise<Hooks> {
  const client = { app: { log: () => Promise.resolve() } };
  return Sessionpipe({ directory, client } as unknown as PluginInput);
}

/** One OpenCode process: its instance, and what it says. */
class Process {
  readonly hooks: Hooks;

  constructor(hooks: Hooks) {
    this.hooks = hooks;
  }

  /** Says something on the bus. */
  async bus(type: string, properties: object): Promise<void> {
    await this.hooks.event?.({ event: { type, properties } } as never);
  }

  created(id: string, more: object = {}): Promise<void> {
    const title = "New session - 2026-11-30T08:04:14.421Z";
    return this.bus("session.created", { info: { id, directory: "/w", title, version: "1.18.33", ...more } });
  }

  busy(sessionID: string): Promise<void> {
    return this.bus("session.status", { sessionID, status: { type: "busy" } });
  }

  async idle(sessionID: string): Promise<void> {
    await this.bus("session.status", { sessionID, status: { type: "idle" } });
    await this.bus("session.idle", { sessionID });
  }

  async prompt(sessionID: string, id: string, parts: object[] = [{ type: "text", text: "hi" }]): Promise<void> {
    const message = { id, model: { providerID: "p", modelID: "m" } };
    await this.hooks["chat.message"]?.({ sessionID }, { message, parts } as never);
  }

  async tool(sessionID: string, callID: string, tool = "bash"): Promise<void> {
    await this.hooks["tool.execute.before"]?.({ sessionID, callID, tool }, { args: { command: "x" } });
  }

  part(sessionID: string, callID: string, state: object): Promise<void> {
    return this.bus("message.part.updated", { part: { type: "tool", sessionID, callID, tool: "bash", state } });
  }

  /** Ends it, and gives what was written, without times. */
  async lines(): Promise<Line[]> {
    await this.hooks.dispose?.();
    const end = performance.now() + GENEROUS;
    while (!existsSync(`${READ}.done`)) {
      assert.ok(performance.now() < end, "it takes too long");
      await pause(5);
    }
    const text = readFileSync(`${READ}.done`, "utf8");
    rmSync(`${READ}.done`);
    return text.split("\n").slice(0, -1).map((line) => {
      const { t, ...rest } = JSON.parse(line) as Line;
      assert.equal(typeof t, "number");
      return rest;
    });
  }
}

const events = (lines: readonly Line[]): unknown[] => lines.map(({ event }) => event);

test("a turn is told once, though it is called idle twice, the second time after the next prompt", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  await process.prompt("ses_1", "msg_1");
  await process.busy("ses_1");
  await process.bus("session.error", { sessionID: "ses_1", error: { name: "MessageAbortedError", data: { message: "Aborted" } } });
  await process.idle("ses_1");
  await process.prompt("ses_1", "msg_2");
  await process.idle("ses_1");
  await process.busy("ses_1");
  await process.idle("ses_1");
  const base = { session_id: "ses_1", cwd: "/w" };
  assert.deepEqual(await process.lines(), [
    { event: "session.created", ...base, version: "1.18.33", source: "startup" },
    { event: "chat.message", ...base, turn_id: "msg_1", model: "m", prompt_chars: 2 },
    { event: "session.error", ...base, turn_id: "msg_1", outcome: "aborted", error: "Aborted" },
    { event: "chat.message", ...base, turn_id: "msg_2", model: "m", prompt_chars: 2 },
    { event: "session.idle", ...base, turn_id: "msg_2" },
    { event: "dispose", ...base },
  ]);
});

test("a prompt while the agent works is a part of the same turn", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  await process.prompt("ses_1", "msg_1");
  await process.busy("ses_1");
  await process.prompt("ses_1", "msg_2");
  await process.idle("ses_1");
  const lines = await process.lines();
  assert.deepEqual(lines.map((line) => line.turn_id), [undefined, "msg_1", "msg_1", "msg_1", undefined]);
});

test("characters are counted, and texts that nobody typed are not", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  const text = (words: string, synthetic?: boolean): object => ({ type: "text", text: words, synthetic });
  await process.prompt("ses_1", "msg_1", [text("h\u00e9 😀"), text("called the tool", true), { type: "file" }]);
  await process.prompt("ses_1", "msg_2", [text("go on", true)]);
  const [, written, synthetic] = await process.lines();
  assert.deepEqual([written?.prompt_chars, written?.prompt_by], [4, undefined]);
  assert.deepEqual([synthetic?.prompt_chars, synthetic?.prompt_by], [0, "harness"]);
});

test("a session that was not created here is resumed by its first prompt, and only told if it is worked on", async () => {
  const process = new Process(await start());
  await process.bus("session.updated", { info: { id: "ses_9", directory: "/v", title: "renamed", version: "1.0.0" } });
  await process.bus("session.deleted", { info: { id: "ses_8", directory: "/v", title: "old", version: "1.0.0" } });
  await process.prompt("ses_9", "msg_1");
  await process.prompt("ses_9", "msg_2");
  const lines = await process.lines();
  assert.deepEqual(events(lines), ["chat.message", "chat.message", "dispose"]);
  assert.deepEqual(lines.map(({ source, cwd }) => [source, cwd]), [["resume", "/v"], [undefined, "/v"], [undefined, "/v"]]);
});

test("what a copied session repeats is not told, and what a person runs by hand is no call", async () => {
  const process = new Process(await start());
  await process.created("ses_2", { title: "Title (fork #1)" });
  await process.part("ses_2", "call_1", { status: "completed", input: {}, output: "old" });
  await process.part("ses_2", "call_2", { status: "error", input: {}, error: "old" });
  await process.idle("ses_2");
  const lines = await process.lines();
  assert.deepEqual(lines.map(({ event, source }) => [event, source]), [["session.created", "fork"], ["dispose", undefined]]);
});

test("a call ends once: by its own hook, else by its part", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  await process.prompt("ses_1", "msg_1");
  await process.tool("ses_1", "call_1");
  await process.hooks["tool.execute.after"]?.(
    { sessionID: "ses_1", callID: "call_1", tool: "bash", args: { command: "x" } },
    { title: "", output: "out", metadata: { exit: 3 } },
  );
  await process.part("ses_1", "call_1", { status: "completed", input: {}, output: "out" });
  await process.tool("ses_1", "call_2");
  await process.part("ses_1", "call_2", { status: "running", input: {} });
  await process.part("ses_1", "call_2", { status: "error", input: { command: "x" }, error: "refused" });
  const ends = (await process.lines()).filter(({ event }) => event === "tool.execute.after" || event === "message.part.updated");
  const call = { session_id: "ses_1", cwd: "/w", turn_id: "msg_1", tool_name: "bash", tool_input: { command: "x" } };
  assert.deepEqual(ends, [
    { event: "tool.execute.after", ...call, tool_use_id: "call_1", tool_response: "out", exit: 3 },
    { event: "message.part.updated", ...call, tool_use_id: "call_2", failed: true, error: "refused" },
  ]);
});

test("a subagent's events are those of the session that it works for, in any depth", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  await process.prompt("ses_1", "msg_1");
  await process.busy("ses_1");
  await process.created("ses_2", { parentID: "ses_1", agent: "general", title: "a job" });
  await process.created("ses_3", { parentID: "ses_2", agent: "explore", title: "a job's job" });
  await process.prompt("ses_3", "msg_9");
  await process.tool("ses_3", "call_1");
  await process.idle("ses_3");
  const inner = (await process.lines()).filter(({ agent_id }) => agent_id === "ses_3");
  assert.deepEqual(events(inner), ["session.created", "chat.message", "tool.execute.before", "session.idle"]);
  for (const line of inner) {
    assert.deepEqual([line.session_id, line.agent_type, line.turn_id], ["ses_1", "explore", "msg_1"]);
    assert.deepEqual([line.model, line.title], [undefined, undefined]);
  }
});

test("requests are told with the call that waits", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  await process.prompt("ses_1", "msg_1");
  await process.tool("ses_1", "call_1");
  const asked = { id: "per_1", sessionID: "ses_1", permission: "bash", patterns: ["x", "y"] };
  await process.bus("permission.asked", { ...asked, tool: { messageID: "msg_2", callID: "call_1" } });
  await process.bus("permission.replied", { sessionID: "ses_1", requestID: "per_1", reply: "once" });
  await process.bus("question.asked", { id: "que_1", sessionID: "ses_1", questions: [{ question: "Which?" }] });
  await process.bus("question.rejected", { sessionID: "ses_1", requestID: "que_1" });
  const about = { session_id: "ses_1", cwd: "/w", turn_id: "msg_1" };
  assert.deepEqual((await process.lines()).slice(3, -1), [
    { event: "permission.asked", ...about, request_id: "per_1", tool_name: "bash", tool_input: { command: "x" }, message: "x, y" },
    { event: "permission.replied", ...about, request_id: "per_1" },
    { event: "question.asked", ...about, request_id: "que_1", message: "Which?" },
    { event: "question.rejected", ...about, request_id: "que_1" },
  ]);
});

test("tools of MCP servers are known by the configuration", async () => {
  const process = new Process(await start());
  await process.hooks.config?.({ mcp: { "my lab": { type: "local", command: ["x"] } } });
  await process.created("ses_1");
  await process.tool("ses_1", "call_1", "my_lab_echo");
  await process.tool("ses_1", "call_2", "my_other");
  const [, ours, other] = await process.lines();
  assert.deepEqual([ours?.mcp_server, other?.mcp_server], [{ name: "my lab" }, undefined]);
});

test("a second copy of the file is silent, an instance for another folder is not", async () => {
  const first = new Process(await start("/w"));
  const copy = new Process(await start("/w"));
  const other = new Process(await start("/v"));
  assert.deepEqual(Object.keys(copy.hooks), []);
  await first.created("ses_1");
  await other.created("ses_2", { directory: "/v" });
  await other.hooks.dispose?.();
  const lines = await first.lines();
  assert.deepEqual(lines.map(({ event, session_id }) => [event, session_id]), [
    ["session.created", "ses_1"],
    ["session.created", "ses_2"],
    ["dispose", "ses_2"],
    ["dispose", "ses_1"],
  ]);
  // What was put away may come again.
  const again = new Process(await start("/w"));
  await again.created("ses_3");
  assert.equal((await again.lines()).length, 2);
});

test("nothing that OpenCode says makes it fail", async () => {
  const process = new Process(await start());
  await process.created("ses_1");
  for (const type of ["session.created", "session.updated", "session.status", "session.error", "message.part.updated",
    "message.updated", "permission.asked", "question.asked", "permission.replied", "session.compacted", "no.such.event"]) {
    for (const properties of [undefined, null, {}, { info: null }, { sessionID: 1 }, { part: {} }]) {
      await process.bus(type, properties as never);
    }
  }
  await process.hooks["chat.message"]?.({ sessionID: "ses_1" }, {} as never);
  await process.hooks["tool.execute.after"]?.({} as never, undefined as never);
  await process.hooks.config?.(undefined as never);
  await process.lines();
});
