"""docs/benchmarks/suites.md, neighbours.md, nulls.md, busy.md: what audits say, of whom, under what load."""

from __future__ import annotations

from collections import Counter
from statistics import median

from records import read
from scipy.special import betaincinv

from .common import made_with, table

SUITES = """The mechanisms that StatDP, DP-Sniper, DP-Auditorium, dp-recorder and Delta-Siege were published
with, written anew from their papers, on their pairs, at the claims they test. Confidence 0.999, one
process, seed 1. Lists of query answers are neighbours by `dpcheck.relation("answers", norm="inf",
bound=1)`."""
KINDS = """Functions that claim epsilon 1 and leak only among people of several kinds (medians, votes,
thresholds on counts, ratios, joins, the order of arrival), each beside one that keeps its claim
(`tests/power/kinds`). The audit gets a description of a record and searches the pairs itself."""
FURTHER = """Those called *further* were written after the search and then shown to it: 57 of 64 were caught.
What was missed were people who do not stand last in the data, and numbers in functions that a
closure holds; both are tried now, and the figures below are with that."""
PATHS = """Every test that may convict, by itself, on laws that keep the claim exactly. Processes are looked
at after each of 150 runs; readable event, one run and noise scale have a fixed number of runs."""
BUSY = """Without time limits, what else runs on a machine must change no verdict. Fifty functions as people
write them, half of them with their fault, are audited by `dpcheck audit` with one seed and at most
2,000 runs a side: one after the other, then eight at once on two cores. Compared are verdict, exit
code, claim, proof, bound, witness, notes and how the error rate was spent."""
LESS = """An exact loss is looked for, and a counterexample made small and readable, for so many
seconds; what was reached by then is shown."""
THEIRS = """Not measured here: whether the authors of a suite report that their tool rejects the mechanism,
and their lower bound where they print one (DP-Sniper: 90% bounds from its published logs, 10.7
million runs a phase and pair and 200 million at the end; StatDP: 100,000 runs to choose an event
and 500,000 to test it are its defaults). Delta-Siege's rows of floating-point samplers are looked
at in the lowest bits of the output, as there; so are, beside the numbers themselves, the first
measurements of MST and AIM on its two datasets, with noise from numpy. Its rows of OpenDP, PyDP and
diffprivlib need those libraries: see [the board](../libraries.md). On DP-Sniper's suite an audit may
make 20 million runs a side; with the 4 million of the default SVT3 and SVT4 were *consistent*."""


_PUBLISHED = {True: "rejected", False: "not rejected", None: "not looked up"}


def render() -> dict[str, str]:
    """The pages that have data."""
    pages = {
        "suites.md": _suites(),
        "neighbours.md": _kinds(),
        "nulls.md": _nulls(),
        "busy.md": _busy(),
    }
    return {name: text for name, text in pages.items() if text}


def _suites() -> str:
    found = read("suites.jsonl")
    if not found:
        return ""
    text = [
        "# Suites of other auditors",
        SUITES,
        THEIRS,
    ]
    for suite in dict.fromkeys(row["suite"] for row in found):
        rows = [row for row in found if row["suite"] == suite]
        wrong = [row for row in rows if row["caught"]]
        caught = sum(row["verdict"] == "violated" for row in wrong)
        quiet = [row for row in rows if row["caught"] is False]
        others = sum(row["verdict"] == "violated" for row in quiet)
        text.append(
            f"## {suite}\n\nOf {len(wrong)} that its authors catch {caught} are *violated*; of "
            f"{len(quiet)} that they do not, {others}."
        )
        lines = [
            [
                row["case"],
                f"{row['claim']:g}" + (f" @ {row['delta']:g}" if row["delta"] else ""),
                _PUBLISHED[row["caught"]] + (f", {row['theirs']}" if row["theirs"] else ""),
                row["verdict"],
                "inf" if row["epsilon"] > 1e300 else f"{row['epsilon']:.4g}",
                row["method"],
                f"{row['calls']:,}",
                f"{row['cpu']:.1f}",
            ]
            for row in rows
        ]
        head = [
            "mechanism",
            "claim",
            "theirs, as published",
            "dpcheck",
            "epsilon at least",
            "by",
            "calls",
            "CPU s",
        ]
        text.append(table(head, lines))
    text.append(made_with(found, "python benchmarks/suite/compare.py"))
    return "\n\n".join(text) + "\n"


def _kinds() -> str:
    found = read("kinds.jsonl")
    if not found:
        return ""
    text = [
        "# Neighbours left to dpcheck",
        KINDS,
        FURTHER,
    ]
    for side, words in (("broken", "With the fault"), ("right", "As they should be")):
        for further in (False, True):
            rows = [
                r for r in found if r["side"] == side and r["case"].startswith("further") is further
            ]
            if rows:
                violated = [row for row in rows if row["verdict"] == "violated"]
                missed = [row["case"] for row in rows if row not in violated]
                seconds = [row["cpu"] for row in rows]
                name = "further functions" if further else "functions"
                line = (
                    f"- {words}, {name}: {len(violated)} of {len(rows)} *violated*, "
                    f"{median(seconds):.1f} CPU s in the median, at most {max(seconds):.1f}."
                )
                text.append(
                    line + (f" Missed: {', '.join(missed)}." if side == "broken" and missed else "")
                )
    text.append(made_with(found, "python benchmarks/neighbours/kinds.py"))
    return "\n\n".join(text) + "\n"


def _busy() -> str:
    found = read("busy.jsonl")
    if not found:
        return ""
    ways = {row["at once"]: {} for row in found}
    for row in found:
        ways[row["at once"]][row["case"]] = row
    quiet, crowd = sorted(ways)
    both = [(ways[quiet][name], ways[crowd][name]) for name in ways[quiet] if name in ways[crowd]]
    verdicts = Counter(one["verdict"] for one, _ in both)
    shown = ", ".join(f"{count} *{verdict}*" for verdict, count in verdicts.most_common())
    differ = [
        one["case"]
        for one, two in both
        if (one["verdict"], one["exit"]) != (two["verdict"], two["exit"])
    ]
    figures = {
        one["case"]: [key for key in one["entry"] if one["entry"][key] != two["entry"][key]]
        for one, two in both
        if one["entry"] != two["entry"]
    }
    others = "; ".join(f"{case}: {', '.join(keys)}" for case, keys in figures.items())
    lines = [
        [
            way,
            f"{median(row['seconds'] for row in rows.values()):.1f}",
            max(row["seconds"] for row in rows.values()),
        ]
        for way, rows in sorted(ways.items())
    ]
    text = [
        "# A busy machine",
        BUSY,
        f"- One after the other: {shown}.",
        f"- {crowd} at once: {len(differ)} of {len(both)} end in another verdict or exit code"
        + (f" ({', '.join(differ)})." if differ else "."),
        f"- Any other figure differs in {len(figures)}"
        + (f" ({others}). {LESS}" if figures else "."),
        table(["at once", "seconds an audit, median", "at most"], lines),
        made_with(found, "python benchmarks/busy.py"),
    ]
    return "\n\n".join(text) + "\n"


def _rate(alarms: int, audits: int) -> list[str]:
    limit = float(betaincinv(alarms + 1, audits - alarms, 0.95)) if alarms < audits else 1.0
    return [f"{alarms:,}/{audits:,}", f"{alarms / audits:.6f}", f"{limit:.6f}"]


def _nulls() -> str:
    processes, audits, known = (
        read(f"{n}.jsonl") for n in ("null_processes", "null_audits", "known_epsilon")
    )
    if not processes:
        return ""
    head = ["path", "error rate", "alarms", "rate", "at most, at 95%"]
    rows = []
    for path in dict.fromkeys(row["path"] for row in processes):
        mine = [row for row in processes if row["path"] == path]
        for alpha in ("0.05", "0.001"):
            alarms = sum(row["alarms"][alpha] for row in mine)
            rows.append([path, alpha, *_rate(alarms, sum(row["processes"] for row in mine))])
    text = [
        "# False alarms, path by path",
        PATHS,
        table(head, rows),
    ]
    if audits:
        methods = Counter(row["method"] for row in audits if row["verdict"] == "violated")
        lines = [["all", *_rate(methods.total(), len(audits))]]
        lines += [[name, *_rate(alarms, len(audits))] for name, alarms in sorted(methods.items())]
        limited = sum(bool(row["limit"]) for row in audits)
        text += [
            "## Whole audits of functions that keep their claim exactly",
            f"{len({row['case'] for row in audits})} shapes at a nominal 5%, whose code is not read; "
            f"{limited} of {len(audits):,} audits had a time limit of a second.",
            table(["convicted by", "alarms", "rate", "at most, at 95%"], lines),
        ]
    if known:
        above = sum(row["above"] for row in known)
        text.append(
            f"Lower bounds above a known epsilon, at confidence 0.999: {above} of {len(known):,}."
        )
    text.append(made_with(processes, "python benchmarks/nulls/processes.py"))
    return "\n\n".join(text) + "\n"
