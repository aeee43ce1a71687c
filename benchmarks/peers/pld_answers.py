"""What each accountant is asked in accounting_pld.py, in its own words."""

from __future__ import annotations

from collections.abc import Callable

from peers.events import WORDS, asked_of_dpcheck, google_answer
from peers.pld_workloads import CURVE, TRUNCATED, Work

Answer = tuple[float | None, float]


class NotOffered(Exception):
    """The tool has no such mechanism."""


def dpcheck_event(work: Work):
    """The event and the adjacency it is asked under."""
    import dpcheck

    if work.kind in WORDS:
        return asked_of_dpcheck(work)
    made: dict[str, Callable[[], object]] = {
        "gaussian": lambda: (
            dpcheck.SampledGaussian(work.noise, work.rate)
            if work.rate < 1
            else dpcheck.Gaussian(work.noise)
        ),
        "laplace": lambda: (
            dpcheck.SampledLaplace(work.noise, work.rate)
            if work.rate < 1
            else dpcheck.Laplace(work.noise)
        ),
        "discrete laplace": lambda: dpcheck.DiscreteLaplace(work.noise),
        "discrete gaussian": lambda: dpcheck.DiscreteGaussian(work.noise),
        "randomized response": lambda: dpcheck.RandomizedResponse(work.noise),
        "pure": lambda: dpcheck.PureDP(work.noise),
        "truncated": lambda: dpcheck.TruncatedPoissonGaussian(
            work.noise, work.rate, *TRUNCATED[work.rate]
        ),
    }
    made["gaussian replaced"] = made["gaussian"]
    replaced = work.kind in ("gaussian replaced", "randomized response")
    return made[work.kind]() * work.steps, "replace-one" if replaced else "add-remove"


def dpcheck_epsilon(works: list[Work], delta: float, method: str = "best") -> Answer:
    import dpcheck

    asked = [dpcheck_event(work) for work in works]
    event = asked[0][0]
    for other, _ in asked[1:]:
        event = event + other
    bound = dpcheck.epsilon(event, delta=delta, adjacency=asked[0][1], method=method)
    return bound.lower, bound.upper


def dpcheck_renyi_epsilon(works: list[Work], delta: float) -> Answer:
    """The kind of bound that dp-accounting has for events without a privacy-loss distribution."""
    return None, dpcheck_epsilon(works, delta, "rdp")[1]


def google_epsilon(works: list[Work], delta: float) -> Answer:
    if works[0].kind in WORDS:
        (work,) = works
        return None, google_answer(work, delta)
    return None, float(_google(works).get_epsilon_for_delta(delta))


def _google(works: list[Work]):
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    replaced = NeighboringRelation.REPLACE_ONE

    def one(work: Work):
        if work.kind == "gaussian":
            return pld.from_gaussian_mechanism(work.noise, sampling_prob=work.rate)
        if work.kind == "gaussian replaced":
            # Its sensitivity is that of the relation: 2 norm bounds where a record is replaced.
            return pld.from_gaussian_mechanism(
                work.noise, sampling_prob=work.rate, neighboring_relation=replaced
            )
        if work.kind == "laplace":
            return pld.from_laplace_mechanism(work.noise, sampling_prob=work.rate)
        if work.kind == "discrete laplace":
            return pld.from_discrete_laplace_mechanism(1 / work.noise)
        if work.kind == "discrete gaussian":
            return pld.from_discrete_gaussian_mechanism(work.noise)
        if work.kind == "randomized response":
            return pld.from_randomized_response(work.noise, 2)
        if work.kind == "pure":
            return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(work.noise, 0))
        rows, batch = TRUNCATED[work.rate]
        return pld.from_truncated_subsampled_gaussian_mechanism(rows, work.rate, batch, work.noise)

    total = None
    for work in works:
        part = one(work).self_compose(work.steps)
        total = part if total is None else total.compose(part)
    return total


def _only_gaussian(works: list[Work]) -> None:
    if any(work.kind != "gaussian" for work in works):
        raise NotOffered


def prv_epsilon(works: list[Work], delta: float) -> Answer:
    import prv_accountant as prv

    found = [(mechanism, work.steps) for work in works for mechanism in _prv_mechanisms(work)]
    counts = [steps for _, steps in found]
    accountant = prv.PRVAccountant(
        prvs=[mechanism for mechanism, _ in found],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=delta / 1000,
    )
    low, _, high = accountant.compute_epsilon(delta, counts)
    return float(low), float(high)


def _prv_mechanisms(work: Work) -> list:
    """Its mechanisms: all that prv_accountant.privacy_random_variables has."""
    import prv_accountant as prv
    from prv_accountant.privacy_random_variables import approximate_dp

    if work.kind == "gaussian":
        return [prv.PoissonSubsampledGaussianMechanism(work.rate, work.noise)]
    if work.kind == "laplace" and work.rate == 1:
        return [prv.LaplaceMechanism(1 / work.noise)]
    if work.kind == "pure":
        return [prv.PureDPMechanism(work.noise)]
    if work.kind == "approximate":
        return [approximate_dp.ApproximateDPMechanism(work.noise, work.more[0])]
    if work.kind == "Gaussian and Laplace":
        return [prv.GaussianMechanism(work.noise), prv.LaplaceMechanism(1 / work.more[0])]
    raise NotOffered


def opacus_epsilon(works: list[Work], delta: float) -> Answer:
    from opacus.accountants import PRVAccountant

    _only_gaussian(works)
    accountant = PRVAccountant()
    accountant.history = [(w.noise, w.rate, w.steps) for w in works]
    return None, float(accountant.get_epsilon(delta=delta))


def riskcal_epsilon(works: list[Work], delta: float) -> Answer:
    from riskcal.accountants import CTDAccountant

    _only_gaussian(works)
    accountant = CTDAccountant()
    accountant.history = [(w.noise, w.rate, w.steps) for w in works]
    return None, float(accountant.get_epsilon(delta=delta))


def dpcheck_curve(epsilons: list[float]) -> None:
    import dpcheck

    dpcheck.delta(dpcheck.SampledGaussian(CURVE.noise, CURVE.rate) * CURVE.steps, epsilon=epsilons)


def google_curve(epsilons: list[float]) -> None:
    _google([CURVE]).get_delta_for_epsilon(epsilons)


EPSILON: dict[str, Callable[[list[Work], float], Answer]] = {
    "dpcheck": dpcheck_epsilon,
    "dpcheck rdp": dpcheck_renyi_epsilon,
    "google": google_epsilon,
    "prv": prv_epsilon,
    "opacus": opacus_epsilon,
    "riskcal": riskcal_epsilon,
}
