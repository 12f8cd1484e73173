"""Pages for people, which nobody else can put words into or a frame around."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape
from typing import Final

from ._answers import NO_STORE, Answer

_STYLE: Final = (
    "body{font-family:system-ui,sans-serif;background:#f4f4f5;color:#18181b}"
    "main{max-width:26rem;margin:2rem auto;padding:1.5rem 2rem;background:#fff;"
    "border-radius:.5rem}"
    "h1{font-size:1.3rem}dt{font-weight:600}dd{margin:0 0 .6rem;overflow-wrap:anywhere}"
    "label,input{display:block;width:100%;box-sizing:border-box}input{margin:.2rem 0 .8rem;"
    "padding:.5rem}button{padding:.6rem 1.2rem;margin-right:.6rem}.warning{color:#b91c1c}"
)
_STYLE_HASH: Final = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

# A page with a password field inside somebody else's page is a trap. `form-action` is not said:
# browsers apply it to redirects, too, and a form here ends at the client's URL.
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "frame-ancestors 'none'"
)

_SECURITY: Final = (
    ("content-security-policy", _POLICY),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    # Not `no-referrer`, with which forms come with `Origin: null`.
    ("referrer-policy", "same-origin"),
    *NO_STORE,
)


def page_answer(
    title: str, content: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """Answer with a page.

    Args:
      title: Plain text.
      content: HTML, in which whatever came from elsewhere is escaped.
      status: Of HTTP.
      headers: More of the answer's.

    """
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{content}</main></body></html>\n"
    )
    return Answer(status, page.encode(), (*_SECURITY, *headers), "text/html; charset=utf-8")
