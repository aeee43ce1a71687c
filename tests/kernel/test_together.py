"""Numbers that are only compared, and entries of one vector: prices against exact likelihoods."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import laplace

from dpcheck.verify.program import check
from dpcheck.verify.program.facts import Drawn
from dpcheck.verify.result import Refused

GRID = np.linspace(-60.0, 60.0, 6_001)
COUNT = 4


class Written:
    """A program of scalar queries on rows of COUNT numbers in [0, 1], and its releases."""

    def __init__(self, adjacency="replace-one", widths=(1.0,) * COUNT):
        self.adjacency, self.nodes, self.releases = adjacency, [], []
        x = self.node(
            "data", [], [{"rows": -1}, COUNT], low=[0.0] * COUNT, high=list(widths), missing=False
        )
        self.sums = self.node("sum", [x], [COUNT], axes=[0])

    def node(self, primitive, args, shape=(), dtype="float64", when=(), **params):
        entry = {
            "id": len(self.nodes),
            "primitive": primitive,
            "args": args,
            "params": params,
            "shape": list(shape),
            "dtype": dtype,
            "when": [list(each) for each in when],
        }
        self.nodes.append(entry)
        return entry["id"]

    def constant(self, value):
        dtype = {bool: "bool", int: "int64", float: "float64"}[type(value)]
        return self.node(
            "constant", [], dtype=dtype, value=int(value) if dtype == "bool" else value
        )

    def noise(self, scale, law="laplace", when=()):
        return self.node("draw", [], when=when, law=law, scale=scale)

    def query(self, place, scale, when=(), flip=False, law="laplace"):
        entry = self.node("index", [self.sums], when=when, key=[place])
        drawn = self.noise(scale, law, when)
        self.releases.append(self.node("release", [entry, drawn], when=when, sign=1, flip=flip))
        return self.releases[-1]

    def above(self, query, threshold, when=(), name="greater_equal"):
        return self.node(name, [query, threshold], dtype="bool", when=when)

    def program(self, outputs):
        rows = None if self.adjacency == "add-remove" else 10
        return {
            "adjacency": self.adjacency,
            "rows": rows,
            "rows_per_person": 1,
            "nodes": self.nodes,
            "outputs": outputs,
        }

    def accepts(self, outputs, epsilon, listed=None):
        """Whether the kernel takes these releases together for epsilon-DP."""
        event = {"kind": "PureDP", "epsilon": epsilon, "adjacency": self.adjacency}
        entries = [{"nodes": listed or self.releases, "event": event, "times": 1}]
        program = self.program(outputs)
        try:
            steps = check.run(program, lambda node, fact: fact)
            check.check_outputs(steps, program)
            check.releases(steps, entries)
        except Refused:
            return False
        return True

    def costs(self, outputs, epsilon):
        """Whether that is enough, and a little less is not."""
        return self.accepts(outputs, epsilon) and not self.accepts(outputs, epsilon * (1 - 1e-9))


# Sparse vector -------------------------------------------------------------------------------------------


def vector(hits, scale=8.0, adjacency="replace-one", count=False):
    """Answers until so many hits; by a number that is counted, or one test each."""
    made = Written(adjacency)
    threshold = made.noise(4.0)
    when, bits, total = [], [], made.constant(0)
    for i in range(COUNT):
        query = made.query(i, scale, when)
        bits.append(made.above(query, threshold, when))
        if not count and hits == 1:
            when = [*when, (bits[-1], False)]
        elif i < COUNT - 1:
            more = made.node("add", [total, made.constant(1)], dtype="int64", when=when)
            total = made.node("select", [bits[-1], more, total], dtype="int64", when=when)
            test = made.node("less", [total, made.constant(hits)], dtype="bool", when=when)
            when = [*when, (test, True)]
    return made, bits[:1]


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize(("hits", "cost"), [(1, 1 / 4 + 2 / 8), (2, 1 / 4 + 4 / 8), (9, 1 / 2)])
def test_the_threshold_once_and_every_hit(hits, cost, count):
    """Answer by answer they cost 4/8, whatever they are."""
    made, outputs = vector(hits, count=count or hits > 1)
    assert made.accepts(outputs, max(cost, 1 / 2))
    assert made.accepts(outputs, cost) == (cost >= 1 / 2)
    assert made.costs(outputs, min(cost, 1 / 2))


def test_queries_that_rise_together_cost_half():
    made, outputs = vector(1, adjacency="add-remove")
    assert made.costs(outputs, 1 / 4 + 1 / 8)


def likelihood(queries, answers, scale, threshold=4.0):
    density = laplace.pdf(GRID, scale=threshold)
    for query, above in zip(queries, answers, strict=False):
        more = laplace.sf(GRID - query, scale=scale)
        density = density * (more if above else 1 - more)
    return float(trapezoid(density, GRID))


def test_no_answers_tell_more_than_the_kernel_accepts():
    """One hit, then the end: all shifts of four queries, against 1/4 + 2/8."""
    rng = np.random.default_rng(0)
    sequences = [[False] * i + [True] for i in range(COUNT)] + [[False] * COUNT]
    for _ in range(3):
        queries = rng.normal(scale=3, size=COUNT)
        for shift in itertools.product((-1, 0, 1), repeat=COUNT):
            for answers in sequences:
                one, two = (likelihood(q, answers, 8.0) for q in (queries, queries + shift))
                assert abs(math.log(one / two)) <= 1 / 4 + 2 / 8 + 1e-6


def budget(prices, limit, strict=True):
    """Two kinds of hits with weights of their own, until a limit is reached."""
    made = Written()
    threshold = made.noise(40.0)
    when, left, outputs = [], made.constant(0.0), []
    for i in range(COUNT):
        coarse = made.query(i, 8.0, when)
        gap = made.node("subtract", [coarse, threshold], when=when)
        high = made.above(gap, made.constant(3.0), when)
        below = [*when, (high, False)]
        fine = made.query(i, 4.0, below)
        low = made.above(
            made.node("subtract", [fine, threshold], when=below), made.constant(0), below
        )
        one = made.node("add", [left, made.constant(prices[0])], when=[*when, (high, True)])
        two = made.node("add", [left, made.constant(prices[1])], when=[*below, (low, True)])
        inner = made.node("select", [low, two, left], when=below)
        left = made.node("select", [high, one, inner], when=when)
        name = "less" if strict else "less_equal"
        test = made.node(name, [left, made.constant(limit)], dtype="bool", when=when)
        outputs = outputs or [high]
        when = [*when, (test, True)]
    return made, outputs


@pytest.mark.parametrize(
    ("prices", "limit", "strict", "hits"),
    [
        ((1.0, 2.0), 2.0, True, 1 * 2 / 8 + 2 / 4),  # 1 may be spent, then a fine hit
        ((1.0, 2.0), 2.0, False, 2 * 2 / 8 + 2 / 4),
        ((1.0, 1.0), 1.0, True, 2 / 4),  # the first hit is the last
        ((0.1, 0.1), 0.1, True, 2 / 4 + 2 / 4),  # in floats it may be below 0.1 once more
    ],
)
def test_a_budget_bounds_what_hits_cost(prices, limit, strict, hits):
    made, outputs = budget(prices, limit, strict)
    assert made.costs(outputs, min(1 / 40 + hits, 4 / 8 + 4 / 4))


def test_a_hit_that_gives_back_is_no_end():
    made, outputs = budget((-1.0, 2.0), 2.0)
    assert not made.accepts(outputs, 1 / 40 + 2 / 8 + 2 / 4)


def refused(build):
    made, outputs, epsilon = build()
    return not made.accepts(outputs, epsilon)


def shared_noise():
    """The noise of the threshold hides something else, too."""
    made = Written()
    threshold = made.noise(4.0)
    bit = made.above(made.query(0, 8.0), threshold)
    entry = made.node("index", [made.sums], key=[1])
    made.node("release", [entry, threshold], sign=1, flip=False)
    return made, [bit], 9.0


def told_threshold():
    made = Written()
    threshold = made.noise(4.0)
    return made, [made.above(made.query(0, 8.0), threshold), threshold], 9.0


def the_opposite():
    made = Written()
    threshold = made.noise(4.0)
    bits = [
        made.above(made.query(0, 8.0), threshold),
        made.above(made.query(1, 8.0), made.node("negative", [threshold])),
    ]
    return made, bits, 9.0


def told_number():
    made = Written()
    threshold, query = made.noise(40.0), made.query(0, 8.0)
    return made, [made.above(query, threshold), query], 1 / 40 + 2 / 80


def asked_twice():
    made = Written()
    query = made.query(0, 8.0)
    bits = [
        made.above(query, made.noise(40.0)),
        made.above(query, made.noise(40.0)),
    ]
    return made, bits, 1 / 40 + 2 / 80


def gap_of_a_miss():
    made = Written()
    threshold, query = made.noise(40.0), made.query(0, 8.0)
    bit = made.above(query, threshold)
    gap = made.node("subtract", [query, threshold])
    return made, [made.node("select", [bit, made.constant(0.0), gap])], 1 / 40 + 2 / 80


def exponential_noise():
    made = Written()
    bit = made.above(made.query(0, 8.0, law="exponential"), made.noise(4.0), name="less")
    return made, [bit], 9.0


def one_left_out():
    made, outputs = vector(1)
    made.releases = made.releases[:-1]
    return made, outputs, 9.0


def twice_in_the_list():
    made, outputs = vector(1)
    made.releases = [*made.releases[:-1], made.releases[0]]
    return made, outputs, 9.0


def a_loop_that_asks():
    made = Written()
    threshold, query = made.noise(40.0), made.query(0, 8.0)
    first = made.above(query, threshold)
    body = [made.nodes.pop()]
    carried = {"id": 99, "start": 1000, "next": 1000, "low": 0, "high": 1}
    made.nodes.append(
        {
            "id": 1000,
            "primitive": "constant",
            "args": [],
            "params": {"value": 0},
            "shape": [],
            "dtype": "int64",
        }
    )
    made.nodes.append({"loop": {"times": 5, "carried": [carried], "nodes": body}})
    return made, [first], 1 / 40 + 2 / 80


@pytest.mark.parametrize(
    "build",
    [
        shared_noise,
        told_threshold,
        the_opposite,
        told_number,
        asked_twice,
        gap_of_a_miss,
        exponential_noise,
        one_left_out,
        twice_in_the_list,
        a_loop_that_asks,
    ],
)
def test_whatever_tells_more_is_refused(build):
    assert refused(build)


def test_a_gap_is_told_with_its_hit():
    made = Written()
    threshold, query = made.noise(40.0), made.query(0, 4.0)
    bit = made.above(query, threshold)
    gap = made.node("subtract", [query, threshold])
    told = made.node("select", [bit, gap, made.constant(0.0)])
    assert made.costs([told], 1 / 4)  # answer by answer; as a hit it is 1/40 + 2/4


# Noisy maxima ---------------------------------------------------------------------------------------------


def largest(adjacency="replace-one", flip=(), law="laplace", name="greater", places=True):
    made = Written(adjacency)
    best = made.query(0, 4.0, flip=0 in flip, law=law)
    place = made.constant(0)
    for i in range(1, COUNT):
        new = made.query(i, 4.0, flip=i in flip, law=law)
        beats = made.above(new, best, name=name)
        best = made.node("select", [beats, new, best])
        place = made.node("select", [beats, made.constant(i), place], dtype="int64")
    return made, [place] if places else [best]


def test_the_place_of_the_largest():
    assert largest()[0].costs(largest()[1], 2 / 4)
    assert largest(name="less")[0].costs(largest()[1], 2 / 4)
    assert largest(law="gumbel")[0].costs(largest()[1], 2 / 4)
    assert largest("add-remove")[0].costs(largest()[1], 1 / 4)
    assert largest("add-remove", flip=(1,))[0].costs(largest()[1], 2 / 4)
    made, outputs = largest(places=False)
    assert made.costs(outputs, 4 / 4)  # the number itself: all of them
    assert not largest(law="gumbel", name="less")[0].accepts(largest()[1], 9.0)


def test_rising_and_falling_numbers_move_apart():
    """One rises by 1 and the other falls by 1, far apart: 2/4, not 1/4."""

    def first_wins(a, b):
        return float(trapezoid(laplace.pdf(GRID, a, 4.0) * laplace.cdf(GRID, b, 4.0), GRID))

    assert math.log(first_wins(-19, 19) / first_wins(-20, 20)) > 0.43


# Entries of one vector -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_entries_of_one_vector(seed):
    """Every difference of the vector, at its corners: the losses never add up to more than is accepted."""
    rng = np.random.default_rng(seed)
    made = Written("add-remove")
    factors, scales = rng.integers(-1, 2, size=(3, COUNT)), rng.uniform(1, 4, size=3)
    factors[:, 0] = 1
    entries = [made.node("index", [made.sums], key=[i]) for i in range(COUNT)]
    for row, scale in zip(factors, scales, strict=True):
        total = entries[0]
        for factor, entry in zip(row[1:], entries[1:], strict=True):
            if factor:
                total = made.node("add" if factor > 0 else "subtract", [total, entry])
        made.releases.append(
            made.node("release", [total, made.noise(float(scale))], sign=1, flip=False)
        )
    most = max((np.abs(factors).T / scales).sum(axis=1)) * COUNT  # L1 of a row of four in [0, 1]
    worst = max(
        float((np.abs(factors @ np.array(row)) / scales).sum())
        for row in itertools.product((0, 1), repeat=COUNT)
    )
    assert worst <= most
    assert made.accepts(made.releases, float(most))
    assert not made.accepts(made.releases, worst * (1 - 1e-9))


def test_entries_each_released_once_are_a_vector():
    made = Written()
    for i in range(COUNT):
        made.query(i, 8.0)
    assert made.costs(made.releases, 4 / 8)


# Noise made of uniform numbers, and softmax ---------------------------------------------------------------


def test_the_inverse_of_the_distribution_function():
    """The kernel calls it Laplace noise of scale 3; so does scipy, number by number."""

    def written(turn):
        made = Written()
        u = made.node(
            "subtract", [made.node("draw", [], law="uniform", scale=1), made.constant(0.5)]
        )
        size = made.node("multiply", [made.constant(2.0), made.node("absolute", [u])])
        log = made.node("log", [made.node("subtract", [made.constant(turn), size])])
        signed = made.node("multiply", [made.constant(-3.0), made.node("sign", [u])])
        made.node("multiply", [signed, log])
        steps = check.run(made.program([]), lambda node, fact: fact)
        return list(steps.nodes.values())[-1].fact

    u = np.linspace(0.001, 0.999, 999) - 0.5
    mine = -3.0 * np.sign(u) * np.log(1 - 2 * np.abs(u))
    assert mine == pytest.approx(laplace.ppf(u + 0.5, scale=3.0))
    found = written(1.0)
    assert isinstance(found, Drawn)
    assert (found.family, found.scale, found.location) == ("laplace", (3,), 0)
    assert not isinstance(written(1.5), Drawn)  # log(1.5 - 2 |u|) is none


@pytest.mark.parametrize("factor", [0.5, -2.0])
def test_softmax_is_the_exponential_mechanism(factor):
    made = Written()
    power = made.node("multiply", [made.sums, made.constant(factor)], [COUNT])
    weights = made.node("exp", [power], [COUNT])
    total = made.node("sum", [weights], axes=[0])
    law = made.node("divide", [weights, total], [COUNT])
    made.node("pick", [law, made.sums], dtype="int64", factor=factor)
    cost = 2 * abs(factor)

    def softmax(scores):
        found = np.exp(factor * np.array(scores))
        return found / found.sum()

    corners = list(itertools.product((0.0, 1.0), repeat=COUNT))
    worst = max(
        float(np.abs(np.log(softmax(a) / softmax(b))).max())
        for a, b in itertools.product(corners, repeat=2)
    )
    assert worst <= cost
    place = len(made.nodes) - 1
    steps = check.run(made.program([place]), lambda node, fact: fact)
    event = {"kind": "ExponentialMechanism", "epsilon": cost, "adjacency": "replace-one"}
    check.releases(steps, [{"node": place, "event": event, "times": 1}])
    steps = check.run(made.program([place]), lambda node, fact: fact)
    less = {**event, "epsilon": worst * (1 - 1e-9)}
    with pytest.raises(Refused):
        check.releases(steps, [{"node": place, "event": less, "times": 1}])


def test_other_probabilities_are_none():
    made = Written()
    total = made.node("sum", [made.sums], axes=[0])
    law = made.node("divide", [made.sums, total], [COUNT])
    made.node("pick", [law, made.sums], dtype="int64", factor=1.0)
    with pytest.raises(Refused):
        check.run(made.program([]), lambda node, fact: fact)
