"""Which features stand together, and how important each group is. Both must be public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count
from dpcheck.mechanisms.common.regularizers import Floats

# A number of groups, or the column numbers of each.
GroupsSpec: TypeAlias = int | Sequence[Sequence[int] | NDArray[np.intp]]


DEFAULT_GROUPS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Disjoint feature groups that cover all features, and importances q_k that add up to 1."""

    columns: tuple[NDArray[np.intp], ...]
    importances: tuple[float, ...]

    @property
    def active(self) -> list[int]:
        """The groups with q_k > 0. A group with q_k = 0 sees only zero rows, so nothing of the data
        is released and the block is dropped (the papers' Delta_k would be 0/0).
        """
        return [k for k, q in enumerate(self.importances) if q > 0]


def read_groups(
    features: int,
    groups: GroupsSpec | None,
    importances: ArrayLike | None,
    feature_importances: ArrayLike | None,
    seed: int,
) -> Groups:
    """The groups an estimator's parameters ask for.

    None stands for 5 groups, the papers' number, or one per feature where there are fewer.
    A number of groups and no feature importances: a random even split by the public seed, PST-F(U)
    and PPTL-FS(R). With feature importances v_i: features sorted by them and cut into K, with
    q_k = sum of the group's v_i over the sum of all, PST-F(W) and PPTL-FS(W). A list of lists of
    column numbers is taken as it is.
    """
    scores = None if feature_importances is None else _scores(feature_importances, features)
    if groups is None:
        groups = min(DEFAULT_GROUPS, features)
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool):
        number = count("groups", groups)
        if number > features:
            raise InvalidParameter(
                f"groups must not exceed the number of features, got {number} for {features}.",
                name="groups",
            )
        order = (
            np.random.default_rng(seed).permutation(features)
            if scores is None
            else np.argsort(-scores, kind="stable")
        )
        columns = tuple(np.sort(piece) for piece in np.array_split(order, number))
    else:
        columns = _listed(groups, features)
    if importances is not None:
        return Groups(columns, _importances(importances, len(columns)))
    if scores is None:
        return Groups(columns, (1 / len(columns),) * len(columns))
    shares = np.array([scores[piece].sum() for piece in columns]) / scores.sum()
    return Groups(columns, tuple(float(value) for value in shares))


def _listed(groups: GroupsSpec, features: int) -> tuple[NDArray[np.intp], ...]:
    if isinstance(groups, str | float | bool) or not isinstance(groups, Sequence | np.ndarray):
        raise InvalidParameter(
            f"groups must be a whole number or a list of lists of column numbers, got {groups!r}.",
            name="groups",
        )
    columns = tuple(np.asarray(group, dtype=np.intp).ravel() for group in groups)
    if not columns or any(not len(piece) for piece in columns):
        raise InvalidParameter("groups must be at least one non-empty list.", name="groups")
    seen = np.concatenate(columns)
    values, times = np.unique(seen, return_counts=True)
    if (times > 1).any():
        raise InvalidParameter(
            f"groups must not overlap: feature {values[times > 1][0]} stands in two; keep it in "
            "one.",
            name="groups",
        )
    missing = np.setdiff1d(np.arange(features), values)
    if len(missing):
        raise InvalidParameter(
            f"groups must cover every feature: feature {missing[0]} is in none; add it to a group, "
            "or drop the column.",
            name="groups",
        )
    if len(values) != features:
        raise InvalidParameter(
            f"groups name feature {values[-1] if values[0] >= 0 else values[0]}, but X has "
            f"features 0 to {features - 1}.",
            name="groups",
        )
    return columns


def _importances(values: ArrayLike, number: int) -> tuple[float, ...]:
    q = np.asarray(values, dtype=float).ravel()
    if len(q) != number:
        raise InvalidParameter(
            f"importances must be one number for each of the {number} groups, got {len(q)}.",
            name="importances",
        )
    if not np.isfinite(q).all() or (q < 0).any():
        raise InvalidParameter(
            "importances must be finite and not negative; set a group's to 0 to leave it out.",
            name="importances",
        )
    if abs(q.sum() - 1) > 1e-9:
        raise InvalidParameter(
            f"importances must add up to 1, got {q.sum():.12g}; divide them by their sum.",
            name="importances",
        )
    return tuple(float(value) for value in q)


def _scores(values: ArrayLike, features: int) -> Floats:
    v = np.asarray(values, dtype=float).ravel()
    if len(v) != features:
        raise InvalidParameter(
            f"feature_importances must be one number per feature, got {len(v)} for {features}.",
            name="feature_importances",
        )
    if not np.isfinite(v).all() or (v < 0).any() or not v.sum() > 0:
        raise InvalidParameter(
            "feature_importances must be finite, not negative and not all 0.",
            name="feature_importances",
        )
    return v


def split_rows(
    rows: int, high_share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index sets (low, high) of a public random split: it depends on the number of rows only."""
    if not 0 < high_share < 1:
        raise InvalidParameter(
            f"high_share must be in (0, 1), got {high_share!r}.", name="high_share"
        )
    if rows < 2:
        raise InvalidParameter(
            f"stacking splits the rows in two, so it needs at least 2, got {rows}; use PLR or "
            "PLRFS.",
            name="X",
        )
    high = min(rows - 1, max(1, int(rows * high_share)))
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[high:]), np.sort(order[:high])
