"""PyDP: Google's differential privacy library for Python."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "python-dp",
    module="pydp",
    requires=("python-dp", "numpy"),
    tried="1.1.5",
    says="`epsilon`: a Double, between 0 and 1, denoting the privacy threshold",
    place="README, example of BoundedMean",
    reading="The docstrings of pydp.algorithms.laplacian say “in a differentially private manner” and "
    "not what epsilon promises; that a result is epsilon-private, one record more or less, is ours.",
)
__getattr__ = LIBRARY.find
_EPSILON = 1.0
_REMOVED = [([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0])]


def _algorithm(kind: str, neighbours: Any = _REMOVED, **given: Any) -> None:
    def run(data: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        from pydp.algorithms import laplacian

        made = getattr(laplacian, kind)(epsilon=_EPSILON, dtype="float", **given)
        return made.quick_result(list(data))

    LIBRARY.target(kind, claim=_EPSILON, adjacency="add-remove", neighbours=neighbours)(run)


_INSIDE = {"lower_bound": 0.0, "upper_bound": 1.0}
_algorithm("Count")
for _kind in ("BoundedSum", "BoundedMean", "BoundedVariance", "BoundedStandardDeviation"):
    _algorithm(_kind, **_INSIDE)
for _kind in ("Max", "Min", "Median"):
    _algorithm(_kind, **_INSIDE)
_algorithm("Percentile", percentile=0.3, **_INSIDE)


def _noise(kind: str, claim: Any, make: Any) -> None:
    def add(value: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        from pydp.algorithms import numerical_mechanisms

        return make(numerical_mechanisms).add_noise(value)

    LIBRARY.target(
        kind,
        claim=claim,
        adjacency="replace-one",
        neighbours=[(0.0, 1.0)],
        says="-differenially private additive noise numerical mechanisms.",
        place="docstring of NumericalMechanism in the compiled module, spelt so",
        reading="That epsilon, delta and the sensitivity 1 given to the constructor are meant is ours.",
    )(add)


_noise("LaplaceMechanism", _EPSILON, lambda m: m.LaplaceMechanism(_EPSILON, 1.0))
_noise("GaussianMechanism", (_EPSILON, 0.01), lambda m: m.GaussianMechanism(_EPSILON, 0.01, 1.0))


@cache
def _strategy(kind: str) -> Any:
    from pydp.algorithms.partition_selection import create_partition_strategy

    return create_partition_strategy(kind, _EPSILON, 0.05, 1)


def _partition(kind: str) -> None:
    def select(people: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        return _strategy(kind).should_keep(len(people))

    LIBRARY.target(
        f"partition_{kind}",
        claim=(_EPSILON, 0.05),
        adjacency="add-remove",
        neighbours=[([1, 2], [1])],
        says="-differenially private partition selection strategies.",
        place="docstring of pydp.algorithms.partition_selection.PartitionSelectionStrategy, spelt so",
    )(select)


for _kind in ("truncated_geometric", "laplace", "gaussian"):
    _partition(_kind)
