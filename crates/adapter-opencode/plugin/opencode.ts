// What sessionpipe sees of OpenCode. A file like this is a plugin for each thing that it exports, so it exports one. OpenCode
// awaits the named hooks: each returns at once. It does not await `event`.

import type { Hooks, Plugin, PluginInput } from "@opencode-ai/plugin";
import type { Event, Part, Session, ToolPart } from "@opencode-ai/sdk/v2";
import { Bridge, COMMAND } from "../../core/plugin/bridge.ts";

/** What all copies and all instances of this file in one process share. */
interface Shared {
  readonly bridge: Bridge;
  /** The folders that have an instance: a second one is another copy of this file, and does nothing. */
  readonly directories: Set<string>;
}

const SHARED = Symbol.for("sessionpipe.opencode");

/** What is known of a session. A subagent has one of its own; its events are told as those of the session that it works for. */
interface Known {
  readonly id: string;
  parent: string | undefined;
  agentType: string | undefined;
  directory: string | undefined;
  title: string | undefined;
  /** Its start is told. */
  isTold: boolean;
  /** The message that the agent works on. */
  turn: string | undefined;
  /** It was seen at work on that message. A session may be called idle twice, the second time after the next prompt. */
  isBusy: boolean;
  /** The last compaction was not asked for. */
  isAutoCompaction: boolean;
  /** Calls without an end. A copied session repeats the calls of its original: those are not among them. */
  readonly calls: Map<string, Call>;
}

interface Call {
  readonly tool: string;
  readonly input: unknown;
}

/** Sessions that are remembered: a server may see many in its life, and works on few at a time. */
const MAX_SESSIONS = 512;

/** Open calls of a session that are remembered; no batch is that large. */
const MAX_OPEN_CALLS = 512;

/** What OpenCode calls a session until it has a title. */
const NO_TITLE = /^(New|Child) session - \d{4}-/;

const FORK = /\(fork #\d+\)$/;

class Watch {
  readonly #bridge: Bridge;
  readonly #directory: string;
  readonly #sessions = new Map<string, Known>();
  #mcpServers: readonly string[] = [];

  constructor(bridge: Bridge, directory: string) {
    this.#bridge = bridge;
    this.#directory = directory;
  }

  config(config: { readonly mcp?: object }): void {
    this.#mcpServers = Object.keys(config.mcp ?? {});
  }

  event(event: Event): void {
    switch (event.type) {
      case "session.created":
        this.#created(event.properties.info);
        break;
      case "session.updated":
        this.#updated(event.properties.info);
        break;
      case "session.deleted":
        this.#gone("session.deleted", event.properties.info.id);
        break;
      case "session.status":
        if (event.properties.status.type === "busy") this.#known(event.properties.sessionID).isBusy = true;
        if (event.properties.status.type === "idle") this.#idle(event.properties.sessionID);
        break;
      case "session.idle":
        this.#idle(event.properties.sessionID);
        break;
      case "session.error":
        this.#failed(event.properties.sessionID, event.properties.error);
        break;
      case "session.compacted": {
        const known = this.#known(event.properties.sessionID);
        this.#send(event.type, known, { trigger: known.isAutoCompaction ? "auto" : "manual" });
        break;
      }
      case "message.updated": {
        const { info } = event.properties;
        if (info.role === "assistant" && info.time.completed === undefined) this.#known(info.sessionID).isBusy = true;
        break;
      }
      case "message.part.updated":
        this.#part(event.properties.part);
        break;
      case "permission.asked": {
        const { id, sessionID, permission, patterns, tool } = event.properties;
        const call = tool === undefined ? undefined : this.#known(sessionID).calls.get(tool.callID);
        this.#send(event.type, this.#known(sessionID), {
          request_id: id,
          tool_name: call?.tool ?? permission,
          tool_input: call?.input,
          message: patterns.join(", "),
        });
        break;
      }
      case "question.asked": {
        const { id, sessionID, questions } = event.properties;
        this.#send(event.type, this.#known(sessionID), { request_id: id, message: questions[0]?.question });
        break;
      }
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        this.#send(event.type, this.#known(event.properties.sessionID), { request_id: event.properties.requestID });
        break;
    }
  }

  prompt(sessionID: string, message: { readonly id: string; readonly model: { readonly modelID: string } }, parts: readonly Part[]): void {
    const known = this.#known(sessionID);
    // One that comes while the agent works is worked on in the same go.
    if (known.turn === undefined || !known.isBusy) {
      known.turn = message.id;
      known.isBusy = false;
    }
    const texts = parts.filter((part) => part.type === "text");
    const written = texts.filter((part) => part.synthetic !== true);
    const isResumed = known.parent === undefined && !known.isTold;
    known.isTold = true;
    this.#send("chat.message", known, {
      ...(known.parent === undefined && { model: message.model.modelID }),
      prompt_chars: written.reduce((sum, part) => sum + lengthOf(part.text), 0),
      ...(written.length === 0 && texts.length > 0 && { prompt_by: "harness" }),
      ...(isResumed && { source: "resume" }),
    });
  }

  toolStart(sessionID: string, id: string, tool: string, input: unknown): void {
    const known = this.#known(sessionID);
    known.isBusy = true;
    if (known.calls.size >= MAX_OPEN_CALLS) known.calls.clear();
    known.calls.set(id, { tool, input });
    this.#send("tool.execute.before", known, this.#call(id, tool, input));
  }

  toolEnd(sessionID: string, id: string, tool: string, input: unknown, output: ToolOutput): void {
    const known = this.#known(sessionID);
    known.calls.delete(id);
    const { output: text, content, metadata } = output;
    this.#send("tool.execute.after", known, {
      ...this.#call(id, tool, input),
      tool_response: text ?? content,
      exit: metadata?.exit,
    });
  }

  /** The process ends, or this instance does. */
  dispose(): void {
    for (const { id } of [...this.#sessions.values()]) this.#gone("dispose", id);
  }

  #created(info: Session): void {
    const known = this.#learn(info);
    known.isTold = true;
    const source = FORK.test(info.title) ? "fork" : "startup";
    // What is said of a subagent's session is not true of the one that it works for.
    const own = known.parent === undefined ? { source, title: known.title } : {};
    this.#send("session.created", known, { version: info.version, ...own });
  }

  #updated(info: Session): void {
    const before = this.#sessions.get(info.id)?.title;
    const known = this.#learn(info);
    // Of a session that nobody works on here there is nothing to tell.
    if (known.title !== before && known.parent === undefined && known.isTold) {
      this.#send("session.updated", known, { title: known.title });
    }
  }

  #idle(sessionID: string): void {
    const known = this.#known(sessionID);
    if (known.turn === undefined || !known.isBusy) return;
    this.#send("session.idle", known, {});
    rest(known);
  }

  #failed(sessionID: string | undefined, error: unknown): void {
    if (sessionID === undefined) return;
    const known = this.#known(sessionID);
    if (known.turn === undefined) return;
    const { name, data } = (error ?? {}) as { name?: string; data?: { message?: string } };
    const outcome = name === "MessageAbortedError" ? "aborted" : "error";
    this.#send("session.error", known, { outcome, error: data?.message ?? name });
    rest(known);
  }

  #part(part: Part): void {
    if (part.type === "compaction") {
      this.#known(part.sessionID).isAutoCompaction = part.auto;
    } else if (part.type === "tool") {
      this.#toolPart(part);
    }
  }

  /** The only word of a call that threw, was refused or was broken off. */
  #toolPart({ sessionID, callID, tool, state }: ToolPart): void {
    const known = this.#known(sessionID);
    if ((state.status !== "completed" && state.status !== "error") || !known.calls.delete(callID)) return;
    this.#send("message.part.updated", known, {
      ...this.#call(callID, tool, state.input),
      ...(state.status === "error" ? { failed: true, error: state.error } : { tool_response: state.output }),
    });
  }

  #gone(event: string, id: string): void {
    const known = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (known?.isTold === true && known.parent === undefined) this.#send(event, known, {});
  }

  #call(id: string, tool: string, input: unknown): Record<string, unknown> {
    // A tool of an MCP server bears the server's name in front.
    const server = this.#mcpServers.find((name) => tool.startsWith(name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_"));
    return {
      tool_name: tool,
      tool_use_id: id,
      tool_input: input,
      ...(server !== undefined && { mcp_server: { name: server } }),
    };
  }

  #known(id: string): Known {
    let known = this.#sessions.get(id);
    if (known === undefined) {
      // The one that was met first goes, rather one that the agent does not work on.
      if (this.#sessions.size >= MAX_SESSIONS) {
        const all = [...this.#sessions.values()];
        const gone = all.find((session) => !session.isBusy) ?? all[0];
        if (gone !== undefined) this.#sessions.delete(gone.id);
      }
      known = {
        id,
        parent: undefined,
        agentType: undefined,
        directory: undefined,
        title: undefined,
        isTold: false,
        turn: undefined,
        isBusy: false,
        isAutoCompaction: false,
        calls: new Map(),
      };
      this.#sessions.set(id, known);
    }
    return known;
  }

  #learn(info: Session): Known {
    const known = this.#known(info.id);
    known.parent = info.parentID;
    known.agentType = info.agent ?? known.agentType;
    known.directory = info.directory;
    if (!NO_TITLE.test(info.title)) known.title = info.title;
    return known;
  }

  #send(event: string, known: Known, fields: Readonly<Record<string, unknown>>): void {
    const root = this.#root(known);
    this.#bridge.send(event, {
      session_id: root.id,
      cwd: root.directory ?? this.#directory,
      turn_id: root.turn,
      ...(root !== known && { agent_id: known.id, agent_type: known.agentType }),
      ...fields,
    });
  }

  /** The session that a person talks to. */
  #root(known: Known): Known {
    const above = new Set<Known>();
    let root = known;
    while (root.parent !== undefined && !above.has(root)) {
      above.add(root);
      root = this.#known(root.parent);
    }
    return root;
  }
}

/** What a tool gives back; one of an MCP server has a `content` in place of the text. */
interface ToolOutput {
  readonly output?: string;
  readonly content?: unknown;
  readonly metadata?: { readonly exit?: number | null };
}

function rest(known: Known): void {
  known.turn = undefined;
  known.isBusy = false;
  known.calls.clear();
}

/** In characters, not in UTF-16 units. */
function lengthOf(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

/** Nothing of ours may fail a turn. */
function quietly(act: () => void): Promise<void> {
  try {
    act();
  } catch {
    // What cannot be told is not told.
  }
  return Promise.resolve();
}

function shared(input: PluginInput): Shared {
  const here = globalThis as unknown as Record<symbol, Shared | undefined>;
  const log = (message: string): void => {
    const logged: Promise<unknown> = input.client.app.log({ body: { service: "sessionpipe", level: "warn", message } });
    logged.catch(() => undefined);
  };
  return (here[SHARED] ??= { bridge: new Bridge(COMMAND, log), directories: new Set() });
}

export const Sessionpipe: Plugin = (input) => {
  const hooks: Hooks = {};
  return quietly(() => {
    const { bridge, directories } = shared(input);
    if (directories.has(input.directory)) return;
    directories.add(input.directory);
    const watch = new Watch(bridge, input.directory);
    hooks.config = (config) => quietly(() => { watch.config(config); });
    hooks.event = ({ event }) => quietly(() => { watch.event(event as Event); });
    hooks["chat.message"] = ({ sessionID }, { message, parts }) =>
      quietly(() => { watch.prompt(sessionID, message, parts); });
    hooks["tool.execute.before"] = ({ sessionID, callID, tool }, { args }) =>
      quietly(() => { watch.toolStart(sessionID, callID, tool, args); });
    hooks["tool.execute.after"] = ({ sessionID, callID, tool, args }, output) =>
      quietly(() => { watch.toolEnd(sessionID, callID, tool, args, output); });
    hooks.dispose = () =>
      quietly(() => {
        watch.dispose();
        directories.delete(input.directory);
        if (directories.size === 0) bridge.close();
      });
  }).then(() => hooks);
};
