"""A protected server and its authorization server, in memory or on a socket; all is remembered."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import attrs
import httpx
import trio

from trio_mcp.auth import AuthorizationCallback, OpenCallback
from trio_mcp.auth.client._callbacks import read_redirect
from trio_mcp.transports import serve_http_app, streamable_http_client
from trio_mcp.transports.http._serve_options import ServeOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from trio_mcp.auth.client._callbacks import AuthorizationAnswer

DISCOVERY: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}


@attrs.frozen
class Seen:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.content.decode()))

    @property
    def bearer(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme in {"Bearer", "DPoP"} else None


Answer = tuple[int, dict[str, str], bytes]


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return status, {"content-type": "application/json", **headers}, json.dumps(value).encode()


class Town:
    """Issues tokens that last one use of a refresh token, and takes its own alone.

    A refresh token that comes twice ends all that came of its login.
    """

    def __init__(self, base: str = "https://town.example") -> None:
        self.base = base
        self.url = f"{base}/mcp"
        self.issuer = base
        self.seen: list[Seen] = []
        self.logins = 0
        self.registrations = 0
        self.issued = 0
        self.expires_in: int | None = 3600
        self.scopes: dict[str, str] = {}
        """What each token is good for; one that is not here is good for nothing."""
        self.refresh_tokens: dict[str, int] = {}
        """Each with its login."""
        self.used: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.punished = False
        self.needed: dict[str, str] = {}
        """The scope that each tool needs."""
        self.hooks: dict[str, Callable[[Seen], Answer | None]] = {}
        """By path: may answer in place of what would."""
        self.metadata: dict[str, Any] = {}

    # What is asked

    def asked(self, path: str) -> list[Seen]:
        return [each for each in self.seen if each.path == path]

    @property
    def story(self) -> list[str]:
        return [each.path.rpartition("/")[2] for each in self.seen]

    async def handle(self, method: str, path: str, headers: Any, content: bytes) -> Answer:
        await trio.lowlevel.checkpoint()
        named = {name.lower(): value for name, value in dict(headers).items()}
        seen = Seen(method, path, named, content)
        self.seen.append(seen)
        hook = self.hooks.get(path)
        answer = None if hook is None else hook(seen)
        return self.answer(seen) if answer is None else answer

    def answer(self, seen: Seen) -> Answer:
        if seen.path == "/.well-known/oauth-protected-resource/mcp":
            return as_json({"resource": self.url, "authorization_servers": [self.issuer]})
        if seen.path == "/.well-known/oauth-authorization-server":
            return as_json(self.server_metadata())
        if seen.path == "/register":
            return self.register(seen)
        if seen.path == "/token":
            return self.token(seen)
        if seen.path == "/mcp":
            return self.mcp(seen)
        return 404, {}, b""

    def server_metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

    def register(self, seen: Seen) -> Answer:
        self.registrations += 1
        asked = json.loads(seen.content)
        return as_json({**asked, "client_id": f"client-{self.registrations}"}, 201)

    # A person

    def log_in(self, url: str) -> str:
        """Answer an authorization request as a person would, by a redirect."""
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.base}/authorize"
        asked = dict(parse_qsl(parts.query))
        self.logins += 1
        code = f"code-{self.logins}"
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.issuer}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    # Tokens

    def token(self, seen: Seen) -> Answer:
        form = seen.form
        kind = form.get("grant_type")
        if kind == "authorization_code":
            asked = self.codes.pop(form.get("code", ""), None)
            if asked is None or not _is_verified(asked, form):
                return as_json({"error": "invalid_grant"}, 400)
            return self.issue(asked.get("scope", ""), self.logins)
        if kind == "refresh_token":
            return self.refresh(form.get("refresh_token", ""))
        if kind in {"client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"}:
            return self.issue(form.get("scope", ""), None)
        return as_json({"error": "unsupported_grant_type"}, 400)

    def refresh(self, token: str) -> Answer:
        if token in self.used:
            self.punished = True
            self.scopes.clear()
            self.refresh_tokens.clear()
        login = self.refresh_tokens.pop(token, None)
        if login is None:
            return as_json({"error": "invalid_grant"}, 400)
        self.used.add(token)
        return self.issue("", login)

    def issue(self, scope: str, login: int | None) -> Answer:
        self.issued += 1
        token = f"access-{self.issued}"
        self.scopes[token] = scope
        answer: dict[str, Any] = {"access_token": token, "token_type": "Bearer"}
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        if login is not None:
            answer["refresh_token"] = f"refresh-{self.issued}"
            self.refresh_tokens[f"refresh-{self.issued}"] = login
        return as_json(answer)

    def expire(self) -> None:
        """Take none of the access tokens any more; refresh tokens go on."""
        self.scopes.clear()

    # The protected server

    def mcp(self, seen: Seen) -> Answer:
        held = self.scopes.get(seen.bearer or "")
        where = f'resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
        if held is None:
            error = "" if seen.bearer is None else ', error="invalid_token"'
            return 401, {"www-authenticate": f"Bearer {where}{error}"}, b""
        message = json.loads(seen.content)
        needed = self.needed.get(message.get("params", {}).get("name", ""))
        if needed is not None and needed not in held.split():
            challenge = f'Bearer error="insufficient_scope", scope="{needed}", {where}'
            return 403, {"www-authenticate": challenge}, b""
        return self.speak(message)

    def speak(self, message: Any) -> Answer:
        if "id" not in message:
            return 202, {}, b""
        result: dict[str, Any] = {"resultType": "complete"}
        if message["method"] == "server/discover":
            result = DISCOVERY
        elif message["method"] == "tools/list":
            result |= {"tools": [], "ttlMs": 60_000, "cacheScope": "private"}
        else:
            result["content"] = [{"type": "text", "text": "done"}]
        return as_json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    # How it is reached

    def http_client(self) -> Any:
        """Make a client that reaches it without a network."""

        async def handle(request: httpx.Request) -> httpx.Response:
            path = unquote(request.url.path)
            status, headers, body = await self.handle(
                request.method, path, request.headers, await request.aread()
            )
            return httpx.Response(status, headers=headers, content=body)

        return httpx.AsyncClient(transport=httpx.MockTransport(handle))

    @asynccontextmanager
    async def transport(self, auth: Any) -> AsyncGenerator[Any, None]:
        """Reach the protected server without a network."""
        async with (
            self.http_client() as client,
            streamable_http_client(self.url, auth=auth, http_client=client) as ends,
        ):
            yield ends

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"]]
        status, fields, content = await self.handle(scope["method"], scope["path"], headers, body)
        raw = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": content})


def _is_verified(asked: dict[str, str], form: dict[str, str]) -> bool:
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return challenge == asked["code_challenge"] and form["redirect_uri"] == asked["redirect_uri"]


@asynccontextmanager
async def open_town() -> AsyncGenerator[Town, None]:
    """Serve a town on a socket of this machine."""
    town = Town()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, town, ServeOptions(port=0))
        town.base = town.issuer = served.url
        town.url = f"{served.url}/mcp"
        yield town
        nursery.cancel_scope.cancel()


class Person(AuthorizationCallback):
    """Logs in at a town, at once."""

    def __init__(self, town: Town, redirect_uri: str = "http://127.0.0.1:7777/callback") -> None:
        self.town = town
        self.redirect_uri = redirect_uri
        self.asked: list[str] = []
        self.answer: Callable[[str], str] = town.log_in
        self.think: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint

    @asynccontextmanager
    async def open(self, redirect_uris: list[str]) -> AsyncGenerator[OpenCallback, None]:
        yield _Asked(self)


class _Asked(OpenCallback):
    def __init__(self, person: Person) -> None:
        self._person = person
        self.redirect_uri = person.redirect_uri

    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        self._person.asked.append(url)
        await self._person.think()
        answer = read_redirect(urlsplit(self._person.answer(url)).query, state)
        assert answer is not None
        return answer
