"""Options of clients and sessions that cannot be are refused where they are given."""

from __future__ import annotations

import pytest
import trio

from trio_mcp.client import (
    CacheConfig,
    Client,
    ClientExtension,
    ClientSession,
    ClientSessionParameters,
    InMemoryResponseCacheStore,
    NotificationBinding,
    RestartPolicy,
    ResultClaim,
    SseServerParameters,
    StreamableHttpParameters,
    WebSocketServerParameters,
    advertise,
    connect,
)
from trio_mcp.server import Server
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair, stdio_client
from trio_mcp.types import Implementation, Result

NAN = float("nan")

# What `Client` and `ClientSession` take alike.
SHARED = [
    ({"read_timeout_seconds": "5"}, TypeError, "a number of at least 0, got str"),
    ({"read_timeout_seconds": True}, TypeError, "a number of at least 0, got bool"),
    ({"read_timeout_seconds": -1}, ValueError, "a number of at least 0, got -1"),
    ({"read_timeout_seconds": NAN}, ValueError, "a number of at least 0, got nan"),
    ({"sampling_callback": 5}, TypeError, "a function, got int"),
    ({"elicitation_callback": 5}, TypeError, "a function, got int"),
    ({"list_roots_callback": 5}, TypeError, "a function, got int"),
    ({"logging_callback": 5}, TypeError, "a function, got int"),
    ({"message_handler": "print"}, TypeError, "a function, got str"),
    ({"sampling_capabilities": {}}, TypeError, "SamplingCapability, got dict"),
    ({"client_info": 5}, TypeError, "Implementation, got int"),
    ({"client_info": Implementation}, TypeError, "Implementation, got the class Implementation"),
    ({"log_level": "zz"}, ValueError, "one of 'debug', 'info', .*, got 'zz'"),
    ({"log_level": 5}, TypeError, "one of 'debug', 'info', .*, got int"),
    ({"ping_interval": -1}, ValueError, "a number above 0, got -1"),
    ({"ping_interval": 0}, ValueError, "a number above 0, got 0"),
    ({"ping_interval": NAN}, ValueError, "a number above 0, got nan"),
    ({"ping_interval": "1"}, TypeError, "a number above 0, got str"),
]

OF_CLIENTS = [
    ({"raise_exceptions": 1}, TypeError, "bool, got int"),
    ({"mode": "zz"}, ValueError, "one of 'auto', 'legacy', .*, got 'zz'"),
    ({"mode": None}, TypeError, "one of 'auto', 'legacy', .*, got NoneType"),
    ({"prior_discover": 5}, TypeError, "DiscoverResult, got int"),
    ({"input_required_max_rounds": -1}, ValueError, "a whole number of at least 0, got -1"),
    ({"input_required_max_rounds": 1.5}, TypeError, "a whole number of at least 0, got float"),
    ({"input_required_max_rounds": None}, TypeError, "a whole number of at least 0, got NoneType"),
    ({"cache": 5}, TypeError, "CacheConfig, got int"),
    ({"cache": CacheConfig}, TypeError, "CacheConfig, got the class CacheConfig"),
    ({"restart": 5}, TypeError, "RestartPolicy, got int"),
    ({"extensions": 5}, TypeError, "a list of extensions, got int"),
    ({"extensions": {"com.example/a": {}}}, TypeError, "a list of extensions, got dict"),
    ({"extensions": "com.example/a"}, TypeError, "a list of extensions, got one str"),
]

OF_SESSIONS = [
    ({"extensions": 5}, TypeError, "a list of extensions, got int"),
    ({"result_claims": 5}, TypeError, "a dict, got int"),
    ({"notification_bindings": 5}, TypeError, "a list, got int"),
    ({"open_link": 5}, TypeError, "a function, got int"),
]


def refused(options, kind, message):
    return pytest.raises(kind, match=rf"^{next(iter(options))}: expected {message}")


@pytest.mark.parametrize(("options", "kind", "message"), [*SHARED, *OF_CLIENTS])
def test_a_client_refuses_wrong_options_when_it_is_made(options, kind, message):
    with refused(options, kind, message):
        Client(Server("x"), **options)


@pytest.mark.parametrize(("options", "kind", "message"), [*SHARED, *OF_SESSIONS])
def test_a_session_refuses_wrong_options_when_it_is_made(options, kind, message):
    with refused(options, kind, message):
        ClientSession(open_memory_channel_pair()[0], **options)


@pytest.mark.parametrize(
    ("options", "kind", "message"), [each for each in SHARED if "ping_interval" not in each[0]]
)
def test_parameters_of_a_group_refuse_wrong_options_when_they_are_made(options, kind, message):
    with refused(options, kind, message):
        ClientSessionParameters(**options)


@pytest.mark.parametrize(
    "server",
    [5, None, object(), ["python"], print, StdioServerParameters, stdio_client, Client],
)
def test_what_is_no_server_is_refused_when_the_client_is_made(server):
    with pytest.raises(
        TypeError, match="Client expects a URL, StdioServerParameters, a Server or"
    ):
        Client(server)


async def test_what_is_no_nursery_is_refused_before_anything_is_opened():
    with pytest.raises(TypeError, match=r"^nursery: expected Nursery, got Server$"):
        await connect(Server("x"), Server("x"))
    async with trio.open_nursery() as nursery:
        with pytest.raises(TypeError, match="mode: expected one of"):
            await connect(nursery, Server("x"), mode=5)
        assert not nursery.child_tasks


def test_streams_that_are_none_are_refused_when_the_session_is_made():
    channel, _ = open_memory_channel_pair()
    with pytest.raises(TypeError, match=r"^read_stream: expected Channel, got int$"):
        ClientSession(5)
    with pytest.raises(TypeError, match=r"^write_stream: expected Channel, got int$"):
        ClientSession(channel, 5)
    with pytest.raises(TypeError, match="needs the streams of a transport"):
        ClientSession()


class Transport:
    """A transport that yields what it should not."""

    def __init__(self, opened):
        self.opened = opened

    async def __aenter__(self):
        return self.opened

    async def __aexit__(self, *exc_info):
        pass


@pytest.mark.parametrize("opened", [None, 5, (1, 2), (open_memory_channel_pair()[0],), "ab"])
async def test_a_transport_that_yields_no_channel_is_told(opened):
    message = f"^what Transport yielded: expected a Channel or its two ends, got {type(opened).__name__}$"
    with pytest.raises(TypeError, match=message):
        async with Client(Transport(opened)):
            pass


class _Wrong(ClientExtension):
    identifier = "com.example/wrong"

    def __init__(self, **answers):
        for name, answer in answers.items():
            setattr(self, name, lambda answer=answer: answer)


@pytest.mark.parametrize(
    ("extension", "message"),
    [
        (5, r"extensions\[0\]: expected ClientExtension, got int"),
        (ClientExtension, r"extensions\[0\]: expected ClientExtension, got the class "),
        (_Wrong(settings=5), r"what _Wrong.settings\(\) returned: expected a dict, got int"),
        (_Wrong(claims=5), r"what _Wrong.claims\(\) returned: expected a list, got int"),
        (
            _Wrong(claims=[5]),
            r"what _Wrong.claims\(\) returned\[0\]: expected ResultClaim, got int",
        ),
        (_Wrong(notifications=[5]), r"notifications\(\) returned\[0\]: expected NotificationBind"),
    ],
)
def test_what_is_no_extension_is_refused_when_the_client_is_made(extension, message):
    with pytest.raises(TypeError, match=message):
        Client(Server("x"), extensions=[extension])


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (CacheConfig, {"store": {}}, "store: expected ResponseCacheStore, got dict"),
        (CacheConfig, {"partition": 5}, "partition: expected str, got int"),
        (CacheConfig, {"target_id": 5}, "target_id: expected str, got int"),
        (CacheConfig, {"partition": "\udcff"}, "partition: the text holds a lone surrogate"),
        (CacheConfig, {"target_id": "\udcff"}, "target_id: the text holds a lone surrogate"),
        (CacheConfig, {"default_ttl_ms": "5"}, "default_ttl_ms: expected a number of at least 0"),
        (CacheConfig, {"default_ttl_ms": -1}, "default_ttl_ms: expected a number of at least 0"),
        (CacheConfig, {"clock": 5}, "clock: expected a function, got int"),
        (CacheConfig, {"share_public": 1}, "share_public: expected bool, got int"),
        (InMemoryResponseCacheStore, {"max_entries": 0}, "max_entries: expected a whole number"),
        (InMemoryResponseCacheStore, {"max_entries": "5"}, "max_entries: expected a whole number"),
        (
            RestartPolicy,
            {"max_restarts": 2.5},
            "max_restarts: expected a whole number of at least",
        ),
        (RestartPolicy, {"max_delay": "5"}, "max_delay: expected a number of at least 0, got str"),
        (advertise, {"identifier": "a.b/c", "settings": 5}, "settings: expected a dict, got int"),
        (SseServerParameters, {"url": 5}, "url: expected str, got int"),
        (SseServerParameters, {"url": "x", "timeout": NAN}, "timeout: expected a number above 0"),
        (
            StreamableHttpParameters,
            {"url": "x", "headers": 5},
            "headers: expected a dict, got int",
        ),
        (StreamableHttpParameters, {"url": "x", "max_sse_event_size": 0}, "max_sse_event_size: "),
        (WebSocketServerParameters, {"url": 5}, "url: expected str, got int"),
        (WebSocketServerParameters, {"url": "ws://x", "timeout": "5"}, "timeout: expected a num"),
        (WebSocketServerParameters, {"url": "ws://x", "max_message_size": 0}, "max_message_size"),
        (WebSocketServerParameters, {"url": "ws://x", "ping_interval": 0}, "ping_interval: "),
        (WebSocketServerParameters, {"url": "ws://x", "ping_timeout": None}, "ping_timeout: "),
    ],
)
def test_what_options_are_made_of_is_checked_alike(make, options, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        make(**options)


async def _take(params):
    pass


@pytest.mark.parametrize(
    ("make", "right", "wrong", "message"),
    [
        (
            NotificationBinding,
            {"method": "vendor/x", "params_type": Result, "handler": _take},
            {"method": 5, "params_type": dict, "handler": 5},
            {
                "method": "expected str, got int",
                "params_type": "expected a class of WireModel, got the class dict",
                "handler": "expected a function, got int",
            },
        ),
        (
            ResultClaim,
            {"result_type": "task", "model": Result, "resolve": _take},
            {"result_type": 5, "resolve": 5, "protocol_versions": "2026-07-28"},
            {
                "result_type": "expected str, got int",
                "resolve": "expected a function, got int",
                "protocol_versions": "expected a set of strings, got one str: put it into a list",
            },
        ),
    ],
)
def test_parts_of_an_extension_are_checked_alike(make, right, wrong, message):
    make(**right)
    for name, value in wrong.items():
        with pytest.raises(TypeError, match=f"^{name}: {message[name]}$"):
            make(**{**right, name: value})
