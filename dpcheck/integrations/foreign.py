"""What comes from other libraries and is handed back to them."""

from __future__ import annotations

from typing import Any, TypeAlias

Foreign: TypeAlias = (
    Any  # an object of another library, which has no types of its own or its own types
)
