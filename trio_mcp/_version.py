"""The version of this package; the only place that holds it."""

from __future__ import annotations

__version__ = "0.1.0"
