// Loads the extension in versions of Pi, each for one turn against a model on loopback, in a network namespace that holds
// nothing else, and writes what came of it as a table. Called by `cargo xtask pi-versions`.
//
//   node pi-versions.mjs EXTENSION TABLE PINNED [all | VERSION…]
//
// EXTENSION is the file that `install` wrote, TABLE the table (rows of versions that are not asked for stay), PINNED the
// version that the live lab takes. Without a version: the oldest that is supported, PINNED and the newest.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGES = ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"];
/** Newer versions of Pi need a newer node than a machine may have. */
const NODE = `node-${process.platform}-${process.arch}@22.23.3`;
const OLDEST = "0.73.1";
const TURN_MS = 120_000;
const PORT = 18080;

/** What a turn must tell, in every version that has the event for its end. */
const TURN = ["session_start", "before_agent_start", "agent_end|agent_settled", "session_shutdown"];

if (process.argv[2] === "--inside") await inside(process.argv[3]);
else outside(process.argv.slice(2));

function outside([extension, table, pinned, ...wanted]) {
  const versions = PACKAGES.map((name) => [name, served(name)]);
  const newest = versions.at(-1)[1].at(-1);
  const asked = wanted.length > 0 ? wanted : [OLDEST, pinned, newest];
  const runtime = mkdtempSync(join(tmpdir(), "pi-runtime-"));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", runtime, NODE]);
  const node = join(runtime, "node_modules", NODE.slice(0, NODE.lastIndexOf("@")), "bin/node");
  // The lines go into a file, whichever program the extension was made for.
  const child = JSON.stringify(["/bin/sh", "-c", 'exec cat >> "$SESSIONPIPE_LINES"', "sh"]);
  const text = readFileSync(extension, "utf8").replace(/^(const COMMAND: .* = ).*$/m, (_, name) => `${name}${child};`);
  const rows = new Map(readTable(table));
  let isBroken = false;
  for (const [name, served] of versions) {
    for (const version of served.filter((version) => asked.includes(version) || asked[0] === "all")) {
      const row = tried(name, version, text, node);
      isBroken ||= row.startsWith("BROKEN");
      console.log(`${name}@${version}: ${row}`);
      rows.set(`${name} ${version}`, row);
      writeTable(table, rows);
    }
  }
  rmSync(runtime, { recursive: true, force: true });
  process.exitCode = isBroken ? 1 : 0;
}

function served(name) {
  const listed = JSON.parse(execFileSync("npm", ["view", name, "versions", "--json"], { encoding: "utf8" }));
  return [listed].flat();
}

function tried(name, version, text, node) {
  const dir = mkdtempSync(join(tmpdir(), "pi-version-"));
  try {
    const npm = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline"];
    try {
      execFileSync("npm", [...npm, "--prefix", dir, `${name}@${version}`], { stdio: ["ignore", "ignore", "pipe"] });
    } catch (error) {
      return `not installable: ${reason({ stdout: "", stderr: String(error.stderr) })}`;
    }
    const home = join(dir, "home");
    const extensions = join(home, ".pi/agent/extensions");
    mkdirSync(extensions, { recursive: true });
    mkdirSync(join(dir, "project"));
    writeFileSync(join(extensions, "sessionpipe.ts"), text);
    const model = { id: "lab-model", name: "Lab", input: ["text"], contextWindow: 200_000, maxTokens: 8000,
      reasoning: false, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } };
    const lab = { baseUrl: `http://127.0.0.1:${PORT}/v1`, apiKey: "sk-fake-lab", api: "openai-completions", models: [model] };
    writeFileSync(join(home, ".pi/agent/models.json"), JSON.stringify({ providers: { lab } }));
    const about = JSON.parse(readFileSync(join(dir, "node_modules", name, "package.json"), "utf8"));
    const job = { dir, node, lines: join(dir, "lines"), cli: join(dir, "node_modules", name, Object.values(about.bin)[0]) };
    const unshare = ["--user", "--map-root-user", "--net", process.execPath, import.meta.filename, "--inside"];
    const turn = () => JSON.parse(execFileSync("unshare", [...unshare, JSON.stringify(job)], { encoding: "utf8" }));
    const row = judged(turn(), job.lines);
    if (!row.startsWith("BROKEN")) return row;
    rmSync(join(extensions, "sessionpipe.ts"));
    const bare = turn();
    return bare.code === 0 ? row : `does not run here, with or without: ${reason(bare)}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function judged({ code, stdout, stderr }, lines) {
  const told = existsSync(lines) ? readFileSync(lines, "utf8").trim().split("\n").map((line) => JSON.parse(line).event) : [];
  const missing = TURN.filter((event) => !told.some((one) => event.split("|").includes(one)));
  if (code === 0 && missing.length === 0) return `loads; ${told.join(", ")}`;
  if (code !== 0) return `BROKEN (exit ${code}): ${reason({ stdout, stderr })}`;
  return told.length === 0 ? "runs, and loads no extension" : `runs; not told: ${missing.join(", ")}`;
}

function reason({ stdout, stderr }) {
  const lines = (stderr || stdout).trim().split("\n");
  return lastLine(lines.find((line) => /error|fail/i.test(line)) ?? lines.at(-1));
}

function lastLine(text) {
  return text.trim().split("\n").at(-1).replaceAll("|", "\\|").slice(0, 160);
}

/** In the namespace: loopback, the model, and Pi. */
async function inside(text) {
  const { dir, node, lines, cli } = JSON.parse(text);
  execFileSync("ip", ["link", "set", "lo", "up"]);
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const chunk = (delta, finish) => ({ id: "lab", object: "chat.completion.chunk", created: 1, model: "lab-model",
        choices: [{ index: 0, delta, finish_reason: finish }] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(chunk({ role: "assistant", content: "Hello." }, null))}\n\n`);
      response.write(`data: ${JSON.stringify(chunk({}, "stop"))}\n\n`);
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((ready) => server.listen(PORT, "127.0.0.1", ready));
  const env = { HOME: join(dir, "home"), PATH: `${join(node, "..")}:/usr/bin:/bin`, TERM: "dumb", LANG: "C.UTF-8",
    PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1", SESSIONPIPE_LINES: lines };
  const args = ["--provider", "lab", "--model", "lab-model", "-p", "Say hello."];
  const pi = spawn(node, [cli, ...args], { cwd: join(dir, "project"), env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) pi[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
  const timer = setTimeout(() => pi.kill("SIGKILL"), TURN_MS);
  const code = await new Promise((done) => pi.on("exit", done));
  clearTimeout(timer);
  // The child reads on until the pipe is closed.
  await new Promise((done) => setTimeout(done, 300));
  process.stdout.write(JSON.stringify({ code, ...said }));
  process.exit(0);
}

function readTable(path) {
  if (!existsSync(path)) return [];
  const rows = readFileSync(path, "utf8").split("\n").map((line) => /^\| `(.+) (.+)` \| (.+) \|$/.exec(line));
  return rows.filter((row) => row !== null).map(([, name, version, row]) => [`${name} ${version}`, row]);
}

function writeTable(path, rows) {
  const key = (name) => {
    const [, version] = name.split(" ");
    return version.split(".").map((part) => part.padStart(6, "0")).join(".");
  };
  const sorted = [...rows].sort(([a], [b]) => (key(a) + a < key(b) + b ? -1 : 1));
  const head = `# Pi's versions

An extension that does not load ends Pi. So ours is loaded in versions that the registry serves, under both names of the
package, each for one turn against a model on loopback, with node 22. \`cargo xtask pi-versions\` tries the oldest that is
supported, the pinned and the newest; \`cargo xtask pi-versions all\` every one. A row stays until its version is tried again.
*loads* is followed by the events that the extension told. Supported is 0.73.0 and newer.

| version | what came of it |
|---|---|
`;
  writeFileSync(path, head + sorted.map(([name, row]) => `| \`${name}\` | ${row} |\n`).join(""));
}
