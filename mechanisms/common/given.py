"""What callers of scikit-learn bring along: seeds, weights, sparse rows, one table of two domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.common.data import Labels
from dpcheck.mechanisms.common.regularizers import Floats

RandomState: TypeAlias = int | np.random.Generator | None


def read_random_state(value: object) -> np.random.Generator:
    """A generator: of OS entropy for None, which is what a release needs; of a seed for tests."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    raise InvalidParameter(
        f"random_state must be None, a whole number or a numpy Generator, got {value!r}.",
        name="random_state",
    )


def refuse(others: Mapping[str, object]) -> None:
    """Refuse what fit does not take; weights by name and with a reason."""
    if others.get("sample_weight") is not None:
        raise InvalidParameter(
            "sample_weight is not supported: a weight multiplies what one record changes, and the noise is "
            "set for weights of 1; repeat nobody and leave rows out instead.",
            name="sample_weight",
        )
    unknown = [name for name in others if name != "sample_weight"]
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}")


def dense(rows: Any) -> Floats:
    """Rows as an array: the solver works on tables of features by features anyway."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=float)


def by_domain(
    rows: Floats, labels: Labels, sample_domain: ArrayLike | None
) -> tuple[Floats, Labels, Floats, Labels]:
    """(X_source, y_source, X_target, y_target) of one checked table."""
    if sample_domain is None:
        raise InvalidParameter(
            "a transfer model needs two datasets: fit(X_source, y_source, X_target, y_target), or fit(X, y, "
            "sample_domain=d) with d above 0 for the source's rows and below 0 for the target's.",
            name="sample_domain",
        )
    domain = np.asarray(sample_domain)
    if domain.shape != (len(rows),) or not (domain != 0).all():
        raise InvalidParameter(
            "sample_domain must hold one number other than 0 per row, above 0 for the source.",
            name="sample_domain",
        )
    source = domain > 0
    if source.all() or not source.any():
        raise InvalidParameter(
            "sample_domain names one domain only; both are needed.", name="sample_domain"
        )
    return rows[source], labels[source], rows[~source], labels[~source]
