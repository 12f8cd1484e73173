"""The only door to JSON Schema in this package.

`compile_validator` makes a `Validator` of a schema. Two engines stand behind it, and `plan_schema`
decides which one a schema gets: ``fast`` is Python code generated from a rebuilt copy, for schemas
written in this process that hold nothing but what it does exactly right; ``full`` is a complete
implementation of JSON Schema, for the rest and for all that came from a peer. The text of a fault
always comes from the full one.
"""

from __future__ import annotations

from ._dialects import DIALECTS as DIALECTS
from ._errors import EngineDisagreement as EngineDisagreement
from ._errors import SchemaError as SchemaError
from ._errors import UnsupportedPattern as UnsupportedPattern
from ._plan import Plan as Plan
from ._plan import plan_schema as plan_schema
from ._validator import Validator as Validator
from ._validator import compile_validator as compile_validator
from ._violation import Violation as Violation
from ._violation import describe_value as describe_value
