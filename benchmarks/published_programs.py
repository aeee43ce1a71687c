"""The programs of CheckDP and StatDP, proved or refused: docs/benchmarks/published-programs.md.

python benchmarks/published_programs.py          # writes the page
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import dpcheck  # noqa: E402
from tests.prove.published import checkdp, statdp  # noqa: E402

HEAD = """# Programs of papers on proofs and tests

The programs that CheckDP [CCS 2020] and StatDP [CCS 2018] are evaluated on, written anew in plain Python
(`tests/prove/published`). Ten queries; sparse vector stops at two hits (CheckDP) or one (StatDP). "Right"
and "wrong" are their papers' verdicts. A wrong program is refused, or charged more than it claims.

| paper | program | their verdict | claim | proved here | CPU s |
|---|---|---|---|---|---|
"""
TAIL = """
As published: CheckDP proves or refutes each of its programs "within 70 seconds without any false positives
or false negatives" (its abstract), StatDP finds counterexamples "within a few seconds" (its abstract) and
proves nothing; their seconds for single programs were not at hand. "Prefix sum" is of LightDP and ShadowDP.

Made by `python benchmarks/published_programs.py`; the attack on every proof is part of the seconds.
"""


def main() -> None:
    lines = []
    for program in (*checkdp.PAPER.programs, *statdp.PAPER.programs):
        began = time.process_time()
        try:
            proof = dpcheck.prove(program.function, program.data, program.adjacency)
            found = f"{proof.epsilon().upper:.6g}"
        except dpcheck.NotProvable as refused:
            found = f"refused: {str(refused).split(': ', 2)[-1].split(';')[0]}"
        seconds = time.process_time() - began
        name = program.function.__name__.replace("_", " ")
        verdict = "right" if program.right else "wrong"
        lines.append(
            f"| {program.paper} | {name} | {verdict} | {program.claimed:g} | {found} | {seconds:.1f} |"
        )
    page = ROOT / "docs" / "benchmarks" / "published-programs.md"
    page.write_text(HEAD + "\n".join(lines) + "\n" + TAIL)


if __name__ == "__main__":
    main()
