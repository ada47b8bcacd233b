// From here to the next rule: how a plugin of ours hands on what it sees. The same in every agent.
//
// Each event is a line of JSON in the stdin of one child, `sessionpipe-hook --stream`, which is started at the first
// event and lives as long as the agent. Writing a line takes some microseconds; nothing is awaited, nothing throws, nothing
// keeps the agent from ending. What was written before the agent ends is in the pipe, and the child reads it.

import { spawn } from "node:child_process";
import type { Writable } from "node:stream";

/** What to start. `install` writes the path here. */
export const COMMAND: readonly string[] = ["sessionpipe-hook", "--stream", "none"];

/** So many lines, and characters, wait at most while the child reads nothing: minutes of a busy agent, little memory. */
const MAX_WAITING = 4096;
const MAX_WAITING_CHARS = 4 * 1024 * 1024;

/** A text is cut here: twice what is kept of it in the end, so that no cut of ours can split a secret that would stay. */
const MAX_TEXT = 128 * 1024;

/** A line beyond this says only what is short in it; the child reads no longer one. */
const MAX_LINE = 512 * 1024;

/** A child that dies is followed by another, but not at once: something may kill each. Milliseconds. */
const RESTART_AFTER = 1000;

/** One that cannot be started is tried again after this: sessionpipe may be installed anew. Milliseconds. */
const RETRY_AFTER = 60_000;

/** The way to the child. */
interface Channel {
  /** False where the pipe is full: what was given is on its way, and `onFlushed` will be called. */
  write(text: string): boolean;
  end(): void;
}

interface Listener {
  readonly onFlushed: () => void;
  readonly onGone: () => void;
}

type Fields = Readonly<Record<string, unknown>>;

/** Hands events on. Every method returns at once and never throws. */
export class Bridge {
  readonly #command: readonly string[];
  readonly #log: (message: string) => void;
  #channel: Channel | undefined;
  #isFull = false;
  #waiting: string[] = [];
  #waitingChars = 0;
  #dropped = 0;
  #notBefore = 0;
  #hasComplained = false;

  /** `log` is told once if the child cannot be started. */
  constructor(command: readonly string[], log: (message: string) => void = () => undefined) {
    this.#command = command;
    this.#log = log;
  }

  /** Hands on one event: its native name, and what of it matters. Long texts are cut. */
  send(event: string, fields: Fields): void {
    try {
      const line = lineOf(event, fields);
      if (this.#waiting.length >= MAX_WAITING || this.#waitingChars + line.length > MAX_WAITING_CHARS) {
        this.#dropped += 1;
        return;
      }
      this.#waiting.push(line);
      this.#waitingChars += line.length;
      this.#pump();
    } catch {
      this.#dropped += 1;
    }
  }

  /** The agent, or the plugin, ends: the child is told by the end of its stdin. */
  close(): void {
    try {
      // What waits goes into the agent's own buffers then, and out of them as long as the agent lives.
      this.#isFull = false;
      this.#pump();
      this.#channel?.end();
    } catch {
      // It is gone already.
    }
    if (this.#channel !== undefined) this.#notBefore = 0;
    this.#channel = undefined;
    this.#isFull = false;
  }

  #pump(): void {
    if (this.#isFull || this.#waiting.length === 0) return;
    const channel = this.#channel ?? this.#start();
    if (channel === undefined) return;
    if (this.#dropped > 0) {
      this.#waiting.push(lineOf("stream.dropped", { count: this.#dropped }));
      this.#dropped = 0;
    }
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#isFull = !channel.write(text);
  }

  #start(): Channel | undefined {
    const now = performance.now();
    if (now < this.#notBefore) return undefined;
    this.#notBefore = now + RESTART_AFTER;
    try {
      // A child that was given up may still speak: it is listened to only while it is the one.
      let channel: Channel | undefined = undefined;
      const isCurrent = (): boolean => channel !== undefined && this.#channel === channel;
      channel = open(this.#command, {
        onFlushed: () => {
          if (!isCurrent()) return;
          this.#isFull = false;
          this.#pumpSafely();
        },
        onGone: () => {
          if (!isCurrent()) return;
          this.#channel = undefined;
          this.#isFull = false;
        },
      });
      this.#channel = channel;
      return channel;
    } catch (error) {
      this.#notBefore = now + RETRY_AFTER;
      this.#dropped += this.#waiting.length;
      this.#waiting = [];
      this.#waitingChars = 0;
      if (!this.#hasComplained) {
        this.#hasComplained = true;
        this.#log(`sessionpipe cannot be started: ${String(error)}`);
      }
      return undefined;
    }
  }

  #pumpSafely(): void {
    try {
      this.#pump();
    } catch {
      this.#channel = undefined;
    }
  }
}

function lineOf(event: string, fields: Fields): string {
  const line = { event, t: Date.now(), ...fields };
  try {
    const text = JSON.stringify(line, (_, value: unknown) =>
      typeof value === "string" && value.length > MAX_TEXT ? value.slice(0, MAX_TEXT) : value,
    );
    if (text.length <= MAX_LINE) return text + "\n";
  } catch {
    // A circle, or a number that JSON does not have.
  }
  const short = Object.entries(line).filter(([, value]) =>
    typeof value === "string" ? value.length <= 1024 : typeof value === "number" || typeof value === "boolean",
  );
  return JSON.stringify(Object.fromEntries(short)) + "\n";
}

/** What of Bun is used. Its `node:child_process` writes only at the end of the current task, and loses that when the process exits. */
interface BunLike {
  spawn(options: {
    cmd: readonly string[];
    detached: boolean;
    stdin: "pipe";
    stdout: "ignore";
    stderr: "ignore";
    onExit: () => void;
  }): {
    stdin: { write(text: string): unknown; flush(): unknown; end(): unknown };
    unref(): void;
  };
}

/** Starts the child: a session of its own, nothing of ours but its stdin. Throws where it cannot be started. */
function open(command: readonly string[], listener: Listener): Channel {
  const bun = (globalThis as { Bun?: BunLike }).Bun;
  return bun === undefined ? openInNode(command, listener) : openInBun(bun, command, listener);
}

function openInBun(bun: BunLike, command: readonly string[], listener: Listener): Channel {
  const child = bun.spawn({
    cmd: command,
    detached: true,
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    onExit: listener.onGone,
  });
  child.unref();
  const swallow = (result: unknown): void => {
    if (result instanceof Promise) result.catch(listener.onGone);
  };
  return {
    write(text) {
      swallow(child.stdin.write(text));
      const flushed = child.stdin.flush();
      if (!(flushed instanceof Promise)) return true;
      flushed.then(listener.onFlushed, listener.onGone);
      return false;
    },
    end() {
      swallow(child.stdin.end());
    },
  };
}

function openInNode([program = "", ...args]: readonly string[], listener: Listener): Channel {
  const child = spawn(program, args, { detached: true, stdio: ["pipe", "ignore", "ignore"], windowsHide: true });
  // A socket, though its type does not say so.
  const stdin: Writable & { unref?: () => void } = child.stdin;
  child.on("error", listener.onGone).on("exit", listener.onGone);
  stdin.on("error", listener.onGone);
  if (child.pid === undefined) throw new Error(`${program} is missing or may not be run`);
  child.unref();
  stdin.unref?.();
  return {
    write(text) {
      let isFlushed = false;
      stdin.write(text, () => {
        if (!isFlushed) listener.onFlushed();
      });
      isFlushed = stdin.writableLength === 0;
      return isFlushed;
    },
    end() {
      stdin.end();
    },
  };
}
// ----------------------------------------------------------------------------------------------------------------------
