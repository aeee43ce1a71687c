"""docs/benchmarks/corpus.md: the planted bugs."""

from __future__ import annotations

import statistics
from collections import Counter

from records import read

from .common import Record, made_with, number, rate, table

DPCHECK = "dpcheck"
MISSED_BECAUSE: dict[str, str] = {}


def _of(records: list[Record], **wanted: object) -> list[Record]:
    return [r for r in records if all(r[key] == value for key, value in wanted.items())]


def _median(values: list[float | str]) -> float | str:
    finite = [v for v in values if not isinstance(v, str)]
    return statistics.median(finite) if finite else "inf"


def _verdicts(records: list[Record]) -> str:
    counts = Counter(r["verdict"] for r in records)
    return ", ".join(f"{verdict} {n}/{len(records)}" for verdict, n in sorted(counts.items()))


def _claim(record: Record) -> str:
    text = number(record["claim"])
    if record["curve"]:
        return f"curve through ({text}, {record['delta']:.0e})"
    return text if record["delta"] == 0 else f"({text}, {record['delta']:.0e})"


def _lower(records: list[Record]) -> str:
    deltas = {r["lower_delta"] for r in records}
    text = number(_median([r["lower"] for r in records]), 4)
    return text if deltas == {0.0} else f"{text} at δ ≈ {statistics.median(deltas):.1g}"


def _peers_above(peers: list[Record]) -> str:
    if not peers:
        return "not expressible"
    names = sorted({name for record in peers for name in record["bounds"]})
    caught = [n for n in names if all(r["bounds"].get(n, 0) > r["claim"] for r in peers)]
    return f"{len(caught)} of {len(names)}"


def _by_mechanism(ours: list[Record], peers: list[Record]) -> str:
    rows = []
    theme = None
    themes = list(dict.fromkeys(r["theme"] for r in ours))
    grouped = sorted(ours, key=lambda r: themes.index(r["theme"]))  # measured again means appended
    for name in dict.fromkeys(r["mechanism"] for r in grouped):
        broken, twin = (_of(ours, mechanism=name, side=s) for s in ("broken", "corrected"))
        if not broken or not twin:
            continue
        if broken[0]["theme"] != theme:
            theme = broken[0]["theme"]
            rows.append([f"**{theme}**", *[""] * 8])
        rows.append(
            [
                name,
                _claim(broken[0]),
                number(broken[0]["exact"], 4),
                _lower(broken),
                f"{int(statistics.median(r['runs'] for r in broken)):,}",
                number(statistics.median(r["cpu_seconds"] for r in broken)),
                _verdicts(broken),
                _verdicts(twin),
                _peers_above(_of(peers, mechanism=name, side="broken")),
            ]
        )
    return table(
        [
            "mechanism",
            "claim",
            "exact",
            "dpcheck ≥",
            "test runs",
            "CPU s",
            "broken",
            "corrected",
            "peers' bounds above the claim",
        ],
        rows,
    )


def _rates(ours: list[Record], peers: list[Record], statdp: list[Record]) -> str:
    shared = {(r["mechanism"], r["seed"]) for r in peers}
    same = [r for r in ours if (r["mechanism"], r["seed"]) in shared]

    def above(side: str, records: list[Record]) -> tuple[int, int]:
        chosen = _of(records, side=side)
        return sum(r["verdict"] == "violated" for r in chosen), len(chosen)

    rows = [
        [
            DPCHECK + ", whole corpus",
            rate(*above("broken", ours)),
            rate(*above("corrected", ours)),
            _told_apart(ours, lambda r: r["verdict"] == "violated"),
        ],
        [
            DPCHECK + ", the peers' rows",
            rate(*above("broken", same)),
            rate(*above("corrected", same)),
            _told_apart(same, lambda r: r["verdict"] == "violated"),
        ],
    ]
    names = sorted({name for record in peers for name in record["bounds"]})
    for name in names:
        able = [r for r in peers if name in r["bounds"]]

        def alarms(record: Record, name: str = name) -> bool:
            return bool(record["bounds"][name] > record["claim"])

        cells = []
        for side in ("broken", "corrected"):
            chosen = _of(able, side=side)
            cells.append(rate(sum(alarms(r) for r in chosen), len(chosen)))
        rows.append([f"{name} {able[0]['peers'][name]}", *cells, _told_apart(able, alarms)])
    if statdp:
        cells = []
        for side in ("broken", "corrected"):
            chosen = _of(statdp, side=side)
            cells.append(rate(sum(r["rejects"] for r in chosen), len(chosen)))
        version = statdp[0]["peers"]["pystatdp"]
        rows.append(
            [f"StatDP (pystatdp {version})", *cells, _told_apart(statdp, lambda r: r["rejects"])]
        )
        cases = {(r["mechanism"], r["seed"]) for r in statdp}
        same = [r for r in ours if (r["mechanism"], r["seed"]) in cases]
        rows.append(
            [
                DPCHECK + ", StatDP's rows",
                rate(*above("broken", same)),
                rate(*above("corrected", same)),
                _told_apart(same, lambda r: r["verdict"] == "violated"),
            ]
        )
    return table(
        ["auditor", "bugs caught", "false alarms on corrected twins", "told from its twin"], rows
    )


def _told_apart(records: list[Record], alarms: object) -> str:
    """Bugs that are caught while their twins pass, of those where both sides were run."""
    by_case: dict[tuple[str, int], dict[str, bool]] = {}
    for record in records:
        case = by_case.setdefault((record["mechanism"], record["seed"]), {})
        case[record["side"]] = alarms(record)  # type: ignore[operator]
    whole = [case for case in by_case.values() if len(case) == 2]
    return rate(sum(case["broken"] and not case["corrected"] for case in whole), len(whole))


def _plain_words(ours: list[Record]) -> str:
    names = list(dict.fromkeys(r["mechanism"] for r in ours))
    missed = [
        n
        for n in names
        if any(r["verdict"] != "violated" for r in _of(ours, mechanism=n, side="broken"))
    ]
    twins = _of(ours, side="corrected")
    wrong = sorted({r["mechanism"] for r in twins if r["verdict"] == "violated"})
    unsure = sorted({r["mechanism"] for r in twins if r["verdict"] == "undecided"})
    slowest = max(ours, key=lambda r: r["cpu_seconds"])
    lines = [
        f"- {len(names)} mechanisms; caught with every seed: {len(names) - len(missed)}. Missed with "
        f"some seed: {', '.join(missed) or 'none'}.",
        f"- Corrected twins called violated: {', '.join(wrong) or 'none'}. Undecided: "
        f"{', '.join(unsure) or 'none'}.",
        f"- Slowest audit: {slowest['mechanism']} ({slowest['side']}), "
        f"{slowest['cpu_seconds']:.0f} CPU seconds.",
    ]
    return "\n".join(lines)


def render() -> dict[str, str]:
    ours, peers, statdp = read("corpus.jsonl"), read("peers.jsonl"), read("statdp.jsonl")
    if not ours:
        return {}
    provenance = table(
        ["mechanism", "where it went wrong"],
        [
            (n, next(r["provenance"] for r in ours if r["mechanism"] == n))
            for n in dict.fromkeys(r["mechanism"] for r in ours)
        ],
    )
    text = f"""# The planted bugs

Mechanisms people really got wrong, each beside its corrected twin (`tests/power/planted/`), audited at
the default settings of `dpcheck audit`: confidence 0.999, at most 4 million test runs a side. *Exact*
is the true epsilon of the broken mechanism at the claim's delta on the audited pairs, where a closed form
gives it. A claim that is a curve is tested at a delta the audit chooses; the bound is at that delta.
Floating-point rows run with `--floating-point`.

{_plain_words(ours)}

## Who catches what

jax-privacy and TensorFlow Privacy make no runs, scores or events of their own. They get the score that
dpcheck learned, of
131,072 fresh runs a side, at the same confidence; a pure claim as delta 0 (1e-9 where delta must be
positive), a curve as its point at the claim's delta. jax-privacy's GDP bound assumes that the mechanism is
Gaussian; where it is not, its number bounds nothing, which the alarms on corrected twins show. StatDP
picks its own events and tests them, at its defaults (100,000 runs a side and pair to pick, 500,000 to
test) and the same error rate, on the pure claims with at most three columns of output. The
intervals are exact (Clopper-Pearson, 95%).

{_rates(ours, peers, statdp)}

## Every mechanism

{_by_mechanism(ours, peers)}

The papers' rows are audited through `dpcheck audit NAME --variant printed` by exact witnesses and
certified bounds, which have no scores to hand to a peer.

## Provenance

{provenance}

{made_with(ours + peers + statdp, "python benchmarks/corpus.py, peers/run_corpus.py, peers/run_statdp.py")}
"""
    return {"corpus.md": text}
