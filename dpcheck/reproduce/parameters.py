"""Keyword arguments of the estimators that the tables compare."""

from __future__ import annotations

from typing import Any, TypeAlias

Parameter: TypeAlias = Any  # of the type the estimator's own signature says
Parameters: TypeAlias = dict[str, Parameter]
