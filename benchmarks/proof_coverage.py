"""Which proofs of the corpora have a certificate, and what covers the two sides of their branches.

python benchmarks/proof_coverage.py          # figures for docs/benchmarks/proofs.md
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import CannotCertify, NotProvable
from dpcheck.program import alternatives, proof
from tests.prove.corpus import everyday, habits, normal, numbers, sums, tables
from tests.prove.published import checkdp, statdp

CASES = [
    *sums.CASES.cases,
    *normal.CASES.cases,
    *tables.CASES.cases,
    *everyday.CASES.cases,
    *numbers.WRONG.cases,
    *habits.CASES.cases,
    *checkdp.PAPER.programs,
    *statdp.PAPER.programs,
]
joined: Counter[str] = Counter()


def larger(
    first: alternatives.Events, second: alternatives.Events, adjacency: Adjacency
) -> alternatives.Events:
    """As the prover does, counted by what it does."""
    common = first & second
    if first == common or second == common:
        joined["one side spends all that the other does"] += 1
    else:
        found = alternatives.larger(first, second, adjacency)
        joined["both count" if found == first + second else "the dearer side counts"] += 1
    return alternatives.larger(first, second, adjacency)


def main() -> None:
    proof.larger = larger  # type: ignore[attr-defined]
    proved = certified = 0
    for case in CASES:
        try:
            program = proof.read(case.function, case.data, as_adjacency(case.adjacency))
            found = proof.proof_of(program, case.data)
        except NotProvable:
            continue
        proved += 1
        try:
            found.certificate()
            certified += 1
        except CannotCertify as reason:
            print(f"{case.name}: {reason}")
    print(f"{certified} of {proved} proofs have a certificate")
    print(f"branches whose sides release different things: {dict(joined)}")


if __name__ == "__main__":
    main()
