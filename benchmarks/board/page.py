"""Write docs/libraries.md from the results of benchmarks/board/run.py.

    python benchmarks/board/page.py

A violation is listed as one only if it has a page with a derivation in docs/libraries/; what a library
documents as not private, or what holds under another adjacency, is shown as that.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from dpcheck.libraries.catalogue import libraries
from dpcheck.libraries.entry import Library, Target

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "benchmarks/results/board", ROOT / "docs/libraries.md"
# Violations that were derived by hand from the library's code: the page of each.
DERIVED = {
    "pure-ldp:RAPPORClient": "rappor",
    "multi-freq-ldpy:SS_Client": "subset-selection",
    "multi-freq-ldpy:SMP_SS_Client": "subset-selection",
    "multi-freq-ldpy:SPL_SS_Client": "subset-selection",
    "multi-freq-ldpy:RSpFD_GRR_Client": "fake-data",
    "multi-freq-ldpy:RSpFD_UE_zero_Client": "fake-data",
    "multi-freq-ldpy:RSpFD_UE_rnd_Client": "fake-data",
    "multi-freq-ldpy:RSpFD_ADP_Client": "fake-data",
    "flwr:LocalDpMod": "local-dp-mod",
    "flwr:LocalDpMod_epsilon_3": "local-dp-mod",
    "flwr:LocalDpMod_epsilon_10": "local-dp-mod",
    "appfl:laplace_ten_steps": "local-steps",
    "appfl:gaussian_ten_steps": "local-steps",
    "mostlyai-engine:dp_non_rare_lone_value": "lone-value",
    "diffprivlib:LinearRegression": "regression-sums",
    "diffprivlib:LogisticRegression_rare_label": "rare-label",
    "diffprivlib:RandomForestClassifier": "forest-votes",
    "diffprivlib:DecisionTreeClassifier": "forest-votes",
    "opendp:amplification_composed": "one-sample",
    "DataSynthesizer:independent_range": "exact-range",
    "DataSynthesizer:correlated_range": "exact-range",
    "opacus:make_private_one_record_less": "number-of-records",
    "smartnoise-synth:MWEM_rare_category": "mwem-categories",
}
# Pages of what is no violation if the claim is read otherwise: another adjacency, a public domain.
FAIR = {
    "forest-votes": "not a violation if epsilon is meant for add-remove",
    "exact-range": "documented: noise is for statistics within the values of the table",
    "number-of-records": "not a violation if the number of records is public",
    "mwem-categories": "not a violation if the categories are public",
}
HEAD = """# Released libraries

Made by `python benchmarks/board/page.py` from the results of `make libraries`; do not edit. Each row is one
mechanism, in an environment of its own, on one or a few pairs of neighbouring datasets that we chose. It is
called through the library's own functions; where a training run would be needed, the text above the table
says what we put together ourselves.

- **Claim.** The number that was audited. Words in “quotation marks” are the library's, and
  `python benchmarks/board/quotes.py .venv-libraries` finds them in the installed package. What stands after
  *our reading* is not a quotation: few libraries say what is promised for which neighbours, so most
  adjacencies, and some of the numbers, are what we take the parameters to mean.
- **At least.** What the audit proved of the code in its calls, each row with confidence 0.9999 on its own.
- **Would have caught.** The smallest epsilon the same calls would have refuted, had the code leaked it
  through what was looked at; *none* means that not even a total leak would have been.
- **Limits.** A time limit for the calls of a row, in seconds, in brackets in the last column after the time
  the row took with its start and its analysis, on two cores that up to ten other processes shared; and at
  most 20,000 runs on each side of a pair, fewer where calls are slow.
- *consistent on the events tried*: nothing above the claim was found, and the calls told the two datasets
  apart well enough that a leak of twice the claimed epsilon would have been refuted, had it shown in the
  events that were tried (tolerance 1.0; `dpcheck audit` asks for more, 0.25). It is no proof and no
  certificate. A smaller leak, one on other data, one at other parameters, or one that shows in the output
  in a way that nobody looked for, may be there.
- **violated**: the claim was refuted by the calls, and we derived the violation by hand from the library's
  code; the linked page has the claim, the formula, what was searched for earlier reports, and a script that
  shows it without dpcheck.
- **derived; audit ...**: derived and shown by a script, but these calls did not refute it: the derivation and
  the script carry it.
- *refuted by the audit, not derived yet*: no violation is listed that was not derived by hand.
- *undecided*: said with the reason. It speaks neither for the library nor against it.

Audit one yourself, with as much time as you like: `dpcheck audit LIBRARY:MECHANISM`.
"""


def word(name: str, target: Target, row: dict) -> str:
    """What may fairly be said of a row."""
    page = DERIVED.get(name)
    if page in FAIR:
        return f"[{FAIR[page]}](libraries/{page}.md); audit {row['verdict']}"
    if page is not None:
        seen = "violated" if row["verdict"] == "violated" else f"derived; audit {row['verdict']}"
        return f"[**{seen}**](libraries/{page}.md)" + (f"; {target.note}" if target.note else "")
    if row["verdict"] == "violated":
        return target.note if target.note else "refuted by the audit, not derived yet: not listed"
    return CONSISTENT if row["verdict"] == "consistent" else f"undecided: {why(row)}"


CONSISTENT = "consistent on the events tried"


def why(row: dict) -> str:
    """Why a row is undecided."""
    if row["calls"] == 0:
        return "no call ended in time"
    if str(row["detectable"]) == "inf":
        if row["calls"] < FEW:
            return "too few calls in the time given"
        return "the calls told the two datasets apart in nothing"
    return "too few calls to refute twice the claim"


FEW = 1000


def claims(library: Library, shown: list[str]) -> list[str]:
    """The library's words and our reading of them, once for all mechanisms that share them."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name in shown:
        target = library.targets[name]
        groups.setdefault((target.says, target.place, target.reading), []).append(name)
    lines = []
    for (says, place, reading), names in groups.items():
        of = "" if len(groups) == 1 else f"{', '.join(names)}: "
        quoted = f"“{says}” ({place})." if says else "No wording found."
        lines.append(f"- {of}{quoted}" + (f" *Our reading:* {reading}" if reading else ""))
    return lines


def number(value: object) -> str:
    return "none" if str(value) in ("inf", "Infinity") else f"{float(str(value)):.3g}"


def limit(row: dict) -> str:
    return f"{row['limit']:.0f}" if row.get("limit") else "?"


def line(name: str, target: Target, row: dict) -> str:
    if row["verdict"] == "error":
        return f"| {target.name} | | | | | could not be run: {row['error'][:90]} | | |"
    epsilon, delta = row["claim"]
    claim = f"({epsilon:.3g}, {delta:.3g})" if delta else f"{epsilon:.3g}"
    if row["whole_curve"]:
        claim += ", whole curve"
    seen, at = row["observed"]
    least = number(seen) + (f" at delta {at:.2g}" if at else "")
    return (
        f"| {target.name} | {row['adjacency']} | {claim} | {least} | {number(row['detectable'])} "
        f"| {word(name, target, row)} | {row['calls']:,} | {row['seconds']:.0f} ({limit(row)}) |"
    )


def page() -> str:
    parts, total, shown = [], 0, 0
    verdicts: Counter[str] = Counter()
    pages: dict[str, list[str]] = {}
    for name, library in libraries().items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        rows = {key: row for key, row in found["rows"].items() if key in library.targets}
        shown, total = shown + 1, total + len(rows)
        dates = sorted({row["date"] for row in rows.values()})
        parts += [
            f"\n## {name} {found['version']}\n",
            *claims(library, list(rows)),
            f"\n{dates[0]}, {found['machine']} shared with other work, seed {found['seed']}, "
            f"confidence {found['confidence']} a row.\n",
            "| mechanism | adjacency | claim | at least | would have caught | verdict | calls | s (limit) |",
            "|---|---|---|---|---|---|---|---|",
        ]
        verdicts.update(row["verdict"] for row in rows.values())
        for key, row in rows.items():
            parts.append(line(f"{name}:{key}", library.targets[key], row))
            derived = DERIVED.get(f"{name}:{key}")
            if derived is not None:
                pages.setdefault(derived, []).append(f"{name}:{key}")
    lead = [
        HEAD,
        f"{total} mechanisms of {shown} libraries. Of the audit's own verdicts, without the derivations: "
        + ", ".join(f"{each} {count}" for each, count in verdicts.most_common())
        + ". Not every violation it saw is listed below: the rows say why. The list has what we derived, "
        "whether the audit saw it or not.\n",
        "| violation | mechanisms |",
        "|---|---|",
    ]
    for each in dict.fromkeys(DERIVED.values()):
        if each in pages and each not in FAIR:
            title = (ROOT / f"docs/libraries/{each}.md").read_text().splitlines()[0].lstrip("# ")
            lead.append(f"| [{title}](libraries/{each}.md) | {', '.join(pages[each])} |")
    return "\n".join([*lead, *parts]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
