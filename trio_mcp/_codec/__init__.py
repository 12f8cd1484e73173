"""Spelling: wire types to JSON to bytes, and back.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from ._check import check_wire as check_wire
    from ._converter import decode as decode
    from ._converter import encode as encode
    from ._decode_error import DecodeError as DecodeError
    from ._envelope import Batch as Batch
    from ._envelope import Frame as Frame
    from ._envelope import Malformed as Malformed
    from ._envelope import check_notification as check_notification
    from ._envelope import check_request as check_request
    from ._envelope import check_result as check_result
    from ._envelope import dump_lines as dump_lines
    from ._envelope import dump_message as dump_message
    from ._envelope import message_to_json as message_to_json
    from ._envelope import parse_frame as parse_frame
    from ._envelope import parse_message as parse_message
    from ._envelope import printable as printable
    from ._envelope import why_unwritable as why_unwritable
    from ._excerpt import excerpt as excerpt
    from ._json import JsonError as JsonError
    from ._json import SharedArray as SharedArray
    from ._json import checked_copy as checked_copy
    from ._json import dumps as dumps
    from ._json import loads as loads
    from ._json import unshared as unshared
    from ._lines import LineSplitter as LineSplitter

__all__ = [
    "Batch",
    "DecodeError",
    "Frame",
    "JsonError",
    "LineSplitter",
    "Malformed",
    "SharedArray",
    "check_notification",
    "check_request",
    "check_result",
    "check_wire",
    "checked_copy",
    "decode",
    "dump_lines",
    "dump_message",
    "dumps",
    "encode",
    "excerpt",
    "loads",
    "message_to_json",
    "parse_frame",
    "parse_message",
    "printable",
    "unshared",
    "why_unwritable",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Batch": "._envelope",
            "DecodeError": "._decode_error",
            "Frame": "._envelope",
            "JsonError": "._json",
            "LineSplitter": "._lines",
            "Malformed": "._envelope",
            "SharedArray": "._json",
            "check_notification": "._envelope",
            "check_request": "._envelope",
            "check_result": "._envelope",
            "check_wire": "._check",
            "checked_copy": "._json",
            "decode": "._converter",
            "dump_lines": "._envelope",
            "dump_message": "._envelope",
            "dumps": "._json",
            "encode": "._converter",
            "excerpt": "._excerpt",
            "loads": "._json",
            "message_to_json": "._envelope",
            "parse_frame": "._envelope",
            "parse_message": "._envelope",
            "printable": "._envelope",
            "unshared": "._json",
            "why_unwritable": "._envelope",
        },
    )
