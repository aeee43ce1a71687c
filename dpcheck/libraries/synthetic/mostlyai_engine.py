"""mostlyai-engine: what it finds out about columns before it trains a generator."""

from __future__ import annotations

from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "mostlyai-engine",
    module="mostlyai",
    requires=("torch==2.13.0", "mostlyai-engine"),
    without=("torchvision", "torchaudio"),  # built for another torch
    tried="2.7.3",
)
__getattr__ = LIBRARY.find
_EPSILON, _SMALL = 1.0, 0.1
_READING = (
    "One record more or less; the functions are those that analyze() calls, in a private module."
)


def _add(name: str, call: Any, neighbours: Any, says: str, function: str, **more: Any) -> None:
    LIBRARY.target(
        name,
        claim=more.pop("claim", _EPSILON),
        adjacency="add-remove",
        neighbours=neighbours,
        says=says,
        place=f"docstring of mostlyai.engine._common.{function}",
        reading=_READING,
        **more,
    )(call)


def _non_rare(epsilon: float) -> Any:
    """The values that are shown, of a column that is counted as the library counts it."""

    def run(values: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's own
        from collections import Counter

        from mostlyai.engine._common import dp_non_rare

        return sorted(dp_non_rare(dict(sorted(Counter(values).items())), epsilon)[0])

    return run


def _bounds(values: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's own
    import numpy as np
    from mostlyai.engine._common import compute_log_histogram, dp_approx_bounds

    return [
        str(each) for each in dp_approx_bounds(compute_log_histogram(np.array(values)), _EPSILON)
    ]


def _quantiles(values: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's own
    from mostlyai.engine._common import dp_quantiles

    return [None if each is None else float(each) for each in dp_quantiles(values, [0.5], _EPSILON)]


_COUNTED = "Provides ε-differential privacy via the Laplace mechanism with L1 sensitivity = 1."
_add("dp_non_rare", _non_rare(_EPSILON), [(["a"] * 5, ["a"] * 4)], _COUNTED, "dp_non_rare")
_add(
    "dp_non_rare_lone_value",
    _non_rare(_SMALL),
    [(["a", "a", "lone"], ["a", "a"])],
    _COUNTED,
    "dp_non_rare",
    claim=_SMALL,
)
_add(
    "dp_approx_bounds",
    _bounds,
    [([0.5] * 10 + [3.0] * 10, [0.5] * 10 + [3.0] * 9)],
    "epsilon: The privacy budget to spend estimating the bounds.",
    "dp_approx_bounds",
)
_add(
    "dp_quantiles",
    _quantiles,
    [([0.5] * 60, [0.5] * 59)],
    "epsilon: Total privacy budget to allocate.",
    "dp_quantiles",
)
