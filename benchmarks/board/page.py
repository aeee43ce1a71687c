"""Write docs/libraries.md from the results of benchmarks/board/run.py.

    python benchmarks/board/page.py

A violation is listed as one only if it has a page with a derivation in docs/libraries/; what a library
documents as not private, or what holds under another adjacency, is shown as that.
"""

from __future__ import annotations

import json
from pathlib import Path

from dpcheck.libraries.catalogue import libraries
from dpcheck.libraries.entry import Target

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
    "flwr:LocalDpMod_epsilon_10": "local-dp-mod",
    "appfl:laplace_ten_steps": "local-steps",
    "appfl:gaussian_ten_steps": "local-steps",
    "diffprivlib:LinearRegression": "regression-sums",
    "diffprivlib:RandomForestClassifier": "forest-votes",
    "diffprivlib:DecisionTreeClassifier": "forest-votes",
    "opendp:amplification_composed": "one-sample",
    "DataSynthesizer:independent_range": "exact-range",
    "DataSynthesizer:correlated_range": "exact-range",
}
# Pages of what holds, as documented or under another adjacency.
FAIR = {"forest-votes": "holds under add-remove"}
HEAD = """# Released libraries

Made by `python benchmarks/board/page.py` from the results of `make libraries`; do not edit. Each row is
one mechanism, called as its documentation says, in an environment of its own, on one pair of neighbouring
data sets. *At least* is what the audit proved of the code in its calls. *Would have caught* is the smallest
epsilon the same calls would have refuted, had the code leaked it through what was looked at. `consistent`
says that nothing was found, not that nothing is there; `undecided` says that the time was too short.
`derived` means that we derived the violation by hand from the library's code: the linked page has the
claim, the formula and a script that shows it without dpcheck. Audit one yourself with
`dpcheck audit LIBRARY:MECHANISM`.
"""


def word(name: str, target: Target, row: dict) -> str:
    """What may fairly be said of a row."""
    page = DERIVED.get(name)
    if page in FAIR:
        return f"[{FAIR[page]}](libraries/{page}.md)"
    if page is not None:
        seen = "violated" if row["verdict"] == "violated" else f"derived; audit {row['verdict']}"
        return f"[**{seen}**](libraries/{page}.md)"
    if row["verdict"] == "violated":
        return target.note if target.note else "refuted by the audit, not derived yet: not listed"
    return str(row["verdict"])


def number(value: object) -> str:
    return "none" if str(value) in ("inf", "Infinity") else f"{float(str(value)):.3g}"


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
        f"| {word(name, target, row)} | {row['calls']:,} | {row['seconds']:.0f} |"
    )


def page() -> str:
    parts, total, shown = [], 0, 0
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
            f"“{library.says}” ({library.place}). {dates[0]}, {found['machine']} shared with other "
            f"work, seed {found['seed']}, confidence {found['confidence']} a row.\n",
            "| mechanism | adjacency | claim | at least | would have caught | verdict | calls | s |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for key, row in rows.items():
            parts.append(line(f"{name}:{key}", library.targets[key], row))
            derived = DERIVED.get(f"{name}:{key}")
            if derived is not None:
                pages.setdefault(derived, []).append(f"{name}:{key}")
    lead = [
        HEAD,
        f"{total} mechanisms of {shown} libraries.\n",
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
