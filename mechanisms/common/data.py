"""What a mechanism is run on: labelled rows, and the checks they pass first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.common.regularizers import Floats

Labels: TypeAlias = NDArray[Any]  # class labels of any type: numbers, words
LogDensity: TypeAlias = Any  # a float for one release, an array of floats for many


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Rows X and labels y in {-1, +1} of one dataset."""

    X: Floats
    y: Floats

    def __post_init__(self) -> None:
        X = np.asarray(self.X, dtype=float)
        y = np.asarray(self.y, dtype=float)
        if X.ndim != 2 or not X.shape[1]:
            raise InvalidParameter("X must be a table of rows and at least one feature.", name="X")
        if y.shape != X.shape[:1]:
            raise InvalidParameter(
                f"y must hold one label per row of X, got {y.shape} for {X.shape}.", name="y"
            )
        if not np.isfinite(X).all():
            raise InvalidParameter(
                "X holds NaN or infinity; fill or drop those entries first.", name="X"
            )
        if not np.isin(y, (-1.0, 1.0)).all():
            raise InvalidParameter("y must hold -1 and +1 only; recode the labels.", name="y")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """A source and a target dataset of the same width."""

    X_source: Floats
    y_source: Floats
    X_target: Floats
    y_target: Floats

    def __post_init__(self) -> None:
        for part in ("source", "target"):
            read = _read_part(getattr(self, f"X_{part}"), getattr(self, f"y_{part}"), part)
            object.__setattr__(self, f"X_{part}", read.X)
            object.__setattr__(self, f"y_{part}", read.y)
        if self.X_source.shape[1] != self.X_target.shape[1]:
            raise InvalidParameter(
                f"X_source and X_target must have the same features, got "
                f"{self.X_source.shape[1]} and {self.X_target.shape[1]}; keep the common ones, in "
                "the same order.",
                name="X_target",
            )


def _read_part(X: Floats, y: Floats, part: str) -> Labelled:
    try:
        return Labelled(X, y)
    except InvalidParameter as error:
        message = error.message.replace("X ", f"X_{part} ").replace("y ", f"y_{part} ", 1)
        raise InvalidParameter(message, name=f"{error.data.get('name')}_{part}") from None


Data = Labelled | Transfer


def part_of(data: Data, part: str) -> Labelled:
    """The dataset a part names: "data", "source" or "target"."""
    if isinstance(data, Labelled):
        return data
    if part == "source":
        return Labelled(data.X_source, data.y_source)
    return Labelled(data.X_target, data.y_target)


def clip_rows(X: Floats, bound: float) -> Floats:
    """Each row shortened to norm `bound` if it is longer; 0 stays 0.

    A row never ends up longer than the bound, not even by a rounding error: the computed norm of d
    numbers is off by less than d + 4 ulp, which are given away.
    """
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    safe = bound * (1 - (X.shape[1] + 8) * np.finfo(float).eps)
    longer = norms > safe
    return np.where(longer, X * (safe / np.where(longer, norms, 1.0)), X)


def read_classes(classes: Sequence[object] | None, *labels: ArrayLike) -> Labels:
    """The two classes, (negative, positive): as given, or the two values that occur.

    Reading them from the data assumes that which labels exist is public.
    """
    if classes is not None:
        values = np.asarray(classes)
        if values.shape != (2,) or values[0] == values[1]:
            raise InvalidParameter(
                f"classes must be two different labels (negative, positive), got {classes!r}.",
                name="classes",
            )
        return values
    values = np.unique(np.concatenate([np.asarray(y).ravel() for y in labels]))
    if len(values) == 1:
        raise InvalidParameter(
            "y holds only one class; the classes must be public, not learnt from the data: pass "
            "classes=(negative, positive).",
            name="y",
        )
    if len(values) != 2:
        raise InvalidParameter(
            f"y must hold two classes, got {len(values)}. Only binary classification is supported: "
            "train one model per class against the rest, and add up their budgets.",
            name="y",
        )
    return values


def to_signs(y: ArrayLike, classes: Labels) -> Floats:
    """Labels as -1 and +1."""
    y = np.asarray(y)
    known = np.isin(y, classes)
    if not known.all():
        stranger = y[~known].ravel()[0]
        raise InvalidParameter(
            f"y holds the label {stranger!r}, which is not among classes {tuple(classes)!r}.",
            name="y",
        )
    return np.where(y == classes[1], 1.0, -1.0)


def refuse_data_scaling(value: object, name: str = "norm_bound") -> None:
    """Refuse a bound that would be computed from the data."""
    if isinstance(value, str) or value is None:
        raise InvalidParameter(
            f"{name} must be a public number, got {value!r}: dividing by the data's own largest "
            "norm lets one record rescale all others, which costs about eps'(n-1)/2 instead of "
            "eps; choose the bound from what the features can be, rows beyond it are clipped.",
            name=name,
        )
