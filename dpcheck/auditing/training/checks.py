"""The checks of one step.

Two updates with the same seed have the same noise, so their difference is exact: what examples add to a
batch must be their own clipped gradients over the divisor, whoever else is in the batch. All examples are
looked at in chunks; those of a chunk that adds something else, and the longest, are looked at one by one,
in two batches. The noise is read off the code where it can be followed, else measured on one batch with
different seeds; the sampler is drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import bdtrc, ndtri

from dpcheck.auditing.training.noise import (
    ALPHA,
    code_of,
    followed_noise,
    noise_by_code,
    noise_by_variance,
)
from dpcheck.auditing.training.step import Checked, Indices, Outcome, Step, StepReport, Vector
from dpcheck.core.errors import BadOutput
from dpcheck.core.validate import count
from dpcheck.execution.seeds import generator
from dpcheck.replay.noise import function_around

_EXACT = 1e-3  # relative; float32 sums differ in the last digits
_EXAMPLES, _BATCH, _CHUNK, _NOISES, _DRAWS = 8, 32, 64, 64, 400


def check_step(step: Step, *, seed: int = 0, examples: int | None = None) -> StepReport:
    """Whether a step is what it is accounted as: noise, clipping, divisor, mixing, sampler.

    All examples are looked at, or as many as `examples` says, chosen at random: two calls of `gradient`
    for each, and an update for every few dozen.

    Guarantee: a step that is, is called violated with probability at most 10 * 1e-4.
    Assumes: the same seed gives the same noise; otherwise clipping and divisor are reported as not
    checked. Noise is followed through numpy code, which is exact; elsewhere it is judged by its
    variance, in all coordinates together and in each.
    """
    number = step.rows if examples is None else min(step.rows, count("examples", examples))
    root = np.random.SeedSequence(seed)
    picks, noises, draws = (generator(one) for one in root.spawn(3))
    every = picks.permutation(step.rows)
    half = min(_BATCH, step.rows // 4)
    batches = [every[place * half : (place + 1) * half] for place in range(3)]
    seeds = noises.integers(1 << 62, size=_NOISES)

    def update(indices: Indices, which: int) -> Vector:
        found = np.asarray(step.update(indices, np.random.default_rng(int(which))), dtype=float)
        if found.ndim != 1 or not np.isfinite(found).all():
            raise BadOutput("update must return one finite vector.")
        return found

    first = update(batches[0], seeds[0])
    repeatable = np.array_equal(first, update(batches[0], seeds[0]))
    if not repeatable:
        why = (
            "The same seed gave two different updates, so what one example adds cannot be read off."
        )
        remedy = "draw the noise from the generator that update is given."
        added = [Checked("clipping and divisor", Outcome.UNKNOWN, why, remedy)]
    else:
        looked = _Examples(step, batches, lambda indices: update(indices, seeds[0]))
        added = looked.checked(every[step.rows - number :])
    # An update that keeps something from one call to the next would keep followed numbers.
    longer = np.append(batches[0], every[half : half + 1])
    followed = followed_noise(step, [batches[0], longer] if repeatable and step.follow else [])
    noise = noise_by_code(step, followed)
    if noise is None:
        runs = np.stack([first, *(update(batches[0], one) for one in seeds[1:])])
        noise = noise_by_variance(step, runs, followed)
    around = (
        function_around(followed.lines[0]) if followed.lines else code_of(step.code or step.update)
    )
    sampler = code_of(step.sample)
    found = (noise, *_at(added, around), *_at(_sampler(step, draws), sampler))
    return StepReport(found)


def _at(found: list[Checked], where: str) -> list[Checked]:
    """With the function to change, unless a line is named already."""
    return [replace(one, where=one.where or where) for one in found]


@dataclass(slots=True)
class _Examples:
    """What examples add to batches that they are not in; `batches` are disjoint."""

    step: Step
    batches: list[Indices]
    update: Callable[[Indices], Vector]
    known: dict[int, Vector] = field(default_factory=dict)  # updates of the batches
    longest: float = 0.0

    def checked(self, every: Indices) -> list[Checked]:
        """All of these, chunk by chunk; what is odd, and the longest gradients, one by one."""
        rows = every.tolist()
        inside = set(self.batches[0].tolist())
        lengths = {row: float(np.linalg.norm(self.step.gradient(row))) for row in rows}
        self.longest = max(lengths.values())
        # Those with the longest gradients: where clipping must act.
        some = sorted(rows, key=lambda row: -lengths[row])[:_EXAMPLES]
        odd: list[int] = []
        for place, part in enumerate(
            ([row for row in rows if row not in inside], [row for row in rows if row in inside])
        ):
            for start in range(0, len(part), _CHUNK):
                odd += self._odd(part[start : start + _CHUNK], place, _EXAMPLES - len(odd))
        return self._one_by_one(list(dict.fromkeys([*odd, *some])), len(rows))

    def _before(self, place: int) -> Vector:
        if place not in self.known:
            self.known[place] = self.update(self.batches[place])
        return self.known[place]

    def _more(self, rows: list[int], place: int) -> Vector:
        """What a batch becomes more by these examples."""
        indices = np.append(self.batches[place], np.array(rows, dtype=np.int64))
        return self.update(indices) - self._before(place)

    def _own(self, row: int) -> Vector:
        """What an example should add: its clipped gradient over the divisor."""
        own = np.asarray(self.step.gradient(row), dtype=float)
        size = float(np.linalg.norm(own))
        return own * min(1.0, self.step.clip / size if size > 0 else 1.0) / self.step.divisor

    def _odd(self, rows: list[int], place: int, most: int) -> list[int]:
        """At most so many of the examples that do not add what they should, by halving the chunk."""
        if not rows or most <= 0:
            return []
        expected = sum((self._own(row) for row in rows), np.zeros(1))
        apart = float(np.linalg.norm(self._more(rows, place) - expected))
        if apart <= _EXACT * self.step.clip / self.step.divisor:
            return []
        if len(rows) == 1:
            return rows
        middle = len(rows) // 2
        found = self._odd(rows[:middle], place, most)
        return found + self._odd(rows[middle:], place, most - len(found))

    def _one_by_one(self, some: list[int], looked: int) -> list[Checked]:
        """What single examples add to two different batches, against their own clipped gradients."""
        step = self.step
        scale = step.clip / step.divisor
        largest, worst_mix, wrong, ratios = 0.0, 0.0, 0.0, []
        for row in some:
            places = [n for n, batch in enumerate(self.batches) if row not in batch]
            one, two = (self._more([row], place) for place in places[:2])
            expected = self._own(row)
            largest = max(largest, float(np.linalg.norm(one)), float(np.linalg.norm(two)))
            worst_mix = max(worst_mix, float(np.linalg.norm(one - two)))
            wrong = max(wrong, float(np.linalg.norm(one - expected)))
            if expected.any():
                ratios.append(float(one @ expected / (expected @ expected)))
        slack = _EXACT * scale
        mixes = worst_mix > slack
        found = [
            Checked(
                "layers and batches",
                Outcome.VIOLATED if mixes else Outcome.FINE,
                "What an example adds depends on who else is in the batch "
                f"(by up to {worst_mix / scale:.3g} of the clipping norm)."
                if mixes
                else "An example adds the same whoever else is in the batch.",
                "replace BatchNorm by GroupNorm, clip every example's gradient and not the batch's, and "
                "divide by a fixed number, not by the size of the batch drawn."
                if mixes
                else "",
            ),
            _clipping(step, largest * step.divisor, self.longest),
        ]
        if not mixes and wrong > slack and largest <= scale + slack:
            factor = max(ratios, key=lambda one: abs(one - 1)) if ratios else math.nan
            found.append(
                Checked(
                    "divisor",
                    Outcome.VIOLATED if factor > 1 + _EXACT else Outcome.UNKNOWN,
                    f"An example adds {factor:.4g} times its clipped gradient over {step.divisor:g}.",
                    "divide by the number that is accounted, and give `gradient` the same loss.",
                )
            )
        elif not mixes and largest <= scale + slack:
            whom = f"All {looked:,}" if looked == step.rows else f"{looked:,} of {step.rows:,}"
            seen = f"{whom} examples add their own clipped gradients over {step.divisor:g}, to {_EXACT:g}."
            found.append(Checked("divisor", Outcome.FINE, seen))
        return found


def _clipping(step: Step, added: float, longest: float) -> Checked:
    """The most that one example adds; only examples that must be clipped show whether they are."""
    seen = f"The most that one example adds has norm {added:.4g}; accounted is {step.clip:g}."
    if added > step.clip * (1 + _EXACT):
        remedy = f"clip every example's whole gradient to norm {step.clip:g} before the sum."
        return Checked("clipping", Outcome.VIOLATED, seen, remedy)
    if longest <= step.clip:
        return Checked(
            "clipping",
            Outcome.UNKNOWN,
            f"No gradient is longer than {longest:.4g}, so a forgotten clip at {step.clip:g} would not "
            "show.",
            "check at parameters, or with an example, where a gradient is longer.",
        )
    return Checked("clipping", Outcome.FINE, f"{seen} The longest gradient is {longest:.4g}.")


def _sampler(step: Step, rng: np.random.Generator) -> list[Checked]:
    """Rates of inclusion, and whether every example has a coin of its own."""
    counts = np.zeros(step.rows, dtype=int)
    sizes, repeated = [], False
    for _ in range(_DRAWS):
        drawn = np.asarray(step.sample(rng), dtype=int)
        sizes.append(len(drawn))
        unique = np.unique(drawn)
        repeated |= len(unique) < len(drawn)
        counts[unique] += 1
    rate, rows = step.sampling_rate, step.rows
    remedy = "include each example independently, with the accounted rate (Poisson sampling)."
    high = int(np.argmax(counts))
    observed = f"Rates over {_DRAWS} batches: {counts.mean() / _DRAWS:.4g} on average"
    too_often = bdtrc(counts[high] - 1, _DRAWS, rate) < ALPHA / rows
    more = bdtrc(int(counts.sum()) - 1, _DRAWS * rows, rate) < ALPHA
    rates = Checked("sampling rate", Outcome.FINE, f"{observed}, accounted {rate:.4g}.")
    if too_often or more:
        text = f"{observed}, {counts[high] / _DRAWS:.4g} for example {high}; accounted {rate:.4g}."
        rates = Checked("sampling rate", Outcome.VIOLATED, text, remedy)
    spread = float(np.var(sizes, ddof=1))
    expected = rows * rate * (1 - rate)
    text = f"Batch sizes have variance {spread:.4g}; independent coins would give {expected:.4g}."
    poisson = Checked("Poisson sampling", Outcome.FINE, text)
    if repeated:
        text = "An example was twice in one batch."
        poisson = Checked("Poisson sampling", Outcome.VIOLATED, text, remedy)
    elif rate < 1:
        # The variance of a sum of many coins is nearly that of normal draws; four times the error.
        error = expected * math.sqrt((2 + 1 / max(expected, 0.1)) / (_DRAWS - 1))
        if abs(spread - expected) > float(-ndtri(ALPHA / 2)) * error:
            poisson = Checked("Poisson sampling", Outcome.VIOLATED, text, remedy)
    return [rates, poisson]
