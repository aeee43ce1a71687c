"""Records in a list, each a dict or a tuple: what plain Python code gets from csv and json."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import read
from dpcheck.program.running import run

PEOPLE = dpcheck.records(age=dpcheck.number(0, 100), city=dpcheck.one_of("A", "B", "C"))
MANY = dpcheck.records(age=dpcheck.number(0, 100), city=dpcheck.one_of("A", "B", "C"), rows=8)


def total_age(people, rng):
    total = 0.0
    for person in people:
        total += min(max(person["age"], 0.0), 100.0)
    return total + rng.laplace(0.0, 100.0)


def adults_of_a(people, rng):
    adults = [person for person in people if person["age"] >= 18]
    return len([p for p in adults if p["city"] == "A"]) + rng.laplace(0.0, 1.0)


def by_city(people, rng):
    counts = {"A": 0, "B": 0, "C": 0}
    for _place, person in enumerate(people):
        counts[person["city"]] += 1
    return {city: count + rng.laplace(0.0, 1.0) for city, count in counts.items()}


def by_place(people, rng):
    found = 0
    for i in range(len(people)):
        if people[i]["city"] in ("A", "B"):
            found += 1
    return found + rng.laplace(0.0, 1.0)


def not_among(people, rng):
    return sum(1 for p in people if p["city"] not in {"A", "Z"}) + rng.laplace(0.0, 1.0)


def as_pairs(people, rng):
    pairs = [(person["age"], person["city"]) for person in people]
    return sum(1 for age, city in pairs if city != "B" and age > 30) + rng.laplace(0.0, 1.0)


def made_anew(people, rng):
    halves = [{"half": person["age"] / 2} for person in people]
    return sum(each["half"] for each in halves) + rng.laplace(0.0, 50.0)


# Function -> (epsilon under add-remove, under replace-one). by_city: one bin changes, or two.
RIGHT = {
    total_age: (1.0, 1.0),
    adults_of_a: (1.0, 1.0),
    by_city: (1.0, 2.0),
    by_place: (1.0, 1.0),
    not_among: (1.0, 1.0),
    as_pairs: (1.0, 1.0),
    made_anew: (1.0, 1.0),
}


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_lists_of_dicts_are_proved_at_what_they_cost(function):
    added, replaced = RIGHT[function]
    proof = dpcheck.prove(function, PEOPLE, adjacency="add-remove", form="dicts")
    assert proof.epsilon().upper == pytest.approx(added, rel=1e-9)
    proof = dpcheck.prove(function, MANY, adjacency="replace-one", form="dicts")
    assert proof.epsilon().upper == pytest.approx(replaced, rel=1e-9)


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_the_program_gives_the_functions_own_outputs(function):
    program = read(function, PEOPLE, Adjacency.ADD_REMOVE, form="dicts")
    rng = np.random.default_rng(3)
    for size in (0, 1, 40):
        data = [{"age": float(rng.integers(0, 101)), "city": str(rng.choice(list("ABC")))}
                for _ in range(size)]  # fmt: skip
        ours = run(program, data, np.random.default_rng(size)).output
        theirs = function(data, np.random.default_rng(size))
        assert ours == pytest.approx(theirs, rel=1e-9)


def counted(people, rng):
    return sum(1 for age, city in people if city == "A") + rng.laplace(0.0, 1.0)


def test_tuples_with_text_from_an_example():
    example = [(31.0, "A"), (25.0, "B")]
    assert dpcheck.prove(counted, example, adjacency="add-remove").epsilon().upper == 1.0


def too_little_noise(people, rng):
    return sum(person["age"] for person in people) + rng.laplace(0.0, 1.0)


def writes(people, rng):
    for person in people:
        person["age"] = 0.0
    return rng.laplace(0.0, 1.0)


def first(people, rng):
    return people[0]["age"] + rng.laplace(0.0, 100.0)


def last_one_kept(people, rng):
    person = None
    for person in people:  # noqa: B007 - Python keeps the last one
        pass
    return person["age"] + rng.laplace(0.0, 100.0)


def how_many_cities(people, rng):
    return len({person["city"] for person in people}) + rng.laplace(0.0, 1.0)


def empty_or_not(people, rng):
    return rng.laplace(0.0, 1.0) if people else 0.0


def given_back(people, rng):
    return [person for person in people if person["age"] > 3]


def early_places(people, rng):
    return sum(1 for i, p in enumerate(people) if i < 3 and p["age"] > 5) + rng.laplace(0.0, 1.0)


def neighbours_in_the_list(people, rng):
    return sum(1 for a, b in itertools.pairwise(people) if a["age"] < b["age"]) + rng.laplace(
        0.0, 1.0
    )


def part_of_the_text(people, rng):
    return sum(1 for p in people if p["city"][0] == "A") + rng.laplace(0.0, 1.0)


def kind_of_the_text(people, rng):
    return sum(1000 for p in people if isinstance(p["city"], str)) + rng.laplace(0.0, 1.0)


REFUSED = (
    writes,
    first,
    last_one_kept,
    how_many_cities,
    empty_or_not,
    given_back,
    early_places,
    neighbours_in_the_list,
    part_of_the_text,
    kind_of_the_text,
)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("data", [PEOPLE, MANY], ids=["add-remove", "replace-one"])
def test_what_tells_of_one_record_is_refused(function, data):
    adjacency = "add-remove" if data is PEOPLE else "replace-one"
    with pytest.raises(dpcheck.NotProvable):
        dpcheck.prove(function, data, adjacency=adjacency, form="dicts")


def test_too_little_noise_is_charged():
    proof = dpcheck.prove(too_little_noise, PEOPLE, adjacency="add-remove", form="dicts")
    assert proof.epsilon().upper == pytest.approx(100.0)


def texts_of_a_column(people, rng):
    return sum(1000 for city in people["city"] if isinstance(city, str)) + rng.laplace(0.0, 1.0)


def test_the_type_of_a_text_is_not_guessed():
    """It was taken for a number's: the sum was read as nothing."""
    with pytest.raises(dpcheck.NotProvable, match="type of a record's text"):
        read(texts_of_a_column, PEOPLE, Adjacency.ADD_REMOVE, form="pandas")


@pytest.mark.parametrize(
    "data",
    [
        [{"age": 1.0}, {"city": "A"}],
        [{"age": 1.0}, {"age": 1.0, "city": "A"}],
        [(1.0, "A"), (1.0,)],
        [{"age": 1.0}, (1.0,)],
        [{"age": 1j}],
        [{}],
    ],
    ids=str,
)
def test_records_that_differ_in_form_are_an_error_in_words(data):
    with pytest.raises(dpcheck.DpcheckError, match=r"keys|lengths|types|numbers, or text"):
        dpcheck.prove(total_age, data, adjacency="add-remove")


def test_enforced_pays_for_lists_of_dicts():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1.0), adjacency="add-remove")
    people = ledger.dataset("people")
    mean = dpcheck.enforced(ledger=ledger, dataset=people, records=PEOPLE)(adults_of_a)
    mean([{"age": 20.0, "city": "A"}] * 5, np.random.default_rng(0))
    assert ledger.epsilon(delta=0).upper == pytest.approx(1.0)
    with pytest.raises(dpcheck.BudgetExceeded):
        mean([{"age": 20.0, "city": "A"}] * 5, np.random.default_rng(0))


LISTED = """
import dpcheck


@dpcheck.audited(
    claim=1.0,
    adjacency="add-remove",
    records=dpcheck.records(x=dpcheck.number(0, 1, confirmed=True)),
    form="{form}",
)
def answer(xs, rng):
    return {body} + rng.laplace(0.0, 1.0)
"""


def test_a_declared_list_is_read_as_a_list(tmp_path):
    """Values of a list were read as an array: xs * 3 is a longer list, and no product."""
    for form, body, code in (("values", "len(xs * 3)", 3), ("dicts", "len(xs)", 0)):
        (tmp_path / "answers.py").write_text(LISTED.format(form=form, body=body))
        command = [sys.executable, "-m", "dpcheck", "prove", "answers.py:answer"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def total_loop(xs, rng):
    total = 0
    for x in xs:
        total += x
    return total + rng.laplace()


WHOLE = {
    "sum": lambda xs, rng: sum(xs) + rng.laplace(),
    "mean": lambda xs, rng: sum(xs) / len(xs) + rng.laplace(),
    "some": lambda xs, rng: sum([x for x in xs if x > 3]) + rng.laplace(),
    "loop": total_loop,
}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_of_python_do_not_wrap_around(name, adjacency):
    """The sum of a list was read as one of 64 bits, and contradicted by the function itself."""
    with pytest.raises(dpcheck.NotProvable, match=r"larger than 64 bits hold|without bounds"):
        dpcheck.prove(WHOLE[name], [2, 3, 5], adjacency)


def test_whole_numbers_that_are_clipped_are_added():
    def clipped(xs, rng):
        return sum(min(max(x, 0), 10) for x in xs) + rng.laplace(scale=10)

    for adjacency in ("replace-one", "add-remove"):
        assert dpcheck.prove(clipped, [2, 3, 5], adjacency).epsilon().upper == 1.0
    few = dpcheck.records(x=dpcheck.number(0, 10, integer=True))

    def total(people, rng):
        return sum(person["x"] for person in people) + rng.laplace(scale=10)

    assert dpcheck.prove(total, few, "add-remove", form="dicts").epsilon().upper == 1.0
