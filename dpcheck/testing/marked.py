"""A test function marked `dp_budget` as a mechanism."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpcheck.auditing.mechanism import batched
from dpcheck.core.data import Data, Output
from dpcheck.testing.failing import audit_in_test


def audit_marked(
    item: pytest.Function, marker: pytest.Mark, read_claim: Callable[..., object]
) -> None:
    """Run the audit the marker asks for."""
    __tracebackhide__ = True
    options = dict(marker.kwargs)
    if marker.args:
        options["epsilon"], *rest = marker.args
        if rest:
            options["delta"], *_ = rest
    claim = read_claim(
        options.pop("epsilon", None), options.pop("delta", 0.0), options.pop("claim", None)
    )
    if "adjacency" not in options:
        raise pytest.UsageError("dp_budget needs adjacency=: replace-one, add-remove or zero-out.")
    pairs = options.pop("neighbours", None)
    if pairs is None:
        pairs = item._request.getfixturevalue("dp_neighbours")
    audit_in_test(_mechanism(item), claim=claim, neighbours=pairs, name=item.name, **options)


def _mechanism(item: pytest.Function) -> Callable[..., Output]:
    wanted = item._fixtureinfo.argnames
    if "data" not in wanted or "rng" not in wanted:
        raise pytest.UsageError(
            f"{item.name} is marked dp_budget, so it is a mechanism: give it the arguments (data, "
            "rng), or (data, size, rng) for many outputs at once, and return its output."
        )
    function = item.obj
    others = {k: item.funcargs[k] for k in wanted if k not in ("data", "size", "rng")}
    if "size" in wanted:

        @batched
        def many(data: Data, size: int, rng: np.random.Generator) -> Output:
            return function(data=data, size=size, rng=rng, **others)

        return many

    def one(data: Data, rng: np.random.Generator) -> Output:
        return function(data=data, rng=rng, **others)

    return one
