"""Rows that may be sparse: checked, clipped to a public bound, put together, never densified."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from scipy import sparse

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.common.regularizers import Floats

Rows = Any  # a dense array or a scipy CSR matrix

_INSIDE = 1 - 4 * np.finfo(float).eps  # a clipped row never ends up longer, not even by an ulp


class RowShape(StrEnum):
    """The set every row is clipped to."""

    BOX = "box"
    BALL = "ball"
    POSITIVE_BALL = "positive-ball"
    NONE = "none"


def is_sparse(X: Rows) -> bool:
    """Whether X is a scipy sparse matrix."""
    return bool(sparse.issparse(X))


def read_rows(X: object, name: str, width: int | None = None) -> Rows:
    """Finite numbers in rows, at least one, of the width of the others."""
    from sklearn.utils import check_array

    try:
        rows = check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
    except (ValueError, TypeError) as error:
        raise InvalidParameter(f"{name}: {error}", name=name) from None
    if width is not None and rows.shape[1] != width:
        raise InvalidParameter(
            f"{name} has {rows.shape[1]} features where {width} are expected; all datasets must "
            "have the same features in the same order.",
            name=name,
        )
    return rows


def norms(X: Rows) -> Floats:
    """The Euclidean norm of every row."""
    if is_sparse(X):
        return np.asarray(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()))
    return np.asarray(np.linalg.norm(X, axis=1))


def clip_norm(X: Rows, bound: float) -> Rows:
    """Every row shortened to norm `bound` if it is longer."""
    lengths = norms(X)
    longer = lengths > bound
    factor = np.where(longer, bound * _INSIDE / np.where(longer, lengths, 1.0), 1.0)
    return sparse.diags(factor) @ X if is_sparse(X) else X * factor[:, None]


def clip_box(X: Rows) -> Rows:
    """Every entry moved into [0, 1]; the 0 of a sparse matrix is inside."""
    if not is_sparse(X):
        return np.clip(X, 0.0, 1.0)
    inside = X.copy()
    inside.data = np.clip(inside.data, 0.0, 1.0)
    return inside


def clip_positive_norm(X: Rows, bound: float) -> Rows:
    """Negative entries set to 0, then every row shortened to norm `bound`."""
    if is_sparse(X):
        positive = X.copy()
        positive.data = np.maximum(positive.data, 0.0)
        return clip_norm(positive, bound)
    return clip_norm(np.maximum(X, 0.0), bound)


def stack(*blocks: Rows) -> Rows:
    """Blocks of rows under each other; sparse if one of them is."""
    if any(is_sparse(block) for block in blocks):
        return sparse.vstack([sparse.csr_matrix(block) for block in blocks], format="csr")
    return np.vstack(blocks)
