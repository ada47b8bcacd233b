// The extension, as each of the two programs would call it.

import { deepEqual, equal } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import extension from "./extension.ts";
import { lengthOf, textOf } from "./reporter.ts";
import type { OmpApi, PiApi } from "./types.ts";

type Handler = (event: object, context: object) => unknown;
type Told = Record<string, unknown>;

let told: Told[] = [];

/** Stands where the way to the child is kept, for the file that the tests load. */
function listen(file: string): void {
  const bridge = {
    send(event: string, fields: object): void {
      // As a line of JSON: what is undefined is not there.
      told.push(JSON.parse(JSON.stringify({ event, ...fields })) as Told);
    },
  };
  Object.assign(globalThis, { sessionpipeSpeaker: { file, bridge } });
}

const OWN = new URL("./extension.js", import.meta.url).href;

beforeEach(() => {
  told = [];
  listen(OWN);
});

/** A session of either program. */
class Session {
  id = "s1";
  entries: object[] = [];
  name: string | undefined = undefined;

  context(): object {
    return {
      cwd: "/w",
      model: { id: "m" },
      sessionManager: {
        getSessionId: () => this.id,
        getSessionFile: () => `/f/${this.id}.jsonl`,
        getSessionName: () => this.name,
        getEntries: () => this.entries,
        getHeader: () => ({ titleSource: "user" }),
      },
    };
  }
}

/** Loads the extension; what comes back fires an event. */
function load(session: Session, more: object): (event: string, payload?: object) => void {
  const handlers = new Map<string, Handler>();
  const api = { on: (event: string, handler: Handler) => handlers.set(event, handler), ...more };
  extension(api as unknown as PiApi | OmpApi);
  return (event, payload = {}) => {
    const answer = handlers.get(event)?.({ type: event, ...payload }, session.context());
    equal(answer, undefined, `${event} is answered`);
  };
}

const PI = {};
const OMP = { logger: { warn: () => undefined }, pi: { VERSION: "18.2.3" } };

/** What was told, without what every line says. */
function lines(): Told[] {
  return told.map(({ cwd, model, transcript_path, version, ...rest }) => {
    deepEqual([cwd, model, transcript_path], ["/w", "m", `/f/${String(rest.session_id)}.jsonl`]);
    equal(version === undefined || typeof version === "string", true);
    return rest;
  });
}

test("a session that holds a person's message is resumed", () => {
  const session = new Session();
  const fire = load(session, PI);
  session.entries = [{ type: "model_change" }, { type: "message", message: { role: "system" } }];
  fire("session_start", { reason: "startup" });
  session.entries.push({ type: "message", message: { role: "user" } });
  fire("session_start", { reason: "startup" });
  fire("session_start", { reason: "fork" });
  deepEqual(
    lines().map((line) => line.source),
    ["startup", "resume", "fork"],
  );
});

test("a turn of Pi's ends as its last call of the model did", () => {
  const fire = load(new Session(), PI);
  const turn = (...answers: object[]): Told | undefined => {
    fire("before_agent_start", { messageType: "user", prompt: "go \u{1f600}" });
    for (const message of answers) {
      fire("turn_start");
      fire("turn_end", { message });
      fire("agent_end");
    }
    fire("agent_settled", { aborted: false });
    return lines().at(-1);
  };
  const settled = { event: "agent_settled", session_id: "s1" };
  const failed = { stopReason: "error", errorMessage: "500" };
  deepEqual(turn(failed, { stopReason: "stop" }), { ...settled, outcome: "completed" });
  deepEqual(turn({ stopReason: "toolUse" }, failed), { ...settled, outcome: "error", error: "500" });
  fire("agent_settled", { aborted: true });
  deepEqual(lines().at(-1), { ...settled, outcome: "aborted" });
  deepEqual(lines()[0], { event: "before_agent_start", session_id: "s1", prompt_chars: 4 });
  equal(lines().length, 5, "no run, and no call of the model, is told");
});

test("a call's end names its input and what came back", () => {
  const fire = load(new Session(), PI);
  const call = { toolCallId: "c1", toolName: "bash" };
  fire("tool_execution_start", { ...call, args: { command: "x" } });
  const result = { content: [{ type: "text", text: "one" }, { type: "image" }, { type: "text", text: "two" }] };
  fire("tool_execution_end", { ...call, result, isError: true, durationMs: 7 });
  const both = { session_id: "s1", tool_name: "bash", tool_use_id: "c1", tool_input: { command: "x" } };
  deepEqual(lines(), [
    { event: "tool_execution_start", ...both },
    { event: "tool_execution_end", ...both, tool_response: "one\ntwo", failed: true, duration_ms: 7 },
  ]);
});

test("a session of OMP's that is left ends, and the other begins", () => {
  const session = new Session();
  session.name = "mine";
  const fire = load(session, OMP);
  fire("session_start");
  session.id = "s2";
  fire("session_switch", { reason: "new", previousSessionFile: "/f/s1.jsonl" });
  session.id = "s3";
  fire("session_branch", { previousSessionFile: "/f/s2.jsonl" });
  const title = { title: "mine", title_by: "person" };
  deepEqual(lines(), [
    { event: "session_start", session_id: "s1", source: "startup", ...title },
    { event: "session_switch", session_id: "s1", left: true },
    { event: "session_switch", session_id: "s2", source: "new", ...title },
    { event: "session_branch", session_id: "s2", left: true },
    { event: "session_branch", session_id: "s3", source: "fork", ...title },
  ]);
});

test("the end of a run of OMP's is told after an abort alone, and at the session's end", () => {
  const fire = load(new Session(), OMP);
  fire("turn_end", { message: { stopReason: "stop" } });
  fire("agent_end");
  fire("session_shutdown");
  fire("turn_start");
  fire("session_shutdown");
  fire("turn_end", { message: { stopReason: "aborted" } });
  fire("agent_end");
  deepEqual(lines(), [
    { event: "session_shutdown", session_id: "s1", outcome: "completed" },
    { event: "session_shutdown", session_id: "s1" },
    { event: "agent_end", session_id: "s1", outcome: "aborted" },
  ]);
});

test("a compaction of OMP's is automatic between two events", () => {
  const fire = load(new Session(), OMP);
  fire("session_compact");
  fire("auto_compaction_start");
  fire("session_before_compact");
  fire("session_compact");
  fire("auto_compaction_end");
  fire("session_compact");
  deepEqual(
    lines().map((line) => line.trigger),
    ["manual", "auto", "auto", "manual"],
  );
});

test("the files that OMP wrote are those of the result, else that of the input", () => {
  const fire = load(new Session(), OMP);
  const files = (toolName: string, args: object, details: object, isError = false): unknown => {
    const call = { toolCallId: "c", toolName };
    fire("tool_execution_start", { ...call, args });
    fire("tool_execution_end", { ...call, result: { content: [], details }, isError });
    return lines().at(-1)?.files;
  };
  deepEqual(files("write", { path: "a" }, {}), ["a"]);
  deepEqual(files("write", { path: "a" }, { resolvedPath: "/w/a" }), ["/w/a"]);
  deepEqual(files("edit", { input: "…" }, { perFileResults: [{ path: "/a" }, { path: "/b" }] }), ["/a", "/b"]);
  equal(files("write", { path: "a" }, {}, true), undefined);
  equal(files("read", { path: "a" }, {}), undefined);
});

test("a second copy of the file is silent, and nothing throws", () => {
  listen("file:///elsewhere/sessionpipe.ts");
  const fire = load(new Session(), PI);
  fire("session_start", { reason: "startup" });
  deepEqual(told, []);
  listen(OWN);
  const broken = load(new Session(), PI);
  broken("turn_end");
  broken("before_agent_start");
  extension({} as unknown as PiApi);
});

test("lengths are counted in characters, and results are texts", () => {
  deepEqual(["", "a", "é", "\u{1f600}b"].map(lengthOf), [0, 1, 1, 2]);
  deepEqual([textOf("x"), textOf(null), textOf({}), textOf({ content: [] })], ["x", undefined, undefined, ""]);
});
