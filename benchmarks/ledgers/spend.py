"""How much of a budget a ledger lets be used, and what a `spend` costs.

    python benchmarks/ledgers/spend.py                  # all tables; a few minutes
    python benchmarks/ledgers/spend.py steps mixed drawn cost   # some of them
    python benchmarks/ledgers/spend.py --write          # also into docs/benchmarks/ledger.md

Steps: how many releases of one event `ledger.steps` hands out, over how many the certified
privacy-loss distribution allows for a schedule fixed in advance at the whole of delta.
Mixed and drawn: the same for schedules of two events, beside a filter of one Renyi order with the
whole of delta, the order chosen before the first release and with hindsight.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from results_file import provenance

from dpcheck import Budget, BudgetExceeded, Event, Ledger, SampledGaussian
from dpcheck.accounting.api import epsilon_upper
from dpcheck.core.adjacency import Adjacency
from dpcheck.ledger.pricing.certificate import ORDERS, limits
from dpcheck.ledger.pricing.costs import View, event_cost
from dpcheck.ledger.pricing.filters import RenyiFilter, gaussian_order
from dpcheck.ledger.pricing.loop import most_within
from dpcheck.ledger.pricing.mixture import one_order

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "ledger.md"
SEED = 20261116


def settings(number: int = 30) -> list[tuple[float, float, Budget]]:
    """(noise, rate, budget), drawn at random over the ranges; between 1 and a million steps fit."""
    rng = np.random.default_rng(SEED)
    found: list[tuple[float, float, Budget]] = []
    while len(found) < number:
        noise = float(f"{np.exp(rng.uniform(np.log(0.5), np.log(20.0))):.3g}")
        rate = float(f"{np.exp(rng.uniform(np.log(1e-4), np.log(0.5))):.3g}")
        epsilon = float(f"{np.exp(rng.uniform(np.log(0.5), np.log(10.0))):.3g}")
        delta = float(f"{10 ** rng.uniform(-9, -5):.1g}")
        budget, event = Budget(epsilon, delta), SampledGaussian(noise, rate)
        if _spent(event, 1, budget) <= epsilon < _spent(event, 10**6, budget):
            found.append((noise, rate, budget))
    return found


def _spent(event: Event, times: int, budget: Budget) -> float:
    return epsilon_upper(event * times, delta=budget.delta, adjacency="add-remove")


def _certified(event: Event, budget: Budget, start: int) -> int:
    """The most steps whose certified epsilon is within the budget, one by one at the end."""
    low, high = most_within(lambda n: _spent(event, n, budget), budget.epsilon, start)
    assert _spent(event, low, budget) <= budget.epsilon < _spent(event, low + 1, budget)
    assert high == low + 1
    return low


def steps_table(rows: list[tuple[float, float, Budget]]) -> Iterator[str]:
    yield "| noise | rate | epsilon | delta | ledger | certified | ratio | first 1,000 spends |"
    yield "|---|---|---|---|---|---|---|---|"
    ratios, first = [], []
    for noise, rate, budget in rows:
        event = SampledGaussian(noise, rate)
        ledger = Ledger(budget, "add-remove")
        data, done, start = ledger.dataset("train"), 0, time.process_time()
        for _ in islice(ledger.steps(data, event), 1000):
            done += 1
        first.append(time.process_time() - start)
        allowed = done + ledger.how_many(data, event)
        certified = _certified(event, budget, allowed)
        ratios.append(allowed / certified)
        yield (
            f"| {noise:g} | {rate:g} | {budget.epsilon:g} | {budget.delta:g} | {allowed:,} | "
            f"{certified:,} | {ratios[-1]:.4f} | {first[-1]:.2f} s |"
        )
    yield ""
    yield (
        f"Smallest ratio {min(ratios):.4f}, median {np.median(ratios):.4f}. Longest first thousand "
        f"spends (or as many as fit) {max(first):.2f} CPU seconds."
    )


Schedule = tuple[str, tuple[SampledGaussian, SampledGaussian], Budget]


def schedules() -> list[Schedule]:
    """Pairs of events that alternate; the second of the last two is dominated by the first."""
    step = SampledGaussian
    return [
        ("less noise every other step", (step(1.2, 0.01), step(1.0, 0.01)), Budget(3.0, 1e-5)),
        ("two rates", (step(1.0, 0.005), step(1.0, 0.02)), Budget(2.0, 1e-5)),
        ("far apart", (step(4.0, 0.1), step(0.8, 0.002)), Budget(4.0, 1e-6)),
        ("small epsilon", (step(8.0, 0.02), step(6.0, 0.02)), Budget(0.8, 1e-7)),
        ("more noise every other step", (step(1.0, 0.01), step(1.2, 0.01)), Budget(3.0, 1e-5)),
        ("a smaller rate", (step(1.0, 0.02), step(1.0, 0.005)), Budget(2.0, 1e-5)),
    ]


def drawn(number: int = 20) -> list[Schedule]:
    """Pairs drawn like the settings above; some order alone allows 10 to 100,000 releases."""
    rng = np.random.default_rng(SEED + 1)
    found: list[Schedule] = []
    while len(found) < number:
        noise = np.exp(rng.uniform(np.log(0.5), np.log(20.0), 2))
        rate = np.exp(rng.uniform(np.log(1e-4), np.log(0.5), 2))
        epsilon, delta = np.exp(rng.uniform(np.log(0.5), np.log(10.0))), 10 ** rng.uniform(-9, -5)
        budget = Budget(float(f"{epsilon:.3g}"), float(f"{delta:.1g}"))
        first, second = (
            SampledGaussian(float(f"{n:.3g}"), float(f"{r:.3g}"))
            for n, r in zip(noise, rate, strict=True)
        )
        if 10 <= _by_one_order((first, second), budget)[0].max() <= 1e5:
            name = " and ".join(
                f"{e.noise_multiplier:g} at {e.sampling_rate:g}" for e in (first, second)
            )
            found.append((name, (first, second), budget))
    return found


def _by_one_order(pair: tuple[Event, ...], budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """How many alternating releases each order allows with all of delta: classic, lossless."""
    view, measure = View(Adjacency.ADD_REMOVE, 1), RenyiFilter().measure
    costs = [event_cost(event, view, measure, len(ORDERS)).divergences for event in pair]
    found = []
    for ends in (
        one_order(ORDERS, budget.epsilon, budget.delta),
        limits(ORDERS, budget.epsilon, np.full(len(ORDERS), budget.delta)),
    ):
        pairs = np.floor(ends / sum(costs)).clip(0)
        found.append(2 * pairs + (pairs * sum(costs) + costs[0] <= ends))
    return found[0], found[1]


def _alternating(
    pair: tuple[Event, ...], budget: Budget, name: str | None, expect: Event | None = None
) -> int:
    ledger = Ledger(budget, "add-remove", filter=name, expect=expect)
    data = ledger.dataset("train")
    for done, event in enumerate(cycle(pair)):
        try:
            ledger.spend(data, event)
        except BudgetExceeded:
            return done
    raise AssertionError


def mixed_table(rows: list[Schedule]) -> Iterator[str]:
    yield (
        "| schedule | rdp | rdp, told | default | default, told | order before | classic | "
        "by hindsight | classic | over order before: rdp, told, default told | "
        "over hindsight: the same, default |"
    )
    yield "|---" * 11 + "|"
    over: list[list[float]] = []
    for name, pair, budget in rows:
        told = pair[0] + pair[1]
        rdp, rdp_told = (_alternating(pair, budget, "rdp", e) for e in (None, told))
        default, default_told = (_alternating(pair, budget, None, e) for e in (None, told))
        classic, single = _by_one_order(pair, budget)
        fixed = int(np.argmin(np.abs(ORDERS - gaussian_order(budget))))
        best = single.max()
        over.append([x / best for x in (rdp, rdp_told, default_told, default)])
        before = ", ".join(
            f"{x / max(1, single[fixed]):.3f}" for x in (rdp, rdp_told, default_told)
        )
        yield (
            f"| {name} {budget} | {rdp:,} | {rdp_told:,} | {default:,} | {default_told:,} | "
            f"{single[fixed]:,.0f} | {classic[fixed]:,.0f} | {best:,.0f} | {classic.max():,.0f} | "
            f"{before} | {', '.join(f'{x:.3f}' for x in over[-1])} |"
        )
    yield ""
    least, middle = np.min(over, axis=0), np.median(over, axis=0)
    yield (
        f"Over hindsight, smallest and median: rdp {least[0]:.3f} and {middle[0]:.3f}, told "
        f"{least[1]:.3f} and {middle[1]:.3f}, default told {least[2]:.3f} and {middle[2]:.3f}, default "
        f"{least[3]:.3f} and {middle[3]:.3f}."
    )


STEP = SampledGaussian(noise_multiplier=1.1, sampling_rate=1e-5)
OTHER = SampledGaussian(noise_multiplier=1.3, sampling_rate=1e-5)
WIDE = Budget(8.0, 1e-6)


def in_memory() -> Callable[[], None]:
    ledger = Ledger(WIDE, "add-remove")
    data = ledger.dataset("train", rows=10**6)
    return lambda: ledger.spend(data, STEP)


def in_file(folder: Path, block: int) -> Callable[[], None]:
    ledger = Ledger.open(folder / f"{block}.ledger", WIDE, "add-remove", block=block)
    data = ledger.dataset("train", rows=10**6)
    return lambda: ledger.spend(data, STEP)


def counting() -> Callable[[], None]:
    counts: dict[object, int] = {}

    def step() -> None:
        counts[STEP] = counts.get(STEP, 0) + 1

    return step


def planned() -> Callable[[], None]:
    ledger = Ledger(WIDE, "add-remove")
    plan = ledger.plan(ledger.dataset("train", rows=10**6), STEP * 2_000_000)
    return lambda: plan.step(event=STEP)


def alternating() -> Callable[[], None]:
    ledger = Ledger(WIDE, "add-remove")
    left, right = ledger.dataset("train", rows=10**6).split_columns(2)

    def step() -> None:
        ledger.spend(left, STEP)
        ledger.spend(right, OTHER)

    return step


def read_after_each() -> Callable[[], None]:
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
    data, event = ledger.dataset("train"), SampledGaussian(1.1, 256 / 60000)

    def step() -> None:
        ledger.spend(data, event)
        ledger.epsilon(delta=1e-5)

    return step


def cost_table() -> Iterator[str]:
    """CPU time of all calls, the first included, which divides delta."""
    yield "| | calls | CPU seconds in all | microseconds a call |"
    yield "|---|---|---|---|"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases: list[tuple[str, Callable[[], None], int]] = [
            ("counts[event] += 1 in a dict", counting(), 1_000_000),
            ("spend, in memory", in_memory(), 1000),
            ("spend, in memory", in_memory(), 1_000_000),
            ("spend, two kinds in two columns (both)", alternating(), 100_000),
            ("plan.step", planned(), 1_000_000),
            ("spend, in a file, block=1000", in_file(folder, 1000), 1_000_000),
            ("spend, in a file, block=1", in_file(folder, 1), 300),
            ("spend and ledger.epsilon() after it", read_after_each(), 10_000),
        ]
        for label, step, times in cases:
            start = time.process_time()
            for _ in range(times):
                step()
            spent = time.process_time() - start
            yield f"| {label} | {times:,} | {spent:.2f} | {spent / times * 1e6:,.2f} |"


TABLES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "steps": (
        "## One event: steps allowed over steps certified\n\n30 settings drawn at random (seed "
        f"{SEED}): noise 0.5 to 20, rate 1e-4 to 0.5, epsilon 0.5 to 10, delta 1e-9 to 1e-5.\n",
        lambda: steps_table(settings()),
    ),
    "mixed": (
        "## Two events in turn\n\nBeside a filter of one Renyi order that gets the whole of delta, "
        "the order fixed before the first release (as best for Gaussians) or chosen afterwards, both by "
        "the lossless conversion and by the classic one. No filter of Renyi orders is ahead of the "
        "order by hindsight by more than a hair (see the explanation). *Told* is a ledger opened with "
        "`expect=first + second`. `filter='rdp'` without it keeps a tenth of delta for events unlike "
        "the first, 1% for what can fail and 2% for reading, and pays for choosing its order after the "
        "first releases, all of which the single orders do not; those are the two or three percent it is "
        "behind where the order fixed before was the best. The default "
        "without it keeps most of delta for a loop of the first event; told, it certifies pairs by "
        "their privacy-loss distribution, which no Renyi filter does.\n",
        lambda: mixed_table(schedules()),
    ),
    "drawn": (
        f"## Two events in turn, drawn at random\n\nThe same for 20 pairs (seed {SEED + 1}) over the "
        "ranges of the first table.\n",
        lambda: mixed_table(drawn()),
    ),
    "cost": ("## What calls cost\n", cost_table),
}


def keep(name: str, table: list[str]) -> None:
    """Put one table into the page, in its place; the others stay as they were made."""
    titles = {heading.split("\n")[0]: number for number, (heading, _) in enumerate(TABLES.values())}
    known = PAGE.read_text(encoding="utf-8").split("\n## ")[1:] if PAGE.exists() else []
    sections = {f"## {text}".split("\n")[0]: f"## {text}".strip() for text in known}
    sections[TABLES[name][0].split("\n")[0]] = "\n".join(table).strip()
    kept = sorted((title for title in sections if title in titles), key=titles.__getitem__)
    page = "\n\n".join([HEAD, *(sections[title] for title in kept)])
    PAGE.write_text(page + "\n", encoding="utf-8")


HEAD = """# The ledger, measured

By `python benchmarks/ledgers/spend.py --write`. CPU seconds, made while other work ran on the machine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--write", action="store_true", help=f"put them into {PAGE.name}")
    options = parser.parse_args()
    made = provenance()
    for name in options.tables or TABLES:
        heading, table = TABLES[name]
        out = [heading, f"Made on {made['date']}: {made['machine']}.", ""]
        print("\n" + "\n".join(out), flush=True)
        for line in table():
            out.append(line)
            print(line, flush=True)
        if options.write:
            keep(name, out)


if __name__ == "__main__":
    main()
