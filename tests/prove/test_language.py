"""Random programs of the whole language do, as they are read, what they do in Python.

`benchmarks/fuzz/prove_language.py` runs 20,000 of them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from dpcheck.core.adjacency import Adjacency

from .language.judge import judge

PROGRAMS = 120


@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
def test_a_program_as_it_was_read_does_the_same(adjacency):
    judged = [judge(seed, adjacency) for seed in range(PROGRAMS)]
    wrong = [str(one) for one in judged if one.verdict in ("different", "fails")]
    assert not wrong, "\n\n".join(wrong)
    assert Counter(one.verdict for one in judged)["same"] >= PROGRAMS / 2


def test_a_value_that_was_read_first_on_a_path_not_taken():
    """It is needed after that path as well; the run of the program failed, and the attack was left out."""
    assert judge(368, Adjacency.ZERO_OUT).verdict == "same"
