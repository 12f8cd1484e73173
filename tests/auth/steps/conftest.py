"""A protected server, its authorization server and a person, all of them scripted."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest

from trio_mcp.auth import AuthorizationCodeResult, OAuthClientMetadata
from trio_mcp.auth._memory import Attempt, FlowConfig, Memory
from trio_mcp.auth._step_types import (
    AssertionStep,
    AuthorizeStep,
    CheckResourceStep,
    HttpAnswer,
    HttpStep,
    LoadStep,
    SaveClientStep,
    SaveTokensStep,
    Stored,
)
from trio_mcp.auth._steps import (
    answer_challenge,
    needs_preparing,
    note_answer,
    prepare,
    sign,
)
from trio_mcp.errors import OAuthFlowError

CALLBACK = "http://127.0.0.1:3030/callback"


def answer(status: int, body: Any = b"", **headers: str) -> HttpAnswer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpAnswer(status, httpx.Headers(named), content)


class World:
    """What is out there. Everything that is yielded stands in ``steps``."""

    server_url = "https://h.example/mcp"
    issuer = "https://as.example"

    def __init__(self) -> None:
        self.routes: dict[str, Any] = {}
        self.steps: list[Any] = []
        self.memory = Memory()
        self.stored = Stored()
        self.now = 1_000_000.0
        self.issued = 0
        self.registered = 0
        self.options: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {"redirect_uris": [CALLBACK]}
        self.person: Any = self.approve
        self.assertions: Any = lambda step: f"assertion-for-{step.audience}"
        self.check_resource: Any = lambda step: None
        self.token_extra: dict[str, Any] = {}
        self.publish()

    def publish(
        self,
        issuer: str | None = None,
        *,
        resource: str | None = None,
        prm: dict[str, Any] | None = None,
        **asm: Any,
    ) -> None:
        """Publish metadata of the server, and of its authorization server."""
        self.issuer = issuer or self.issuer
        host = urlsplit(self.server_url)
        base = f"{host.scheme}://{host.netloc}"
        self.routes[f"{base}/.well-known/oauth-protected-resource{host.path}"] = answer(
            200,
            {
                "resource": resource or self.server_url,
                "authorization_servers": [self.issuer],
                **(prm or {}),
            },
        )
        self.publish_asm(self.issuer, **asm)

    def publish_asm(self, issuer: str, /, **asm: Any) -> None:
        document = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            **asm,
        }
        document = {key: value for key, value in document.items() if value is not None}
        self.routes[f"{issuer}/.well-known/oauth-authorization-server"] = answer(200, document)
        self.routes.setdefault(f"{issuer}/token", self.give_token)
        self.routes.setdefault(f"{issuer}/register", self.register)

    # What parties do

    def approve(self, step: AuthorizeStep) -> Any:
        return AuthorizationCodeResult(code="the-code", state=step.state)

    def give_token(self, step: HttpStep) -> HttpAnswer:
        self.issued += 1
        return answer(
            200,
            {
                "access_token": f"access-{self.issued}",
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": f"refresh-{self.issued}",
                **self.token_extra,
            },
        )

    def register(self, step: HttpStep) -> HttpAnswer:
        self.registered += 1
        return answer(201, {**json.loads(step.content), "client_id": f"client-{self.registered}"})

    # Driving

    @property
    def config(self) -> FlowConfig:
        return FlowConfig(
            server_url=self.server_url,
            client_metadata=OAuthClientMetadata(**self.metadata),
            now=lambda: self.now,
            **self.options,
        )

    def attempt(self, **more: Any) -> Attempt:
        return Attempt(method="POST", url=self.server_url, **more)

    def run(self, flow: Any) -> Any:
        feed, fed = flow.send, None
        while True:
            try:
                step = feed(fed)
            except StopIteration as end:
                return end.value
            self.steps.append(step)
            try:
                feed, fed = flow.send, self.carry_out(step)
            except (OSError, OAuthFlowError) as exc:
                feed, fed = flow.throw, exc

    def carry_out(self, step: Any) -> Any:
        match step:
            case HttpStep():
                return self.respond(step)
            case AuthorizeStep():
                return self.person(step)
            case AssertionStep():
                return self.assertions(step)
            case LoadStep():
                return self.stored
            case SaveTokensStep():
                self.stored = Stored(tokens=step.tokens, client_info=self.stored.client_info)
            case SaveClientStep():
                self.stored = Stored(tokens=self.stored.tokens, client_info=step.client_info)
            case CheckResourceStep():
                self.check_resource(step)
        return None

    def respond(self, step: HttpStep) -> HttpAnswer:
        found = self.routes.get(step.url, answer(404))
        if isinstance(found, list):
            found = found.pop(0)
        if callable(found):
            found = found(step)
        if isinstance(found, Exception):
            raise found
        return found

    def challenge(self, status: int = 401, header: str = "Bearer", **more: Any) -> bool:
        """Have the server refuse one request; tell whether it is sent again."""
        return self.run(
            answer_challenge(
                self.memory,
                self.config,
                more.pop("attempt", None) or self.attempt(),
                answer(status, WWW_Authenticate=header, **more),
            )
        )

    def call(self, serve: Any, **more: Any) -> HttpAnswer:
        """Make a request to the server as a driver does, until an answer is the last one."""
        attempt = self.attempt(**more)
        while True:
            if needs_preparing(self.memory, self.config):
                self.run(prepare(self.memory, self.config))
            headers = sign(self.memory, self.config, attempt)
            found = serve(headers)
            if not note_answer(self.memory, self.config, attempt, found):
                return found
            if not self.run(answer_challenge(self.memory, self.config, attempt, found)):
                return found

    # What happened

    def restart(self) -> None:
        """Forget all that is not in the store."""
        self.memory = Memory()
        self.steps.clear()

    def forget(self) -> None:
        """Begin anew, without a store."""
        self.stored = Stored()
        self.restart()

    @property
    def requested(self) -> list[str]:
        return [step.url for step in self.steps if isinstance(step, HttpStep)]

    @property
    def queries(self) -> list[dict[str, str]]:
        """Of the authorization requests."""
        return [
            dict(parse_qsl(urlsplit(step.url).query))
            for step in self.steps
            if isinstance(step, AuthorizeStep)
        ]

    def sent_to(self, url: str) -> list[HttpStep]:
        return [step for step in self.steps if isinstance(step, HttpStep) and step.url == url]

    def forms(self, url: str | None = None) -> list[dict[str, str]]:
        """What the token endpoint was sent."""
        sent = self.sent_to(url or f"{self.issuer}/token")
        return [
            {key: value for key, (value,) in parse_qs((step.content or b"").decode()).items()}
            for step in sent
        ]

    def last_verifier(self) -> str:
        return self.forms()[-1]["code_verifier"]

    @property
    def registrations(self) -> list[dict[str, Any]]:
        return [
            json.loads(step.content or b"") for step in self.sent_to(f"{self.issuer}/register")
        ]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(name="answer")
def make_answer() -> Any:
    return answer
