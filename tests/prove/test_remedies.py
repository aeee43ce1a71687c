"""A refusal names its line, says why, and what it says to do helps: the mended function is proved."""

from __future__ import annotations

import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program.proof import proof_of, read

from .corpus.remedies import REFUSALS


@pytest.mark.parametrize("name", REFUSALS)
def test_what_the_refusal_says_to_do_helps(name):
    case = REFUSALS[name]
    with pytest.raises(NotProvable) as caught:
        read(case.function, case.data, Adjacency(case.adjacency))
    said, first = str(caught.value), case.function.__code__.co_firstlineno
    reason, _, remedy = case.message.partition("; ")
    for part in reason.split("... "):
        assert part in said, said
    assert remedy in caught.value.remedy, caught.value.remedy
    line = int(str(caught.value.line).rpartition(":")[2])
    assert first <= line < first + 12, said
    assert case.mended is not None
    program = read(case.mended, case.data, Adjacency(case.then or case.adjacency), public=["TABLE"])
    assert proof_of(program, case.data).event is not None
