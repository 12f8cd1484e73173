"""A token that is bound to a key is taken from nobody who does not prove to hold it."""

from __future__ import annotations

import time
from typing import Any

import pytest
import trio.testing

from trio_mcp.auth import DPoPSettings
from trio_mcp.auth._dpop_proof import DPoPKey
from trio_mcp.auth.server import _guard
from trio_mcp.auth.server._guard import TokenGuard
from trio_mcp.auth.server._nonces import Nonces
from trio_mcp.transports.http._guard import Protection

from ._protected import (
    METADATA_URL,
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

KEY, OTHER = DPoPKey.generate(), DPoPKey.generate()
NOW = 1_000_000.0


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def bound(key: DPoPKey, **changes: Any) -> Any:
    return token(claims={"cnf": {"jkt": key.thumbprint}}, **changes)


KNOWN = {
    "bound": bound(KEY),
    "foreign": bound(KEY, resource="https://other.example"),
    "free": token(),
    "weak": bound(KEY, scopes=[]),
    "other-key": bound(OTHER),
    "of-bob": bound(KEY, subject="bob"),
}


def protected(now: list[float] | None = None, **dpop: Any):
    """Give the options of an application whose clock is ours."""
    times = now or [NOW]
    auth = settings(dpop=DPoPSettings(**dpop))
    guard = TokenGuard(auth, Verifier(dict(KNOWN)), METADATA_URL, lambda: times[0])
    mcp = make_server()
    mcp.lowlevel_server._protection = Protection(guard)
    return open_protected(mcp)


def proven(name: str, key: DPoPKey = KEY, *, scheme: str = "DPoP", **changes: Any):
    given = {"method": "POST", "url": URL, "now": NOW, "access_token": name, **changes}
    return {"authorization": f"{scheme} {name}", "dpop": key.proof(**given)}


async def ask(client, headers):
    params = {"name": "whoami", "arguments": {}}
    return await client.ask("tools/call", params, headers=headers).wait_complete()


@pytest.mark.req("R-727")
async def test_whoever_proves_to_hold_the_key_is_served():
    async with protected() as client:
        assert (await ask(client, proven("bound"))).status == 200
        assert (await ask(client, proven("bound", scheme="dpop"))).status == 200
        # A token that is bound to nothing is taken from its bearer, still.
        assert (await ask(client, bearer("free"))).status == 200
        refused = await ask(client, proven("weak"))
        assert refused.status == 403
        assert challenges(refused)["DPoP"]["error"] == "insufficient_scope"


@pytest.mark.req("R-727", "R-728")
@pytest.mark.parametrize(
    ("headers", "error"),
    [
        pytest.param({"authorization": "DPoP bound"}, "invalid_dpop_proof", id="no proof"),
        pytest.param({**proven("bound"), "dpop": "x"}, "invalid_dpop_proof", id="no JWT"),
        pytest.param(proven("bound", OTHER), "invalid_token", id="another key"),
        pytest.param(proven("bound", method="GET"), "invalid_dpop_proof", id="method"),
        pytest.param(proven("bound", url=URL + "/x"), "invalid_dpop_proof", id="URL"),
        pytest.param(
            proven("bound", url="http://127.0.0.1:8000/mcp"), "invalid_dpop_proof", id="inner URL"
        ),
        pytest.param(proven("bound", now=NOW - 301), "invalid_dpop_proof", id="old"),
        pytest.param(proven("bound", now=NOW + 301), "invalid_dpop_proof", id="of the future"),
        pytest.param(proven("bound", access_token="x"), "invalid_dpop_proof", id="other token"),
        pytest.param(proven("bound", access_token=None), "invalid_dpop_proof", id="no token"),
        pytest.param(proven("free"), "invalid_token", id="not bound"),
        pytest.param(proven("foreign"), "invalid_token", id="foreign audience"),
        pytest.param(proven("unknown"), "invalid_token", id="unknown"),
        pytest.param(bearer("bound"), "invalid_token", id="as a bearer's"),
    ],
)
async def test_whoever_proves_nothing_is_told_what_is_wrong(headers, error):
    async with protected() as client:
        answer = await ask(client, headers)
    assert answer.status == 401
    told = challenges(answer)
    assert told["DPoP"]["error"] == error
    assert "ES256" in told["DPoP"]["algs"].split()
    assert not {"none", "HS256"} & set(told["DPoP"]["algs"].split())
    assert told["DPoP"]["resource_metadata"] == METADATA_URL
    # What is wrong with a proof is nothing of the other scheme.
    assert ("error" in told["Bearer"]) == (error == "invalid_token")


@pytest.mark.req("R-727")
async def test_proof_counts_once():
    async with protected() as client:
        headers = proven("bound")
        assert (await ask(client, headers)).status == 200
        again = await ask(client, headers)
        assert again.status == 401
        assert "used before" in challenges(again)["DPoP"]["error_description"]
        assert (await ask(client, proven("bound"))).status == 200


@pytest.mark.req("R-727")
async def test_proofs_of_one_user_shut_out_nobody_else(monkeypatch):
    monkeypatch.setattr(_guard, "MAX_PROOFS", 20)
    async with protected() as client:
        for key, name in ((KEY, "bound"), (OTHER, "other-key")):
            for _ in range(2):
                assert (await ask(client, proven(name, key))).status == 200
        for key, name in ((KEY, "bound"), (OTHER, "other-key")):
            refused = await ask(client, proven(name, key))
            assert refused.status == 429
            assert "too many proofs" in refused.json()["error"]["message"]
            assert "retry-after" in refused.headers
        assert (await ask(client, proven("of-bob"))).status == 200


CERTIFICATE = {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}


@pytest.mark.req("R-727")
@pytest.mark.parametrize(
    "confirmation",
    [
        CERTIFICATE,
        {"jkt": KEY.thumbprint, **CERTIFICATE},
        {"jkt": 5},
        {"jkt": ""},
        {"jwk": {"kty": "EC"}},
        {"kid": "1"},
        {},
        [],
        "x",
        False,
    ],
)
@pytest.mark.parametrize("takes_proofs", [True, False])
async def test_token_that_is_bound_to_something_else_is_taken_from_nobody(
    confirmation, takes_proofs
):
    verifier = Verifier({"odd": token(claims={"cnf": confirmation})})
    auth = settings(dpop=DPoPSettings() if takes_proofs else None)
    async with open_protected(make_server(verifier, auth)) as client:
        for headers in (bearer("odd"), proven("odd", now=time.time())):
            assert (await ask(client, headers)).status == 401


async def test_two_proofs_are_none():
    async with protected() as client:
        headers = proven("bound")
        client.scope["headers"] = [
            (b"host", b"127.0.0.1"),
            (b"authorization", headers["authorization"].encode()),
            (b"dpop", headers["dpop"].encode()),
            (b"dpop", headers["dpop"].encode()),
        ]
        answer = await ask(client, {})
    assert challenges(answer)["DPoP"]["error"] == "invalid_dpop_proof"


async def test_bearers_may_be_refused_altogether():
    async with protected(required=True, algorithms=["ES256"]) as client:
        nothing = await ask(client, {})
        assert challenges(nothing) == {
            "DPoP": {"resource_metadata": METADATA_URL, "scope": "use", "algs": "ES256"}
        }
        assert (await ask(client, bearer("free"))).status == 401
        assert (await ask(client, proven("bound"))).status == 200


@pytest.mark.req("R-727")
async def test_proof_may_have_to_hold_a_nonce():
    now = [NOW]
    async with protected(now, nonces=True) as client:
        answer = await ask(client, proven("bound"))
        assert answer.status == 401
        assert challenges(answer)["DPoP"]["error"] == "use_dpop_nonce"
        nonce = answer.headers["dpop-nonce"]
        assert (await ask(client, proven("bound", nonce=nonce))).status == 200
        assert (await ask(client, proven("bound", nonce=nonce))).status == 200
        for other in ("made up", Nonces().make(NOW), "é", ""):
            answer = await ask(client, proven("bound", nonce=other))
            assert challenges(answer)["DPoP"]["error"] == "use_dpop_nonce"
        now[0] += 300
        answer = await ask(client, proven("bound", nonce=nonce, now=now[0]))
        assert answer.headers["dpop-nonce"] != nonce


async def test_server_without_a_name_goes_by_what_requests_say():
    auth = settings(dpop=DPoPSettings(), resource_server_url=None, validate_token_resource=False)
    now = time.time()
    async with open_protected(make_server(Verifier(dict(KNOWN)), auth)) as client:
        own = "http://127.0.0.1:8000/mcp"
        assert (await ask(client, proven("bound", url=own, now=now))).status == 200
        assert (await ask(client, proven("bound", url=URL, now=now))).status == 401


def test_processes_may_share_the_key_of_nonces():
    key = b"k" * 32
    assert Nonces(key).is_good(Nonces(key).make(NOW), NOW + 299)
    assert not Nonces(key).is_good(Nonces(key).make(NOW), NOW - 300)
    assert not Nonces(b"x" * 32).is_good(Nonces(key).make(NOW), NOW)


async def test_without_the_option_bound_tokens_are_not_taken_at_all():
    async with open_protected(make_server(Verifier(dict(KNOWN)))) as client:
        answer = await ask(client, proven("bound"))
        assert set(challenges(answer)) == {"Bearer"}
        # Whoever stole one would send it like this.
        assert (await call(client, "whoami", "bound")).status == 401
        assert (await call(client, "whoami", "free")).status == 200


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"algorithms": ["HS256"]}, ValueError),
        ({"algorithms": ["none"]}, ValueError),
        ({"algorithms": "ES256"}, TypeError),
        ({"required": 1}, TypeError),
        ({"nonces": None}, TypeError),
        ({"nonce_key": b"short"}, ValueError),
        ({"nonce_key": "k" * 32}, TypeError),
    ],
)
def test_wrong_option_is_refused_by_name(given, error):
    (name,) = given
    with pytest.raises(error, match=name):
        DPoPSettings(**given)
    assert "kkkk" not in repr(DPoPSettings(nonce_key=b"k" * 32))
