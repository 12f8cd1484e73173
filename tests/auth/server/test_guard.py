"""Nobody gets in without a good token, and whoever does not is told what to do."""

from __future__ import annotations

import base64
import json
import logging

import pytest
import trio.testing

from tests.http._asgi import AsgiClient, open_app
from trio_mcp.auth import AuthSettings, Principal, VerifierUnavailable
from trio_mcp.transports.http._asgi import HttpRequest
from trio_mcp.transports.http._guard import Guard, admit, seconds_left

from ._protected import (
    METADATA_URL,
    TOKENS,
    URL,
    Verifier,
    bearer,
    call,
    challenges,
    make_server,
    open_protected,
    settings,
    token,
)

HUGE = pytest.param(10**400, id="of 400 digits")


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def subject_of(answer) -> dict:
    assert answer.status == 200, answer
    return answer.json()["result"]["structuredContent"]


@pytest.mark.req("R-031", "R-100", "R-446")
async def test_whoever_brings_a_good_token_is_served_and_known():
    async with open_protected() as client:
        assert subject_of(await call(client, "whoami", "ada")) == {
            "subject": "ada",
            "scopes": ["use"],
        }
        # A client that acts for itself.
        assert subject_of(await call(client, "whoami", "service"))["subject"] == "robot"
        answer = await call(client, "in_thread", "service")
    assert subject_of(answer) == {"result": "robot"}


@pytest.mark.req("R-422", "R-448", "R-456", "R-470")
@pytest.mark.case("C054")
async def test_without_a_token_the_client_is_told_where_to_get_one():
    async with open_protected() as client:
        answer = await call(client, "whoami", None)
    assert answer.status == 401
    # Nothing was wrong, as nothing came: no error.
    assert challenges(answer) == {"Bearer": {"resource_metadata": METADATA_URL, "scope": "use"}}
    assert answer.json()["error"]["code"] == -32600


@pytest.mark.req("R-446", "R-447", "R-450", "R-515")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unknown", "not good"),
        ("old", "expired"),
        ("foreign", "another server"),
        ("aimless", "another server"),
        ("x" * 16_385, "too long"),
    ],
)
async def test_bad_token_is_refused_with_401(name, told):
    verifier = Verifier()
    async with open_protected(make_server(verifier)) as client:
        answer = await call(client, "whoami", name)
    assert answer.status == 401
    challenge = challenges(answer)["Bearer"]
    assert challenge["error"] == "invalid_token"
    assert told in challenge["error_description"]
    assert (challenge["resource_metadata"], challenge["scope"]) == (METADATA_URL, "use")
    assert (verifier.asked == []) == (len(name) > 100)


@pytest.mark.req("R-456")
@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer ", "bearer a b", "Bearer é", "Bearer a,b", 'Bearer "ada"', "DPoP"]
)
async def test_what_is_no_token_is_a_bad_request(value):
    verifier = Verifier()
    async with open_protected(make_server(verifier)) as client:
        answer = client.ask("tools/call", {"name": "whoami"}, headers={"authorization": value})
        await answer.wait_complete()
    assert answer.status == 400
    challenge = challenges(answer)["Bearer"]
    assert challenge["error"] == "invalid_request"
    assert challenge["resource_metadata"] == METADATA_URL
    assert verifier.asked == []


@pytest.mark.req("R-456")
async def test_two_tokens_are_a_bad_request():
    async with open_protected() as client:
        client.scope["headers"] = [
            (b"host", b"127.0.0.1"),
            (b"authorization", b"Bearer ada"),
            (b"Authorization", b"Bearer bob"),
        ]
        answer = await client.ask("tools/list").wait_complete()
    assert answer.status == 400
    assert "2 times" in challenges(answer)["Bearer"]["error_description"]


@pytest.mark.parametrize("value", ["Basic YTpi", "", "ada", "Negotiate", "bearer:ada"])
async def test_credentials_of_another_kind_are_none(value):
    async with open_protected() as client:
        answer = client.ask("tools/list", headers={"authorization": value})
        await answer.wait_complete()
    assert answer.status == 401
    assert "error" not in challenges(answer)["Bearer"]


@pytest.mark.parametrize("value", ["Bearer ada", "bearer ada", "BEARER  ada", "Bearer ada "])
async def test_name_of_the_scheme_minds_no_case(value):
    async with open_protected() as client:
        answer = client.ask("tools/list", headers={"authorization": value})
        assert (await answer.wait_complete()).status == 200


async def test_token_in_the_query_or_a_cookie_is_none():
    async with open_protected() as client:
        client.scope["query_string"] = b"access_token=ada"
        answer = client.ask("tools/list", headers={"cookie": "access_token=ada"})
        assert (await answer.wait_complete()).status == 401


# Order


@pytest.mark.req("R-514")
@pytest.mark.parametrize(
    ("method", "headers", "body"),
    [
        ("POST", {"content-type": "text/plain"}, b"no JSON"),
        ("POST", {}, b"{" * 10_000),
        ("POST", {"content-type": "application/json", "content-length": "99999999999"}, b""),
        ("POST", {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}, b"[]"),
        ("GET", {"accept": "text/html"}, b""),
        ("GET", {"mcp-session-id": "1"}, b""),
        ("DELETE", {"mcp-session-id": "1"}, b""),
        ("PUT", {}, b""),
        ("OPTIONS", {}, b""),
    ],
)
async def test_nothing_of_a_request_is_looked_at_before_its_token(method, headers, body):
    async with open_protected() as client:
        for name in ("unknown", None):
            given = {**headers, **({} if name is None else bearer(name))}
            answer = await client.start(method, given, body).wait_complete()
            assert answer.status == 401
            assert "www-authenticate" in answer.headers


@pytest.mark.req("R-514")
async def test_body_is_not_read_before_the_token_was_verified():
    async with open_protected() as client:
        # It would never come to its end.
        answer = client.start("POST", bearer("unknown"), chunks=[b"{", 1e9, b"}"])
        assert (await answer.wait_complete()).status == 401


@pytest.mark.req("R-514")
async def test_who_may_call_at_all_is_decided_before():
    verifier = Verifier()
    async with open_protected(make_server(verifier), host="127.0.0.1") as client:
        answer = client.ask("tools/list", headers={"host": "evil.example", **bearer("ada")})
        assert (await answer.wait_complete()).status == 421
        answer = client.ask("tools/list", headers={"origin": "https://evil.example"})
        assert (await answer.wait_complete()).status == 403
    assert verifier.asked == []


@pytest.mark.req("R-174", "R-522")
async def test_each_request_is_authenticated_by_itself():
    verifier = Verifier()
    async with open_protected(make_server(verifier)) as client:
        assert (await call(client, "whoami", "ada")).status == 200
        assert (await call(client, "whoami", None)).status == 401
        assert (await call(client, "whoami", "bob")).status == 200
        del verifier.known["ada"]  # revoked
        assert (await call(client, "whoami", "ada")).status == 401
    assert verifier.asked == ["ada", "bob", "ada"]


async def test_preflight_of_a_browser_needs_no_token_and_the_page_may_read_the_challenge():
    origin = {"origin": "https://app.example"}
    async with open_protected(cors_origins=["https://app.example"]) as client:
        asked = {
            **origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, dpop, mcp-method",
        }
        preflight = await client.start("OPTIONS", asked).wait_complete()
        refused = await client.ask("tools/list", headers=origin).wait_complete()
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-headers"] == "authorization, dpop, mcp-method"
    assert refused.status == 401
    assert refused.headers["access-control-allow-origin"] == "https://app.example"
    exposed = refused.headers["access-control-expose-headers"]
    assert {"WWW-Authenticate", "DPoP-Nonce"} <= set(exposed.split(", "))


# Whoever knows the tokens


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (VerifierUnavailable("the issuer does not answer"), 503, "cannot be verified now"),
        (ZeroDivisionError("SECRET"), 500, "verifier failed"),
    ],
)
async def test_that_nobody_can_say_makes_no_token_bad(error, status, told, caplog):
    verifier = Verifier(error=error)
    async with open_protected(make_server(verifier)) as client:
        answer = await call(client, "whoami", "ada")
        assert answer.status == status
        # A 401 would make the client throw its token away.
        assert "www-authenticate" not in answer.headers
        assert ("retry-after" in answer.headers) == (status == 503)
        assert told in answer.json()["error"]["message"]
        assert b"SECRET" not in answer.body
        verifier.error = None
        assert (await call(client, "whoami", "ada")).status == 200
    assert str(error) in caplog.text


async def test_log_is_not_filled_while_nobody_can_say(caplog):
    verifier = Verifier(error=VerifierUnavailable("the issuer does not answer"))
    async with open_protected(make_server(verifier)) as client:
        for _ in range(30):
            assert (await call(client, "whoami", "ada")).status == 503
    assert [each.levelno >= logging.WARNING for each in caplog.records].count(True) == 2


async def test_verifier_that_returns_something_else_lets_nobody_in(caplog):
    class Odd:
        async def verify_token(self, token):
            return {"client_id": "ada"}

    async with open_protected(make_server(Odd())) as client:
        assert (await call(client, "whoami", "ada")).status == 500
    assert "expected an AccessToken or None" in caplog.text


@pytest.mark.parametrize("expires", [HUGE, 1_700_000_000_000, 1e300, float("nan"), -1, "soon"])
async def test_time_that_is_none_keeps_no_token_good(expires, caplog):
    verifier = Verifier({"odd": token(expires_at=expires)})
    async with open_protected(make_server(verifier)) as client:
        assert (await call(client, "whoami", "odd")).status == 500
    assert "the expires_at of the token is no number of seconds since 1970" in caplog.text


async def test_guard_that_fails_refuses(caplog):
    class Broken(Guard):
        async def check(self, request):
            raise ZeroDivisionError("SECRET")

    request = HttpRequest(
        {"type": "http", "method": "POST", "path": "/", "headers": []}, trio.sleep_forever
    )
    refusal = await admit(Broken(), request)
    assert refusal is not None
    assert (refusal.status, refusal.error.message) == (500, "The server failed")
    assert "SECRET" in caplog.text


@pytest.mark.parametrize("expires", [HUGE, float("inf"), 253_402_300_800])
async def test_what_lasts_for_ever_is_a_time_that_can_be_waited_for(expires):
    assert 0 < seconds_left(Principal("ada", expires_at=expires)) < 1e12
    assert seconds_left(Principal("ada", expires_at=float("nan"))) == 0
    assert seconds_left(Principal("ada", expires_at=-(10**400))) == 0


@pytest.mark.req("R-440", "R-450")
@pytest.mark.parametrize(
    ("resource", "fits"),
    [
        (URL, True),
        (f"{URL}/", True),
        ("HTTPS://MCP.example:443/mcp", True),
        ("https://mcp.example", False),
        ("https://mcp.example/mcp2", False),
        ("https://mcp.example/mcp?x", False),
        ("https://mcp.example/mcp#x", False),
        ("http://mcp.example/mcp", False),
        ("https://user@mcp.example/mcp", False),
        ("https://mcp.example.evil.example/mcp", False),
        ("https://mcp.example\\mcp", False),
        ("", False),
    ],
)
async def test_identifiers_are_compared_as_web_addresses(resource, fits):
    verifier = Verifier({"t": token(resource=resource)})
    async with open_protected(make_server(verifier)) as client:
        assert (await call(client, "whoami", "t")).status == (200 if fits else 401)


@pytest.mark.parametrize(
    ("audience", "status"), [(URL, 200), ([URL, "urn:x"], 200), (["urn:x"], 401), (None, 401)]
)
async def test_claims_tell_for_whom_a_token_is_where_the_verifier_does_not(audience, status):
    verifier = Verifier({"t": token(resource=None, claims={"aud": audience})})
    async with open_protected(make_server(verifier)) as client:
        assert (await call(client, "whoami", "t")).status == status


async def test_audience_is_not_checked_where_the_verifier_does(caplog):
    caplog.set_level(logging.INFO)
    auth = settings(validate_token_resource=False)
    async with open_protected(make_server(auth=auth)) as client:
        assert (await call(client, "whoami", "foreign")).status == 200
        assert (await call(client, "whoami", "aimless")).status == 200
    assert "validate_token_resource" not in caplog.text


async def test_log_tells_an_operator_what_has_to_agree(caplog):
    caplog.set_level(logging.INFO)
    async with open_protected() as client:
        await call(client, "whoami", "foreign")
    assert "https://other.example/mcp" in caplog.text
    assert "validate_token_resource=False" in caplog.text


# Secrets


@pytest.mark.req("R-451", "R-516")
@pytest.mark.parametrize("scheme", ["Bearer", "Basic", "DPoP", "Bearer Bearer"])
async def test_no_answer_and_no_log_holds_the_token(scheme, caplog):
    caplog.set_level(logging.DEBUG)
    secret = base64.b64encode(b"a secret of somebody").decode()
    for known in ({}, {secret: TOKENS["foreign"]}, {secret: TOKENS["weak"]}):
        verifier = Verifier({name: each.evolve(token=secret) for name, each in known.items()})
        async with open_protected(make_server(verifier)) as client:
            answer = client.ask("tools/list", headers={"authorization": f"{scheme} {secret}"})
            await answer.wait_complete()
            verifier.error = ValueError("the verifier is out of order")
            failed = client.ask("tools/list", headers={"authorization": f"{scheme} {secret}"})
            await failed.wait_complete()
        for each in (answer, failed):
            assert each.status >= 400
            assert secret not in json.dumps(each.headers) + each.body.decode()
    assert secret not in caplog.text
    assert secret not in repr(TOKENS["ada"].evolve(token=secret, claims={"x": secret}))


# On all carriers, and in none


async def test_server_that_was_protected_is_so_however_its_application_is_made():
    from trio_mcp.transports import HttpApp, SseApp, StreamableHTTPSessionManager

    mcp = make_server()
    for app in (HttpApp(mcp), mcp.streamable_http_app(), HttpApp(mcp.lowlevel_server)):
        async with open_app(app) as client:
            assert (await client.ask("tools/list").wait_complete()).status == 401
    manager = StreamableHTTPSessionManager(mcp)
    async with trio.open_nursery() as nursery, manager.run():
        client = AsgiClient(manager.handle_request, nursery)
        assert (await client.ask("tools/list").wait_complete()).status == 401
    for app in (SseApp(mcp), mcp.sse_app()):
        async with open_app(app) as client:
            for path in ("/sse", "/messages/"):
                for method in ("GET", "POST"):
                    answer = client.start(method, {"accept": "*/*"}, path=path)
                    assert (await answer.wait_complete()).status == 401


async def test_custom_routes_are_open():
    mcp = make_server()

    @mcp.custom_route("/health", ["GET"])
    async def health(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with open_protected(mcp) as client:
        assert (await client.start("GET", path="/health").wait_complete()).status == 204


async def test_in_memory_nobody_needs_a_token():
    from trio_mcp import Client
    from trio_mcp.auth import get_access_token

    mcp = make_server()
    async with Client(mcp) as client:
        assert (await client.call_tool("in_thread", {})).structured_content == {"result": "nobody"}
        # Who runs a program may use it.
        assert (await client.call_tool("change", {})).structured_content == {"result": "changed"}
    assert get_access_token() is None


async def test_who_asks_one_server_in_a_handler_of_another_is_not_the_one_who_asked_that():
    from trio_mcp import Client

    inner, outer = make_server(), make_server()

    @outer.tool()
    async def relay() -> str:
        async with Client(inner) as client:
            found = await client.call_tool("in_thread", {})
        return found.structured_content["result"]

    async with open_protected(outer) as client:
        answer = await call(client, "relay", "ada")
        assert answer.json()["result"]["structuredContent"] == {"result": "nobody"}


# Settings


@pytest.mark.req("R-455", "R-518")
@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"issuer_url": "http://as.example"}, ValueError, "issuer_url: expected an https URL"),
        ({"issuer_url": "as.example"}, ValueError, "issuer_url"),
        ({"issuer_url": None}, TypeError, "issuer_url"),
        ({"resource_server_url": f"{URL}#x"}, ValueError, "resource_server_url"),
        ({"resource_server_url": 7}, TypeError, "resource_server_url"),
        ({"resource_server_url": None}, ValueError, "validate_token_resource=False"),
        ({"required_scopes": "use"}, TypeError, "required_scopes"),
        ({"required_scopes": ["a b"]}, ValueError, "required_scopes"),
        ({"required_scopes": ['a"b']}, ValueError, "required_scopes"),
        ({"required_scopes": ["offline_access"]}, ValueError, "required_scopes"),
        ({"scopes_supported": ["offline_access"]}, ValueError, "scopes_supported"),
        ({"authorization_servers": ["http://b.example"]}, ValueError, "authorization_servers"),
        ({"authorization_servers": "https://b.example"}, TypeError, "authorization_servers"),
        ({"scope_covers": "files"}, TypeError, "scope_covers"),
        ({"dpop": True}, TypeError, "dpop"),
        ({"client_registration_options": {}}, TypeError, "client_registration_options"),
        ({"validate_token_resource": "no"}, TypeError, "validate_token_resource"),
        ({"identity_assertion_enabled": None}, TypeError, "identity_assertion_enabled"),
        ({"resource_name": 1}, TypeError, "resource_name"),
    ],
)
def test_wrong_setting_is_refused_by_name(changes, error, told):
    with pytest.raises(error, match=told):
        settings(**changes)


def test_urls_of_this_machine_need_no_tls_and_objects_of_pydantic_are_read():
    class Url:
        def __str__(self):
            return "http://localhost:9000"

        unicode_string = __str__

    made = AuthSettings(issuer_url=Url(), resource_server_url="http://127.0.0.1:8000/mcp")
    assert made.issuer_url == "http://localhost:9000"
