"""Who refers to whom in a schema, and how much work that may cause.

The engine resolves references itself, and offline. We resolve them too, first, for three reasons:
a reference that leads outside the schema or to nothing gets an error that says where it stands; a
few lines of references can stand for a billion evaluations, which has to be known before a value
is checked; and recursive schemas need the depth of their values bounded.

Each subschema is a node. An edge says where its target applies: *here*, to the same value
(``$ref``, ``allOf``, …), or to something *below* it, where at most one of the ``named`` ones
(``properties``, ``prefixItems``) meets any one child, and all of the others may.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urldefrag, urljoin

import attrs

from trio_mcp.types._base import is_array, is_object

from ._dialects import DIALECTS, Dialect
from ._errors import SchemaError
from ._paths import path_text, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio_mcp.types._base import JsonObject, JsonValue

    from ._budget import Budget

MAX_SUBSCHEMAS: Final = 10_000
MAX_PATTERNS: Final = 500
MAX_PATTERN_LENGTH: Final = 5_000
# The longest array has fewer items than a number of so many digits.
_MAX_DIGITS: Final = 9

# Steps of a `Budget` for each subschema, all that is done with it taken together.
_OF_A_SUBSCHEMA: Final = 150
# For each name of a subschema and each reference, and for two characters of a URI that is joined.
_OF_A_REFERENCE: Final = 80

# keyword: the list of `Node` that its subschemas belong to. Keywords of all dialects together: a
# keyword that this dialect does not know costs nothing, counting it only overstates the work.
_SINGLE: Final = {
    "not": "here",
    "if": "here",
    "then": "here",
    "else": "here",
    "items": "below",
    "additionalItems": "below",
    "unevaluatedItems": "below",
    "contains": "below",
    "additionalProperties": "below",
    "unevaluatedProperties": "below",
    "propertyNames": "below",
    "contentSchema": "unused",
}
_LISTS: Final = {
    "allOf": "here",
    "anyOf": "here",
    "oneOf": "here",
    "prefixItems": "named",
    "items": "named",
}
_MAPS: Final = {
    "properties": "named",
    "patternProperties": "below",
    "dependentSchemas": "here",
    "dependencies": "here",
    "$defs": "unused",
    "definitions": "unused",
}
_SUBSCHEMAS: Final = frozenset({*_SINGLE, *_LISTS, *_MAPS})
_DYNAMIC_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")
_REFERENCES: Final = ("$ref", *_DYNAMIC_REFERENCES)

Path = tuple[str | int, ...]


def _no_nodes() -> list[Node]:
    return []


@attrs.define(eq=False)
class Node:
    """One subschema that is an object."""

    schema: JsonObject
    path: Path
    base: str
    """The URI that its references are relative to."""
    here: list[Node] = attrs.Factory(_no_nodes)
    named: list[Node] = attrs.Factory(_no_nodes)
    below: list[Node] = attrs.Factory(_no_nodes)
    dynamic: list[Node] = attrs.Factory(_no_nodes)
    """What a ``$dynamicRef`` may mean here: one of them, which one is known only at run time.

    All references to one name share a node without a schema, which has what bears the name.
    """
    unused: list[Node] = attrs.Factory(_no_nodes)
    recursive: list[Node] = attrs.Factory(_no_nodes)
    """Those of ``here`` that lead back to where this node came from."""

    def applied(self) -> Iterator[Node]:
        return chain(self.here, self.dynamic, self.named, self.below)


class SchemaGraph:
    """The subschemas of one schema, with every reference resolved.

    Args:
      schema: A private copy, valid in its dialect.
      dialect: The dialect it is in.
      where: What the schema belongs to, for errors.
      budget: What the work is taken from.

    Raises:
      SchemaError: if a reference leads out of the schema or to nothing, an embedded schema has
        another dialect, or there is too much of something.

    """

    def __init__(self, schema: JsonValue, dialect: Dialect, *, where: str, budget: Budget) -> None:
        self._dialect = dialect
        self._where = where
        self._budget = budget
        self._nodes: dict[int, Node] = {}  # {id of the object: its node}
        self._resources: dict[str, JsonObject] = {}
        self._anchors: dict[tuple[str, str], Node] = {}
        self._dynamic_anchors: dict[str, list[Node]] = {}
        self._dynamically: dict[str, Node] = {}  # {name: what stands for all that bear it}
        self._unresolved: list[Node] = []
        self._patterns: set[str] = set()
        self.has_alternatives = False
        self.uses_metaschema = False
        self.root = self._add(schema, (), "")
        while self._unresolved:
            waiting, self._unresolved = self._unresolved, []
            for node in waiting:
                self._resolve_references(node)

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def _fault(self, reason: str, path: Path = ()) -> SchemaError:
        return SchemaError(reason, path=path_text(path), where=self._where)

    def _add(self, schema: JsonValue, path: Path, base: str) -> Node | None:
        """Add a subschema and all in it, unless it is there; None for a boolean."""
        if not is_object(schema):
            return None
        if id(schema) in self._nodes:
            return self._nodes[id(schema)]
        first = self._register(schema, path, base)
        pending = [first]
        while pending:
            pending += self._add_subschemas(pending.pop())
        return first

    def _register(self, schema: JsonObject, path: Path, base: str) -> Node:
        if len(self._nodes) >= MAX_SUBSCHEMAS:
            raise self._fault(f"has more than {MAX_SUBSCHEMAS} subschemas")
        self._budget.spend(_OF_A_SUBSCHEMA)
        if path and "$schema" in schema:
            declared = schema["$schema"]
            if not isinstance(declared, str) or declared.removesuffix("#") != self._dialect.uri:
                raise self._fault("a part of a schema cannot have another dialect", path)
        node = Node(schema, path, base)
        self._nodes[id(schema)] = node
        self._name(node)
        if any(keyword in schema for keyword in _REFERENCES):
            self._unresolved.append(node)
        return node

    def _name(self, node: Node) -> None:
        """Note the identifier and the anchors by which references know a node."""
        schema = node.schema
        anchors = [schema.get("$anchor"), schema.get("$dynamicAnchor")]
        identifier = schema.get(self._dialect.id_keyword)
        if isinstance(identifier, str) and identifier.startswith("#"):
            anchors.append(identifier[1:])  # how drafts before 2019-09 wrote anchors
        elif isinstance(identifier, str):
            self._budget.spend(_OF_A_REFERENCE + (len(node.base) + len(identifier)) // 2)
            node.base = urldefrag(urljoin(node.base, identifier)).url
            if node.path and node.base in self._resources:
                raise self._fault(f"the identifier {quote(identifier)} is used twice", node.path)
        self._resources.setdefault(node.base, schema)
        for name in anchors:
            if isinstance(name, str):
                self._anchors.setdefault((node.base, name), node)
        if isinstance(anchors[1], str):
            self._dynamic_anchors.setdefault(anchors[1], []).append(node)
        if schema.get("$recursiveAnchor") is True:
            self._dynamic_anchors.setdefault("", []).append(node)

    def _add_subschemas(self, node: Node) -> list[Node]:
        """Register what stands directly in a node; returns what has to be walked next."""
        added: list[Node] = []
        for keyword in node.schema.keys() & _SUBSCHEMAS:
            value = node.schema[keyword]
            if keyword in ("anyOf", "oneOf"):
                self.has_alternatives = True
            if is_array(value):
                role = _LISTS.get(keyword)
                members: list[tuple[str | int, JsonValue]] = list(enumerate(value))
            elif keyword in _MAPS and is_object(value):
                role = _MAPS[keyword]
                members = list(value.items())
            else:
                role = _SINGLE.get(keyword)
                members = []
                if role is not None and is_object(value):
                    self._adopt(node, role, value, (keyword,), added)
            if role is not None:
                for name, member in members:
                    if is_object(member):
                        self._adopt(node, role, member, (keyword, name), added)
        self._note_patterns(node)
        return added

    def _adopt(
        self, parent: Node, role: str, schema: JsonObject, step: Path, added: list[Node]
    ) -> None:
        child = self._nodes.get(id(schema))
        if child is None:
            child = self._register(schema, parent.path + step, parent.base)
            added.append(child)
        targets: list[Node] = getattr(parent, role)
        targets.append(child)

    def _note_patterns(self, node: Node) -> None:
        for pattern in patterns_of(node.schema):
            if len(pattern) > MAX_PATTERN_LENGTH:
                reason = f"a pattern is longer than {MAX_PATTERN_LENGTH} characters"
                raise self._fault(reason, node.path)
            self._patterns.add(pattern)
        if len(self._patterns) > MAX_PATTERNS:
            raise self._fault(f"has more than {MAX_PATTERNS} patterns")

    def _resolve_references(self, node: Node) -> None:
        for keyword in _REFERENCES:
            reference = node.schema.get(keyword)
            if not isinstance(reference, str):
                continue
            target = self._target(reference, node, (*node.path, keyword))
            if keyword == "$ref":
                if target is not None:
                    node.here.append(target)
                continue
            # What bears the name may still grow, and is the same for all that refer to it.
            name = "" if keyword == "$recursiveRef" else unquote(reference.partition("#")[2])
            if name not in self._dynamically:
                bearers = self._dynamic_anchors.setdefault(name, [])
                self._dynamically[name] = Node({}, (), "", dynamic=bearers)
            node.dynamic.append(self._dynamically[name])
            if target is not None:
                node.dynamic.append(target)
            # The engine looks through the embedded schemas around it.
            self._budget.spend(len(self._resources) // 4)

    def _target(self, reference: str, node: Node, path: Path) -> Node | None:
        """What a reference means; None for a boolean or a metaschema, which need no node."""
        self._budget.spend(_OF_A_REFERENCE + 2 * len(reference))
        if reference.startswith("#"):
            # urljoin knows the hierarchical schemes only: it would drop a base of `urn:…`.
            document, fragment = node.base, reference[1:]
        else:
            self._budget.spend(len(node.base) // 2)
            document, fragment = urldefrag(urljoin(node.base, reference))
        resource = self._resources.get(document)
        if resource is None:
            if document in DIALECTS:
                # The engine has these built in. They are recursive, and cost little.
                self.uses_metaschema = True
                return None
            raise self._fault(
                f"the reference {quote(reference)} leads out of the schema; nothing is fetched",
                path,
            )
        if fragment and not fragment.startswith("/"):
            anchored = self._anchors.get((document, unquote(fragment)))
            if anchored is None:
                raise self._fault(f"the reference {quote(reference)} leads to nothing", path)
            return anchored
        return self._pointed(resource, fragment, reference, path)

    def _pointed(
        self, resource: JsonObject, pointer: str, reference: str, path: Path
    ) -> Node | None:
        found: JsonValue = resource
        nearest = self._nodes[id(resource)]
        steps: list[str | int] = []
        for token in pointer.split("/")[1:]:
            name = unquote(token).replace("~1", "/").replace("~0", "~")
            if is_object(found) and name in found:
                steps.append(name)
                found = found[name]
            elif is_array(found) and _is_index(name) and int(name) < len(found):
                steps.append(int(name))
                found = found[int(name)]
            else:
                raise self._fault(f"the reference {quote(reference)} leads to nothing", path)
            if is_object(found) and id(found) in self._nodes:
                nearest, steps = self._nodes[id(found)], []
        if not isinstance(found, (dict, bool)):
            raise self._fault(f"the reference {quote(reference)} leads to no schema", path)
        # A target in a place that no keyword makes a schema becomes one by being referred to.
        return self._add(found, (*nearest.path, *steps), nearest.base)


def patterns_of(schema: JsonObject) -> list[str]:
    """The regular expressions that stand directly in a subschema."""
    by_name = schema.get("patternProperties")
    own = schema.get("pattern")
    patterns = [*by_name] if is_object(by_name) else []
    return [*patterns, own] if isinstance(own, str) else patterns


def _is_index(name: str) -> bool:
    return name.isdecimal() and len(name) <= _MAX_DIGITS
