import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Bridge } from "./bridge.ts";

const folder = mkdtempSync(join(tmpdir(), "bridge-"));
after(() => { rmSync(folder, { recursive: true }); });

/** Longer than anything takes on a machine that has other things to do. Milliseconds. */
const GENEROUS = 30_000;

interface Line {
  event: string;
  t: number;
  n?: number;
  count?: number;
  text?: string;
  pid?: number;
}

let children = 0;

/** A child that writes down what it reads, and says so when it has read all. */
class Child {
  readonly #file: string;
  readonly command: readonly string[];

  /** `before` is what it does first, in shell. */
  constructor(before = "") {
    children += 1;
    this.#file = join(folder, String(children));
    this.command = ["/bin/sh", "-c", `${before}\ncat >> "$0" && mv "$0" "$0.done"`, this.#file];
  }

  async lines(): Promise<Line[]> {
    await until(() => existsSync(`${this.#file}.done`));
    return linesOf(readFileSync(`${this.#file}.done`, "utf8"));
  }

  /** What it has read so far. */
  async some(count: number): Promise<Line[]> {
    const read = (): Line[] => (existsSync(this.#file) ? linesOf(readFileSync(this.#file, "utf8")) : []);
    await until(() => read().length >= count);
    return read();
  }
}

/** The last one may be on its way. */
function linesOf(text: string): Line[] {
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as Line);
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + GENEROUS;
  while (!isTrue()) {
    assert.ok(performance.now() < end, "it takes too long");
    await pause(5);
  }
}

function numbers(lines: readonly Line[]): number[] {
  return lines.flatMap((line) => line.n ?? []);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

test("lines arrive in order, with their time, and the end of the plugin is the end of stdin", async () => {
  const child = new Child();
  const bridge = new Bridge(child.command);
  const before = Date.now();
  for (const n of upTo(500)) bridge.send("tick", { n });
  bridge.close();
  const lines = await child.lines();
  assert.deepEqual(numbers(lines), upTo(500));
  assert.ok(lines.every(({ event, t }) => event === "tick" && t >= before && t <= Date.now()));
});

test("nothing is started before the first event", () => {
  const bridge = new Bridge(["/bin/sh", "-c", `touch ${join(folder, "started")}`]);
  bridge.close();
  assert.equal(existsSync(join(folder, "started")), false);
});

test("what waits for a child that reads nothing arrives later, in order", async () => {
  const gate = join(folder, "gate");
  const child = new Child(`until [ -e ${gate} ]; do sleep 0.02; done`);
  const bridge = new Bridge(child.command);
  const pad = "x".repeat(1000);
  // More than any pipe holds.
  for (const n of upTo(2000)) bridge.send("tick", { n, pad });
  await pause(50);
  bridge.send("tick", { n: 2000 });
  writeFileSync(gate, "");
  await child.some(2001);
  bridge.close();
  assert.deepEqual(numbers(await child.lines()), upTo(2001));
});

test("what is too much to wait is dropped and counted", async () => {
  const gate = join(folder, "second-gate");
  const child = new Child(`until [ -e ${gate} ]; do sleep 0.02; done`);
  const bridge = new Bridge(child.command);
  const pad = "x".repeat(1000);
  for (const n of upTo(10_000)) bridge.send("tick", { n, pad });
  await pause(0);
  writeFileSync(gate, "");
  await until(() => linesOf(readIfThere(child)).some(({ event }) => event === "stream.dropped"));
  bridge.send("tick", { n: 10_000 });
  bridge.close();
  const lines = await child.lines();
  const told = lines.find(({ event }) => event === "stream.dropped")?.count ?? 0;
  const kept = numbers(lines);
  assert.ok(told > 0);
  assert.equal(kept.length + told, 10_001);
  // The oldest are kept: they say what began.
  assert.deepEqual(kept.slice(0, -1), upTo(kept.length - 1));
  assert.equal(kept.at(-1), 10_000);

  function readIfThere(of: Child): string {
    const file = of.command.at(-1) ?? "";
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }
});

test("a child that is killed is followed by another", async () => {
  const file = join(folder, "killed");
  const bridge = new Bridge(["/bin/sh", "-c", 'read -r line; echo "$line" >> "$0"; kill -9 $$', file]);
  const events = (): number => (existsSync(file) ? linesOf(readFileSync(file, "utf8")).length : 0);
  bridge.send("first", {});
  await until(() => events() === 1);
  const start = performance.now();
  await until(() => {
    bridge.send("again", {});
    return events() === 2;
  });
  // Whatever kills them must not make us start one after the other.
  assert.ok(performance.now() - start > 500);
  bridge.close();
});

test("a program that is missing costs nothing but one word in the log", async () => {
  const said: string[] = [];
  const bridge = new Bridge([join(folder, "nowhere")], (message) => said.push(message));
  for (const n of upTo(10)) {
    bridge.send("tick", { n });
    await pause(0);
  }
  bridge.close();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /nowhere/);
});

test("the child has a session of its own, and nothing but its stdin", async () => {
  const look = `for fd in ${upTo(40).slice(1).join(" ")}; do readlink /proc/$$/fd/$fd >> "$0.fds"; done`;
  const child = new Child(`ps -o sid= -p $$ > "$0.sid"; ${look}; echo noise; echo noise >&2`);
  const bridge = new Bridge(child.command);
  bridge.send("tick", {});
  bridge.close();
  await child.lines();
  const file = child.command.at(-1) ?? "";
  const own = spawnSync("ps", ["-o", "sid=", "-p", String(process.pid)], { encoding: "utf8" }).stdout.trim();
  assert.notEqual(readFileSync(`${file}.sid`, "utf8").trim(), own);
  if (existsSync("/proc/self/fd")) {
    const open = readFileSync(`${file}.fds`, "utf8").split("\n").filter((to) => to !== "" && to !== `${file}.fds`);
    assert.ok(open.length > 0 && open.every((to) => to === "/dev/null"), open.join(" "));
  }
});

test("nothing that is sent makes it throw, and long texts are cut", async () => {
  const child = new Child();
  const bridge = new Bridge(child.command);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  bridge.send("circle", { n: 0, circle, big: 1n });
  bridge.send("long", { n: 1, text: "é".repeat(1_000_000) });
  bridge.send("many", { n: 2, list: upTo(1_000_000) });
  bridge.send("half", { n: 3, text: "\ud800" });
  bridge.send("throws", { n: 4, get text(): string { throw new Error("no"); } });
  bridge.send("last", { n: 5 });
  bridge.close();
  const lines = await child.lines();
  assert.deepEqual(lines.map(({ event }) => event), ["circle", "long", "many", "half", "last", "stream.dropped"]);
  assert.equal(lines[1]?.text, "é".repeat(128 * 1024));
  assert.deepEqual(numbers(lines.slice(0, 4)), upTo(4));
});

test("an agent that ends right after the last event has lost nothing", async () => {
  const child = new Child("sleep 0.2");
  const script = join(folder, "ends.mjs");
  const bridge = pathToFileURL(join(import.meta.dirname, "bridge.js")).href;
  writeFileSync(
    script,
    `import { Bridge } from ${JSON.stringify(bridge)};
const bridge = new Bridge(${JSON.stringify(child.command)});
for (let n = 0; n < 200; n += 1) bridge.send("tick", { n, pid: process.pid });
process.exit(7);`,
  );
  const ended = spawnSync(process.execPath, [script], { encoding: "utf8" });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [7, "", ""]);
  assert.deepEqual(numbers(await child.lines()), upTo(200));
});

test("an agent that has nothing more to do ends, though the child lives", () => {
  const child = new Child("sleep 0.2");
  const script = join(folder, "idles.mjs");
  const bridge = pathToFileURL(join(import.meta.dirname, "bridge.js")).href;
  writeFileSync(
    script,
    `import { Bridge } from ${JSON.stringify(bridge)};
new Bridge(${JSON.stringify(child.command)}).send("tick", {});`,
  );
  const ended = spawnSync(process.execPath, [script], { encoding: "utf8", timeout: GENEROUS });
  assert.deepEqual([ended.status, ended.signal], [0, null]);
});
