// What the extensions of Pi and OMP share: what a line says of the session that it is about, and what is remembered between
// two events.

import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Bridge, COMMAND } from "../../core/plugin/bridge.ts";

export type Line = Readonly<Record<string, unknown>>;

/** What is read of a handler's context, in either program. */
export interface Context {
  readonly cwd: string;
  readonly model?: { readonly id: string } | undefined;
  readonly sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    getEntries(): readonly { readonly type: string }[];
  };
}

/** How a call of the model ended. */
export interface Answer {
  readonly stopReason?: string;
  readonly errorMessage?: string | undefined;
}

/** A call of a tool, as the events of its start and its end tell it. */
interface Call {
  readonly toolName: string;
  readonly toolCallId: string;
}

/** Inputs of open calls that are kept for their ends; no batch is that large. */
const MAX_OPEN_CALLS = 512;

/** Folders from the program's file up to its package. */
const MAX_DEPTH = 8;

/** Tells of one session after another; an instance for each time that the extension is loaded. */
export class Reporter {
  readonly #bridge: Bridge;
  readonly #version: string | undefined;
  readonly #inputs = new Map<string, unknown>();
  /** How the last run ended; nothing while one goes on. */
  run: Line = {};

  constructor(bridge: Bridge, version: string | undefined) {
    this.#bridge = bridge;
    this.#version = version;
  }

  send(event: string, context: Context, fields: Line = {}): void {
    this.#bridge.send(event, {
      session_id: context.sessionManager.getSessionId(),
      transcript_path: context.sessionManager.getSessionFile(),
      cwd: context.cwd,
      model: context.model?.id,
      version: this.#version,
      ...fields,
    });
  }

  toolStarts(event: string, context: Context, call: Call, input: unknown): void {
    if (this.#inputs.size >= MAX_OPEN_CALLS) this.#inputs.clear();
    this.#inputs.set(call.toolCallId, input);
    this.send(event, context, { tool_name: call.toolName, tool_use_id: call.toolCallId, tool_input: input });
  }

  toolEnds(event: string, context: Context, call: Call, fields: Line): void {
    const input = this.inputOf(call);
    this.#inputs.delete(call.toolCallId);
    this.send(event, context, {
      tool_name: call.toolName,
      tool_use_id: call.toolCallId,
      tool_input: input,
      ...fields,
    });
  }

  inputOf(call: Call): unknown {
    return this.#inputs.get(call.toolCallId);
  }

  /** A call of the model is over; the last one of a run tells how the run ended. */
  answered(answer: Answer): void {
    switch (answer.stopReason) {
      case "aborted":
        this.run = { outcome: "aborted" };
        break;
      case "error":
        this.run = { outcome: "error", error: answer.errorMessage };
        break;
      default:
        this.run = { outcome: "completed" };
    }
  }
}

/** One speaks for the process: sessions are replaced within it, and each loads the extension again. */
interface Speaker {
  readonly file: string;
  readonly bridge: Bridge;
}

/** The way to the child; nothing where another copy of this file speaks already. */
export function bridgeOf(harness: string, file: string, log: (message: string) => void): Bridge | undefined {
  const shared = globalThis as { sessionpipeSpeaker?: Speaker };
  const own = file.replace(/\?.*$/, "");
  shared.sessionpipeSpeaker ??= { file: own, bridge: new Bridge([...COMMAND.slice(0, -1), harness], log) };
  return shared.sessionpipeSpeaker.file === own ? shared.sessionpipeSpeaker.bridge : undefined;
}

/** A handler that never throws, and answers nothing. */
export function quiet<E, C>(handle: (event: E, context: C) => void): (event: E, context: C) => void {
  return (event, context) => {
    try {
      handle(event, context);
    } catch {
      // What cannot be told is not told: the agent must not notice.
    }
  };
}

/** The version in the package.json of the running program. */
export function packageVersion(): string | undefined {
  for (const program of [process.argv[1], process.execPath]) {
    try {
      if (program === undefined) continue;
      let dir = dirname(realpathSync(program));
      for (let depth = 0; depth < MAX_DEPTH; depth += 1, dir = dirname(dir)) {
        const version = versionIn(dir);
        if (version !== undefined) return version;
      }
    } catch {
      // It lies inside a compiled program.
    }
  }
  return undefined;
}

function versionIn(dir: string): string | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const about = read as { name?: unknown; version?: unknown };
    const isOurs = typeof about.name === "string" && about.name.endsWith("/pi-coding-agent");
    return isOurs && typeof about.version === "string" ? about.version : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a session that starts was worked in before. */
export function isResumed(context: Context): boolean {
  const roleOf = (entry: { type: string; message?: { role?: string } }): string | undefined =>
    entry.type === "message" ? entry.message?.role : undefined;
  return context.sessionManager.getEntries().some((entry) => roleOf(entry) === "user");
}

/** The number of characters, as people count them: a pair of surrogates is one. */
export function lengthOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** The text of a tool's result; images and the like are left out. */
export function textOf(result: unknown): string | undefined {
  if (typeof result === "string") return result;
  const content = (result as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((block: { text?: unknown } | null) => block?.text);
  return texts.filter((text) => typeof text === "string").join("\n");
}
