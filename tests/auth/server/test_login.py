"""The page where people log in: for whom it is, what it shows, and what it takes."""

from __future__ import annotations

import logging

import httpx
import pytest
import trio

from tests.auth.server._authorization_server import (
    ISSUER,
    PASSWORD,
    PUBLIC,
    REDIRECT,
    RESOURCE,
    Clock,
    answer_in,
    authorization_server,
    form_in,
)
from trio_mcp.auth import (
    ClientMetadataDocuments,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
)
from trio_mcp.auth.server import _login

LOOPBACK = PUBLIC.evolve(client_id="loopback", redirect_uris=["http://127.0.0.1:53682/callback"])
RUDE = PUBLIC.evolve(
    client_id="rude",
    client_name="<script>alert(1)</script>\u202emoc.elpmaxe" + "x" * 1000,
    scope="read <img/src=x>",
)
CLIENTS = [PUBLIC, LOOPBACK, RUDE]
USERS = {"alice": PASSWORD, "nobody": ""}


def server_with_page(users=USERS, **options):
    provider = InMemoryOAuthProvider(users, clients=CLIENTS, **options)
    return authorization_server(provider)


async def open_page(server, client=PUBLIC, **changes):
    response = await server.authorize(client, **changes)
    assert response.headers["location"].startswith(f"{ISSUER}/login?request=")
    page = await server.http.get(response.headers["location"])
    assert page.status_code == 200
    return page


async def send(server, page, headers=None, **changes):
    form = {
        **form_in(page),
        "user": "alice",
        "password": PASSWORD,
        "answer": "allow",
        **changes,
    }
    given = {name: value for name, value in form.items() if value is not None}
    return await server.http.post("/login", data=given, headers=headers or {})


@pytest.mark.req("R-415", "R-430")
async def test_person_who_allows_is_sent_back_with_a_code():
    async with server_with_page() as server:
        response = await send(server, await open_page(server, state="s&1"))
        assert response.status_code == 303
        answer = answer_in(response)
        assert answer.keys() == {"code", "state", "iss"}
        assert (answer["state"], answer["iss"]) == ("s&1", ISSUER)
        tokens = (await server.redeem(answer["code"])).json()
        found = await server.provider.load_access_token(tokens["access_token"])
        assert (found.subject, found.scopes, found.resource) == ("alice", ["read"], RESOURCE)


@pytest.mark.req("R-430")
@pytest.mark.parametrize("said", ["deny", "Allow", "", None])
async def test_person_who_does_not_is_sent_back_without(said):
    async with server_with_page() as server:
        page = await open_page(server)
        answer = answer_in(await send(server, page, answer=said, user="", password=""))
        assert answer["error"] == "access_denied"
        assert (answer["state"], answer["iss"]) == ("xyz", ISSUER)
        assert "code" not in answer
        # Which is the answer.
        assert (await send(server, page)).status_code == 400


@pytest.mark.req("R-511")
async def test_page_shows_who_asks_what_for_and_where_the_answer_goes():
    async with server_with_page() as server:
        text = (await open_page(server, scope="read write")).text
        for shown in ("Notes", "client.example.com", RESOURCE, "read", "write"):
            assert f"<dd>{shown}</dd>" in text
        assert "on this computer" not in text


@pytest.mark.req("R-512")
async def test_page_warns_when_the_answer_goes_to_a_program_on_this_computer():
    async with server_with_page() as server:
        text = (await open_page(server, LOOPBACK)).text
        assert "<dd>127.0.0.1:53682</dd>" in text
        assert "program on this computer" in text


@pytest.mark.req("R-511")
async def test_page_shows_who_publishes_a_client_that_calls_itself_something():
    url = "https://publisher.example.net/client.json"
    document = {"client_id": url, "client_name": "Bank", "redirect_uris": [REDIRECT]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=document))
    async with httpx.AsyncClient(transport=transport) as http:
        documents = ClientMetadataDocuments(http_client=http)
        async with server_with_page(client_documents=documents) as server:
            client = PUBLIC.evolve(client_id=url)
            assert "<dd>publisher.example.net</dd>" in (await open_page(server, client)).text


async def test_what_clients_call_themselves_is_no_html_and_turns_no_text_around():
    provider = InMemoryOAuthProvider(USERS, clients=CLIENTS)
    options = ClientRegistrationOptions(valid_scopes=["read", "<img/src=x>"])
    async with authorization_server(provider, registration=options) as server:
        text = (await open_page(server, RUDE, scope="read <img/src=x>")).text
        assert "<script>" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        assert f"{'x' * 100}…</dd>" in text
        assert len(text) < 4500


@pytest.mark.req("R-511")
async def test_page_hides_no_scope_behind_others():
    scopes = [f"profile:basic:{number}" for number in range(99)] + ["admin:delete-everything"]
    client = PUBLIC.evolve(scope=" ".join(scopes))
    provider = InMemoryOAuthProvider(USERS, clients=[client])
    options = ClientRegistrationOptions()
    async with authorization_server(provider, registration=options) as server:
        text = (await open_page(server, client, scope=client.scope)).text
        assert [each for each in scopes if f"<dd>{each}</dd>" not in text] == []


@pytest.mark.req("R-511")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://short.example/cb", "short.example"),
        (f"https://{'a.' * 25}example/cb", f"{'a.' * 25}example"),
        (
            f"https://login.bank.example.{'a' * 60}.{'b' * 60}.evil.example:444/cb",
            f"…{'b' * 47}.evil.example:444",
        ),
    ],
)
async def test_page_shows_the_end_of_each_host_which_says_whose_it_is(url, shown):
    published = url.replace("/cb", "/client.json")
    document = {"client_id": published, "client_name": "Bank", "redirect_uris": [url]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=document))
    async with httpx.AsyncClient(transport=transport) as http:
        documents = ClientMetadataDocuments(http_client=http)
        async with server_with_page(client_documents=documents) as server:
            client = PUBLIC.evolve(client_id=published, redirect_uris=[url])
            text = (await open_page(server, client, scope=None)).text
    assert f"<dt>The answer goes to</dt><dd>{shown}</dd>" in text
    assert f"<dt>Published by</dt><dd>{shown}</dd>" in text


async def test_page_can_neither_be_framed_nor_kept_nor_run_code():
    async with server_with_page() as server:
        headers = (await open_page(server)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("issuer", "name", "attributes"),
    [
        (ISSUER, "__Host-trio_mcp_login", {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"}),
        ("http://127.0.0.1:8000", "trio_mcp_login", {"HttpOnly", "SameSite=Lax", "Path=/"}),
    ],
)
async def test_cookie_is_for_this_server_alone(issuer, name, attributes):
    provider = InMemoryOAuthProvider(USERS, clients=CLIENTS)
    async with authorization_server(provider, issuer=issuer) as server:
        response = await server.authorize()
        page = await server.http.get(response.headers["location"])
        pair, *found = page.headers["set-cookie"].split("; ")
        assert pair.startswith(f"{name}=")
        assert set(found) == attributes | {"Max-Age=600"}


async def test_pages_of_one_browser_share_its_cookie():
    async with server_with_page() as server:
        first, second = await open_page(server), await open_page(server)
        assert second.headers["set-cookie"] == first.headers["set-cookie"]
        assert answer_in(await send(server, first))["code"]
        assert answer_in(await send(server, second))["code"]


# Forms of others


@pytest.mark.parametrize(
    "changes", [{"token": None}, {"token": "wrong"}, {"token": "ü"}, {"token": "0" * 64}]
)
@pytest.mark.parametrize("said", ["allow", "deny"])
async def test_form_without_the_right_code_does_nothing(changes, said):
    async with server_with_page() as server:
        page = await open_page(server)
        response = await send(server, page, answer=said, **changes)
        assert response.status_code == 403
        assert "location" not in response.headers
        assert answer_in(await send(server, page))["code"]


async def test_form_of_another_browser_does_nothing():
    async with server_with_page() as server:
        page = await open_page(server)
        own = dict(server.http.cookies)
        server.http.cookies.clear()
        assert (await send(server, page)).status_code == 403
        other = await open_page(server)
        assert (await send(server, page)).status_code == 403
        mixed = await send(server, other, token=form_in(page)["token"])
        assert mixed.status_code == 403
        server.http.cookies.clear()
        server.http.cookies.update(own)
        assert answer_in(await send(server, page))["code"]


@pytest.mark.parametrize("value", ["", "short", "x" * 44, "!" * 43])
async def test_cookie_that_was_not_made_here_is_none(value):
    async with server_with_page() as server:
        page = await open_page(server)
        server.http.cookies.clear()
        headers = {"cookie": f"a=b; __Host-trio_mcp_login={value}"}
        assert (await send(server, page, headers)).status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://auth.example.com"])
async def test_form_from_another_origin_does_nothing(origin):
    async with server_with_page() as server:
        page = await open_page(server)
        assert (await send(server, page, {"origin": origin})).status_code == 403
        assert answer_in(await send(server, page, {"origin": ISSUER.upper()}))["code"]


async def test_browser_leaves_out_the_port_that_the_issuer_names():
    provider = InMemoryOAuthProvider(USERS, clients=CLIENTS)
    async with authorization_server(provider, issuer=f"{ISSUER}:443") as server:
        page = await server.http.get((await server.authorize()).headers["location"])
        response = await send(server, page, {"origin": ISSUER})
        assert answer_in(response)["iss"] == f"{ISSUER}:443"


@pytest.mark.parametrize("query", ["", "?request=unknown", "?request=", "?request=a&request=b"])
async def test_page_that_nobody_was_sent_to_shows_nothing(query):
    async with server_with_page() as server:
        response = await server.http.get(f"/login{query}")
        assert response.status_code == 400
        assert "<form" not in response.text
        assert response.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT"])
async def test_page_has_no_other_methods(method):
    async with server_with_page() as server:
        assert (await server.http.request(method, "/login")).status_code == 405


# Passwords


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("alice", "wrong"),
        ("alice", ""),
        ("alice", PASSWORD.upper()),
        ("bob", PASSWORD),
        ("nobody", ""),
        ("", ""),
        ("älice", "ü"),
    ],
)
async def test_wrong_name_and_wrong_password_look_alike(user, password):
    async with server_with_page() as server:
        page = await open_page(server)
        response = await send(server, page, user=user, password=password)
        assert response.status_code == 400
        assert "The name or the password is wrong" in response.text
        assert "location" not in response.headers
        assert answer_in(await send(server, page))["code"]


async def test_who_guesses_has_to_begin_again():
    async with server_with_page() as server:
        page = await open_page(server)
        for _ in range(_login.MAX_ATTEMPTS - 1):
            assert (await send(server, page, password="wrong")).status_code == 400
        answer = answer_in(await send(server, page, password="wrong"))
        assert (answer["error"], answer["iss"]) == ("access_denied", ISSUER)
        assert (await send(server, page)).status_code == 400


async def test_many_guesses_at_the_same_time_are_not_more():
    waiting, asked = trio.Event(), []

    async def slow(user, _password):
        asked.append(user)
        await waiting.wait()

    async with server_with_page(slow) as server:
        page = await open_page(server)
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(lambda name: send(server, page, user=name), f"user{number}")
            await trio.testing.wait_all_tasks_blocked()
            assert len(asked) == _login.MAX_ATTEMPTS
            waiting.set()


async def test_who_guesses_at_one_name_has_to_wait(monkeypatch):
    monkeypatch.setattr(_login, "MAX_ATTEMPTS", 1000)
    clock = Clock()
    async with server_with_page({**USERS, "bob": "pw"}, now=clock) as server:
        page = await open_page(server)
        for _ in range(_login.MAX_FAILURES):
            await send(server, page, password="wrong")
        assert (await send(server, page)).status_code == 400
        other = await open_page(server)
        assert answer_in(await send(server, other, user="bob", password="pw"))["code"]
        clock.now += _login.FAILURE_SECONDS
        assert answer_in(await send(server, await open_page(server)))["code"]


async def test_own_check_says_who_somebody_is():
    async def check(user, password):
        await trio.lowlevel.checkpoint()
        return f"id-of-{user}" if password == "open" else None

    async with server_with_page(check) as server:
        page = await open_page(server)
        assert (await send(server, page, password="shut")).status_code == 400
        answer = answer_in(await send(server, page, user="carol", password="open"))
        tokens = (await server.redeem(answer["code"])).json()
        found = await server.provider.load_access_token(tokens["access_token"])
        assert found.subject == "id-of-carol"


@pytest.mark.parametrize(
    "check", [lambda _user, _password: "alice", None], ids=["plain", "no text"]
)
async def test_own_check_that_is_none_is_a_fault_of_the_server(check, caplog):
    async def seven(_user, _password):
        await trio.lowlevel.checkpoint()
        return 7

    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")
    async with server_with_page(check or seven) as server:
        response = await send(server, await open_page(server))
        assert response.status_code == 503
        assert "Nobody can log in now" in response.text


async def test_two_answers_at_the_same_time_are_one():
    waiting = trio.Event()

    async def slow(user, _password):
        await waiting.wait()
        return user

    async with server_with_page(slow) as server:
        page = await open_page(server)
        answers = []

        async def answer():
            answers.append(await send(server, page))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            nursery.start_soon(answer)
            await trio.testing.wait_all_tasks_blocked()
            waiting.set()
        assert sorted(each.status_code for each in answers) == [303, 400]


# Bounds


async def test_page_is_of_no_use_when_it_was_open_for_too_long():
    clock = Clock()
    async with server_with_page(now=clock) as server:
        page = await open_page(server)
        clock.now += _login.PENDING_SECONDS
        assert (await send(server, page)).status_code == 400


@pytest.mark.parametrize("said", [None, "deny"])
async def test_strangers_who_ask_end_no_page_that_is_open(said, monkeypatch):
    monkeypatch.setattr(_login, "MAX_REMEMBERED", 3)
    async with server_with_page() as server:
        page = await open_page(server)
        for _ in range(10):
            other = await open_page(server)
            if said is not None:
                await send(server, other, answer=said)
        assert answer_in(await send(server, page))["code"]


async def test_for_requests_that_nobody_answers_nothing_is_kept():
    async with server_with_page() as server:
        before = _sizes(server.provider._login)
        for _ in range(3):
            await open_page(server, state="s" * 1000)
        assert _sizes(server.provider._login) == before


def _sizes(page):
    return {name: len(each) for name, each in vars(page).items() if hasattr(each, "__len__")}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: f"{'B' if text[0] == 'A' else 'A'}{text[1:]}",
        lambda text: f"{text}AAAA",
        lambda text: f"{text}=",
    ],
)
async def test_request_that_was_not_written_here_is_none(change):
    async with server_with_page() as server:
        page = await open_page(server)
        sealed = form_in(page)["request"]
        assert (await send(server, page, request=change(sealed))).status_code == 400
        assert (await server.http.get(f"/login?request={change(sealed)}")).status_code == 400
    async with server_with_page() as another:
        assert (await another.http.get(f"/login?request={sealed}")).status_code == 400


# Guesses, and what is none


@pytest.mark.parametrize(
    "spelling",
    ["ALICE", " alice ", "a l i c e", "\uff41lice", "\u00e1lice", "al\u200bice", "al\u00adice"],
)
async def test_spellings_of_one_name_count_together(spelling, monkeypatch):
    monkeypatch.setattr(_login, "MAX_ATTEMPTS", 1000)
    asked = []

    async def check(user, _password):
        await trio.lowlevel.checkpoint()
        asked.append(user)

    async with server_with_page(check) as server:
        page = await open_page(server)
        for number in range(_login.MAX_FAILURES + 5):
            await send(server, page, user=spelling if number % 2 else "alice")
        assert len(asked) == _login.MAX_FAILURES
        await send(server, page, user="alicia")
        assert asked[-1] == "alicia"


async def test_directory_that_is_away_locks_nobody_out(caplog):
    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")
    is_away = True

    async def check(user, password):
        await trio.lowlevel.checkpoint()
        if is_away:
            raise ConnectionError("the directory at s3cret is away")
        return user if password == PASSWORD else None

    async with server_with_page(check) as server:
        page = await open_page(server)
        for _ in range(_login.MAX_FAILURES + _login.MAX_ATTEMPTS):
            response = await send(server, page)
            assert response.status_code == 503
            assert "Nobody can log in now" in response.text
            assert "s3cret" not in response.text
        is_away = False
        assert answer_in(await send(server, page))["code"]


async def test_wrong_passwords_are_counted_though_the_directory_is_away_meanwhile(
    caplog, monkeypatch
):
    caplog.set_level(logging.CRITICAL, "trio_mcp.auth")
    monkeypatch.setattr(_login, "MAX_ATTEMPTS", 1000)
    asked = []

    async def check(_user, password):
        await trio.lowlevel.checkpoint()
        asked.append(password)
        if password == "away":
            raise ConnectionError

    async with server_with_page(check) as server:
        page = await open_page(server)
        for _ in range(_login.MAX_FAILURES + 5):
            await send(server, page, password="wrong")
            await send(server, page, password="away")
        assert asked.count("wrong") == _login.MAX_FAILURES


async def test_log_holds_neither_passwords_nor_codes(caplog):
    caplog.set_level(logging.DEBUG, "trio_mcp.auth")
    async with server_with_page() as server:
        page = await open_page(server)
        await send(server, page, password="wr0ng")
        await send(server, page, token="t0ken")
        answer = answer_in(await send(server, page))
    for secret in ("wr0ng", PASSWORD, "t0ken", form_in(page)["token"], answer["code"]):
        assert secret not in caplog.text


async def test_page_is_below_an_issuer_with_a_path():
    issuer = f"{ISSUER}/tenant"
    provider = InMemoryOAuthProvider(USERS, clients=CLIENTS)
    async with authorization_server(provider, issuer=issuer) as server:
        response = await server.authorize()
        location = response.headers["location"]
        assert location.startswith(f"{issuer}/login?request=")
        page = await server.http.get(location)
        given = {**form_in(page), "user": "alice", "password": PASSWORD, "answer": "allow"}
        answer = answer_in(await server.http.post(f"{issuer}/login", data=given))
        assert answer["iss"] == issuer
