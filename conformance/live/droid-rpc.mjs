// node droid-rpc.mjs DROID MODEL SCRIPT: one session of `droid exec` in the mode that its SDK drives, JSON-RPC on stdin.
//
// Each line of SCRIPT is a prompt, said when the one before is done, or a word for what comes after it:
//   /deny            permissions are denied, not given
//   /interrupt FILE  a second after FILE is there, the next prompt's turn is interrupted
//   /compact         the session is compacted
// What the agent says and asks for is printed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';

const [program, model, script] = process.argv.slice(2);
const cwd = process.cwd();
const mode = ['exec', '--input-format', 'stream-jsonrpc', '-o', 'stream-jsonrpc'];
const droid = spawn(program, mode, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
const send = (message) => droid.stdin.write(JSON.stringify({ jsonrpc: '2.0', factoryApiVersion: '1.0.0', ...message }) + '\n');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const waiting = new Map();
let requests = 0;
let permission = 'proceed_once';
let idle = () => {};

const ask = (method, params = {}) => new Promise((resolve, reject) => {
  const id = String(++requests);
  waiting.set(id, (answer) => (answer.error ? reject(new Error(`${method}: ${JSON.stringify(answer.error)}`)) : resolve(answer)));
  send({ type: 'request', id, method, params });
});

let buffer = '';
droid.stdout.on('data', (data) => {
  buffer += data;
  const lines = buffer.split('\n');
  buffer = lines.pop();
  for (const line of lines) {
    let message;
    try { message = JSON.parse(line); } catch { console.log(line); continue; }
    const news = message.params?.notification;
    if (message.type === 'response') waiting.get(message.id)?.(message);
    else if (message.method === 'droid.request_permission') {
      console.log('asks for permission');
      // Somebody has to read the question first.
      setTimeout(() => send({ type: 'response', id: message.id, result: { selectedOption: permission } }), 1000);
    } else if (message.method === 'droid.ask_user') {
      console.log('asks a question');
      const answers = message.params.questions.map(({ index, question, options }) => ({ index, question, answer: options[0] }));
      setTimeout(() => send({ type: 'response', id: message.id, result: { answers } }), 1000);
    } else if (news?.type === 'create_message' && news.message.role === 'assistant') {
      for (const part of news.message.content) if (part.type === 'text') console.log(`says: ${part.text}`);
    } else if (news?.newState === 'idle') idle();
  }
});
let done = false;
droid.on('exit', (code, signal) => process.exit(done ? 0 : code ?? (signal ? 1 : 0)));

await ask('droid.initialize_session', { machineId: 'lab', cwd, modelId: model });
let until;
for (const line of script.split('\n')) {
  const [word, argument] = line.split(' ');
  if (word === '/deny') permission = 'cancel';
  else if (word === '/interrupt') until = argument;
  else if (word === '/compact') await ask('droid.compact_session');
  else {
    const answered = new Promise((resolve) => { idle = resolve; });
    await ask('droid.add_user_message', { text: line });
    if (until) {
      while (!fs.existsSync(until)) await sleep(50);
      await sleep(1000);
      await ask('droid.interrupt_session');
      until = undefined;
    }
    await answered;
  }
  // It is idle before the hooks of the turn's end are done.
  await sleep(1000);
}
done = true;
await ask('droid.close_session', { reason: 'other' }).catch(() => {});
droid.stdin.end();
setTimeout(() => droid.kill('SIGTERM'), 8000).unref(); // where it does not end by itself
