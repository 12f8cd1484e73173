from __future__ import annotations

import base64
import json
import threading
from typing import TYPE_CHECKING

import attrs
import httpx
import pytest
import trio

from tests._limits import SOON
from trio_mcp.errors import ResourceNotFoundError
from trio_mcp.mcpserver import (
    BinaryResource,
    Context,
    DirectoryResource,
    FileResource,
    FunctionResource,
    HttpResource,
    Image,
    ReadResourceContents,
    Resource,
    ResourceSecurityError,
    ResourceTemplate,
    TextResource,
)
from trio_mcp.types import (
    BlobResourceContents,
    InputRequiredResult,
    TextResourceContents,
)
from trio_mcp.types import Resource as WireResource

if TYPE_CHECKING:
    from pathlib import Path

ALL_BYTES = bytes(range(256))


async def read(resource: Resource) -> list[ReadResourceContents]:
    return await resource.read_contents(Context())


# Fixed ones


async def test_text_is_text_with_its_size() -> None:
    resource = TextResource(uri="a://b", text="grüße")
    assert await resource.read() == "grüße"
    assert await read(resource) == [ReadResourceContents("grüße", "text/plain")]
    assert resource.to_wire() == WireResource(
        uri="a://b", name="a://b", mime_type="text/plain", size=7
    )


@pytest.mark.case("C063")
@pytest.mark.req("R-280")
async def test_bytes_go_out_in_standard_base64() -> None:
    [contents] = await read(BinaryResource(uri="a://b", data=ALL_BYTES))
    wire = contents.to_wire("a://b")
    assert isinstance(wire, BlobResourceContents)
    assert "+" in wire.blob
    assert "/" in wire.blob
    assert base64.b64decode(wire.blob, validate=True) == ALL_BYTES
    assert wire.mime_type == "application/octet-stream"


@pytest.mark.case("C063")
async def test_an_image_is_the_same_from_a_resource_as_from_a_tool() -> None:
    resource = FunctionResource.from_function(lambda: Image(data=ALL_BYTES), "a://b", name="pic")
    [contents] = await read(resource)
    assert contents == ReadResourceContents(ALL_BYTES, "image/png")


@pytest.mark.parametrize(
    "uri", ["notes", "", "://x", "1a://x", "a://x y", "a://x\n", "a://<x>", 'a://"x"', "a://\\x"]
)
@pytest.mark.req("R-272", "R-278")
def test_a_uri_needs_a_scheme_and_no_strange_characters(uri: str) -> None:
    with pytest.raises(ValueError, match="resource URI"):
        TextResource(uri=uri, text="")


@pytest.mark.parametrize("uri", ["a:b", "urn:isbn:1", "x+y.z-1://h/p?q#f", "notes://grüße"])
@pytest.mark.req("R-272")
def test_custom_schemes_are_taken(uri: str) -> None:
    assert TextResource(uri=uri, text="").uri == uri


async def test_an_own_kind_of_resource_only_needs_read() -> None:
    class Answer(Resource):
        async def read(self) -> str:
            return "42"

    assert await read(Answer(uri="a://b", mime_type="text/x-answer")) == [
        ReadResourceContents("42", "text/x-answer")
    ]


async def test_an_own_kind_that_reads_nonsense_says_so() -> None:
    class Wrong(Resource):
        async def read(self) -> str:
            return 42  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"Wrong\.read\(\) must give str or bytes, it gave int"):
        await read(Wrong(uri="a://b"))


# Functions


@attrs.frozen
class Point:
    x: int
    y: int


@pytest.mark.case("C064")
@pytest.mark.parametrize(
    ("value", "declared", "content", "mime_type"),
    [
        ("text", None, "text", "text/plain"),
        ("text", "application/json", "text", "application/json"),
        (b"\x00\xff", None, b"\x00\xff", "application/octet-stream"),
        (b"\x00\xff", "image/png", b"\x00\xff", "image/png"),
        (bytearray(b"ab"), None, b"ab", "application/octet-stream"),
        ({"a": [1]}, None, {"a": [1]}, "application/json"),
        ({"a": [1]}, "text/x-mine", {"a": [1]}, "text/x-mine"),
        (Point(1, 2), None, {"x": 1, "y": 2}, "application/json"),
        (None, None, None, "application/json"),
        ([], None, [], "application/json"),
        (["a"], None, ["a"], "application/json"),
    ],
)
async def test_the_declared_type_is_kept_and_others_are_guessed(
    value: object, declared: str | None, content: object, mime_type: str
) -> None:
    resource = FunctionResource.from_function(
        lambda: value, "a://b", name="made", mime_type=declared
    )
    [contents] = await read(resource)
    assert contents.mime_type == mime_type
    if isinstance(content, (str, bytes)):
        assert contents.content == content
    else:
        assert json.loads(contents.content) == content
    if declared:
        assert resource.to_wire().mime_type == declared


def test_the_list_guesses_by_the_return_hint() -> None:
    def text() -> str: ...

    def data() -> bytes: ...

    def items() -> list[int]: ...

    def point() -> Point: ...

    def untyped(): ...  # type: ignore[no-untyped-def]

    guesses = [
        FunctionResource.from_function(fn, f"a://{fn.__name__}").to_wire().mime_type
        for fn in (text, data, items, point, untyped)
    ]
    assert guesses == [
        "text/plain",
        "application/octet-stream",
        "application/json",
        None,
        "text/plain",
    ]


async def test_nan_is_refused_and_not_turned_into_null() -> None:
    resource = FunctionResource.from_function(lambda: {"x": float("nan")}, "a://b", name="nan")
    with pytest.raises(ValueError, match="x"):
        await read(resource)


async def test_contents_made_by_hand_pass_through() -> None:
    made = [
        TextResourceContents(uri="a://1", text="one"),
        BlobResourceContents(uri="a://2", blob="/+8=", mime_type="image/x"),
        ReadResourceContents("three", "text/x"),
    ]
    resource = FunctionResource.from_function(lambda: made, "a://b", name="made")
    assert [each.to_wire("a://b") for each in await read(resource)] == [
        TextResourceContents(uri="a://1", text="one", mime_type="text/plain"),
        BlobResourceContents(uri="a://2", blob="/+8=", mime_type="image/x"),
        TextResourceContents(uri="a://b", text="three", mime_type="text/x"),
    ]


@pytest.mark.case("C063")
@pytest.mark.parametrize("blob", ["+/8=", "-_8=", "+/8", "-_8"])
async def test_base64_made_by_hand_may_be_of_either_alphabet(blob: str) -> None:
    resource = FunctionResource.from_function(
        lambda: BlobResourceContents(uri="a://b", blob=blob), "a://b", name="made"
    )
    [contents] = await read(resource)
    assert contents.content == b"\xfb\xff"
    wire = contents.to_wire("a://b")
    assert isinstance(wire, BlobResourceContents)
    assert wire.blob == "+/8="


async def test_name_and_description_come_from_the_function() -> None:
    def lookup() -> str:
        """Find it."""
        return "found"

    wire = FunctionResource.from_function(lookup, "a://b").to_wire()
    assert (wire.name, wire.description) == ("lookup", "Find it.")
    with pytest.raises(ValueError, match="lambda"):
        FunctionResource.from_function(lambda: "", "a://b")


async def test_sync_functions_run_in_threads_and_async_ones_do_not() -> None:
    async def here() -> str:
        await trio.lowlevel.checkpoint()
        return trio.lowlevel.current_task().name and "here"

    def there() -> str:
        try:
            trio.lowlevel.current_task()
        except RuntimeError:
            return "in a thread"
        return "in Trio's thread"

    assert await FunctionResource.from_function(here, "a://b").read() == "here"
    assert await FunctionResource.from_function(there, "a://b").read() == "in a thread"


async def test_a_function_may_return_another_resource() -> None:
    inner = TextResource(uri="a://inner", text="inner", mime_type="text/x-inner")
    outer = FunctionResource.from_function(lambda: inner, "a://outer", name="outer")
    assert await read(outer) == [ReadResourceContents("inner", "text/x-inner")]


def test_a_function_with_parameters_needs_variables() -> None:
    with pytest.raises(
        ValueError, match="'a://b' has no variables, but its function takes 'name'"
    ):
        FunctionResource.from_function(lambda name: name, "a://b", name="f")


async def test_a_fixed_resource_cannot_ask() -> None:
    resource = FunctionResource.from_function(
        lambda: InputRequiredResult(request_state="x"), "a://b", name="asks"
    )
    with pytest.raises(TypeError, match="cannot ask for input"):
        await read(resource)


async def test_meta_is_listed_and_read() -> None:
    resource = TextResource(uri="a://b", text="x", meta={"k": 1})
    [contents] = await read(resource)
    assert resource.to_wire().meta == {"k": 1}
    assert contents.to_wire("a://b").meta == {"k": 1}


# Files


async def test_a_text_file_is_text_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfline\r\n")
    resource = FileResource(uri="file:///a.txt", path=path)
    assert await read(resource) == [ReadResourceContents("line\r\n", "text/plain")]


@pytest.mark.case("C064")
async def test_a_file_is_bytes_unless_its_type_is_one_of_text(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(ALL_BYTES)
    assert await read(FileResource(uri="file:///a.png", path=path)) == [
        ReadResourceContents(ALL_BYTES, "image/png")
    ]
    declared = FileResource(uri="file:///a.png", path=path, mime_type="image/x-own")
    assert await read(declared) == [ReadResourceContents(ALL_BYTES, "image/x-own")]


async def test_the_encoding_comes_from_the_charset_or_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("é".encode("latin-1"))
    by_charset = FileResource(uri="f:a", path=path, mime_type='text/plain; charset="latin-1"')
    assert await by_charset.read() == "é"
    assert await FileResource(uri="f:a", path=path, encoding="latin-1").read() == "é"
    assert await FileResource(uri="f:a", path=path, encoding=None).read() == b"\xe9"


@pytest.mark.parametrize("encoding", ["no-such", "base64_codec", "rot13"])
def test_an_encoding_that_is_none_of_text_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ValueError, match=encoding):
        FileResource(uri="f:a", path=tmp_path / "a", encoding=encoding)


def test_paths_must_be_absolute() -> None:
    with pytest.raises(ValueError, match="must be absolute"):
        FileResource(uri="f:a", path="a.txt")
    with pytest.raises(ValueError, match="must be absolute"):
        DirectoryResource(uri="f:a", path="a")


async def test_a_directory_lists_its_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "c.md", "sub/d.txt"):
        (tmp_path / name).write_text("")

    async def listed(**options: object) -> object:
        resource = DirectoryResource(uri="f:d", path=tmp_path, **options)  # type: ignore[arg-type]
        [contents] = await read(resource)
        assert contents.mime_type == "application/json"
        return json.loads(contents.content)["files"]

    assert await listed() == ["a.txt", "b.txt", "c.md"]
    assert await listed(pattern="*.txt") == ["a.txt", "b.txt"]
    assert await listed(pattern="*.txt", recursive=True) == ["a.txt", "b.txt", "sub/d.txt"]


async def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await DirectoryResource(uri="f:d", path=tmp_path / "none").read()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        await DirectoryResource(uri="f:d", path=tmp_path / "file").read()


# The web


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "/text": httpx.Response(
            200, text="grüße", headers={"content-type": "text/plain; charset=utf-8"}
        ),
        "/data": httpx.Response(200, content=b"\x00", headers={"content-type": "image/png"}),
        "/moved": httpx.Response(302, headers={"location": "http://elsewhere/"}),
        "/none": httpx.Response(404),
    }
    plain = httpx.AsyncClient

    def client() -> httpx.AsyncClient:
        transport = httpx.MockTransport(lambda request: answers[request.url.path])
        return plain(transport=transport)

    monkeypatch.setattr(httpx, "AsyncClient", client)


async def test_the_web_is_read_by_the_type_of_its_answer(web: None) -> None:
    resource = HttpResource(uri="a://b", url="http://x/text")
    assert await read(resource) == [ReadResourceContents("grüße", "application/json")]
    assert await HttpResource(uri="a://b", url="http://x/data").read() == b"\x00"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "x/y", "", "http:///y", "https:", "http://x/a b"]
)
def test_only_what_is_on_the_web_is_fetched_from_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected one of http or https|which no URI does"):
        HttpResource(uri="a://b", url=url)
    with pytest.raises(TypeError, match="url: expected str, got int"):
        HttpResource(uri="a://b", url=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["moved", "none"])
async def test_what_is_not_found_or_elsewhere_is_an_error(web: None, path: str) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        await HttpResource(uri="a://b", url=f"http://x/{path}").read()


# Templates


async def create(template: ResourceTemplate, uri: str) -> list[ReadResourceContents]:
    params = template.matches(uri)
    assert params is not None
    resource = await template.create_resource(uri, params, Context())
    assert isinstance(resource, Resource)
    return await resource.read_contents(Context())


async def test_variables_become_parameters_by_their_hints() -> None:
    def order(number: int, parts: list[str], dry: bool = False, note: str = "-") -> str:
        return f"{number!r} {parts!r} {dry!r} {note!r}"

    template = ResourceTemplate.from_function(order, "orders://{number}{/parts*}{?dry,note}")
    [contents] = await create(template, "orders://7/a/b%2Fc?dry=true&note=12")
    assert contents.content == "7 ['a', 'b/c'] True '12'"
    [contents] = await create(template, "orders://7")
    assert contents.content == "7 [] False '-'"


async def test_items_of_a_list_are_read_by_their_hint() -> None:
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    template = ResourceTemplate.from_function(total, "sum:{/numbers*}")
    [contents] = await create(template, "sum:/1/2/3")
    assert contents.content == "6"


async def test_a_value_that_its_hint_does_not_take_is_no_resource() -> None:
    def by_number(number: int) -> str: ...

    template = ResourceTemplate.from_function(by_number, "a://{number}")
    with pytest.raises(ResourceNotFoundError, match=r"Unknown resource: a://x \(number: "):
        await create(template, "a://x")


@pytest.mark.case("C064")
@pytest.mark.parametrize(
    ("declared", "read_as"), [("image/png", "image/png"), (None, "application/octet-stream")]
)
async def test_a_template_keeps_its_declared_type(declared: str | None, read_as: str) -> None:
    def picture(name: str) -> bytes:
        return name.encode()

    template = ResourceTemplate.from_function(picture, "pics://{name}", mime_type=declared)
    assert template.to_wire().mime_type == read_as
    assert await create(template, "pics://x") == [ReadResourceContents(b"x", read_as)]


@pytest.mark.req("R-282")
def test_a_template_refuses_unsafe_values() -> None:
    template = ResourceTemplate.from_function(lambda path: path, "file:///{+path}", name="file")
    with pytest.raises(ResourceSecurityError) as caught:
        template.matches("file:///..%2fsecret")
    assert (caught.value.template, caught.value.param) == ("file:///{+path}", "path")
    assert template.matches("other:///x") is None


@pytest.mark.parametrize(
    "value", ["a b", "a\tb", "a\nb", "<b>", 'a"b', "a\\b", "a^b`", "ä", "{b}"]
)
async def test_what_fits_a_template_is_read_though_it_is_no_strict_uri(value: str) -> None:
    template = ResourceTemplate.from_function(lambda name: name, "a://{name}", name="it")
    [contents] = await create(template, f"a://{value}")
    assert contents.content == value


async def test_a_template_may_ask() -> None:
    asked = InputRequiredResult(request_state="s")
    template = ResourceTemplate.from_function(lambda x: asked, "a://{x}", name="asks")
    assert await template.create_resource("a://1", {"x": "1"}, Context()) is asked


def test_a_template_has_a_schema_and_a_function() -> None:
    def by_id(id: int, ctx: Context) -> str: ...

    template = ResourceTemplate.from_function(by_id, "a://{id}")
    assert template.fn is by_id
    assert template.context_kwarg == "ctx"
    assert template.parameters["properties"]["id"]["type"] == "integer"
    assert template.parsed_template.variable_names == ["id"]


@pytest.mark.parametrize("kind", ["file", "directory"])
async def test_a_file_system_that_hangs_takes_no_place_of_other_threads(
    tmp_path, monkeypatch, kind
):
    (tmp_path / "a").write_text("text")
    hangs, goes_on = trio.Event(), threading.Event()

    def hang(*_args: object) -> object:
        trio.from_thread.run_sync(hangs.set)
        goes_on.wait(10 * SOON)
        return b""

    method = {"file": "read_bytes", "directory": "exists"}[kind]
    monkeypatch.setattr(type(tmp_path), method, hang)
    resource: Resource = (
        FileResource(uri="file:///a", path=tmp_path / "a")
        if kind == "file"
        else DirectoryResource(uri="file:///d", path=tmp_path)
    )
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resource.read)
            await hangs.wait()
            assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
            nursery.cancel_scope.cancel()
    finally:
        goes_on.set()
