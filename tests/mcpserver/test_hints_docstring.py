from __future__ import annotations

import inspect

import pytest

from trio_mcp.mcpserver._docstring import leave_out_params, parse_docstring

GOOGLE = inspect.cleandoc(
    """Do a thing.

    More on it.

    Args:
        value (int, optional): How much
            of it, over two lines.
        unit: In what: metres, say.
        *args: Rest.
        silent:

    Returns:
        result: Not an argument.
    """
)

NUMPY = inspect.cleandoc(
    """Do a thing.

    More on it.

    Parameters
    ----------
    value : int, optional
        How much
        of it, over two lines.
    unit, other
        In what: metres, say.

    Returns
    -------
    result : int
        Not an argument.
    """
)

SPHINX = inspect.cleandoc(
    """Do a thing.

    More on it.

    :param int value: How much
        of it, over two lines.
    :param unit: In what: metres, say.
    :type unit: str
    :returns: Nothing.
    """
)


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_arguments_of_each_style(docstring: str) -> None:
    parsed = parse_docstring(docstring)
    assert parsed.text == "Do a thing.\n\nMore on it."
    assert parsed.params["value"] == "How much of it, over two lines."
    assert parsed.params["unit"] == "In what: metres, say."
    assert "result" not in parsed.params
    assert "silent" not in parsed.params


def test_several_names_share_a_text() -> None:
    assert parse_docstring(NUMPY).params["other"] == "In what: metres, say."


def test_stars_belong_to_no_name() -> None:
    assert parse_docstring(GOOGLE).params["args"] == "Rest."


@pytest.mark.parametrize(
    "docstring",
    [
        None,
        "",
        "Only text.",
        "Text with: a colon.\n\nAnd more: of it.",
        "Args",
        "Args:",
        "Args:\n\n",
    ],
)
def test_docstring_without_arguments(docstring: str | None) -> None:
    assert parse_docstring(docstring).params == {}


def test_attributes_of_a_class() -> None:
    parsed = parse_docstring("A place.\n\nAttributes:\n  x: Across.\n  y: Up.\n")
    assert parsed.params == {"x": "Across.", "y": "Up."}


def test_a_word_with_a_colon_inside_the_text_is_no_section() -> None:
    parsed = parse_docstring("Do it.\n\nImportant:\n    value: 3\n\nArgs:\n    x: Across.\n")
    assert parsed.params == {"x": "Across."}
    assert "Important" in parsed.text


NAMES = ("value", "unit", "other", "args", "silent")
LEFT = "Do a thing.\n\nMore on it.\n\n"


@pytest.mark.parametrize(
    ("docstring", "left"),
    [
        (GOOGLE, LEFT + "Returns:\n    result: Not an argument."),
        (NUMPY, LEFT + "Returns\n-------\nresult : int\n    Not an argument."),
        (SPHINX, LEFT + ":returns: Nothing."),
        ("Args:\n    value: How much.", ""),
        ("A title.\n\n\nA text with a gap.", "A title.\n\n\nA text with a gap."),
        ("A title.\n\nArgs:\n    none of these", "A title.\n\nArgs:\n    none of these"),
    ],
)
def test_what_is_said_of_arguments_can_be_left_out(docstring: str, left: str) -> None:
    assert leave_out_params(docstring, NAMES) == left


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY])
def test_a_section_that_tells_of_something_else_stays(docstring: str) -> None:
    assert leave_out_params(docstring, ["value"]) == docstring
