"""docs/benchmarks/everyday.md: functions as people write them, and the time until an answer."""

from __future__ import annotations

import statistics

from records import read

from .common import Record, table

_WORDS = {True: "violated", False: "missed"}


def render() -> dict[str, str]:
    """The page, if its data files are there."""
    rows, timed = read("everyday.jsonl"), read("time_to_verdict.jsonl")
    if not rows or not timed:
        return {}
    peers = {(r["mechanism"], r["side"]): r for r in read("everyday_peers.jsonl")}
    parts = [_summary(rows), _peers(rows, peers), _pairs(rows, peers), _times(timed), _made(rows)]
    return {"everyday.md": "\n".join(parts)}


def _side(rows: list[Record], side: str) -> list[Record]:
    return [row for row in rows if row["side"] == side]


def _summary(rows: list[Record]) -> str:
    broken, right = _side(rows, "broken"), _side(rows, "corrected")
    caught = [row for row in broken if row["verdict"] == "violated"]
    accused = sum(row["verdict"] == "violated" for row in right)
    calls = statistics.median(row["verdict_calls"] for row in caught)
    total = statistics.median(row["calls"] for row in caught)
    cpu = statistics.median(row["cpu_seconds"] for row in caught)
    most = rows[0]["max_runs"]
    return f"""# Functions as people write them

`tests/power/everyday` has functions of pandas, numpy, scikit-learn, torch and plain Python that claim
epsilon 1 (some another value): each once with a fault and once as it should be. At most {most:,} runs
a side, confidence 0.999, one process.

- With a fault: {len(caught)} of {len(broken)} measured are *violated*, in the median after {calls:.0f}
  calls; with the calls that confirm a readable event {total:.0f} calls and {cpu:.1f} s of one core.
- As they should be: {accused} of {len(right)} measured are called violated. So few runs leave the others
  undecided.
"""


def _peers(rows: list[Record], peers: dict[tuple[str, str], Record]) -> str:
    cells = []
    broken = [peers[key] for key in peers if key[1] == "broken"]
    right = [peers[key] for key in peers if key[1] == "corrected"]
    if not broken:
        return ""
    for who in broken[0]["read"]:
        caught = sum(row["read"][who] for row in broken)
        alone = sum(row["read"][who] and row["taken"] for row in broken)
        wrong = sum(row["read"][who] for row in right)
        cells.append(
            (
                who,
                f"{alone}/{len(broken)}",
                f"{caught}/{len(broken)}",
                f"{wrong}/{len(right)}" if right else "not measured",
                f"{broken[0]['calls']:,}",
                f"{statistics.median(row['seconds'] for row in broken):.1f}",
            )
        )
    mine = _side(rows, "broken")
    same = [row for row in mine if (row["mechanism"], "broken") in peers]
    found = sum(row["verdict"] == "violated" for row in same)
    accused = _side(rows, "corrected")
    cells.append(
        (
            "dpcheck",
            f"{found}/{len(same)}",
            f"{found}/{len(same)}",
            f"{sum(row['verdict'] == 'violated' for row in accused)}/{len(accused)}",
            f"{statistics.median(row['calls'] for row in same):.0f}",
            f"{statistics.median(row['seconds'] for row in same):.1f}",
        )
    )
    unseen = [row["mechanism"] for row in mine if (row["mechanism"], "broken") not in peers]
    left_out = f" Not given to them: {', '.join(unseen)}." if unseen else ""
    heads = ["auditor", "caught, outputs as they are", "caught, read by dpcheck", "accused wrongly"]
    return f"""## Beside others

Other auditors take rows of numbers. "As they are" counts functions whose outputs numpy turns into such
rows; else they are given the columns that dpcheck reads, which is most of the work. They get a fixed
number of calls, half of them to learn (`benchmarks/peers/flat.py`). Seconds are wall clock on a busy
machine, medians over functions with a fault.{left_out}

{table([*heads, "calls", "seconds"], cells)}
"""


def _pairs(rows: list[Record], peers: dict[tuple[str, str], Record]) -> str:
    right = {row["mechanism"]: row for row in _side(rows, "corrected")}
    cells = []
    for row in _side(rows, "broken"):
        name = row["mechanism"]
        peer = peers.get((name, "broken"))
        told = [_WORDS[v] for v in peer["read"].values()] if peer else ["not measured"]
        cells.append(
            (
                name,
                row["verdict"],
                f"{row['verdict_calls']:,}",
                f"{row['cpu_seconds']:.1f}",
                right[name]["verdict"] if name in right else "not measured",
                ", ".join(dict.fromkeys(told)),
                "yes" if peer and peer["taken"] else "no" if peer else "not measured",
            )
        )
    heads = ["function", "with its fault", "calls", "CPU s", "as it should be", "others"]
    return f"## Every pair\n\n{table([*heads, 'taken as it is'], cells)}\n"


def _times(timed: list[Record]) -> str:
    labels = list(dict.fromkeys(row["label"] for row in timed))
    seconds = sorted({row["seconds_a_call"] for row in timed})
    cells = []
    for name in dict.fromkeys(row["function"] for row in timed):
        for label in labels:
            mine = {
                r["seconds_a_call"]: r
                for r in timed
                if (r["function"], r["label"]) == (name, label)
            }
            told = [_time(mine.get(each), mine, each) for each in seconds]
            cells.append((name, label, *told))
    heads = [f"{1000 * each:g} ms a call" for each in seconds]
    return f"""## Time to a verdict

Calls and wall-clock seconds until `dpcheck.assert_private` answers for a claim of epsilon 1; "before" is
the release that set runs aside for learning first and had no time limit, "after" has one of 60 s. Calls
of "after" include those that confirm a readable event. "x" marks what was not run: the number of calls,
which does not depend on how long one takes, times that length. Measured on two busy cores: seconds of
fast functions are too long, those of slow ones are mostly the calls'.

{table(["function", "", *heads], cells)}
"""


def _time(row: Record | None, others: dict[float, Record], seconds: float) -> str:
    if row is not None:
        return f"{row['verdict']}: {row['calls']:,}, {row['seconds']:.0f} s"
    if not others:
        return "not measured"
    calls = next(iter(others.values()))["calls"]
    return f"x {calls:,}, {calls * seconds:,.0f} s"


def _made(rows: list[Record]) -> str:
    row = rows[-1]
    return (
        "Made by `python benchmarks/everyday.py`, `--peers`, and `python benchmarks/time_to_verdict.py`. "
        f"{row['machine']}, seed {row['seed']}, {row['date']}.\n"
    )
