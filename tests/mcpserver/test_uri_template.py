from __future__ import annotations

import pickle
import time
from urllib.parse import unquote

import hypothesis.strategies as st
import pytest
from hypothesis import example, given
from mcp.shared.uri_template import InvalidUriTemplate as PeerInvalidUriTemplate
from mcp.shared.uri_template import UriTemplate as PeerUriTemplate

from trio_mcp.mcpserver._uri_template import (
    DEFAULT_MAX_TEMPLATE_LENGTH,
    DEFAULT_MAX_URI_LENGTH,
    DEFAULT_MAX_VARIABLES,
    InvalidUriTemplate,
    UriTemplate,
    Variable,
)

# The values of RFC 6570 section 3.2.
RFC_VALUES = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": [],
}

# Its examples, without associative arrays, prefix modifiers and what cannot be matched.
RFC_EXAMPLES = {
    "{var}": "value",
    "{hello}": "Hello%20World%21",
    "{half}": "50%25",
    "O{empty}X": "OX",
    "O{undef}X": "OX",
    "{x,y}": "1024,768",
    "{x,hello,y}": "1024,Hello%20World%21,768",
    "?{x,empty}": "?1024,",
    "?{x,undef}": "?1024",
    "?{undef,y}": "?768",
    "{list}": "red,green,blue",
    "{+var}": "value",
    "{+hello}": "Hello%20World!",
    "{+half}": "50%25",
    "{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex",
    "{+base}index": "http://example.com/home/index",
    "O{+empty}X": "OX",
    "O{+undef}X": "OX",
    "{+path}/here": "/foo/bar/here",
    "here?ref={+path}": "here?ref=/foo/bar",
    "{+list}": "red,green,blue",
    "{#var}": "#value",
    "{#hello}": "#Hello%20World!",
    "{#half}": "#50%25",
    "foo{#empty}": "foo#",
    "foo{#undef}": "foo",
    "{#path}/here": "#/foo/bar/here",
    "{#list}": "#red,green,blue",
    "{.who}": ".fred",
    "{.who,x}": ".fred.1024",
    "{.half,who}": ".50%25.fred",
    "www{.dom*}": "www.example.com",
    "X{.var}": "X.value",
    "X{.empty}": "X.",
    "X{.undef}": "X",
    "X{.list}": "X.red,green,blue",
    "X{.list*}": "X.red.green.blue",
    "X{.empty_keys}": "X",
    "X{.empty_keys*}": "X",
    "{/who}": "/fred",
    "{/half,who}": "/50%25/fred",
    "{/who,dub}": "/fred/me%2Ftoo",
    "{/var}": "/value",
    "{/var,empty}": "/value/",
    "{/var,undef}": "/value",
    "{/var,x}/here": "/value/1024/here",
    "{/list}": "/red,green,blue",
    "{/list*}": "/red/green/blue",
    "{;who}": ";who=fred",
    "{;half}": ";half=50%25",
    "{;empty}": ";empty",
    "{;v,empty,who}": ";v=6;empty;who=fred",
    "{;v,undef,who}": ";v=6;who=fred",
    "{;x,y}": ";x=1024;y=768",
    "{;x,y,empty}": ";x=1024;y=768;empty",
    "{;list}": ";list=red,green,blue",
    "{;list*}": ";list=red;list=green;list=blue",
    "{?who}": "?who=fred",
    "{?half}": "?half=50%25",
    "{?x,y}": "?x=1024&y=768",
    "{?x,y,empty}": "?x=1024&y=768&empty=",
    "{?x,y,undef}": "?x=1024&y=768",
    "{?list}": "?list=red,green,blue",
    "{&who}": "&who=fred",
    "{&half}": "&half=50%25",
    "?fixed=yes{&x}": "?fixed=yes&x=1024",
    "{&x,y,empty}": "&x=1024&y=768&empty=",
    "{&list}": "&list=red,green,blue",
}


@pytest.mark.parametrize(("template", "uri"), RFC_EXAMPLES.items())
def test_expands_the_examples_of_the_rfc(template: str, uri: str) -> None:
    assert UriTemplate.parse(template).expand(RFC_VALUES) == uri


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        each
        for each in RFC_EXAMPLES.items()
        if not any(word in each[0] for word in ("undef", "list}", "keys}"))
    ],
)
def test_matches_the_examples_of_the_rfc_back(template: str, uri: str) -> None:
    parsed = UriTemplate.parse(template)
    values = {name: RFC_VALUES[name] for name in parsed.variable_names}
    assert parsed.match(uri) == values


@pytest.mark.case("C065")
@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("search://{q}", "search://hello%20world", {"q": "hello world"}),
        ("search://{q}", "search://caf%C3%A9", {"q": "café"}),
        ("search://{q}", "search://a+b", {"q": "a+b"}),
        ("search://{q}", "search://a%2Fb", {"q": "a/b"}),
        ("search://{q}", "search://100%2525", {"q": "100%25"}),
        ("search://{q}", "search://café", {"q": "café"}),
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("file:///{path}", "file:///a/b.txt", None),
        ("file://{/path*}", "file:///a/b.txt", {"path": ["a", "b.txt"]}),
        ("file://{/path*}", "file://", {"path": []}),
        ("geo://{point}", "geo://52.5,13.4", {"point": "52.5,13.4"}),
    ],
)
def test_values_are_decoded_once_after_the_uri_is_taken_apart(
    template: str, uri: str, values: object
) -> None:
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        # Where several ways lead through, the first variable takes what it can.
        ("{a}-{b}", "x-y-z", {"a": "x-y", "b": "z"}),
        # Before a variable that spans segments, each takes as little as it can.
        ("{a}-{b}/{+rest}", "x-y-z/p/q", {"a": "x", "b": "y-z", "rest": "p/q"}),
        ("{+rest}/{a}.{b}", "p/q/x.y.z", {"rest": "p/q", "a": "x.y", "b": "z"}),
        ("prefix-{id}", "prefix-prefix-1", {"id": "prefix-1"}),
        # A search for the next literal from the end would take the second "x" and fail.
        ("{.a}x{b}", ".1x.2x3", {"a": "1", "b": ".2x3"}),
        ("a{;keys*}/b", "a;keys=1;keys;keys=3/b", {"keys": ["1", "", "3"]}),
        ("a{;keys*}", "a;keys=1;other=2", None),
        ("a{;key}", "a;keys", None),
        ("a{;key}=b", "a;key=b", {"key": ""}),
        ("a{/p*}", "ab", None),
        ("x://{a}{/p*}", "x://1/2/3", {"a": "1", "p": ["2", "3"]}),
        ("x://{a}{/p*}", "x://1", {"a": "1", "p": []}),
        ("a{/p*}", "a/b//c", {"p": ["b", "", "c"]}),
        ("a{/p*}", "a/b?c", None),
        ("über://{x}", "%C3%BCber://1", {"x": "1"}),
        ("über://{x}", "über://1", {"x": "1"}),
        ("a://{x}", "b://1", None),
        ("a://{x}/end", "a://1/end/more", None),
        ("a://{x}", "a://%FF", None),
        ("a{/p*}", "a/%FF", None),
        ("plain://x", "plain://x", {}),
        ("plain://x", "plain://y", None),
        ("{x}", "", {"x": ""}),
    ],
)
def test_matches(template: str, uri: str, values: object) -> None:
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("logs://api", {"service": "api"}),
        ("logs://api?", {"service": "api"}),
        ("logs://api?level=error", {"service": "api", "level": "error"}),
        (
            "logs://api?level=e&since=5m&utm=x#top",
            {"service": "api", "since": "5m", "level": "e"},
        ),
        ("logs://api?level=a%26b", {"service": "api", "level": "a&b"}),
        ("logs://api?level", {"service": "api", "level": ""}),
        ("logs://api?level=1&level=2", {"service": "api", "level": "1"}),
        ("logs://api?%6Cevel=2", {"service": "api"}),
        ("logs://api?level=%FF", None),
        ("logs://a/b?level=1", None),
    ],
)
def test_a_query_at_the_end_may_be_partial_and_in_any_order(uri: str, values: object) -> None:
    template = UriTemplate.parse("logs://{service}{?since}{&level}")
    assert template.query_variable_names == {"since", "level"}
    assert template.match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a?fixed=1{&page}", "a?fixed=1&page=2", {"page": "2"}),
        ("a?fixed=1{&page}", "a?fixed=1", None),
        ("a{&page}", "a&page=2", {"page": "2"}),
        ("{#x}{?y}", "#1?y=2", {"x": "1", "y": "2"}),
        ("{?y}/z", "?y=2/z", {"y": "2"}),
    ],
)
def test_a_query_that_is_not_plainly_at_the_end_is_matched_as_it_stands(
    template: str, uri: str, values: object
) -> None:
    parsed = UriTemplate.parse(template)
    assert parsed.query_variable_names == frozenset()
    assert parsed.match(uri) == values


@pytest.mark.parametrize(
    ("template", "position"),
    [
        ("a{", 1),
        ("a{b", 1),
        ("a}b", 1),
        ("{a}b}", 4),
        ("{{a}}", 1),
        ("a{}", 1),
        ("a{+}", 1),
        ("{a b}", 1),
        ("{a,}", 3),
        ("{a..b}", 1),
        ("{a,b:3}", 3),
        ("{a*}", 1),
        ("{+a*}", 2),
        ("{?a*}", 2),
        ("{a}{a}", 3),
        ("{?a}/{?b}", 5),
        ("{a}{b}", 3),
        ("{+a}{b}", 4),
        ("{+a}/{+b}", 5),
        ("{#a,b}", 0),
        ("{/a*}/{.b*}", 6),
        ("x" * (DEFAULT_MAX_TEMPLATE_LENGTH + 1), None),
        (",".join(f"{{a{n:03}}}" for n in range(DEFAULT_MAX_VARIABLES + 1)), 256 * 7),
    ],
)
def test_what_cannot_be_matched_clearly_is_refused_with_its_position(
    template: str, position: int | None
) -> None:
    with pytest.raises(InvalidUriTemplate) as caught:
        UriTemplate.parse(template)
    assert caught.value.template == template
    assert caught.value.position == position


def test_limits_can_be_set() -> None:
    with pytest.raises(InvalidUriTemplate, match="5 characters, at most 4"):
        UriTemplate.parse("abcde", max_length=4)
    with pytest.raises(InvalidUriTemplate, match="more than 1 variables"):
        UriTemplate.parse("{a,b}", max_variables=1)
    assert UriTemplate.parse("{a}").match("x" * 6, max_uri_length=5) is None
    assert UriTemplate.parse("{a}").match("x" * (DEFAULT_MAX_URI_LENGTH + 1)) is None


def test_an_invalid_template_error_pickles() -> None:
    with pytest.raises(InvalidUriTemplate) as caught:
        UriTemplate.parse("a}")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.template, again.position) == (str(caught.value), "a}", 1)


def test_a_template_tells_its_variables() -> None:
    template = UriTemplate.parse("a://{x}{/y*}{?z}")
    assert template.variables == [
        Variable("x", ""),
        Variable("y", "/", explode=True),
        Variable("z", "?"),
    ]
    assert template.variable_names == ["x", "y", "z"]
    assert str(template) == "a://{x}{/y*}{?z}"
    assert template == UriTemplate.parse("a://{x}{/y*}{?z}")
    assert hash(template) == hash(UriTemplate.parse("a://{x}{/y*}{?z}"))
    assert template != UriTemplate.parse("a://{x}")


def test_is_template() -> None:
    assert UriTemplate.is_template("a://{x}")
    assert not UriTemplate.is_template("a://x")
    assert not UriTemplate.is_template("a://}x{")


def test_values_must_be_text() -> None:
    with pytest.raises(TypeError, match="'x' must be a string or a list of strings"):
        UriTemplate.parse("{x}").expand({"x": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("operator", ["", "+", "/", "."])
def test_time_grows_linearly_with_the_uri(operator: str) -> None:
    names = "a{" + operator + "b}a{c}a{d}a{e}"
    template = UriTemplate.parse(names)

    def seconds(length: int) -> float:
        uri = "a" * length + "\n/"
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            assert template.match(uri, max_uri_length=10**7) is None or operator == "+"
            best = min(best, time.process_time() - start)
        return best

    # Eight times as long: quadratic work would take 64 times as long.
    assert seconds(400_000) < 30 * max(seconds(50_000), 0.001)


NAMES = ["a", "b", "c", "d"]
OPERATORS = ["", "+", "#", ".", "/", ";", "?", "&"]
TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.text(
    st.sampled_from("ab/?#&;.,=%-+1 ü"), max_size=8
)


@st.composite
def templates(draw: st.DrawFn) -> UriTemplate:
    text = draw(st.sampled_from(["", "x://", "x://h/", "x?q=1"]))
    for name in NAMES[: draw(st.integers(1, 4))]:
        operator = draw(st.sampled_from(OPERATORS))
        star = "*" if operator in (".", "/", ";") and draw(st.booleans()) else ""
        text += "{" + operator + name + star + "}"
        text += draw(st.sampled_from(["", "/", "-", "x", ".", "//", ";", "ü"]))
    try:
        return UriTemplate.parse(text)
    except InvalidUriTemplate:
        return draw(st.sampled_from([UriTemplate.parse("x://{a}"), UriTemplate.parse("{+a}")]))


@st.composite
def templates_with_values(draw: st.DrawFn) -> tuple[UriTemplate, dict[str, str | list[str]]]:
    template = draw(templates())
    return template, {
        variable.name: draw(st.lists(TEXT, max_size=3)) if variable.explode else draw(TEXT)
        for variable in template.variables
    }


def _writes_its_own_stops(template: UriTemplate, values: dict[str, str | list[str]]) -> bool:
    """What RFC 6570 writes unencoded although the way back stops there, or decodes."""
    for variable in template.variables:
        text = "".join(values[variable.name])
        if variable.operator in ("+", "#") and any(each in text for each in "?#%"):
            return True
        if variable.operator == "." and "." in text:
            return True
    return False


@given(templates_with_values())
@example((UriTemplate.parse("{.a}x{b}"), {"a": "1", "b": ".2x3"}))
@example((UriTemplate.parse("{a}-{+b}"), {"a": "-:", "b": ""}))
def test_every_expansion_matches_and_expands_to_itself(
    pair: tuple[UriTemplate, dict[str, str | list[str]]],
) -> None:
    template, values = pair
    if _writes_its_own_stops(template, values):
        return
    uri = template.expand(values)
    found = template.match(uri)
    assert found is not None
    # Several values may write the same URI ("x-y" and "z", "x" and "y-z"): the URI decides. What
    # moves from {a} to {+b} is no longer percent-encoded.
    assert unquote(template.expand(found)) == unquote(uri)


@given(st.lists(TEXT, min_size=4, max_size=4))
@pytest.mark.parametrize(
    "text", ["x://{a}/{b}{?c,d}", "x://{a}{/b*}", "{a,b,c,d}", "x{;a,b}/{+c}", "{/a,b}{#c}"]
)
def test_values_come_back_where_the_template_leaves_no_choice(text: str, given: list[str]) -> None:
    template = UriTemplate.parse(text)
    values: dict[str, str | list[str]] = {
        variable.name: given if variable.explode else value
        for variable, value in zip(template.variables, given, strict=False)
    }
    if _writes_its_own_stops(template, values):
        return
    assert template.match(template.expand(values)) == values


@given(templates(), st.text(st.sampled_from("xabh:/?#&;.,=%-2F+"), max_size=12))
@example(UriTemplate.parse("{a}-{b}/{+c}"), "a-b-a/x")
def test_what_the_official_sdk_matches_matches_with_the_same_values(
    template: UriTemplate, uri: str
) -> None:
    try:
        theirs = PeerUriTemplate.parse(template.template).match(uri)
    except PeerInvalidUriTemplate:
        return
    ours = template.match(uri)
    if theirs is not None and "�" not in str(theirs):
        assert ours == theirs
