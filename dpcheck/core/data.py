"""Names for what dpcheck passes along without looking inside."""

from __future__ import annotations

from typing import Any, TypeAlias

Data: TypeAlias = Any  # a dataset, in the form its mechanism takes it
Output: TypeAlias = Any  # what a mechanism returns
Plain: TypeAlias = Any  # a value that JSON can carry
Value: TypeAlias = Any  # whatever somebody's code holds while it runs
