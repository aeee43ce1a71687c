# ruff: noqa: RUF059, RET503, SIM108, RET505
"""Functions in the manner of public repositories, with the epsilon derived by hand."""

from __future__ import annotations

import math
import random
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.special
import scipy.stats as st

import dpcheck

from .base import Corpus

CASES = Corpus()
REFUSED = Corpus()  # right, and refused so far
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
BIT = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=100)
ITEM = dpcheck.records(x=dpcheck.number(0, 3, integer=True), rows=100)
AGES = dpcheck.records(age=dpcheck.number(0, 120), rows=100)
PLANE = dpcheck.records(a=dpcheck.number(-1, 1), b=dpcheck.number(-1, 1), rows=100)
COLOUR = dpcheck.records(colour=dpcheck.one_of("red", "green", "blue"), rows=100)
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    income=dpcheck.number(0, 1000),
    sex=dpcheck.one_of("F", "M"),
    city=dpcheck.one_of("A", "B", "C"),
    rows=100,
)
COLOURS = ["red", "green", "blue"]


# Hand-written samplers ------------------------------------------------------------------------------


def noisy_count(sensitivity, epsilon):
    beta = sensitivity / epsilon
    u1 = np.random.random()
    u2 = np.random.random()
    if u1 <= 0.5:
        n_value = -beta * np.log(1.0 - u2)
    else:
        n_value = beta * np.log(u2)
    return n_value


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_of_two_uniforms(data):
    return (data > 0.5).sum() + noisy_count(1, 1.0)


def laplace_inverse(scale):
    u = random.random() - 0.5
    if u >= 0:
        return -scale * math.log(1 - 2 * u)
    else:
        return scale * math.log(1 + 2 * u)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_by_sides(data):
    return sum(data) + laplace_inverse(1.0)


def sample_laplace(b):
    u = np.random.uniform(-0.5, 0.5)
    return -b * np.sign(u) * np.log(1 - 2 * np.abs(u))


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def laplace_of_a_helper(ages, epsilon=1.0):
    return np.sum(np.clip(ages, 0, 100)) + sample_laplace(100 / epsilon)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_by_halves(data):
    u = random.random()
    if u < 0.5:
        noise = math.log(2 * u)
    else:
        noise = -math.log(2 - 2 * u)
    return float(np.sum(data)) + noise


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_of_an_exponential_with_a_sign(data):
    sign = 1 if random.random() < 0.5 else -1
    return np.sum(data) + sign * random.expovariate(1.0)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_of_a_random_sign(data, rng):
    noise = rng.exponential(scale=1.0) * rng.choice([-1, 1])
    return np.sum(data) + noise


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_frozen(data):
    return np.sum(data) + st.laplace(loc=0, scale=1.0).rvs()


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def laplace_first_of_one(data, epsilon=1.0):
    return np.sum(data) + np.random.laplace(0, 1 / epsilon, 1)[0]


# Local differential privacy -------------------------------------------------------------------------


def grr_client(input_data, k, epsilon):
    p = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    domain = np.arange(k)
    if np.random.random() <= p:
        return input_data
    else:
        return np.random.choice(domain[domain != input_data])


@CASES(ITEM, replace_one=1.0)
def grr_reports(items):
    reports = np.array([grr_client(v, 4, 1.0) for v in items])
    p = np.exp(1.0) / (np.exp(1.0) + 3)
    q = (1 - p) / 3
    counts = np.bincount(reports.astype(int), minlength=4)
    return (counts - len(items) * q) / (p - q)


class GeneralizedRandomResponse:
    def __init__(self, epsilon, domain: list):
        self.domain = domain
        self.p = np.e**epsilon / (np.e**epsilon + len(self.domain) - 1)

    def encode(self, value):
        values = self.domain.copy()
        values.remove(value)
        return value if np.random.binomial(1, self.p) == 1 else random.choice(values)


@CASES(COLOUR, replace_one=1.0)
def grr_of_a_class(df):
    client = GeneralizedRandomResponse(1.0, ["red", "green", "blue"])
    return [client.encode(v) for v in df["colour"]]


@CASES(ITEM, replace_one=math.log(13.0))
def kary_any_answer(items, rng):
    """Truth 3/4, else any of 4: (3/4 + 1/16) / (1/16)."""
    out = []
    for v in items:
        if rng.random() < 0.75:
            out.append(v)
        else:
            out.append(rng.integers(4))
    return out


@CASES(COLOUR, replace_one=math.log(10.0))
def kary_of_strings(df):
    """Truth 3/4, else any of 3: (3/4 + 1/12) / (1/12)."""
    answers = []
    for v in df["colour"]:
        if random.random() <= 0.75:
            answers.append(v)
        else:
            answers.append(random.choice(COLOURS))
    return answers


@CASES(ITEM, replace_one=math.log(9.0))
def grr_by_shift(items, rng):
    """Truth 3/4, each of the three others 1/12."""
    n = len(items)
    keep = rng.random(n) < 0.75
    shift = rng.integers(1, 4, size=n)
    return np.where(keep, items, (items + shift) % 4)


def perturb_bit(bit):
    p, q = 0.75, 0.25
    sample = np.random.random()
    if bit == 1:
        if sample <= p:
            return 1
        else:
            return 0
    elif bit == 0:
        if sample <= q:
            return 1
        else:
            return 0


@CASES(COLOUR, replace_one=2 * math.log(3))
def unary_encoding_textbook(df):
    """Two bits change, each costs log 3."""
    responses = []
    for value in df["colour"]:
        encoded = [1 if d == value else 0 for d in COLOURS]
        responses.append([perturb_bit(b) for b in encoded])
    n = len(responses)
    sums = np.sum(responses, axis=0)
    return [(v - n * 0.25) / 0.5 for v in sums]


@CASES(ITEM, replace_one=2 * math.log(3))
def unary_encoding_flips(items, rng):
    onehot = np.eye(4)[items.astype(int)]
    flips = rng.random(onehot.shape) < 0.25
    return np.abs(onehot - flips).sum(axis=0)


@CASES(ITEM, replace_one=math.log(0.5 / 0.25) + math.log(0.75 / 0.5))
def unary_encoding_optimized(items, rng):
    """p = 1/2, q = 1/4: the lost 1 costs at most log(1/2 / 1/4), the gained one log(3/4 / 1/2)."""
    n = len(items)
    onehot = (items[:, None] == np.arange(4)).astype(int)
    u = rng.random((n, 4))
    reports = np.where(onehot == 1, u < 0.5, u < 0.25)
    return (reports.sum(axis=0) - n * 0.25) / 0.25


class RandomResponse:
    def __init__(self, p):
        self.p = p

    def encode(self, value):
        perturbed = 0 if value == 1 else 1
        return value if np.random.binomial(1, self.p) else perturbed


@CASES(BIT, replace_one=math.log(3))
def randomized_response_class(bits):
    rr = RandomResponse(0.75)
    return [rr.encode(b) for b in bits]


@CASES(BIT, replace_one=math.log(3))
def randomized_response_two_flips(bits):
    out = []
    for truth in bits:
        if np.random.randint(0, 2) == 0:
            out.append(truth)
        else:
            out.append(np.random.randint(0, 2) == 0)
    return out


@CASES(PLANE, replace_one=1.0)
def duchi_one_number(data, rng, epsilon=1.0):
    """The probability of +C lies between 1/(e+1) and e/(e+1)."""
    t = data[:, 0]
    e = np.exp(epsilon)
    p = (t * (e - 1) + e + 1) / (2 * (e + 1))
    c = (e + 1) / (e - 1)
    reports = np.where(rng.random(len(t)) < p, c, -c)
    return reports.mean()


@CASES(UNIT, replace_one=math.log(3))
def one_bit_mean(x):
    """Microsoft's one-bit mechanism: the probability lies between 1/4 and 3/4."""
    bits = []
    for v in x:
        p = 0.25 + 0.5 * v
        if random.random() < p:
            bits.append(1)
        else:
            bits.append(0)
    return 2 * (sum(bits) / len(bits) - 0.25)


@CASES(UNIT, replace_one=math.log(3))
def one_bit_binomial(x, rng):
    p = 0.25 + 0.5 * np.clip(x, 0, 1)
    return rng.binomial(1, p).sum()


# Choices --------------------------------------------------------------------------------------------


def score_mode(df, option):
    return (df["city"] == option).sum()


def exponential(x, R, u, sensitivity, epsilon):
    scores = [u(x, r) for r in R]
    probabilities = [np.exp(epsilon * score / (2 * sensitivity)) for score in scores]
    probabilities = probabilities / np.linalg.norm(probabilities, ord=1)
    return np.random.choice(R, 1, p=probabilities)[0]


@CASES(PEOPLE, replace_one=1.0)
def exponential_textbook(df):
    return exponential(df, ["A", "B", "C"], score_mode, 1, 1.0)


@CASES(PEOPLE, replace_one=1.0)
def exponential_of_math(df, epsilon=1.0):
    options = ["A", "B", "C"]
    weights = [math.exp(epsilon * (df["city"] == o).sum() / 2) for o in options]
    total = sum(weights)
    probabilities = [w / total for w in weights]
    return np.random.choice(options, p=probabilities)


@CASES(UNIT, replace_one=1.0)
def exponential_choices(x, epsilon=1.0):
    grid = [0.1, 0.3, 0.5, 0.7, 0.9]
    utilities = [-abs(sum(1 for v in x if v < g) - 50) for g in grid]
    top = max(utilities)
    weights = [math.exp(epsilon * (u - top) / 2) for u in utilities]
    return random.choices(grid, weights=weights, k=1)[0]


@CASES(UNIT, replace_one=1.0)
def exponential_scipy_softmax(x, rng):
    counts, _ = np.histogram(x, bins=5, range=(0, 1))
    return rng.choice(5, p=scipy.special.softmax(0.5 * counts))


def report_noisy_max_score(x, R, epsilon):
    scores = [score_mode(x, r) for r in R]
    noisy = [s + np.random.laplace(loc=0, scale=2 / epsilon) for s in scores]
    return R[np.argmax(noisy)]


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def report_noisy_max_textbook(df):
    return report_noisy_max_score(df, ["A", "B", "C"], 1.0)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def noisy_list_index_of_max(df):
    noisy = [score_mode(df, c) + np.random.laplace(0, 2) for c in ["A", "B", "C"]]
    return noisy.index(max(noisy))


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def noisy_max_of_a_dict(df, rng):
    noisy = {c: score_mode(df, c) + rng.laplace(0, 2) for c in ("A", "B", "C")}
    return max(noisy, key=noisy.get)


# Sparse vectors and clips that are chosen -----------------------------------------------------------


def above_threshold(queries, df, T, epsilon):
    T_hat = T + np.random.laplace(loc=0, scale=2 / epsilon)
    for idx, q in enumerate(queries):
        nu_i = np.random.laplace(loc=0, scale=4 / epsilon)
        if q(df) + nu_i >= T_hat:
            return idx
    return -1


def create_query(b):
    return lambda df: (df["age"] <= b).sum()


@CASES(PEOPLE, replace_one=1.0, add_remove=0.75)
def above_threshold_textbook(df):
    bounds = range(10, 100, 10)
    queries = [create_query(b) for b in bounds]
    return bounds[above_threshold(queries, df, 50, 1.0)]


@CASES(PEOPLE, replace_one=1.5, add_remove=1.5)
def auto_clipped_sum(df, rng):
    """A noisy count of each of five bounds, 1/10 each; then a sum clipped at the bound: 1."""
    bound = 100
    for b in (20, 40, 60, 80, 100):
        if (df["age"] <= b).sum() + rng.laplace(scale=10.0) > 90:
            bound = b
            break
    clipped = df["age"].clip(lower=0, upper=bound)
    return clipped.sum() + rng.laplace(loc=0, scale=bound / 1.0)


@CASES(UNIT, replace_one=2.0, add_remove=2.0)
def clipped_at_a_noisy_quantile(x, rng):
    """A count that decides between two clips, and the sum, each of epsilon 1."""
    many = (x > 0.5).sum() + rng.laplace(scale=1.0)
    clip = 1.0 if many > 50 else 0.5
    total = np.minimum(x, clip).sum()
    return total + rng.laplace(scale=clip)


# Tables and histograms ------------------------------------------------------------------------------


@CASES(PLANE, replace_one=1.0, add_remove=0.5)
def histogram_of_two(data, rng):
    counts, xs, ys = np.histogram2d(data[:, 0], data[:, 1], bins=4, range=[[-1, 1], [-1, 1]])
    return counts + rng.laplace(0, 2, size=counts.shape)


@CASES(PLANE, replace_one=1.0, add_remove=0.5)
def histogram_of_many(data, rng):
    counts, edges = np.histogramdd(data, bins=(4, 4), range=[(-1, 1), (-1, 1)])
    return counts + rng.laplace(0, 2, size=counts.shape)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def noisy_crosstab(df):
    table = pd.crosstab(df["sex"], df["city"])
    table = table.reindex(index=["F", "M"], columns=["A", "B", "C"], fill_value=0)
    return table + np.random.laplace(0, 2, size=(2, 3))


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def noisy_counts_in_place(df):
    counter = dict.fromkeys(["A", "B", "C"], 0)
    for c in df["city"]:
        counter[c] += 1
    for k in counter:
        counter[k] = counter[k] + np.random.laplace(0, 2)
    return counter


@CASES(UNIT, replace_one=1.5, add_remove=0.75)
def tree_by_reshape(x, rng):
    """Three levels of 4, 2 and 1 counts; scale 4: two counts move in two of them."""
    level, _ = np.histogram(x, bins=4, range=(0, 1))
    tree = []
    while len(level) > 1:
        tree.append(level + rng.laplace(scale=4.0, size=len(level)))
        level = level.reshape(-1, 2).sum(axis=1)
    tree.append(level + rng.laplace(scale=4.0, size=1))
    return tree


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def synthetic_from_a_histogram(x, rng):
    counts, edges = np.histogram(x, bins=10, range=(0, 1))
    noisy = np.maximum(counts + rng.laplace(0, 2, 10), 0)
    p = noisy / noisy.sum() if noisy.sum() > 0 else np.full(10, 0.1)
    bins = rng.choice(10, size=50, p=p)
    return edges[bins] + rng.random(50) * 0.1


@CASES(ITEM, replace_one=1.0, add_remove=0.5)
def pate_bincount(votes, rng):
    counts = np.bincount(votes.astype(int), minlength=4)
    noisy = counts + rng.laplace(scale=2.0, size=4)
    return np.argmax(noisy)


class Summary(NamedTuple):
    count: float
    total: float


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def as_a_named_tuple(x, rng):
    return Summary(
        count=(x > 0.5).sum() + rng.laplace(scale=2.0), total=x.sum() + rng.laplace(scale=2.0)
    )


Report = namedtuple("Report", ["value", "epsilon"])


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def as_a_collections_tuple(x, rng):
    return Report(x.sum() + rng.laplace(scale=1.0), 1.0)


@dataclass
class Result:
    value: float
    epsilon: float = 1.0

    def rounded(self):
        return round(self.value, 2)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def as_a_dataclass(x, rng):
    result = Result(float(x.sum() + rng.laplace(scale=1.0)))
    return {"value": result.rounded(), "epsilon": result.epsilon}


@REFUSED(UNIT, replace_one=1.0, add_remove=1.0)
def with_a_local_class(x, rng):
    class Mechanism:
        def __init__(self, scale):
            self.scale = scale

        def noisy(self, value):
            return value + rng.laplace(0, self.scale)

    return Mechanism(1.0).noisy(x.sum())


# Models ---------------------------------------------------------------------------------------------


@CASES(PLANE, replace_one=1.0, add_remove=0.5, mu=True)
def pca_with_symmetric_noise(data, rng):
    """Rows of norm 1; the upper triangle of outer products moves by their norm at most: 2, sigma 2."""
    rows = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    cov = rows.T @ rows
    noise = rng.normal(0, 2.0, size=(2, 2))
    noise = np.triu(noise) + np.triu(noise, 1).T
    values, vectors = np.linalg.eigh(cov + noise)
    return vectors[:, -1]


@CASES(PLANE, replace_one=1.0, add_remove=0.5, mu=True)
def pca_with_copied_noise(data, rng):
    norms = np.linalg.norm(data, axis=1)
    rows = data / np.maximum(norms, 1.0)[:, None]
    noise = rng.normal(0, 2.0, (2, 2))
    lower = np.tril_indices(2, -1)
    noise[lower] = noise.T[lower]
    return np.dot(rows.T, rows) + noise


@CASES(PLANE, replace_one=1.0, add_remove=0.5, mu=True)
def pca_with_noise_in_loops(data, rng):
    rows = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    gram = np.matmul(np.transpose(rows), rows)
    d = gram.shape[0]
    E = np.zeros(gram.shape)
    for i in range(d):
        for j in range(i, d):
            E[i, j] = rng.normal(0, 2.0)
            E[j, i] = E[i, j]
    return gram + E


@CASES(PLANE, replace_one=1.0)
def linear_regression_by_moments(data, rng):
    """Six sums, each moves by 1 or 2: 2 of a squared entry is 1, of a product 2; scale 4 and 8."""
    x, y = data[:, 0], data[:, 1]
    xx = np.sum(x * x) + rng.laplace(scale=4.0)
    xy = np.sum(x * y) + rng.laplace(scale=8.0)
    sx = np.sum(x) + rng.laplace(scale=8.0)
    sy = np.sum(y) + rng.laplace(scale=8.0)
    n = len(x)
    A = np.array([[xx, sx], [sx, n]])
    return np.linalg.lstsq(A, np.array([xy, sy]), rcond=None)[0]


def clip_gradient(g, bound):
    norm = np.linalg.norm(g)
    if norm > bound:
        return g * bound / norm
    return g


@CASES(PLANE, replace_one=2 * math.sqrt(3) / 4, mu=True)
def linear_noisy_gradient_descent(data, rng):
    """Three steps of gradients of norm 1, sigma 4."""
    X, y = data[:, :1], 10 * data[:, 1]
    w = np.zeros(1)
    for _ in range(3):
        total = np.zeros(1)
        for i in range(len(X)):
            g = (X[i] @ w - y[i]) * X[i]
            total += clip_gradient(g, 1.0)
        noisy = total + rng.normal(0, 4.0, size=1)
        w = w - 0.1 * noisy / len(X)
    return w


@CASES(PLANE, replace_one=0.5, mu=True)
def federated_average(updates, rng):
    """Updates of norm at most 1, one moves the sum by 2; sigma 4."""
    clipped = []
    for u in updates:
        clipped.append(u * min(1, 1.0 / (np.linalg.norm(u) + 1e-9)))
    return np.mean(clipped, axis=0) + rng.normal(0, 4.0 / len(updates), size=2)


@CASES(PEOPLE, replace_one=2.0)
def naive_bayes_counts(df, rng):
    """A prior of two counts and a table of six: scale 2 each."""
    priors, table = {}, {}
    for s in ["F", "M"]:
        part = df[df["sex"] == s]
        priors[s] = len(part) + rng.laplace(scale=2.0)
        for c in ["A", "B", "C"]:
            table[(s, c)] = (part["city"] == c).sum() + rng.laplace(scale=2.0)
    return priors, table


@REFUSED(UNIT, replace_one=2.0)
def multiplicative_weights(x, rng):
    """Two rounds: a noisy maximum at 1/2 of a vector of counts, and a count at 1/2."""
    true, _ = np.histogram(x, bins=8, range=(0, 1))
    queries = np.array([[1.0] * 4 + [0.0] * 4, [0.0] * 2 + [1.0] * 4 + [0.0] * 2])
    synthetic = np.full(8, len(x) / 8)
    for _ in range(2):
        errors = np.abs(queries @ true - queries @ synthetic)
        worst = int(np.argmax(errors + rng.gumbel(scale=4.0, size=2)))
        measured = queries[worst] @ true + rng.laplace(scale=2.0)
        gap = measured - queries[worst] @ synthetic
        synthetic = synthetic * np.exp(queries[worst] * gap / (2 * len(x)))
        synthetic = synthetic * len(x) / synthetic.sum()
    return synthetic


@REFUSED(UNIT, replace_one=1.0)
def subsample_and_aggregate(x, rng):
    blocks = x.reshape(10, 10)
    estimates = np.clip(np.median(blocks, axis=1), 0, 1)
    return estimates.mean() + rng.laplace(scale=0.1)


@CASES(UNIT, replace_one=math.log(2), add_remove=math.log(2))
def geometric_mechanism(x, rng):
    p = 0.5
    return int((x > 0.5).sum()) + int(rng.geometric(p)) - int(rng.geometric(p))


@CASES(UNIT, replace_one=1.0)
def quantile_exponential_on_a_grid(x, rng):
    grid = np.linspace(0, 1, 11)
    utility = -np.abs((x[:, None] <= grid).sum(axis=0) - 0.5 * len(x))
    weights = np.exp(0.5 * (utility - utility.max()))
    return grid[rng.choice(len(grid), p=weights / weights.sum())]


@CASES(UNIT, replace_one=1.0)
def local_laplace_each(x, epsilon=1.0):
    noisy = []
    for v in x:
        noisy.append(v + np.random.laplace(0, 1 / epsilon))
    return np.mean(noisy)
