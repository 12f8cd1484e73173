// The client of the TypeScript SDK: `node client.mjs TARGET MODE…`, a report as JSON.
//
// TARGET is a URL, or a command with its arguments as a JSON list. The client connects once for
// each mode, "auto" or "legacy", and prints what came of it: `{MODE: {STEP: RESULT}}`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [target, ...modes] = process.argv.slice(2);

function makeTransport() {
    if (target.startsWith('http')) return new StreamableHTTPClientTransport(new URL(target));
    const [command, ...args] = JSON.parse(target);
    return new StdioClientTransport({ command, args });
}

async function refusal(asked) {
    try {
        return await asked;
    } catch (error) {
        return { code: error.code, message: error.message };
    }
}

async function watchProgress(client) {
    const seen = [];
    const onprogress = ({ progress, total, message }) => seen.push([progress, total, message]);
    await client.callTool({ name: 'count', arguments: { to: 20 } }, { onprogress });
    return seen;
}

async function cancel(client) {
    const stop = new AbortController();
    const options = { signal: stop.signal, onprogress: () => stop.abort('enough') };
    const refused = await refusal(client.callTool({ name: 'nap', arguments: { name: 'ts' } }, options));
    const ended = await client.callTool({ name: 'wait_ended', arguments: { name: 'ts' } });
    return { refused, ended };
}

async function visit(mode) {
    const client = new Client(
        { name: 'typescript-client', version: '1' },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    const asked = [];
    const answers = { build: { action: 'accept', content: { confirm: true } } };
    client.setRequestHandler('elicitation/create', async request => {
        asked.push(request.params.message);
        return answers[request.params.message.replace('?', '')] ?? { action: 'decline' };
    });
    await client.connect(makeTransport());
    const call = (name, args) => client.callTool({ name, arguments: args });
    const report = {
        who: {
            version: client.getNegotiatedProtocolVersion(),
            info: client.getServerVersion(),
            capabilities: client.getServerCapabilities(),
            instructions: client.getInstructions(),
        },
        tools: (await client.listTools()).tools,
        add: await call('add', { a: 20, b: 22 }),
        echo: await call('echo', { text: 'ünd 🎈\n\u2028' }),
        fail: await call('fail', { text: 'no luck' }),
        wrong: await call('add', { a: 'one', b: 2 }),
        refused: await refusal(client.readResource({ uri: 'note://missing' })),
        progress: await watchProgress(client),
        cancel: await cancel(client),
        accepted: await call('confirm', { what: 'build' }),
        declined: await call('confirm', { what: 'destroy' }),
        asked,
    };
    if (mode !== 'legacy') report.discovered = await client.discover();
    await client.close();
    return report;
}

const reports = {};
for (const mode of modes) reports[mode] = await visit(mode);
console.log(JSON.stringify(reports));
process.exit(0);
