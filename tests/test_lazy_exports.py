from __future__ import annotations

import importlib
import pickle
import sys

import pytest

PACKAGE = """
from trio_mcp._exports import lazy_exports

__getattr__, __dir__ = lazy_exports(
    __name__, {"Thing": "._things", "make": "._things", "Other": "._things:Thing", "LIMIT": "._things"}
)
"""
THINGS = """
LIMIT = 3
class Thing: ...
def make(): ...
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "some_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE, "utf-8")
    (folder / "_things.py").write_text(THINGS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("some_package")
    for name in ("some_package", "some_package._things"):
        sys.modules.pop(name, None)


def test_module_is_loaded_when_its_name_is_first_used(package):
    assert "some_package._things" not in sys.modules
    assert package.LIMIT == 3
    assert "some_package._things" in sys.modules
    assert vars(package)["LIMIT"] == 3


def test_class_and_function_show_the_public_path(package):
    assert package.Thing.__module__ == package.make.__module__ == "some_package"
    assert pickle.loads(pickle.dumps(package.Thing)) is package.Thing


def test_name_may_differ_from_that_in_its_module(package):
    assert package.Other is package.Thing


def test_names_are_listed_before_they_are_loaded(package):
    assert {"Thing", "make", "Other", "LIMIT"} <= set(dir(package))


def test_unknown_name_is_an_attribute_error_with_its_name(package):
    with pytest.raises(
        AttributeError, match="'some_package' has no attribute 'Nothing'"
    ) as caught:
        package.Nothing  # noqa: B018 - reading it is the test
    assert caught.value.name == "Nothing"
