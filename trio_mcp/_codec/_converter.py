"""Wire types to JSON values and back, in the words of each revision.

`encode` writes what the revision knows, in its words (see ``_downgrade``); `decode` takes
values at their word and says where one does not fit. What a peer sends beyond its revision is
read all the same: into the attribute if it fits, else into ``extra``, where unknown members
are kept, too. Only the words of 2026-07-28 that would mean something to us (``resultType``,
``ttlMs``, ``cacheScope``) are kept in ``extra`` when an older peer sends them.

Raw JSON (schemas, arguments, structured content, ``_meta``) is passed on when it is read, and
copied and checked to be JSON when it is written.

Functions for a class are made when it is first met (`_generate`). Classes of users that are no
wire types, as attributes of those that an extension brings, go through a cattrs converter of
the revision, which is made for the first of them; hooks that are registered there are honoured.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from trio_mcp.types._base import JsonObject, JsonValue, WireModel
from trio_mcp.types._revisions import KNOWN_REVISIONS, Revision
from trio_mcp.types.jsonrpc import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._containers import (
    foreign_decoder,
    items_decoder,
    items_encoder,
    members_decoder,
    members_encoder,
    words_decoder,
)
from ._decode_error import DecodeError
from ._downgrade import downgrade_for
from ._envelope import Malformed, message_to_json, parse_message
from ._generate import Hook, make_decoder, make_encoder
from ._raw import PLAIN_DECODERS, PLAIN_ENCODERS, encode_form
from ._shapes import Choice, Items, Members, Named, Plain, Shape, Words, fields_of, shape_of
from ._strict import encode_word, located, mistaken
from ._unions import TAGGED, by_tag, members_of, selector_for

if TYPE_CHECKING:
    from collections.abc import Callable

    import cattrs

__all__ = ["converter_for", "decode", "encode"]

_T = TypeVar("_T")

_MESSAGES: Final = (JSONRPCRequest, JSONRPCNotification, JSONRPCResponse, JSONRPCError)


@overload
def decode(
    cls: type[_T], value: JsonValue, revision: Revision, *, where: str = "params"
) -> _T: ...
@overload
def decode(cls: Any, value: JsonValue, revision: Revision, *, where: str = "params") -> Any: ...
def decode(cls: Any, value: JsonValue, revision: Revision, *, where: str = "params") -> Any:
    """Read a JSON value as a type.

    Args:
      cls: A wire type, or a union, list or dict of them, such as `ContentBlock`.
      value: As `loads` returns it; raw JSON in it is shared with the result.
      revision: The one that is spoken.
      where: What to call the value in errors.

    Raises:
      DecodeError: if it does not fit.

    """
    decoders = _DECODERS[revision.position]
    hook = decoders.get(cls)
    if hook is None:
        hook = decoders[cls] = _speller(revision).decoder(shape_of(cls), where)
    try:
        return hook(value)
    except DecodeError as exc:
        exc.at(where)
        raise


def encode(value: WireModel, revision: Revision) -> JsonObject:
    """Write an object as JSON, in the words of a revision.

    Args:
      value: A wire type or a JSON-RPC message.
      revision: The one that is spoken.

    Raises:
      TypeError: if an attribute has a value of another type than it says; names the way to it,
        and what was expected and given.
      ValueError: if the revision has no words for it.

    """
    hook = _ENCODERS[revision.position].get(value.__class__)
    if hook is None:
        hook = _speller(revision).class_encoder(value.__class__)
    try:
        written: JsonObject = hook(value)
    except (TypeError, ValueError) as exc:
        located(exc)
        raise
    return written


def converter_for(revision: Revision) -> cattrs.Converter:
    """Return the converter of a revision, for hooks of other types than ours."""
    return _speller(revision).converter


# By the position of the revision; filled by use.
_DECODERS: Final[tuple[dict[Any, Hook], ...]] = tuple({} for _ in KNOWN_REVISIONS)
_ENCODERS: Final[tuple[dict[type, Hook], ...]] = tuple({} for _ in KNOWN_REVISIONS)


@cache
def _speller(revision: Revision) -> _Speller:
    return _Speller(revision)


def _is_wire_type(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, WireModel)


class _Speller:
    """Makes the functions of one revision."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.decoders = _DECODERS[revision.position]
        self.encoders = _ENCODERS[revision.position]

    @cached_property
    def converter(self) -> cattrs.Converter:
        """For classes that are no wire types, and the wire types inside them."""
        import cattrs  # noqa: PLC0415 - few programs have such a class

        converter = cattrs.Converter(detailed_validation=True)
        converter.register_structure_hook_factory(_is_wire_type, self._structure_hook)
        converter.register_unstructure_hook_factory(_is_wire_type, self.class_encoder)
        converter.register_structure_hook_func(_MESSAGES.__contains__, _decode_message)
        converter.register_unstructure_hook_func(_MESSAGES.__contains__, message_to_json)
        return converter

    # Decoding.

    def class_decoder(self, cls: Any) -> Hook:
        """Return the function that reads objects of a wire type."""
        hook = self.decoders.get(cls)
        if hook is None:
            hook = make_decoder(cls, fields_of(cls), self.revision, self.decoder)
            self.decoders[cls] = hook
        return hook

    def _structure_hook(self, cls: Any) -> Callable[[Any, Any], Any]:
        read = self.class_decoder(cls)
        return lambda value, _cls: read(value)

    def decoder(self, shape: Shape, where: str) -> Hook:
        """Make the function that reads one shape."""
        match shape:
            case Plain():
                return PLAIN_DECODERS[shape.kind]
            case Words():
                return words_decoder(shape.words)
            case Items():
                return items_decoder(self.decoder(shape.of, where))
            case Members():
                return members_decoder(self.decoder(shape.of, where))
            case Named():
                return self._named_decoder(shape, where)
            case Choice():
                return self._choice_decoder(shape, where)

    def _named_decoder(self, shape: Named, where: str) -> Hook:
        if shape.name in TAGGED:
            return self._tagged_decoder(TAGGED[shape.name])
        loaded = shape.load()
        if not isinstance(loaded, type):
            return self.decoder(shape_of(loaded), where)
        if _is_wire_type(loaded):
            return self.class_decoder(loaded)
        if loaded in _MESSAGES:
            return foreign_decoder(_decode_message, loaded)
        return foreign_decoder(self.converter.get_structure_hook(loaded), loaded)

    def _choice_decoder(self, shape: Choice, where: str) -> Hook:
        lists = [each for each in shape.of if isinstance(each, Items)]
        if lists:
            others = tuple(each for each in shape.of if each not in lists)
            one = self.decoder(others[0] if len(others) == 1 else Choice(others), where)
            many = self.decoder(lists[0], where)
            return lambda value: many(value) if value.__class__ is list else one(value)
        members: dict[str, Named] = {}
        for each in shape.of:
            if not isinstance(each, Named):
                msg = f"{where}: no rule tells {shape.of} apart"
                raise TypeError(msg)
            members[each.name] = each
        if set(members) == {each.__name__ for each in _MESSAGES}:
            return _decode_message
        for name, table in TAGGED.items():
            if set(table.values()) == set(members):
                return self._named_decoder(Named(name), where)
        selector = selector_for(
            tuple(each.load() for each in members.values()),
            has_result_type=self.revision.has_result_type,
        )
        return self._union_decoder(selector, members)

    def _union_decoder(self, select: Callable[[Any], str], members: dict[str, Named]) -> Hook:
        hooks: dict[str, Hook] = {}

        def decode_member(value: Any) -> Any:
            name = select(value)
            hook = hooks.get(name)
            if hook is None:
                hook = hooks[name] = self._named_decoder(members[name], name)
            return hook(value)

        return decode_member

    def _tagged_decoder(self, table: dict[str, str]) -> Hook:
        """Read a union by its ``type``; every content block comes through here."""
        select = by_tag("type", table)
        hooks: dict[str, Hook] = {}

        def decode_tagged(value: Any) -> Any:
            try:
                hook = hooks[value["type"]]
            except (KeyError, TypeError):
                # The first of its kind, or none at all.
                name = select(value)
                hook = self._named_decoder(Named(name), name)
                hooks[value["type"]] = hook
            return hook(value)

        return decode_tagged

    # Encoding.

    def class_encoder(self, cls: type) -> Hook:
        """Return the function that writes objects of a class."""
        hook = self.encoders.get(cls)
        if hook is None:
            hook = self.encoders[cls] = self._make_encoder(cls)
        return hook

    def _make_encoder(self, cls: Any) -> Hook:
        if cls in _MESSAGES:
            return message_to_json
        if not _is_wire_type(cls):
            return self.converter.get_unstructure_hook(cls)
        write = make_encoder(cls, fields_of(cls), self.revision, self.encoder)
        revision = self.revision
        downgrade = downgrade_for(cls, revision)
        if downgrade is None:
            return write if revision.includes(cls.wire_since, None) else _refusal(cls, revision)

        def write_older(value: Any) -> Any:
            said = downgrade(value, revision)
            if said.__class__ is cls:
                return write(said)
            return self.class_encoder(said.__class__)(said)

        return write_older

    def encoder(self, shape: Shape, where: str) -> Hook:
        """Make the function that writes one shape."""
        match shape:
            case Plain(kind="model"):
                return self._model_encoder
            case Plain():
                write = PLAIN_ENCODERS[shape.kind]
                return lambda value: write(value, where)
            case Words():
                return lambda value: encode_word(value, shape.words, where)
            case Items():
                return items_encoder(self.encoder(shape.of, where), where)
            case Members(of=Plain(kind="form value")):
                return lambda value: encode_form(value, where)
            case Members():
                return members_encoder(self.encoder(shape.of, where), where)
            case Named() | Choice():
                return self._union_encoder(shape, where)

    def _model_encoder(self, value: Any) -> Any:
        return encode(value, self.revision) if isinstance(value, WireModel) else value

    def _union_encoder(self, shape: Named | Choice, where: str) -> Hook:
        lists, members = self._alternatives(shape)
        if lists:
            one: Shape = members[0] if len(members) == 1 else Choice(tuple(members))
            write_one, write_many = self.encoder(one, where), self.encoder(lists[0], where)
            return lambda value: (
                write_many(value) if isinstance(value, (list, tuple)) else write_one(value)
            )
        if isinstance(shape, Named) and not members:
            # A name for something else than classes, such as a dict of them.
            return self.encoder(shape_of(shape.load()), where)
        return self._members_encoder(shape, {each.name for each in members}, where)

    def _alternatives(self, shape: Shape) -> tuple[list[Items], list[Named]]:
        """Sort what a value may be into lists and classes, loading no more than needed."""
        lists: list[Items] = []
        members: list[Named] = []
        for each in shape.of if isinstance(shape, Choice) else (shape,):
            if isinstance(each, Items):
                lists.append(each)
            elif isinstance(each, Named):
                tagged = members_of(each.name)
                if tagged is not None:
                    members.extend(tagged)
                    continue
                loaded = each.load()
                if isinstance(loaded, type):
                    members.append(each)
                elif isinstance(said := shape_of(loaded), Choice):
                    members.extend(self._alternatives(said)[1])
        return lists, members

    def _members_encoder(self, shape: Shape, names: set[str], where: str) -> Hook:
        """Write objects of these classes, or JSON objects that can be read as one."""
        hooks: dict[type, Hook] = {}

        def admit(cls: Any) -> Hook | None:
            if issubclass(cls, dict):
                read = self.decoder(shape, where)
                return lambda value: encode(_read_given(read, value, where), self.revision)
            if any(base.__name__ in names for base in cls.__mro__):
                return self.class_encoder(cls)
            return None

        def write(value: Any) -> Any:
            hook = hooks.get(value.__class__)
            if hook is None:
                hook = admit(value.__class__)
                if hook is None:
                    mistaken(where, " or ".join(sorted(names)), value)
                hooks[value.__class__] = hook
            return hook(value)

        return write


def _decode_message(value: Any, cls: Any = None) -> Any:
    parsed = parse_message(value)
    if isinstance(parsed, Malformed):
        raise DecodeError("a JSON-RPC message", parsed.message)
    if cls is not None and not isinstance(parsed, cls):
        raise DecodeError(f"a {cls.__name__}", f"a {type(parsed).__name__}")
    return parsed


def _refusal(cls: type, revision: Revision) -> Hook:
    def refuse(_value: Any) -> Any:
        msg = f"revision {revision} has no {cls.__name__}, nor another word for it"
        raise ValueError(msg)

    return refuse


def _read_given(read: Hook, value: Any, where: str) -> Any:
    try:
        return read(value)
    except DecodeError as exc:
        exc.at(where)
        raise ValueError(str(exc)) from exc
