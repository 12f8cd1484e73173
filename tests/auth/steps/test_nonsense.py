"""Whatever servers, stores and people answer, a flow ends: with a token, or in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trio_mcp.auth import (
    AuthorizationCodeResult,
    DPoPKey,
    OAuthClientInformationFull,
    OAuthToken,
    ProtectedResourceMetadata,
)
from trio_mcp.auth._challenges import parse_challenges
from trio_mcp.auth._identifiers import (
    asm_urls,
    canonical_resource,
    is_parent_resource,
    is_secure_url,
    prm_urls,
    split_url,
)
from trio_mcp.auth._memory import (
    ClientCredentialsGrant,
    CodeGrant,
    IdentityAssertionGrant,
    WorkloadGrant,
)
from trio_mcp.auth._step_types import AuthorizationRefused, Stored
from trio_mcp.errors import OAuthFlowError

from .conftest import World, answer

KEY = DPoPKey.generate()

ODD = st.sampled_from([
    None, "", "x", 0, -1, 10**30, True, [], {}, [None], ["S256"], "https://as.example", "https://h.example/mcp",
    "http://as.example", "javascript:alert(1)", "\r\nX: y", "\ud800", "ä", "use_dpop_nonce", "invalid_grant",
])  # fmt: skip
STATUS = st.sampled_from([200, 200, 200, 201, 204, 301, 400, 400, 401, 403, 404, 429, 500, 503])
BODY = st.sampled_from([b"", b"<html>", b"[]", b"null", b'{"a"', b"\xff\xfe", b"[" * 300])


@st.composite
def spoiled(draw, found):
    """Take an answer that would have been right, and spoil it, or not."""
    match draw(st.integers(0, 5)):
        case 0:
            return answer(draw(STATUS), draw(BODY))
        case 1 | 2:
            body = json.loads(found.content or b"{}")
            names = st.sampled_from([*body, "error", "error_description"])
            for name in draw(st.lists(names, min_size=1, max_size=2)):
                body[name] = draw(ODD)
            return answer(
                draw(STATUS),
                json.dumps(body).encode("utf-8"),
                DPoP_Nonce=draw(st.sampled_from(["n", "", "a b"])),
            )
        case _:
            return found


class Nonsense(World):
    """A world in which anything may be answered."""

    data: st.DataObject

    def respond(self, step):
        assert len(self.steps) < 200
        assert is_secure_url(step.url)
        return self.data.draw(spoiled(super().respond(step)))


def person(world, step):
    draw = world.data.draw
    state = draw(st.sampled_from([step.state, step.state, step.state, None, "x"]))
    iss = draw(st.sampled_from([None, None, "https://as.example", "", "x"]))
    if draw(st.booleans()):
        return AuthorizationCodeResult(
            code=draw(st.sampled_from(["the-code", ""])), state=state, iss=iss
        )
    return AuthorizationRefused(error="denied", error_description=step.state, state=state, iss=iss)


@settings(max_examples=150)
@given(st.data())
def test_flow_ends_in_one_way_or_the_other(data):
    world = Nonsense()
    world.data = data
    world.person = lambda step: person(world, step)
    world.assertions = lambda step: data.draw(st.sampled_from(["secret-assertion", "", None, 5]))
    grants = [CodeGrant(), ClientCredentialsGrant(), IdentityAssertionGrant(), WorkloadGrant()]
    world.options |= {
        "grant": data.draw(st.sampled_from(grants)),
        "dpop": data.draw(st.sampled_from([None, KEY])),
        "signs_assertions": data.draw(st.booleans()),
        "client_info": data.draw(
            st.sampled_from(
                [None, OAuthClientInformationFull(client_id="c", client_secret="s3cret-word")]
            )
        ),
    }
    world.stored = Stored(
        tokens=data.draw(
            st.sampled_from([
                None,
                OAuthToken(access_token="kept-token", refresh_token="kept-refresh", extra={"issuer": "https://as.example"}),
                OAuthToken(access_token="kept-token", extra={"issuer": 5, "expires_at": []}),
                OAuthToken(access_token="kept-token", extra={"expires_at": 10**400}),
            ])
        )
    )  # fmt: skip
    statuses = st.sampled_from([200, 401, 401, 403, 500])
    headers = st.sampled_from([
        "", "Bearer", 'Bearer error="insufficient_scope", scope="a"', 'DPoP error="use_dpop_nonce"', '"',
    ])  # fmt: skip

    def serve(sent):
        assert len(world.steps) < 200
        return answer(data.draw(statuses), WWW_Authenticate=data.draw(headers), DPoP_Nonce="r")

    try:
        world.call(serve)
    except OAuthFlowError as exc:
        told = str(exc)
        for secret in (
            "the-code",
            "s3cret-word",
            "kept-token",
            "kept-refresh",
            "secret-assertion",
        ):
            assert secret not in told
        assert told[0].isupper()
        assert told.isprintable()
        assert len(told) < 2000


@pytest.mark.parametrize(
    "read",
    [
        lambda text: parse_challenges([text]),
        lambda text: is_parent_resource(text, "https://h/mcp"),
        lambda text: is_parent_resource("https://h/mcp", text),
        is_secure_url,
    ],
)
@settings(max_examples=200)
@given(text=st.one_of(st.text(), st.text(alphabet='a=" ,\\/:@[]?#.%é')))
def test_any_text_is_read(read, text):
    read(text)
    read(f"https://{text}")


@settings(max_examples=200)
@given(text=st.text(alphabet="aA/:@[]?#.%1 ", max_size=20))
def test_url_has_an_identifier_or_is_none(text):
    url = f"https://{text}"
    try:
        canonical = canonical_resource(url)
    except ValueError:
        with pytest.raises(ValueError, match="Expected an http or https URL"):
            prm_urls(None, url)
        with pytest.raises(ValueError, match="Expected an http or https URL"):
            asm_urls(url)
        return
    assert canonical_resource(canonical) == canonical
    assert "#" not in canonical
    parts = split_url(canonical)
    assert parts is not None
    assert not parts.has_userinfo
    assert is_parent_resource(canonical, canonical)
    found = ProtectedResourceMetadata(resource=canonical, authorization_servers=["x"])
    assert found.to_json()["resource"] == canonical
