"""Clients that are known by a URL: what is fetched, what is believed, how long it is kept."""

from __future__ import annotations

import logging
from contextlib import suppress

import httpx
import pytest
import trio
import trio.testing

from tests.auth._resolver import Resolver
from tests.auth.server._authorization_server import (
    PUBLIC,
    REDIRECT,
    Clock,
    answer_in,
    authorization_server,
    error_of,
    told_on_page,
)
from trio_mcp.auth import ClientMetadataDocuments, InMemoryOAuthProvider
from trio_mcp.auth._jwt import generate_key, public_jwk
from trio_mcp.auth.server import _documents
from trio_mcp.auth.server._answers import RefusedRequest

URL = "https://client.example.com/client.json"
DOCUMENT = {"client_id": URL, "client_name": "Notes", "redirect_uris": [REDIRECT]}
KEY = generate_key("ES256")
KEYS = {"keys": [public_jwk(KEY)]}
CLIENT = PUBLIC.evolve(client_id=URL)


class Web:
    """Whatever is published, and what was asked for."""

    def __init__(self, document=DOCUMENT, **response):
        self.document = document
        self.response = {"status_code": 200, **response}
        self.asked = []
        self.wait = None

    async def answer(self, request):
        self.asked.append(str(request.url))
        assert "authorization" not in request.headers
        assert request.headers["accept"] == "application/json"
        if self.wait is not None:
            await self.wait.wait()
        if "content" in self.response or "stream" in self.response:
            return httpx.Response(**self.response)
        return httpx.Response(json=self.document, **self.response)

    def documents(self, **options):
        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return ClientMetadataDocuments(http_client=http, **options)

    def server(self, **options):
        documents = self.documents(**options)
        return authorization_server(
            InMemoryOAuthProvider(auto_approve="alice", client_documents=documents)
        )


def changed(**changes):
    found = {**DOCUMENT, **changes}
    return {name: value for name, value in found.items() if value is not ...}


@pytest.mark.req("R-416", "R-484", "R-485")
async def test_client_that_publishes_what_it_is_logs_in_without_registering():
    web = Web()
    async with web.server() as server:
        tokens = await server.log_in(CLIENT)
        found = await server.provider.load_access_token(tokens["access_token"])
        assert found.client_id == URL
        assert (await server.refresh(tokens["refresh_token"], CLIENT)).status_code == 200
    assert web.asked == [URL]


async def test_document_is_no_word_on_which_scopes_there_are():
    async with Web(changed(scope="read admin")).server() as server:
        refused = told_on_page(await server.authorize(CLIENT, scope="read admin"))
        assert refused["error"] == "invalid_scope"
        assert answer_in(await server.authorize(CLIENT, scope="read"))["code"]


@pytest.mark.req("R-485", "R-510", "R-501")
@pytest.mark.parametrize(
    "document",
    [
        changed(client_id=...),
        changed(client_id=f"{URL}/"),
        changed(client_id=URL.replace("client.json", "CLIENT.JSON")),
        changed(client_id="https://bank.example.com/client.json"),
        changed(client_name=...),
        changed(client_name=""),
        changed(client_name=5),
        changed(redirect_uris=...),
        changed(redirect_uris=[]),
        changed(redirect_uris=REDIRECT),
        changed(redirect_uris=["http://client.example.com/callback"]),
        changed(redirect_uris=["javascript:alert(1)"]),
        changed(redirect_uris=[f"{REDIRECT}#part"]),
        changed(redirect_uris=["http://127.0.0.1/"], application_type="web"),
        changed(client_secret="s3cret"),
        changed(client_secret_expires_at=5),
        changed(token_endpoint_auth_method="client_secret_basic"),
        changed(token_endpoint_auth_method="client_secret_post"),
        changed(token_endpoint_auth_method="private_key_jwt"),
        changed(jwks={"keys": [KEY.as_dict(private=True)]}),
        changed(jwks=KEYS, jwks_uri="https://client.example.com/keys"),
        [],
        "text",
        None,
    ],
)
async def test_document_that_is_none_or_anothers_is_refused(document):
    async with Web(document).server() as server:
        response = await server.authorize(CLIENT)
        assert response.status_code == 400
        assert "location" not in response.headers
        assert "document" in response.text
        response = await server.redeem("code", CLIENT)
        assert error_of(response) == "invalid_client"


@pytest.mark.req("R-485")
@pytest.mark.parametrize(
    "response",
    [
        {"status_code": 404},
        {"status_code": 500},
        {"status_code": 204},
        {"content": b"<html></html>", "headers": {"content-type": "text/html"}},
        {"content": b"{", "headers": {"content-type": "application/json"}},
        {"content": b"\xff", "headers": {"content-type": "application/json"}},
        {"content": b"{}"},
        {
            "content": b"[" * 30_000,
            "headers": {"content-type": "application/json"},
        },
        {
            "content": b'{"client_name": "' + b"x" * 40_000 + b'"}',
            "headers": {"content-type": "application/json"},
        },
        {"status_code": 302, "headers": {"location": "https://evil.example/client.json"}},
        {"status_code": 307, "headers": {"location": "/elsewhere.json"}},
    ],
)
async def test_answer_that_is_no_document_is_refused_and_not_kept(response):
    clock = Clock()
    web = Web(**response)
    async with web.server(now=clock) as server:
        refused = await server.authorize(CLIENT)
        assert refused.status_code == 400
        asked = len(web.asked)
        web.response = {"status_code": 200}
        # For a while, lest strangers have somebody asked as often as they ask here.
        clock.now += _documents.FAILURE_AGE - 1
        assert (await server.authorize(CLIENT)).text == refused.text
        assert error_of(await server.redeem("code", CLIENT)) == "invalid_client"
        assert len(web.asked) == asked
        clock.now += 1
        assert answer_in(await server.authorize(CLIENT))["code"]
        assert set(web.asked) == {URL}
        assert len(web.asked) == asked + 1


async def test_many_who_want_what_is_not_there_have_it_asked_for_once():
    web = Web(status_code=404)
    web.wait = trio.Event()
    async with web.server() as server:
        answers = []

        async def ask():
            answers.append(await server.authorize(CLIENT))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            web.wait.set()
    assert [each.status_code for each in answers] == [400] * 5
    assert web.asked == [URL]


async def test_failures_are_kept_no_longer_by_a_clock_that_is_set_back_nor_more_than_fit():
    clock = Clock()
    web = Web(status_code=404)
    async with web.server(now=clock, max_clients=2) as server:
        for number in (1, 2, 3, 2, 3):
            await server.authorize(CLIENT, client_id=f"{URL}?{number}")
        assert len(web.asked) == 3
        await server.authorize(CLIENT, client_id=f"{URL}?1")
        assert len(web.asked) == 4
        clock.now -= 1000
        await server.authorize(CLIENT, client_id=f"{URL}?1")
        assert len(web.asked) == 5


@pytest.mark.parametrize(
    ("slow", "other", "is_fetched"),
    [
        ("a{}.evil.example", "client.example.com", True),
        ("a{}.evil.example", "b.evil.example", False),
        ("evil.example.", "evil.example", False),
        ("EVIL.example", "evil.example", False),
        ("evil{}.example", "other.example", True),
        ("93.184.215.14", "93.184.215.14", False),
        ("93.184.215.14", "93.185.215.14", True),
        ("[2606:4700::1]", "[2606:4700::2]", True),
    ],
)
async def test_slow_servers_of_one_site_take_no_room_of_others(slow, other, is_fetched):
    web = Web()
    web.wait = trio.Event()
    documents = web.documents()
    async with trio.open_nursery() as nursery:
        for number in range(_documents.MAX_OF_SITE):
            url = f"https://{slow.format(number)}/{number}"
            web.document = changed(client_id=url)
            nursery.start_soon(documents.get_client, url)
        await trio.testing.wait_all_tasks_blocked()
        asked = len(web.asked)
        url = f"https://{other}/client.json"
        nursery.start_soon(_find, documents, url)
        await trio.testing.wait_all_tasks_blocked()
        assert len(web.asked) == asked + is_fetched
        nursery.cancel_scope.cancel()


async def _find(documents, url):
    with suppress(RefusedRequest):
        await documents.get_client(url)


@pytest.mark.req("R-508")
async def test_redirect_uri_has_to_be_one_of_the_document():
    async with Web().server() as server:
        response = await server.authorize(CLIENT, redirect_uri="https://evil.example/")
        assert response.status_code == 400
        assert "location" not in response.headers


async def test_client_may_ask_for_valid_scopes_or_those_of_its_document():
    async with Web().server() as server:
        assert answer_in(await server.authorize(CLIENT, scope="write"))["code"]
        refused = told_on_page(await server.authorize(CLIENT, scope="admin"))
        assert refused["error"] == "invalid_scope"
    async with Web(changed(scope="read")).server() as server:
        refused = told_on_page(await server.authorize(CLIENT, scope="write"))
        assert refused["error"] == "invalid_scope"


@pytest.mark.parametrize(
    "client_id",
    [
        "http://client.example.com/client.json",
        "https://client.example.com",
        "https://client.example.com/",
        "https://user:pw@client.example.com/client.json",
        "https://client.example.com/client.json#part",
        "https://client.example.com/a/../client.json",
        "https://client.example.com/a/%2e%2e/client.json",
        "ftp://client.example.com/client.json",
        "client.json",
    ],
)
async def test_nothing_is_fetched_for_what_is_no_such_url(client_id):
    web = Web()
    async with web.server() as server:
        assert (await server.authorize(CLIENT, client_id=client_id)).status_code == 400
    assert web.asked == []


@pytest.mark.req("R-512", "R-484")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "localhost",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:10.0.0.1]",
        "0.0.0.0",
        "2130706433",
    ],
)
async def test_nothing_is_fetched_from_private_addresses(host):
    web = Web()
    async with web.server() as server:
        url = f"https://{host}/client.json"
        assert (await server.authorize(CLIENT, client_id=url)).status_code == 400
    assert web.asked == []


@pytest.mark.req("R-521")
@pytest.mark.parametrize(
    "names", [{}, {"inner.example": ["10.0.0.1"]}, {"inner.example": ["169.254.169.254"]}]
)
async def test_strangers_learn_nothing_of_the_names_of_this_network(names, caplog):
    caplog.set_level(logging.INFO)
    trio.socket.set_custom_hostname_resolver(Resolver(names))
    provider = InMemoryOAuthProvider(
        auto_approve="alice", client_documents=ClientMetadataDocuments()
    )
    url = "https://inner.example/client.json"
    async with authorization_server(provider) as server:
        answer = await server.authorize(CLIENT, client_id=url)
    assert answer.status_code == 400
    assert "cannot be had" in answer.text
    for told in ("10.0.0.1", "169.254", "private", "no address", "link-local"):
        assert told not in answer.text
    # Whoever runs the server finds it in the log.
    assert "the host 'inner.example' has" in caplog.text


async def test_private_addresses_can_be_allowed():
    url = "https://127.0.0.1:8443/client.json"
    web = Web(changed(client_id=url))
    async with web.server(allow_private_addresses=True) as server:
        assert answer_in(await server.authorize(CLIENT, client_id=url))["code"]


@pytest.mark.req("R-484")
@pytest.mark.parametrize(
    ("control", "kept_for"),
    [
        (None, 3600),
        ("max-age=120", 120),
        ("public, MAX-AGE=7200", 7200),
        ("max-age=1", 60),
        ("no-store", 60),
        ("no-cache, max-age=500", 60),
        ("max-age=99999999", 86_400),
        ("max-age=soon", 3600),
    ],
)
async def test_document_is_kept_as_long_as_its_server_says_within_bounds(control, kept_for):
    clock = Clock()
    headers = {} if control is None else {"cache-control": control}
    web = Web(headers=headers)
    documents = web.documents(now=clock)
    assert await documents.get_client(URL) is not None
    clock.now += kept_for - 1
    assert await documents.get_client(URL) is not None
    assert len(web.asked) == 1
    clock.now += 1
    assert await documents.get_client(URL) is not None
    assert len(web.asked) == 2


async def test_clock_that_is_set_back_keeps_nothing_for_longer():
    clock = Clock()
    web = Web()
    documents = web.documents(now=clock)
    await documents.get_client(URL)
    clock.now -= 100_000
    await documents.get_client(URL)
    assert len(web.asked) == 2


async def test_changed_document_counts_when_the_old_one_is_over():
    clock = Clock()
    web = Web()
    documents = web.documents(now=clock)
    await documents.get_client(URL)
    web.document = changed(redirect_uris=["https://new.example.com/"])
    clock.now += 3600
    client = await documents.get_client(URL)
    assert client.redirect_uris == ["https://new.example.com/"]


async def test_many_who_want_the_same_document_fetch_it_once():
    web = Web()
    web.wait = trio.Event()
    documents = web.documents()
    found = []

    async def find():
        found.append(await documents.get_client(URL))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(find)
        await trio.testing.wait_all_tasks_blocked()
        web.wait.set()
    assert [each.client_id for each in found] == [URL] * 5
    assert web.asked == [URL]


async def test_one_who_is_cancelled_leaves_the_document_to_the_others():
    web = Web()
    web.wait = trio.Event()
    documents = web.documents()
    found = []

    async def find():
        found.append(await documents.get_client(URL))

    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def give_up():
            with scope:
                await documents.get_client(URL)

        nursery.start_soon(give_up)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(find)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        web.wait.set()
    assert [each.client_id for each in found] == [URL]
    assert web.asked == [URL, URL]


async def test_no_more_are_fetched_at_once_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(_documents, "MAX_AT_ONCE", 2)
    web = Web()
    web.wait = trio.Event()
    async with web.server() as server, trio.open_nursery() as nursery:
        for number in range(2):
            url = f"{URL}?{number}"
            nursery.start_soon(server.http.get, f"/authorize?client_id={url}")
        await trio.testing.wait_all_tasks_blocked()
        response = await server.authorize(CLIENT)
        assert response.status_code == 400
        assert "Too many" in response.text
        web.wait.set()


async def test_no_more_are_kept_than_there_is_room_for():
    web = Web()
    documents = web.documents(max_clients=2)
    for number in (1, 2, 3, 1):
        url = f"https://client.example.com/{number}.json"
        web.document = changed(client_id=url)
        await documents.get_client(url)
    assert len(web.asked) == 4
    assert len(documents._documents._kept) == 2


async def test_server_that_does_not_answer_in_time_is_not_waited_for(autojump_clock):
    web = Web()
    web.wait = trio.Event()
    async with web.server() as server:
        response = await server.authorize(CLIENT)
        assert response.status_code == 400
        assert "cannot be had" in response.text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"allow_private_addresses": "no"}, TypeError),
        ({"max_clients": 0}, ValueError),
        ({"max_clients": "1"}, TypeError),
    ],
)
def test_wrong_arguments_are_told_at_once(options, error):
    with pytest.raises(error):
        ClientMetadataDocuments(**options)
