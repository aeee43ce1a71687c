"""PipelineDP: aggregations per partition on local data, Beam or Spark."""

from __future__ import annotations

from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "pipeline-dp",
    module="pipeline_dp",
    requires=("pipeline-dp",),
    tried="0.3.1",
    says="total_epsilon: epsilon for the entire pipeline. total_delta: delta for the entire pipeline.",
    place="docstring of pipeline_dp.NaiveBudgetAccountant.__init__",
    reading="That a neighbour has one person (privacy id) more or less is ours.",
)
__getattr__ = LIBRARY.find
_EPSILON, _DELTA = 1.0, 0.01
# A row is (person, partition, value); one person more.
_ROWS = [(1, "a", 1.0), (2, "a", 0.0), (3, "a", 0.0), (4, "a", 1.0)]
_REMOVED = [(_ROWS, _ROWS[:-1])]


def _aggregate(name: str, metrics: tuple[str, ...], noise: str, public: bool = True) -> None:
    def run(rows: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        import pipeline_dp as pdp

        budget = pdp.NaiveBudgetAccountant(total_epsilon=_EPSILON, total_delta=_DELTA)
        engine = pdp.DPEngine(budget, pdp.LocalBackend())
        bounds = {"min_value": 0.0, "max_value": 1.0}
        if metrics == ("COUNT",) or metrics == ("PRIVACY_ID_COUNT",):
            bounds = {}
        parameters = pdp.AggregateParams(
            noise_kind=getattr(pdp.NoiseKind, noise),
            metrics=[getattr(pdp.Metrics, each) for each in metrics],
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            **bounds,
        )
        extractors = pdp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        found = engine.aggregate(
            list(rows), parameters, extractors, public_partitions=["a"] if public else None
        )
        budget.compute_budgets()
        return {str(key): [float(value) for value in values] for key, values in found}

    LIBRARY.target(
        name,
        claim=(_EPSILON, _DELTA),
        adjacency="add-remove",
        neighbours=_REMOVED,
    )(run)


for _noise in ("LAPLACE", "GAUSSIAN"):
    for _metric in ("COUNT", "SUM", "MEAN", "VARIANCE", "PRIVACY_ID_COUNT"):
        _aggregate(f"{_metric.lower()}_{_noise.lower()}", (_metric,), _noise)
_aggregate("count_private_partitions", ("COUNT",), "LAPLACE", public=False)
