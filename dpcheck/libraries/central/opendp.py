"""OpenDP: measurements whose claim is their own privacy map."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "opendp",
    module="opendp",
    requires=("opendp[polars]", "numpy"),
    tried="0.16.0",
    says="If `self` is (d_in, d_out)-close, then each invocation of this function is a d_out-DP release.",
    place="docstring of opendp.mod.Measurement.invoke",
    reading="The claim is what the measurement's own map(d_in) answers; that one record makes the d_in "
    "we ask for (1, or 2 where a record is replaced) is ours.",
)
__getattr__ = LIBRARY.find


@cache
def _prelude() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def _add(
    name: str,
    build: Any,
    neighbours: Any,
    d_in: Any = 1,
    adjacency: str = "add-remove",
    **more: Any,
) -> None:
    """A measurement that `build(dp)` makes, and its map at `d_in` as the claim."""

    @cache
    def measurement() -> Any:
        return build(_prelude())

    def release(data: Any, rng: Any) -> Any:  # noqa: ARG001 - OpenDP draws from the system
        found = measurement()(list(data) if isinstance(data, tuple) else data)
        return list(found) if isinstance(found, tuple) else found

    def claim() -> Any:
        made = measurement()
        loss = made.map(d_in=d_in)
        if "ZeroConcentrated" in str(made.output_measure):
            return {"ZCDP": loss}
        return loss

    stated = more.pop("claim", claim)
    LIBRARY.target(name, claim=stated, adjacency=adjacency, neighbours=neighbours, **more)(release)


_FLOATS = [([0.5, 1.0], [0.5])]
_COUNTS = [((0, 3, 1), (1, 3, 1))]  # a tuple is one query, not rows


def _space(dp: Any, size: Any = None) -> Any:
    one = dp.atom_domain(bounds=(0.0, 1.0), nan=False)
    return dp.vector_domain(one, size=size), dp.symmetric_distance()


def _integers(dp: Any) -> Any:
    return dp.atom_domain(T=int), dp.absolute_distance(T=int)


def _reals(dp: Any) -> Any:
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def _vector(dp: Any, norm: str = "l1") -> Any:
    metric = dp.l1_distance(T=int) if norm == "l1" else dp.l2_distance(T=float)
    return dp.vector_domain(dp.atom_domain(T=int)), metric


_add("laplace_integer", lambda dp: dp.m.make_laplace(*_integers(dp), scale=1.0), [(0, 1)])
_add("laplace_float", lambda dp: dp.m.make_laplace(*_reals(dp), scale=1.0), [(0.0, 1.0)], 1.0)
_add("laplace_vector", lambda dp: dp.m.make_laplace(*_vector(dp), scale=1.0), _COUNTS)
_add("gaussian_integer", lambda dp: dp.m.make_gaussian(*_integers(dp), scale=1.0), [(0, 1)])
_add("gaussian_float", lambda dp: dp.m.make_gaussian(*_reals(dp), scale=1.0), [(0.0, 1.0)], 1.0)
_add("gaussian_vector", lambda dp: dp.m.make_gaussian(*_vector(dp, "l2"), scale=1.0), _COUNTS, 1.0)
_add("geometric", lambda dp: dp.m.make_geometric(*_integers(dp), scale=1.0), [(0, 1)])
_add(
    "geometric_bounded",
    lambda dp: dp.m.make_geometric(*_integers(dp), scale=1.0, bounds=(0, 3)),
    [(0, 1)],
)
_add(
    "noise_laplace",
    lambda dp: dp.m.make_noise(*_integers(dp), dp.max_divergence(), scale=1.0),
    [(0, 1)],
)
_add(
    "noise_gaussian",
    lambda dp: dp.m.make_noise(*_integers(dp), dp.zero_concentrated_divergence(), scale=1.0),
    [(0, 1)],
)
_add(
    "canonical_noise",
    lambda dp: dp.m.make_canonical_noise(*_reals(dp), d_in=1.0, d_out=(1.0, 0.01)),
    [(0.0, 1.0)],
    1.0,
    claim=(1.0, 0.01),
    says=":param d_out: Privacy parameters (ε, δ)",
    place="docstring of opendp.measurements.make_canonical_noise",
)
_add("sum_laplace", lambda dp: _space(dp) >> dp.t.then_sum() >> dp.m.then_laplace(1.0), _FLOATS)
_add("sum_gaussian", lambda dp: _space(dp) >> dp.t.then_sum() >> dp.m.then_gaussian(1.0), _FLOATS)
_add("count_laplace", lambda dp: _space(dp) >> dp.t.then_count() >> dp.m.then_laplace(1.0), _FLOATS)
_add(
    "count_distinct_laplace",
    lambda dp: (
        (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
        >> dp.t.then_count_distinct()
        >> dp.m.then_laplace(1.0)
    ),
    [(["a", "b"], ["a"])],
)
_add(
    "count_by_categories_laplace",
    lambda dp: (
        (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
        >> dp.t.then_count_by_categories(["a", "b"])
        >> dp.m.then_laplace(1.0)
    ),
    [(["a", "b", "z"], ["a", "z"])],
)
_add(
    "mean_laplace",
    lambda dp: _space(dp, 3) >> dp.t.then_mean() >> dp.m.then_laplace(0.5),
    [([0.5, 0.5, 0.0], [0.5, 0.5, 1.0])],
    2,
    "replace-one",
)
_add(
    "variance_laplace",
    lambda dp: _space(dp, 3) >> dp.t.then_variance() >> dp.m.then_laplace(0.5),
    [([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])],
    2,
    "replace-one",
)
_add(
    "randomized_response_bool",
    lambda dp: dp.m.make_randomized_response_bool(0.75),
    [(True, False)],
    adjacency="replace-one",
)
_add(
    "randomized_response",
    lambda dp: dp.m.make_randomized_response(["a", "b", "c"], 0.6),
    [("a", "c")],
    adjacency="replace-one",
)


def _utilities(dp: Any, monotonic: bool) -> Any:
    return dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=monotonic)


_SCORES = [((0, 1, 1), (1, 0, 0))]
_GROWN = [((0, 1, 1), (1, 1, 1))]
for _kind in ("max_divergence", "zero_concentrated_divergence"):
    for _monotonic in (False, True):
        _suffix = f"{'pure' if _kind[0] == 'm' else 'zcdp'}{'_monotonic' if _monotonic else ''}"
        _add(
            f"noisy_max_{_suffix}",
            lambda dp, kind=_kind, monotonic=_monotonic: dp.m.make_noisy_max(
                *_utilities(dp, monotonic), getattr(dp, kind)(), scale=1.0
            ),
            _GROWN if _monotonic else _SCORES,
        )
        _add(
            f"noisy_top_k_{_suffix}",
            lambda dp, kind=_kind, monotonic=_monotonic: dp.m.make_noisy_top_k(
                *_utilities(dp, monotonic), getattr(dp, kind)(), k=2, scale=1.0
            ),
            _GROWN if _monotonic else _SCORES,
        )
_add(
    "report_noisy_max_gumbel",
    lambda dp: dp.m.make_report_noisy_max_gumbel(*_utilities(dp, False), scale=1.0),
    _SCORES,
)
_add(
    "private_quantile",
    lambda dp: dp.m.make_private_quantile(
        *_space(dp),
        dp.max_divergence(),
        candidates=[0.0, 0.25, 0.5, 0.75, 1.0],
        alpha=0.5,
        scale=1.0,
    ),
    [([0.1, 0.2, 0.9], [0.1, 0.2])],
)
_add(
    "composition",
    lambda dp: dp.c.make_composition(
        [
            _space(dp) >> dp.t.then_sum() >> dp.m.then_laplace(2.0),
            _space(dp) >> dp.t.then_sum() >> dp.m.then_laplace(2.0),
        ]
    ),
    _FLOATS,
)
_POPULATION, _QUERIES = 50, 6


@cache
def _amplified(queries: int) -> Any:
    """Means of a sample of one record, amplified for a population; several are composed."""
    dp = _prelude()
    mean = _space(dp, 1) >> dp.t.then_mean() >> dp.m.then_laplace(0.5)
    one = dp.c.make_population_amplification(mean, population_size=_POPULATION)
    return one if queries == 1 else dp.c.make_composition([one] * queries)


def _on_a_sample(queries: int) -> Any:
    def release(population: Any, rng: Any) -> Any:
        sample = [population[int(rng.integers(len(population)))]]
        return _amplified(queries)(sample)

    return release


for _queries, _name in ((1, "population_amplification"), (_QUERIES, "amplification_composed")):
    LIBRARY.target(
        _name,
        claim=lambda queries=_queries: _amplified(queries).map(d_in=2),
        adjacency="replace-one",
        neighbours=[([0.0] * _POPULATION, [0.0] * (_POPULATION - 1) + [1.0])],
        says="The privacy guarantees are only valid if the input dataset is a simple sample from a "
        "population with `population_size` records.",
        place="docstring of opendp.combinators.make_population_amplification",
        reading="The claim is what map(d_in=2) answers, for a population in which one record is "
        "replaced; the sample is drawn by us, one record at random.",
    )(_on_a_sample(_queries))
