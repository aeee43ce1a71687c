"""Answers that every record gives by itself: their law against a count of all cases, and hostile twins."""

from __future__ import annotations

import importlib.util
import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

ROWS = 6
FOUR = dpcheck.records(x=dpcheck.number(0, 3, integer=True), rows=ROWS)
BIT = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=ROWS)
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=ROWS)
PAIR = dpcheck.records(
    a=dpcheck.number(0, 1, integer=True), b=dpcheck.number(0, 3, integer=True), rows=ROWS
)
TEXT = dpcheck.records(x=dpcheck.one_of("a", "b", "c"), rows=ROWS)


def bare(function, data, adjacency=Adjacency.REPLACE_ONE) -> float:
    """What the rules alone conclude, without the attack on it."""
    program = read(function, data, adjacency)
    return float(proof_of(program, data).epsilon().upper)


# Random answers against a count of all cases ---------------------------------------------------------


class Told:
    """A generator that says what it was told to."""

    def __init__(self, uniform, whole):
        self.uniform, self.whole = list(uniform), list(whole)

    def random(self, size):
        return np.full(size, self.uniform.pop(0))

    def integers(self, low, high, size):
        return np.full(size, low + self.whole.pop(0))


def counted(function, coins: int, numbers: list[int]) -> float:
    """The largest log ratio of an answer's probabilities, by trying all; coins fall by quarters."""
    quarters = [(i + 0.5) / 4 for i in range(4)]
    laws = []
    for value in range(4):
        law: Counter[float] = Counter()
        for uniform in itertools.product(quarters, repeat=coins):
            for whole in itertools.product(*(range(n) for n in numbers)):
                told = Told(uniform, whole)
                law[float(function(np.full(1, float(value)), told)[0])] += 1
        laws.append(law)
    worst = 0.0
    for one, other in itertools.permutations(laws, 2):
        for answer, times in one.items():
            worst = max(worst, math.log(times / other[answer]) if other[answer] else math.inf)
    return worst


def number_of(rng: random.Random, depth: int) -> str:
    """An expression of whole numbers."""
    if depth == 0:
        return rng.choice(["v", "v", "j", "i", "1", "2"])
    one, other = number_of(rng, depth - 1), number_of(rng, depth - 1)
    return rng.choice(
        [
            *(f"({one} + {other})", f"({one} - {other})", f"(({one} + {other}) % 4)"),
            *[f"np.where({truth_of(rng, depth - 1)}, {one}, {other})"] * 4,
            f"np.maximum({one}, {other})",
        ]
    )


def truth_of(rng: random.Random, depth: int) -> str:
    """An expression of truth values."""
    one, other = number_of(rng, max(0, depth - 1)), number_of(rng, 0)
    return rng.choice(
        [
            *("c", "d", "c", "d", "~c", "(c & d)", "(c | d)", "(c ^ d)", "(c == d)"),
            *(f"({one} == {other})", f"({one} < {other})", f"((v == {rng.randrange(4)}) ^ c)"),
        ]
    )


HEADER = "import numpy as np\n"
ANSWER = """
def answer{i}(x, rng):
    n = len(x)
    v = x.astype(int)
    c = rng.random(n) < {p}
    u = rng.random(n)
    d = u {sign} {q}
    j = rng.integers(0, {a}, size=n)
    i = rng.integers(1, {b}, size=n)
    w = rng.integers(0, 4, size=n)
    return 0 * v + {expression}
"""


def test_random_answers_cost_what_a_count_of_all_cases_says(tmp_path):
    rng = random.Random(11)
    text, sizes = HEADER, []
    for i in range(24):
        a, b = rng.choice([2, 4]), rng.choice([3, 4])
        sizes.append([a, b - 1, 4])
        text += ANSWER.format(
            i=i,
            p=rng.randrange(1, 4) / 4,
            q=rng.randrange(1, 4) / 4,
            sign=rng.choice(["<", ">="]),
            a=a,
            b=b,
            expression=rng.choice(
                ["{}", "np.where(c, {} % 4, w)", "np.where(d, {} % 4, w)"]
            ).format(number_of(rng, rng.choice([1, 2, 2]))),
        )
    path = tmp_path / "written.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    finite = proved = 0
    for i, numbers in enumerate(sizes):
        function = getattr(module, f"answer{i}")
        true = counted(function, 2, numbers)
        try:
            found = bare(function, FOUR)
        except dpcheck.NotProvable:
            finite += 0 < true < math.inf
            continue
        assert found == pytest.approx(true, rel=1e-9, abs=1e-12), (i, true)
        finite += true > 0
        proved += true > 0
    assert finite >= 8
    assert proved >= 0.5 * finite  # coins that are combined with each other alone are used up


# Mechanisms of the literature, by their closed forms ---------------------------------------------------


def other_answer(x, rng):
    shift = rng.integers(1, 4, size=len(x))
    return np.where(rng.random(len(x)) < 0.7, x, (x + shift) % 4)


def other_answer_in_a_loop(x):
    out = []
    for v in x:
        others = [w for w in [0, 1, 2, 3] if w != v]
        out.append(v if random.random() < 0.7 else random.choice(others))
    return out


def other_answer_by_a_mask(x):
    domain = np.array([3, 2, 1, 0])
    return [v if np.random.random() < 0.7 else np.random.choice(domain[domain != v]) for v in x]


def other_answer_by_removal(x):
    out = []
    for v in x:
        others = [0, 1, 2, 3]
        others.remove(v)
        if random.random() >= 0.7:
            out.append(random.choice(others))
        else:
            out.append(v)
    return out


def unary(x, rng):
    onehot = (x[:, None] == np.arange(4)).astype(float)
    return np.where(onehot == 1, rng.random((ROWS, 4)) < 0.8, rng.random((ROWS, 4)) < 0.3)


def unary_in_a_loop(x):
    out = []
    for v in x:
        out.append([1 if random.random() < (0.8 if v == d else 0.3) else 0 for d in range(4)])
    return np.sum(out, axis=0)


def bits_of_a_table(x, rng):
    return np.abs(x.astype(int) - (rng.random(x.shape) < 0.25))


def one_bit(x, rng):
    return (rng.random(len(x)) < 0.2 + 0.6 * x).mean()


def one_bit_the_other_way(x, rng):
    return np.where(0.2 + 0.6 * x > rng.random(len(x)), 1, 0).sum()


def bit_by_its_probability(x, rng):
    """The probability follows the bit itself: 0.3 or 0.9."""
    return rng.random(len(x)) < np.where(x == 1, 0.9, 0.3)


ANSWERS = [
    *((each, FOUR, math.log(0.7 / 0.1)) for each in (other_answer, other_answer_in_a_loop)),
    *((each, FOUR, math.log(7)) for each in (other_answer_by_a_mask, other_answer_by_removal)),
    *((each, FOUR, math.log(0.8 / 0.3) + math.log(0.7 / 0.2)) for each in (unary, unary_in_a_loop)),
    (
        bits_of_a_table,
        dpcheck.records(**{k: dpcheck.number(0, 1, integer=True) for k in "ab"}, rows=ROWS),
        2 * math.log(3),
    ),
    *((each, UNIT, math.log(4)) for each in (one_bit, one_bit_the_other_way)),
    (bit_by_its_probability, BIT, math.log(7)),
]


@pytest.mark.parametrize(
    ("function", "data", "epsilon"), ANSWERS, ids=[a[0].__name__ for a in ANSWERS]
)
def test_mechanisms_cost_what_their_papers_say(function, data, epsilon):
    assert bare(function, data) == pytest.approx(epsilon, rel=1e-9)
    with pytest.raises(dpcheck.NotProvable):  # as many answers as there are records
        bare(function, data, Adjacency.ADD_REMOVE)


def test_lies_that_are_all_as_likely_are_randomized_response():
    """Tighter than pure DP where delta is not 0."""
    proof = proof_of(read(other_answer, FOUR, Adjacency.REPLACE_ONE), FOUR)
    assert proof.epsilon(0.05).upper < 0.99 * math.log(7)


# Hostile twins -------------------------------------------------------------------------------------------


def one_coin_for_all(x, rng):
    return np.where(rng.random() < 0.5, x, (x + 1) % 4)


def coin_used_twice(x, rng):
    coin, shift = rng.random(len(x)) < 0.5, rng.integers(1, 4, size=len(x))
    one = np.where(coin, x, (x + shift) % 4)
    return one, np.where(coin, (x > 1).astype(int), rng.integers(0, 2, size=len(x)))


def lie_is_shown(x, rng):
    shift = rng.integers(1, 4, size=len(x))
    return np.where(rng.random(len(x)) < 0.5, x, (x + shift) % 4), shift


def coin_is_shown(x, rng):
    coin = rng.random(len(x)) < 0.5
    return np.where(coin, x, (x + rng.integers(1, 4, size=len(x))) % 4), coin.sum()


def number_of_the_coin_is_shown(x, rng):
    u = rng.random(len(x))
    return np.where(u < 0.5, x, (x + rng.integers(1, 4, size=len(x))) % 4), u


def lie_by_the_coin(x, rng):
    u = rng.random(len(x))
    return np.where(u < 0.5, x, (x + 1) % 4)


def one_coin_for_four_bits(x, rng):
    onehot = (x[:, None] == np.arange(4)).astype(int)
    return np.abs(onehot - (rng.random((ROWS, 1)) < 0.25))


def coins_of_places(x, rng):
    onehot = (x[:, None] == np.arange(4)).astype(int)
    return np.abs(onehot - (rng.random(4) < 0.25))


def one_number_for_the_bits_of_a_loop(x):
    out = []
    for v in x:
        u = random.random()
        out.append([1 if u < (0.75 if v == d else 0.25) else 0 for d in range(4)])
    return np.sum(out, axis=0)


def zeros_are_told(x, rng):
    onehot = (x[:, None] == np.arange(4)).astype(int)
    return onehot & (rng.random((ROWS, 4)) < 0.5)


def lies_leave_one_out(x, rng):
    return np.where(rng.random(len(x)) < 0.5, x, rng.integers(0, 3, size=len(x)))


def truth_moves(x, rng):
    return x + rng.integers(0, 4, size=len(x))


def unlikely_coin(x, rng):
    return np.where(rng.random(len(x)) < 1.0, x, (x + rng.integers(1, 4, size=len(x))) % 4)


def list_shared_by_the_records(x):
    out, others = [], [0, 1, 2, 3]
    for v in x:
        others.remove(v)
        out.append(v if random.random() < 0.7 else random.choice(others))
    return out


def others_are_shown(x):
    out = []
    for v in x:
        others = [w for w in [0, 1, 2, 3] if w != v]
        out.append(sum(others))
    return out


def others_of_a_short_list(x):
    out = []
    for v in x:
        others = [w for w in [0, 1, 2] if w != v]
        out.append(v if random.random() < 0.7 else random.choice(others))
    return out


def others_where_the_own_is_not_listed(x):
    """Of a 3 there are three others, of all else two."""
    out = []
    for v in x:
        others = [w for w in [0, 1, 2] if w != v]
        lie, any_of_them = random.choice(others), random.randint(0, 2)
        out.append(lie if random.random() < 0.5 else any_of_them)
    return out


def others_of_a_list_with_doubles(x):
    domain = np.array([0, 1, 2, 3, 3])
    return [v if np.random.random() < 0.7 else np.random.choice(domain[domain != v]) for v in x]


def others_of_another_list(x):
    domain, mask = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    return [v if np.random.random() < 0.7 else np.random.choice(domain[mask != v]) for v in x]


def smaller_ones_alone(x):
    domain = np.array([0, 1, 2, 3])
    return [v if np.random.random() < 0.7 else np.random.choice(domain[domain >= v]) for v in x]


def the_record_is_shown_too(x, rng):
    return other_answer(x, rng), x.sum()


def weights_of_all_records(x, rng):
    return rng.random(len(x)) < 0.25 + 0.5 * x / (1 + x.sum())


@pytest.mark.parametrize(
    "function",
    [
        *(one_coin_for_all, coin_used_twice, lie_is_shown, coin_is_shown, lie_by_the_coin),
        *(number_of_the_coin_is_shown, one_coin_for_four_bits, coins_of_places, truth_moves),
        *(one_number_for_the_bits_of_a_loop, zeros_are_told, lies_leave_one_out, unlikely_coin),
        *(
            list_shared_by_the_records,
            others_are_shown,
            others_where_the_own_is_not_listed,
            others_of_a_short_list,
        ),
        *(others_of_a_list_with_doubles, others_of_another_list, smaller_ones_alone),
        *(the_record_is_shown_too, weights_of_all_records),
    ],
)
def test_answers_that_tell_more_are_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function, FOUR)


def of_the_first_record(x, rng):
    return x * np.array([1, 0, 0, 0]) + rng.integers(0, 2, size=4)


def of_the_first_place(x, rng):
    return x * (np.arange(4) == 0) + rng.integers(0, 2, size=4)


@pytest.mark.parametrize("function", [of_the_first_record, of_the_first_place])
def test_a_law_of_each_record_s_own_is_refused(function):
    """Four rows, and four cases of a bit and a coin: a case is no row."""
    four = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=4)
    with pytest.raises(dpcheck.NotProvable, match="a law of its own"):
        bare(function, four)


def told_for_certain(x, rng):
    return rng.random(len(x)) < x


def one_number_for_two_probabilities(x, rng):
    u = rng.random(len(x))
    return np.where(u < 0.2 + 0.6 * x, 1, 0) + np.where(u < 0.3 + 0.4 * x**2, 1, 0)


def the_number_itself_on_heads(x, rng):
    return np.where(rng.random(len(x)) < 0.25 + 0.5 * x, x, 0.5)


def between_two_numbers(x, rng):
    u = rng.random(len(x))
    return (u > 0.3 * x) & (u < 0.3 * x + 0.5)


def probabilities_of_the_next(x, rng):
    return rng.random(len(x)) < 0.25 + 0.5 * x[::-1]


def of_some_records(x, rng):
    kept = x[x > 0.5]
    return rng.random(len(kept)) < 0.25 + 0.5 * kept


@pytest.mark.parametrize(
    "function",
    [
        *(told_for_certain, one_number_for_two_probabilities, the_number_itself_on_heads),
        *(between_two_numbers, of_some_records),
    ],
)
def test_coins_that_tell_more_are_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function, UNIT)


def may_be_missing(x, rng):
    return rng.random(len(x)) < np.clip(0.25 + 0.5 * x, 0.25, 0.75)


def test_a_probability_that_may_be_missing_is_refused():
    with pytest.raises(dpcheck.NotProvable):
        bare(may_be_missing, np.zeros(ROWS))


def asked_twice(x, rng):
    return other_answer(x, rng), other_answer(x, rng)


def test_every_question_is_charged():
    assert bare(asked_twice, FOUR) == pytest.approx(2 * math.log(7), rel=1e-9)


def neither_0_nor_1(x):
    out = []
    for v in x:
        if v == 1:
            out.append(1 if random.random() < 0.75 else 0)
        elif v == 0:
            out.append(1 if random.random() < 0.25 else 0)
    return out


def test_a_record_that_answers_nothing_is_refused():
    assert bare(neither_0_nor_1, BIT) == pytest.approx(math.log(3), rel=1e-9)
    with pytest.raises(dpcheck.NotProvable):
        bare(neither_0_nor_1, FOUR)


# Answers in words ------------------------------------------------------------------------------------------


def another_word(df):
    out = []
    for v in df["x"]:
        others = [w for w in ["a", "b", "c"] if w != v]
        out.append(v if random.random() < 0.6 else random.choice(others))
    return out


def a_word_by_removal(df):
    out = []
    for v in df["x"]:
        others = ["c", "a", "b"]
        others.remove(v)
        out.append(random.choice(others) if random.random() >= 0.6 else v)
    return out


def any_word(df):
    return [v if random.random() < 0.4 else random.choice(["a", "b", "c"]) for v in df["x"]]


def yes_or_no(df):
    out = []
    for v in df["x"]:
        if (v == "a") == (random.random() < 0.75):
            out.append("yes")
        else:
            out.append("no")
    return out.count("yes")


WORDS = [
    *((another_word, math.log(3)), (a_word_by_removal, math.log(3)), (any_word, math.log(3))),
    (yes_or_no, math.log(3)),
]


@pytest.mark.parametrize(("function", "epsilon"), WORDS, ids=[w[0].__name__ for w in WORDS])
def test_words_cost_what_numbers_do(function, epsilon):
    assert bare(function, TEXT) == pytest.approx(epsilon, rel=1e-9)


def words_of_some_alone(df):
    return [v if random.random() < 0.5 else random.choice(["a", "b"]) for v in df["x"]]


def a_word_too_many(df):
    return [v if random.random() < 0.5 else random.choice(["a", "b", "c", "a"]) for v in df["x"]]


def other_words_of_a_short_list(df):
    out = []
    for v in df["x"]:
        others = [w for w in ["a", "b"] if w != v]
        out.append(v if random.random() < 0.6 else random.choice(others))
    return out


def the_same_word(df):
    out = []
    for v in df["x"]:
        others = [w for w in ["a", "b", "c"] if w == v]
        out.append(v if random.random() < 0.6 else random.choice(others))
    return out


def words_without_a_coin(df):
    return [v if v != "a" else "b" for v in df["x"]]


def word_and_number(df):
    return [v if random.random() < 0.5 else random.choice(["a", 1, "c"]) for v in df["x"]]


def one_word_for_two_lists(df):
    one, two = [], []
    for v in df["x"]:
        lie = random.choice(["a", "b", "c"])
        one.append(v if random.random() < 0.5 else lie)
        two.append(lie)
    return one, two


@pytest.mark.parametrize(
    "function",
    [
        *(words_of_some_alone, a_word_too_many, other_words_of_a_short_list, the_same_word),
        *(words_without_a_coin, word_and_number, one_word_for_two_lists),
    ],
)
def test_words_that_tell_more_are_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function, TEXT)


# A table with a 1 in each row ------------------------------------------------------------------------------


def hot_by_a_write(x, rng):
    table = np.zeros((len(x), 4))
    table[np.arange(len(x)), x.astype(int)] = 1
    return np.where(table == 1, rng.random(table.shape) < 0.8, rng.random(table.shape) < 0.3)


def test_a_table_that_is_written_row_by_row():
    assert bare(hot_by_a_write, FOUR) == pytest.approx(math.log(0.8 / 0.3) + math.log(0.7 / 0.2))


def beyond_the_table(x, rng):
    table = np.zeros((len(x), 3))
    table[np.arange(len(x)), x.astype(int)] = 1
    return table.sum(axis=0) + rng.laplace(size=3)


def in_another_order(x, rng):
    table = np.zeros((len(x), 4))
    table[np.arange(len(x))[::-1], x.astype(int)] = 1
    return np.where(x == table[:, 0], rng.random(len(x)) < 0.8, rng.random(len(x)) < 0.3)


def on_what_was_there(x, rng):
    table = np.full((len(x), 4), 2.0)
    table[np.arange(len(x)), x.astype(int)] = 1
    return table.sum(axis=0) + rng.laplace(size=4)


def all_in_one_row(x, rng):
    table = np.zeros((len(x), 4))
    table[np.zeros(len(x), dtype=int), x.astype(int)] = 1
    return table.sum(axis=0) + rng.laplace(size=4)


@pytest.mark.parametrize(
    "function", [beyond_the_table, in_another_order, on_what_was_there, all_in_one_row]
)
def test_other_writes_at_private_places_are_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function, FOUR)


def divided_by_an_answer(x):
    """Python raises an error where a bit and a coin are alike; numpy would say 0."""
    out = []
    for v in x:
        coin = 1 if random.random() < 0.9 else 0
        out.append(0 // (coin ^ int(v)))
    return out


def rest_of_an_answer(x, rng):
    bits = x.astype(int) ^ (rng.random(len(x)) < 0.9)
    return 0 % bits


@pytest.mark.parametrize("function", [divided_by_an_answer, rest_of_an_answer])
def test_errors_are_answers_too(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function, BIT)


def truths_of_numpy(x, rng):
    """True + np.True_ is np.True_: a 1 of the record is told whenever it comes up."""
    return [((v == 1) + (rng.integers(2) == 1)) % 2 for v in x]


def truths_of_a_choice(x, rng):
    return [((v == 1) + (rng.choice([0, 1]) == 1)) % 2 for v in x]


def truths_of_python(x, rng):
    """A fair coin hides the bit: the sum of two truth values of Python is even or odd."""
    return [((v == 1) + (rng.random() < 0.5)) % 2 for v in x]


def test_numbers_of_numpy_and_of_python_are_told_apart():
    for function in (truths_of_numpy, truths_of_a_choice):
        with pytest.raises(dpcheck.NotProvable):
            proof_of(read(function, BIT, Adjacency.REPLACE_ONE, form="values"), BIT)
    program = read(truths_of_python, BIT, Adjacency.REPLACE_ONE, form="values")
    assert proof_of(program, BIT).epsilon().upper == 0.0


def none_of_the_listed(x, rng):
    total = 0
    for v in x:
        if v == 1:
            total += 1
        elif v == 2:
            total += 2
        elif v == 3:
            total += 3
        else:
            total += 50
    return total + rng.laplace()


def test_a_null_record_is_one_more_value_under_zero_out():
    """0 is none of 1, 2 and 3, and it is what a record becomes."""
    three = dpcheck.records(x=dpcheck.number(1, 3, integer=True), rows=4)
    assert bare(none_of_the_listed, three, Adjacency.ZERO_OUT) >= 49
    assert 2 <= bare(none_of_the_listed, three) < 10  # there nothing is 0
