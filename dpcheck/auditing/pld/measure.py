"""From a plan to the privacy loss of its code: which pairs, which source of losses, which runs.

Three sources, the best that there is: exact losses of runs where the density is known, with tilted draws for
the tail where the code draws spherical noise; the exact law where replay follows the noise; a score learned
on other runs. Everything that is chosen is chosen before the runs that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.likelihood import exact_losses
from dpcheck.auditing.evidence import event_to_draw, gather
from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.auditing.plan import LossLaw, NoiseShift, PartPlan, ShowsItsPair
from dpcheck.auditing.pld.bands import bernstein, gains, plain_band
from dpcheck.auditing.pld.tilted import NotTilted, Tilt, TiltedGenerator, saddle
from dpcheck.core.adjacency import as_adjacency
from dpcheck.core.errors import NothingToAudit
from dpcheck.core.evidence import SHOWN, CurvePoint, LossCurve, RunEvidence, Source
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.replay import FindingKind, ReplayFinding, examine
from dpcheck.replay.losses.draw import drawn_losses, exact_deltas

Array = NDArray[np.float64]
DIRECTIONS = ("D to D'", "D' to D")
MOST_SHOWN = 2000  # losses of single runs that are kept for a picture
_POINTS = 24  # epsilons of a curve
_PILOT = 400  # runs a pair is chosen by
_CHUNK = 2048
OTHER_NOISE = "a loss is larger than the described noise allows: the code draws other noise"


@dataclass(frozen=True, slots=True)
class Situation:
    """A mechanism on a pair, in one direction."""

    mechanism: Mechanism
    pair: Pair
    backwards: bool

    @property
    def sides(self) -> tuple[object, object]:
        """Whose runs, and against what."""
        ends = self.pair.first, self.pair.second
        return ends[::-1] if self.backwards else ends

    def losses(self, size: int, seed: np.random.SeedSequence) -> Array:
        """Exact losses of `size` runs."""
        first, second = self.sides
        found = []
        for one, count in zip(seed.spawn(-(-size // _CHUNK)), _chunks(size), strict=True):
            outputs = self.mechanism.sample(first, count, generator(one))
            found.append(exact_losses(self.mechanism, first, second, outputs))
        return np.concatenate(found)

    def tilted(self, tilt: Tilt, size: int, seed: np.random.SeedSequence) -> tuple[Array, Array]:
        """(losses, weights) of runs whose noise was drawn tilted."""
        first, second = self.sides
        losses, weights = [], []
        for one, count in zip(seed.spawn(-(-size // _CHUNK)), _chunks(size), strict=True):
            rng = TiltedGenerator(tilt, count, one)
            outputs = np.asarray(self.mechanism.function(first, count, rng))
            if not rng.finished:
                raise NotTilted("the code draws less noise than its event says.")
            losses.append(exact_losses(self.mechanism, first, second, outputs))
            weights.append(np.exp(rng.log_weights))
        return np.concatenate(losses), np.concatenate(weights)


def _chunks(size: int) -> Iterator[int]:
    for start in range(0, size, _CHUNK):
        yield min(_CHUNK, size - start)


def measure(plan: PartPlan, runs: int, alpha: float, runner: Runner) -> list[LossCurve]:
    """The curves of one part; all their intervals hold together with probability 1 - alpha."""
    if plan.law is not None:
        return [
            _of_law(plan, plan.law, backwards, runs, alpha / 2, runner)
            for backwards in (False, True)
        ]
    if plan.mechanism is None:
        raise NothingToAudit(f"{plan.name} has no runs and no known law to show.")
    if plan.pair_search is not None:
        found = plan.pair_search.find(plan.mechanism, runner, plan.tested.typical_delta)
        plan = replace(plan, pairs=found.pairs, tried=found.tried)
    if plan.mechanism is not None and plan.mechanism.log_density is not None:
        return _of_density(plan, runs, alpha, runner)
    return _of_code(plan, runs, alpha, runner)


# Exact losses -----------------------------------------------------------------------------------------


def _of_density(plan: PartPlan, runs: int, alpha: float, runner: Runner) -> list[LossCurve]:
    candidates = _candidates(plan, runner)
    chosen = _chosen(candidates, plan.claim.budget.epsilon, runner)
    return [
        _exact(plan, one, runs, alpha / len(chosen), runner.within(f"pld-{index}"))
        for index, one in enumerate(chosen)
    ]


def _candidates(plan: PartPlan, runner: Runner) -> list[Situation]:
    assert plan.mechanism is not None
    pairs = [(plan.mechanism, pair) for pair in plan.pairs]
    if isinstance(plan.search, ShowsItsPair):
        model, pair = plan.search.shown(plan.search.find(runner)[1])
        density = Mechanism(model.sample_releases, True, None, model.log_density)
        pairs.append((density, pair))
    return [Situation(*each, backwards) for each in pairs for backwards in (False, True)]


def _chosen(candidates: Sequence[Situation], claim: float, runner: Runner) -> list[Situation]:
    """The pairs that are worst at a small, a middle and a large epsilon, both directions of each."""
    if len(candidates) <= 2:
        return list(candidates)
    seeds = runner.seeds("pld-pilot", 0).spawn(len(candidates))
    pilots = [one.losses(_PILOT, seed) for one, seed in zip(candidates, seeds, strict=True)]
    largest = max(float(np.max(losses[np.isfinite(losses)], initial=claim)) for losses in pilots)
    best: dict[int, None] = {0: None}  # the plain one is always there: its tail is known best
    for epsilon in (0.0, 0.5 * claim, claim, 0.9 * largest):
        found = [float(gains(losses, epsilon).mean()) for losses in pilots]
        if max(found) > 0:
            best[int(np.argmax(found)) // 2] = None
    return [candidates[2 * index + way] for index in sorted(best) for way in (0, 1)]


def _exact(plan: PartPlan, one: Situation, runs: int, alpha: float, runner: Runner) -> LossCurve:
    losses = one.losses(runs, runner.seeds("pld-plain", 0))
    shifts = None if plan.shifts is None else plan.shifts(one.pair, one.backwards)
    tilts, notes = _tilted_runs(one, shifts, runs, runner) if shifts else ([], ())
    epsilons = _epsilons(plan, losses, [tilt.center for tilt, _, _ in tilts])
    # Every source has a share of the error rate, so that the intersection of their bands is a band.
    share = alpha / (len(epsilons) * (1 + len(tilts)))
    observed = []
    for epsilon in epsilons:
        bands = [plain_band(losses, epsilon, share)]
        for tilt, seen, weights in tilts:
            values, largest = weights * gains(seen, epsilon), tilt.largest(epsilon)
            if largest >= 1:
                continue  # tilted for larger losses: plain runs know more
            if float(values.max(initial=0.0)) > largest * (1 + 1e-6):
                notes = (*notes, OTHER_NOISE)
            else:
                bands.append(bernstein(values, largest, share))
        observed.append(_intersection(bands))
    return _curve(
        plan, one.pair.label, one.backwards, Source.DENSITY, losses, epsilons, observed, notes
    )


def _intersection(bands: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Where all hold; where they contradict each other, which happens with the error rate, all of them."""
    low, high = max(low for low, _ in bands), min(1.0, *(high for _, high in bands))
    if low <= high:
        return low, high
    return min(low for low, _ in bands), min(1.0, max(high for _, high in bands))


def _tilted_runs(
    one: Situation, shifts: Sequence[NoiseShift], runs: int, runner: Runner
) -> tuple[list[tuple[Tilt, Array, Array]], tuple[str, ...]]:
    found = []
    try:
        for index, delta in enumerate(SHOWN):
            # Where a tilt is centred its Chernoff bound is some fifty times delta.
            tilt = saddle(shifts, 50 * delta)
            found.append((tilt, *one.tilted(tilt, runs, runner.seeds("pld-tilted", index))))
    except NotTilted as error:
        return [], (f"the tail is not drawn with tilted noise: {error}",)
    return found, ()


# Laws ------------------------------------------------------------------------------------------------


def _of_law(
    plan: PartPlan, law: LossLaw, backwards: bool, runs: int, alpha: float, runner: Runner
) -> LossCurve:
    rng = generator(runner.seeds("pld-law", int(backwards)))
    losses = law.draw(backwards, runs, rng)
    epsilons = _epsilons(plan, losses, [])
    share = alpha / len(epsilons)
    if np.isposinf(losses).all():
        observed = [(1.0, 1.0)] * len(epsilons)
    else:
        observed = [plain_band(losses, epsilon, share) for epsilon in epsilons]
    return _curve(plan, law.label, backwards, law.source, losses, epsilons, observed, ())


# Somebody's code -------------------------------------------------------------------------------------


def _of_code(plan: PartPlan, runs: int, alpha: float, runner: Runner) -> list[LossCurve]:
    assert plan.mechanism is not None
    curves, left = [], []
    for index, pair in enumerate(plan.pairs[:4]):
        finding = _followed(plan, pair, runner.seed)
        if finding is None:
            left.append(index)
            continue
        for backwards in (False, True):
            rng = generator(runner.seeds(f"pld-replay-{index}", int(backwards)))
            losses = drawn_losses(finding.parts, backwards, runs, rng)
            epsilons = _epsilons(plan, losses, [])
            share = alpha / (2 * len(plan.pairs[:4]) * len(epsilons))
            known = exact_deltas(finding.parts, epsilons)
            if known is None:
                observed = [plain_band(losses, epsilon, share) for epsilon in epsilons]
            else:  # up to the rounding of the code that was followed
                observed = [(value * (1 - 1e-9), value * (1 + 1e-9)) for value in known]
            curves.append(
                _curve(plan, pair.label, backwards, Source.LAW, losses, epsilons, observed, ())
            )
    if curves:
        return curves
    return [_scored(plan, left[0] if left else 0, runs, alpha, runner)]


def _followed(plan: PartPlan, pair: Pair, seed: int) -> ReplayFinding | None:
    """What replay knows of every output, or nothing."""
    assert plan.mechanism is not None
    if plan.mechanism.is_outside:
        return None
    finding = examine(
        SingleCall(plan.mechanism), pair, plan.claim.budget, plan.claim.recorded, seed
    )
    if finding.kind is not FindingKind.EXACT or not finding.parts:
        return None
    return finding if drawn_losses(finding.parts, False, 1, np.random.default_rng(0)).size else None


def _scored(plan: PartPlan, pair: int, runs: int, alpha: float, runner: Runner) -> LossCurve:
    assert plan.mechanism is not None
    events = event_to_draw(plan, plan.mechanism, pair, min(runs, 4096), runner)
    found = gather(
        plan.mechanism,
        plan.pairs,
        events[0] if events else None,
        epsilon=plan.claim.budget.epsilon,
        alpha=alpha,
        runs=runs,
        runner=runner,
    )
    if found is None:
        raise NothingToAudit(
            f"no score tells the outputs of {plan.name} apart; there is nothing to show."
        )
    losses = _binned(found)
    epsilons = _epsilons(plan, losses, [])
    observed = []
    for epsilon in epsilons:
        # 1 - fnr - e^eps fpr of every test that is known from above; the true curve may be anywhere above.
        power = [1 - fnr - math.exp(epsilon) * fpr for fpr, fnr in found.curve.upper]
        observed.append((max(0.0, *power), 1.0))
    return _curve(plan, found.pair, found.swapped, Source.SCORE, losses, epsilons, observed, ())


def _binned(found: RunEvidence) -> Array:
    """Estimated losses, as many as were counted, each at the middle of its bin."""
    edges = np.array(found.losses.edges)
    counts = np.array(found.losses.first)
    scale = min(1.0, MOST_SHOWN / max(1, int(counts.sum())))
    return np.repeat((edges[1:] + edges[:-1]) / 2, np.round(counts * scale).astype(int))


# Curves ----------------------------------------------------------------------------------------------


def _epsilons(plan: PartPlan, losses: Array, centers: Sequence[float]) -> list[float]:
    """From 0 past the claim and the losses that were drawn; the claim and the tilts' centres among them."""
    claim = plan.claim.budget.epsilon
    finite = losses[np.isfinite(losses)]
    top = max([1.1 * claim, *centers, float(np.max(finite, initial=0.0))])
    grid = np.linspace(0.0, top, _POINTS - 1 - len(centers)).tolist()
    return sorted({*grid, claim, *centers})


def _curve(
    plan: PartPlan,
    pair: str,
    backwards: bool,
    source: Source,
    losses: Array,
    epsilons: Sequence[float],
    observed: Sequence[tuple[float, float]],
    notes: tuple[str, ...],
) -> LossCurve:
    proved = _proved(plan, epsilons)
    return LossCurve(
        plan.claim.part,
        pair,
        DIRECTIONS[backwards],
        source,
        tuple(losses[:MOST_SHOWN].tolist()),
        tuple(map(CurvePoint, epsilons, observed, proved)),
        tuple(dict.fromkeys(notes)),
    )


def _proved(plan: PartPlan, epsilons: Sequence[float]) -> list[tuple[float, float] | None]:
    """The accountant's curve of the described event, from both sides."""
    event = plan.event if plan.code_proof is None else plan.code_proof.event
    if event is None:
        return [None] * len(epsilons)
    from dpcheck.accounting.api import delta

    bounds = delta(event, epsilon=list(epsilons), adjacency=as_adjacency(plan.claim.adjacency))
    return [(bound.lower, bound.upper) for bound in bounds]
