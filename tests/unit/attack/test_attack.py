"""The attack finds each kind of contradiction, and none where there is none; it knows no prover."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

import dpcheck
from dpcheck.attack.attack import attack
from dpcheck.attack.datasets import pairs, space_of
from dpcheck.attack.interface import CannotEvaluate, EvaluatedRelease
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable, ProofsContradict

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=20)


@dataclass(frozen=True)
class Said:
    """A proof that says so."""

    value: float
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def epsilon(self, delta=0.0):
        return dpcheck.epsilon(dpcheck.PureDP(self.value), adjacency=self.adjacency)


@dataclass
class Run:
    """A prover's own run: `output(data, rng)`, and one release of the sum."""

    output: object
    low: float = 0.0
    high: float = 20.0
    moves: float = 1.0
    asked: list = field(default_factory=list)

    def evaluate(self, data, seed):
        self.asked.append(data)
        total = np.asarray(data).sum()
        release = EvaluatedRelease(
            "here:1", np.asarray(total), self.low, self.high, self.moves, self.moves, self.moves
        )
        return self.output(data, np.random.default_rng(seed)), [release]


class NoRun:
    """A prover that cannot run this function."""

    def evaluate(self, data, seed):
        raise CannotEvaluate("it draws elsewhere")


def total(x, rng):
    return x.sum() + rng.laplace()


def test_a_right_proof_is_let_through_after_many_runs():
    run = Run(total)
    attack(total, UNIT, None, Said(1.0), run)
    assert len(run.asked) >= 20


def test_another_output_than_the_provers_own():
    def text(x, rng):
        return len(str(float(x.sum()))) + rng.laplace()

    with pytest.raises(ProofsContradict, match="the function returns") as caught:
        attack(text, UNIT, None, Said(1.0), Run(lambda x, rng: 3 + rng.laplace()))
    (case,) = caught.value.data[
        "case"
    ]  # the data on which it happens: the error is seen again on them
    seen = text(np.array(case), np.random.default_rng(0))
    assert seen != 3 + np.random.default_rng(0).laplace()
    assert f"The case: [{case[0]}" in str(caught.value)


def test_a_release_outside_of_its_interval():
    with pytest.raises(ProofsContradict, match="outside what was proved"):
        attack(total, UNIT, None, Said(1.0), Run(total, high=5.0))


def test_a_release_that_moves_by_more_than_was_proved():
    with pytest.raises(ProofsContradict, match=r"here:1: neighbours differ by .* 0\.5 was proved"):
        attack(total, UNIT, None, Said(1.0), Run(total, moves=0.5))


def test_an_exact_loss_above_the_proof():
    with pytest.raises(ProofsContradict, match=r"exact loss of one pair .* 0\.5 was proved"):
        attack(total, UNIT, None, Said(0.5), NoRun())


def test_without_a_run_a_right_proof_is_let_through_and_says_so():
    assert attack(total, UNIT, None, Said(1.0), Run(total)) == ()
    (said,) = attack(total, UNIT, None, Said(1.0), NoRun())
    assert "not compared" in said
    assert "it draws elsewhere" in said


def test_without_a_run_a_function_that_raises_is_seen():
    def broken(x, rng):
        raise ValueError

    def careful(x, rng):
        if x.max() == 1.0:
            raise ValueError
        return total(x, rng)

    with pytest.raises(NotProvable, match="fails on data that fit"):
        attack(broken, UNIT, None, Said(1.0), NoRun())
    with pytest.raises(ProofsContradict, match="raises on some data"):
        attack(careful, UNIT, None, Said(1.0), NoRun())


def test_data_that_nobody_can_make_up_are_named():
    (said,) = attack(total, np.zeros(3, dtype="datetime64[s]"), None, Said(1.0), Run(total))
    assert "not attacked" in said


def beyond_all_axes(x, rng):
    return np.sort(x, axis=7)[:1] + rng.laplace(size=1)


def with_noise_of_its_own(x, rng):
    return x.sum() + np.random.default_rng().laplace()


def test_what_was_left_out_is_among_the_conditions_of_a_proof():
    with pytest.raises(NotProvable):
        dpcheck.prove(beyond_all_axes, UNIT)
    said = dpcheck.prove(with_noise_of_its_own, UNIT).assumes[-1]
    assert "not compared with the program" in said


def test_a_function_that_keeps_state_has_no_proof():
    calls = Counter()

    def drifting(x, rng):
        calls["made"] += 1
        return x.sum() + calls["made"] + rng.laplace()

    with pytest.raises(NotProvable, match="the same generator give different outputs"):
        attack(drifting, UNIT, None, Said(1.0), Run(total))


def test_a_function_that_raises_on_some_data_only():
    def careful(x, rng):
        if x.max() == 1.0:
            raise ValueError
        return total(x, rng)

    with pytest.raises(ProofsContradict, match="raises on some data"):
        attack(careful, UNIT, None, Said(1.0), Run(total))


def test_a_function_that_always_raises_is_not_proved():
    def broken(x, rng):
        raise ValueError

    with pytest.raises(NotProvable, match="fails on data that fit"):
        attack(broken, UNIT, None, Said(1.0), Run(total))


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_pairs_fit_the_description_and_are_neighbours(adjacency):
    people = dpcheck.records(
        age=dpcheck.number(18, 99, integer=True), city=dpcheck.one_of(10, 11), rows=9
    )
    space = space_of(people, "pandas")
    seen = set()
    for _, (first, second) in zip(range(60), pairs(space, adjacency), strict=False):
        one, two = (Counter(map(tuple, side.to_numpy().tolist())) for side in (first, second))
        gone, came = one - two, two - one
        assert sum(gone.values()) == 1
        assert sum(came.values()) == (0 if adjacency is Adjacency.ADD_REMOVE else 1)
        if adjacency is Adjacency.ZERO_OUT:
            assert list(came) == [(0, 0)]
        for age, city in one:
            assert 18 <= age <= 99
            assert city in (10, 11)
        if adjacency is not Adjacency.ADD_REMOVE:
            assert len(first) == len(second) == 9
        seen |= set(one)
    assert len({age for age, _ in seen}) > 10
    assert {18, 99} <= {age for age, _ in seen}


@pytest.mark.parametrize(
    "example",
    [
        np.zeros(7),
        np.zeros((7, 2), dtype=np.int8),
        (np.zeros((7, 2)), np.zeros(7, dtype=bool)),
        {"a": np.zeros(7), "b": np.zeros(7, dtype=np.uint8)},
        [0.0] * 7,
    ],
    ids=["column", "whole", "tuple", "dict", "list"],
)
def test_pairs_look_like_the_example(example):
    for _, (first, _) in zip(
        range(9), pairs(space_of(example, None), Adjacency.REPLACE_ONE), strict=False
    ):
        assert type(first) is type(example)
        parts = first if isinstance(first, tuple) else (first,)
        parts = first.values() if isinstance(first, dict) else parts
        assert {len(part) for part in parts} == {7}


def test_several_rows_of_a_person_change_together():
    family = dpcheck.records(
        who=dpcheck.number(0, 99, integer=True),
        x=dpcheck.number(0, 1),
        rows=12,
        person="who",
        rows_per_person=3,
    )
    first, second = next(pairs(space_of(family, "array"), Adjacency.REPLACE_ONE))
    changed = (first != second).any(axis=1)
    assert changed.sum() == 3
    assert len(set(first[changed][:, 0])) == 1
