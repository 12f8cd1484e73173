// The WebSocket of Node, which is that of browsers: `node websocket.mjs URL MESSAGE…`.
//
// Sends each message when the one before it was answered, and prints a line of JSON for each thing
// that happens: `["open", SUBPROTOCOL]`, `["message", TEXT]`, `["closed", CODE, WAS_CLEAN]`.

const [url, ...messages] = process.argv.slice(2);
const socket = new WebSocket(url, ['mcp']);
const tell = (...what) => console.log(JSON.stringify(what));

function next() {
    const message = messages.shift();
    if (message === undefined) socket.close(1000, 'done');
    else if (message === 'binary') socket.send(new Uint8Array(3));
    else socket.send(message);
}

socket.onopen = () => {
    tell('open', socket.protocol);
    next();
};
socket.onmessage = (event) => {
    tell('message', event.data);
    next();
};
socket.onclose = (event) => tell('closed', event.code, event.wasClean);
