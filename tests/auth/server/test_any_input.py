"""Whatever comes to an authorization server is answered with an error of OAuth, or a page."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.auth.server._authorization_server import authorization_server

NAMES = st.sampled_from(
    [
        "client_id",
        "client_secret",
        "client_assertion",
        "client_assertion_type",
        "code",
        "scope",
        "grant_type",
        "redirect_uri",
        "refresh_token",
        "resource",
        "response_type",
        "state",
        "token",
        "request",
        "answer",
    ]
)
VALUES = st.one_of(
    st.sampled_from(["public", "basic", "post", "code", "authorization_code", "refresh_token"]),
    st.text(max_size=20),
)
FORM = st.lists(st.tuples(NAMES, VALUES), max_size=8)
HEADER = st.one_of(st.none(), st.binary(max_size=30).map(lambda raw: b"Basic " + raw))


@given(
    path=st.sampled_from(["/token", "/revoke", "/authorize", "/login"]), form=FORM, header=HEADER
)
def test_form_is_answered(path, form, header):
    async def send():
        async with authorization_server() as server:
            headers = {} if header is None else {b"authorization": header.replace(b"\n", b" ")}
            pairs = [(name, quote(value, safe="%", errors="replace")) for name, value in form]
            body = "&".join(f"{name}={value}" for name, value in pairs).encode()
            headers[b"content-type"] = b"application/x-www-form-urlencoded"
            return await server.post(path, body, headers)

    response = trio.run(send)
    assert response.status_code in {200, 303, 400, 401, 403, 404}
    if response.status_code in {400, 401} and path in {"/token", "/revoke"}:
        assert response.json()["error"].replace("_", "").isalpha()


def _encoded(value: str) -> str:
    from urllib.parse import quote

    return quote(value, safe="%", errors="replace")


@given(body=st.binary(max_size=200))
@pytest.mark.parametrize("path", ["/token", "/register", "/authorize"])
def test_bytes_are_answered(path, body):
    async def send():
        async with authorization_server() as server:
            kind = "json" if path == "/register" else "x-www-form-urlencoded"
            return await server.post(path, body, {"content-type": f"application/{kind}"})

    assert trio.run(send).status_code in {400, 401}
