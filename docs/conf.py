"""How Sphinx builds these pages; it needs no network."""

from __future__ import annotations

from trio_mcp import __version__

project = "trio_mcp"
author = "The trio_mcp authors"
copyright = f"2026, {author}"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"trio_mcp {__version__}"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Backticks in docstrings are names, arguments, wire fields; most of them are no page of ours.
default_role = "code"

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
# Class docstrings describe the arguments, and the signature has the types.
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Cancellation", "Resource handling", "Error handling"]

# Every reference to a name of this package must resolve. Names of other packages, and short
# names in signatures, cannot: built offline, these pages know no inventory but their own.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!trio_mcp\.[a-z]+\.(?!(?:[a-z]+\.)*_)[A-Za-z]).*")]

# A tool of a server and a tool on the wire are both called Tool; a signature says just that.
# This is not the category of dead references.
suppress_warnings = ["ref.python"]
