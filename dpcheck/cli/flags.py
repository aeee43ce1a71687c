"""The values of options, on their way from click to the function that checks them."""

from __future__ import annotations

from typing import Any, TypeAlias

Flag: TypeAlias = Any  # the value of an option, of the type its declaration names
Flags: TypeAlias = dict[str, Flag]
