// A server of the TypeScript SDK: `node server.mjs stdio`, or `node server.mjs http`, which
// prints its port and ends with its stdin. It has the tools of ../our_server.py.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
    McpServer,
    acceptedContent,
    createMcpHandler,
    inputRequired,
    isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const text = value => ({ content: [{ type: 'text', text: String(value) }] });

// How each nap ended. One server object may serve one request only, so this is the process's.
const ended = new Map();
const waiting = new Map();

function endNap(name, how) {
    ended.set(name, how);
    waiting.get(name)?.(how);
}

function makeServer() {
    const server = new McpServer(
        { name: 'typescript', version: '7' },
        { capabilities: { logging: {} }, instructions: 'Call add.' },
    );
    server.registerTool(
        'add',
        {
            title: 'Addition',
            description: 'Add two numbers.',
            inputSchema: z.object({ a: z.number(), b: z.number() }),
            outputSchema: z.object({ result: z.number() }),
        },
        async ({ a, b }) => ({ ...text(a + b), structuredContent: { result: a + b } }),
    );
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, async args =>
        text(args.text),
    );
    server.registerTool('fail', { inputSchema: z.object({ text: z.string() }) }, async args => {
        throw new Error(args.text);
    });
    server.registerTool('count', { inputSchema: z.object({ to: z.number() }) }, async ({ to }, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (let progress = 1; progressToken !== undefined && progress <= to; progress++) {
            await ctx.mcpReq.notify({
                method: 'notifications/progress',
                params: { progressToken, progress, total: to, message: `step ${progress}` },
            });
        }
        return text(to);
    });
    server.registerTool('nap', { inputSchema: z.object({ name: z.string() }) }, async ({ name }, ctx) => {
        const { signal, _meta } = ctx.mcpReq;
        const cancelled = new Promise(resolve => signal.addEventListener('abort', resolve));
        if (_meta?.progressToken !== undefined) {
            const params = { progressToken: _meta.progressToken, progress: 1 };
            await ctx.mcpReq.notify({ method: 'notifications/progress', params });
        }
        await cancelled;
        endNap(name, 'cancelled');
        return text('woke');
    });
    server.registerTool('wait_ended', { inputSchema: z.object({ name: z.string() }) }, async ({ name }) =>
        text(ended.get(name) ?? (await new Promise(resolve => waiting.set(name, resolve)))),
    );
    const Confirm = z.object({ confirm: z.boolean() });
    server.registerTool('confirm', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, ctx) => {
        const responses = ctx.mcpReq.inputResponses;
        if (responses?.sure === undefined) {
            const sure = inputRequired.elicit({ message: `${what}?`, requestedSchema: Confirm });
            return inputRequired({ inputRequests: { sure } });
        }
        const answer = acceptedContent(responses, 'sure', Confirm);
        return text(answer?.confirm ? `${what}: yes` : `${what}: no`);
    });
    return server;
}

// One session is one server object in the older era.
const sessions = new Map();

async function serveSession(req, res, body) {
    const handle = transport => transport.handleRequest(req, res, body);
    const known = sessions.get(req.headers['mcp-session-id']);
    if (known !== undefined) return handle(known);
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => sessions.set(id, transport),
        onsessionclosed: id => sessions.delete(id),
    });
    await makeServer().connect(transport);
    return handle(transport);
}

async function bodyOf(req) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    try {
        return JSON.parse(body);
    } catch {
        return undefined;
    }
}

function serveHttp() {
    const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject' }));
    const server = createServer(async (req, res) => {
        const body = req.method === 'POST' ? await bodyOf(req) : undefined;
        if (await isLegacyRequest(await toWebRequest(req, body), body)) {
            await serveSession(req, res, body);
        } else {
            await modern(req, res, body);
        }
    });
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
    process.stdin.on('end', () => process.exit(0)).resume();
}

if (process.argv[2] === 'stdio') {
    serveStdio(makeServer);
} else {
    serveHttp();
}
