"""The events of accounting_pld.py that take more than a noise, a rate and a number of steps.

Each kind is said twice: as dpcheck's event with its adjacency, and to dp-accounting by the accountant that
is its best for the event (its distributions where they exist, Renyi divergences elsewhere), with the
relation of the same meaning: REPLACE_SPECIAL is zero-out. dp-accounting's Renyi accountant takes a noise
multiplier over the sensitivity of the relation, 2 norm bounds where a record is replaced: there it is told
half of dpcheck's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from peers.pld_workloads import Work

Asked = tuple[Any, str]


def _distribution(event: Any, relation: str = "ADD_OR_REMOVE_ONE") -> Any:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(getattr(dp_accounting.NeighboringRelation, relation))
    return accountant.compose(event)


def _renyi(event: Any, relation: str = "ADD_OR_REMOVE_ONE") -> Any:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    relation = getattr(dp_accounting.NeighboringRelation, relation)
    return RdpAccountant(neighboring_relation=relation).compose(event)


class _Composed:
    """A distribution of dp-accounting that is no event: asked like an accountant."""

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution

    def get_epsilon(self, delta: float) -> float:
        return float(self.distribution.get_epsilon_for_delta(delta))


def _repeated(event: Any, work: Work) -> Any:
    from dp_accounting.dp_event import SelfComposedDpEvent

    return SelfComposedDpEvent(event, work.steps)


def _inner(work: Work) -> Any:
    """What is run again and again, as dpcheck's event."""
    import dpcheck

    if work.kind == "best of Laplace runs":
        return dpcheck.Laplace(work.noise)
    if work.kind == "best of zCDP runs":
        return dpcheck.ZCDP(work.noise)
    if work.rate == 1:
        return dpcheck.Gaussian(work.noise) * work.steps
    return dpcheck.SampledGaussian(work.noise, work.rate) * work.steps


def _google_selected(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    event: Any = dp.GaussianDpEvent(work.noise)
    if work.kind == "best of Laplace runs":
        event = dp.LaplaceDpEvent(work.noise)
    elif work.kind == "best of zCDP runs":
        event = dp.ZCDpEvent(work.noise)
    elif work.rate < 1:
        event = dp.PoissonSampledDpEvent(work.rate, event)
    return _renyi(dp.RepeatAndSelectDpEvent(_repeated(event, work), *work.more))


def _selected(work: Work) -> Asked:
    import dpcheck

    mean, shape = work.more
    if math.isinf(shape):
        return dpcheck.PoissonStopping(_inner(work), mean), "add-remove"
    return dpcheck.RandomStopping(_inner(work), shape, _stop(mean, shape)), "add-remove"


@lru_cache(maxsize=16)
def _stop(mean: float, shape: float) -> float:
    """The stopping parameter of a mean number of runs, which falls as it rises.

    It puts the peer's question in our words and is kept, so that no clock runs while it is searched for.
    """
    from dpcheck.accounting.renyi.divergence import expected_runs

    low, high = -60.0, -1e-9
    for _ in range(60):
        middle = (low + high) / 2
        more = expected_runs(shape, math.exp(middle)) > mean
        low, high = (middle, high) if more else (low, middle)
    return math.exp(low)


def _mixture(work: Work) -> Asked:
    import dpcheck

    half = len(work.more) // 2
    return dpcheck.MixtureGaussian(work.noise, work.more[:half], work.more[half:]), "add-remove"


def _google_mixture(work: Work) -> Any:
    from dp_accounting.dp_event import MixtureOfGaussiansDpEvent as Mixture

    half = len(work.more) // 2
    chances = [*work.more[half:], 1 - sum(work.more[half:])]
    return _distribution(_repeated(Mixture(work.noise, [*work.more[:half], 0.0], chances), work))


def _integer_noise(work: Work) -> Asked:
    import dpcheck

    kind = dpcheck.DiscreteLaplace if "Laplace" in work.kind else dpcheck.DiscreteGaussian
    event = kind(work.noise, *map(int, work.more))
    return dpcheck.Sampled(event, work.rate) if work.rate < 1 else event, "add-remove"


def _google_integer_noise(work: Work) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    moved = int(work.more[0]) if work.more else 1
    if "Laplace" in work.kind:
        make, noise = pld.from_discrete_laplace_mechanism, 1 / work.noise
    else:
        make, noise = pld.from_discrete_gaussian_mechanism, work.noise
    # Where it samples, its other construction is tighter, and its own choice where it does not.
    one = make(noise, moved, sampling_prob=work.rate, use_connect_dots=work.rate < 1)
    return _Composed(one.self_compose(work.steps))


def _answer(work: Work) -> Asked:
    import dpcheck

    return dpcheck.RandomizedResponse(work.noise, int(work.more[0])), "replace-one"


def _answer_or_none(work: Work) -> Asked:
    """The special input's answer is uniform: two outcomes, the true answer and any other."""
    import dpcheck

    noise, kinds = work.noise, work.more[0]
    p = (1 - noise * (kinds - 1) / kinds, noise * (kinds - 1) / kinds)
    return dpcheck.FinitePair(p, (1 / kinds, 1 - 1 / kinds)), "zero-out"


def _google_answer(work: Work) -> Any:
    """By the constructor: its accountant composes an answer once, whatever the count says (0.6.0)."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    special = "special" in work.kind
    relation = NeighboringRelation.REPLACE_SPECIAL if special else NeighboringRelation.REPLACE_ONE
    kinds = int(work.more[0])
    one = pld.from_randomized_response(work.noise, kinds, neighboring_relation=relation)
    return _Composed(one.self_compose(work.steps))


def _approximate(work: Work) -> Asked:
    import dpcheck

    return dpcheck.ApproxDP(work.noise, work.more[0]), "add-remove"


def _google_approximate(work: Work) -> Any:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    given = common.DifferentialPrivacyParameters(work.noise, work.more[0])
    return _Composed(pld.from_privacy_parameters(given).self_compose(work.steps))


def _tables(work: Work) -> Asked:
    import dpcheck

    half = len(work.more) // 2
    return dpcheck.FinitePair(work.more[:half], work.more[half:]), "add-remove"


def _google_tables(work: Work) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    half = len(work.more) // 2
    upper, lower = (
        {i: math.log(mass) for i, mass in enumerate(masses)}
        for masses in (work.more[:half], work.more[half:])
    )
    one = pld.from_two_probability_mass_functions(lower, upper, symmetric=False)
    return _Composed(one.self_compose(work.steps))


def _truncated(work: Work) -> Asked:
    import dpcheck

    rows, batch = map(int, work.more)
    event = dpcheck.TruncatedPoissonGaussian(work.noise, work.rate, rows, batch)
    return event, "replace-one"


def _google_truncated(work: Work) -> Any:
    from dp_accounting.dp_event import TruncatedSubsampledGaussianDpEvent as Truncated

    rows, batch = map(int, work.more)
    event = _repeated(Truncated(rows, work.rate, batch, work.noise), work)
    return _distribution(event, "REPLACE_ONE")


def _several(work: Work) -> Asked:
    """Different kinds together, by name; `noise` is that of the Gaussian among them."""
    import dpcheck

    other = work.more[0]
    if work.kind == "Gaussian and randomized response":
        answer = dpcheck.RandomizedResponse(other, 4)
        return dpcheck.Gaussian(work.noise) + answer, "replace-one"
    gaussian = (
        dpcheck.SampledGaussian(work.noise, work.rate)
        if work.rate < 1
        else dpcheck.Gaussian(work.noise)
    )
    second = {
        "Gaussian and Laplace": dpcheck.Laplace(other),
        "sampled Gaussian and Laplace": dpcheck.SampledLaplace(other, work.rate),
        "sampled Gaussian and discrete Laplace": dpcheck.DiscreteLaplace(other),
    }[work.kind]
    return gaussian + second, "add-remove"


def _google_several(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    other = work.more[0]
    gaussian, laplace = dp.GaussianDpEvent(work.noise), dp.LaplaceDpEvent(other)
    if work.kind == "Gaussian and randomized response":
        # It composes a response once whatever its count says (0.6.0): here each has its own node.
        answers = [dp.RandomizedResponseDpEvent(other, 4)] * work.steps
        events = [dp.SelfComposedDpEvent(gaussian, work.steps), *answers]
        return _distribution(dp.ComposedDpEvent(events), "REPLACE_ONE")
    drawn = dp.PoissonSampledDpEvent(work.rate, gaussian)
    parts = {
        "Gaussian and Laplace": [gaussian, laplace],
        "sampled Gaussian and Laplace": [drawn, dp.PoissonSampledDpEvent(work.rate, laplace)],
        "sampled Gaussian and discrete Laplace": [drawn, dp.DiscreteLaplaceDpEvent(1 / other, 1)],
    }[work.kind]
    return _distribution(_repeated(dp.ComposedDpEvent(parts), work))


def _drawn_together(work: Work) -> Asked:
    import dpcheck

    inner = dpcheck.Sequential(tuple(dpcheck.Gaussian(noise) for noise in work.more))
    return dpcheck.Sampled(inner, work.rate), "add-remove"


def _google_drawn_together(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    inner = dp.ComposedDpEvent([dp.GaussianDpEvent(noise) for noise in work.more])
    return _renyi(_repeated(dp.PoissonSampledDpEvent(work.rate, inner), work))


def _fixed(work: Work) -> Asked:
    import dpcheck

    return dpcheck.FixedBatchGaussian(work.noise, *map(int, work.more)), "replace-one"


def _google_fixed(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    rows, batch = map(int, work.more)
    step = dp.SampledWithoutReplacementDpEvent(rows, batch, dp.GaussianDpEvent(work.noise / 2))
    return _renyi(_repeated(step, work), "REPLACE_ONE")


def _trees(work: Work) -> Asked:
    import dpcheck

    # dp-accounting counts the nodes whose steps are all done: those of the largest power of 2 within them.
    done = [1 << (int(steps).bit_length() - 1) for steps in work.more]
    trees = [dpcheck.TreeAggregation(work.noise, steps) for steps in done]
    return trees[0] if len(trees) == 1 else dpcheck.Parallel(tuple(trees)), "zero-out"


def _google_trees(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    counts = [int(steps) for steps in work.more]
    event = dp.SingleEpochTreeAggregationDpEvent(work.noise, counts)
    return _renyi(_repeated(event, work), "REPLACE_SPECIAL")


def _concentrated(work: Work) -> Asked:
    import dpcheck

    return dpcheck.ZCDP(work.noise, xi=work.more[0]), "add-remove"


def _google_concentrated(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    return _renyi(_repeated(dp.ZCDpEvent(work.noise, work.more[0]), work))


def _laplace_replaced(work: Work) -> Asked:
    import dpcheck

    return dpcheck.Laplace(work.noise), "replace-one"


def _google_laplace_replaced(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    return _renyi(_repeated(dp.LaplaceDpEvent(work.noise / 2), work), "REPLACE_ONE")


def _google_laplace_far(work: Work) -> Any:
    """A replaced record moves a sum twice as far; its accountant of events has Renyi divergences only."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    return _Composed(pld.from_laplace_mechanism(work.noise, 2).self_compose(work.steps))


def _zeroed(work: Work) -> Asked:
    import dpcheck

    return dpcheck.SampledGaussian(work.noise, work.rate), "zero-out"


def _google_zeroed(work: Work) -> Any:
    from dp_accounting import dp_event as dp

    step = dp.PoissonSampledDpEvent(work.rate, dp.GaussianDpEvent(work.noise))
    return _distribution(_repeated(step, work), "REPLACE_SPECIAL")


Words = tuple[Callable[[Work], Asked], Callable[[Work], Any]]
_SELECTED: Words = (_selected, _google_selected)
_SEVERAL: Words = (_several, _google_several)
_INTEGER: Words = (_integer_noise, _google_integer_noise)
WORDS: dict[str, Words] = {
    "mixture of Gaussians": (_mixture, _google_mixture),
    "discrete Laplace, sampled or far": _INTEGER,
    "discrete Gaussian, sampled or far": _INTEGER,
    "randomized response of several": (_answer, _google_answer),
    "randomized response, special": (_answer_or_none, _google_answer),
    "approximate": (_approximate, _google_approximate),
    "two tables": (_tables, _google_tables),
    "truncated replaced": (_truncated, _google_truncated),
    "Gaussian and Laplace": _SEVERAL,
    "sampled Gaussian and Laplace": _SEVERAL,
    "sampled Gaussian and discrete Laplace": _SEVERAL,
    "Gaussian and randomized response": _SEVERAL,
    "Gaussians on one sample": (_drawn_together, _google_drawn_together),
    "batch without replacement": (_fixed, _google_fixed),
    "trees": (_trees, _google_trees),
    "zCDP": (_concentrated, _google_concentrated),
    "Laplace replaced": (_laplace_replaced, _google_laplace_replaced),
    "Laplace replaced, its distribution": (_laplace_replaced, _google_laplace_far),
    "Gaussian zeroed": (_zeroed, _google_zeroed),
    "best of Gaussian runs": _SELECTED,
    "best of Laplace runs": _SELECTED,
    "best of zCDP runs": _SELECTED,
}


def asked_of_dpcheck(work: Work) -> Asked:
    """dpcheck's event, all steps together, and the adjacency."""
    event, adjacency = WORDS[work.kind][0](work)
    return event if work.kind.startswith("best of") else event * work.steps, adjacency


def google_answer(work: Work, delta: float) -> float:
    """dp-accounting's epsilon."""
    return float(WORDS[work.kind][1](work).get_epsilon(delta))
