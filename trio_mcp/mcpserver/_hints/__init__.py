"""Type hints, read once: into a JSON Schema and the conversions that belong to it.

`Walker` turns a hint into a `Shape`: the schema that is published, how a JSON value that
fits the schema becomes the Python value (`Shape.structure`), and how a Python value becomes
JSON (`Shape.unstructure`). All three come from one walk, so they cannot differ.

One file each: names in string hints (`_scope`), scalars, containers, choices (Literal, Enum,
unions), records (attrs, dataclasses, TypedDict, NamedTuple, msgspec), pydantic models, the
metadata of ``Annotated`` (`_constraints`, `_checks`), what pydantic has to read or run
(`_adapted`), and Python values to JSON by class (`_to_json`).

The conversions are plain closures and not hooks of a cattrs converter: cattrs resolves the
hints of a class by itself, in the module alone, and so cannot read classes that live in a
function under ``from __future__ import annotations``.
"""

from __future__ import annotations

from ._errors import HintError as HintError
from ._errors import Mismatch as Mismatch
from ._errors import ReadError as ReadError
from ._errors import UnknownName as UnknownName
from ._scope import Scope as Scope
from ._scope import is_still_running as is_still_running
from ._shape import Shape as Shape
from ._to_json import to_json as to_json
from ._walk import Walker as Walker
