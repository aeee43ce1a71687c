# ruff: noqa: C420, SIM108, B007
"""Functions as they stand in notebooks, answers and small repositories, with the epsilon derived by hand."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from scipy import stats

import dpcheck

from .base import Corpus

CASES = Corpus()
REFUSED = Corpus()  # right, and refused so far
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
BIT = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=100)
AGES = dpcheck.records(age=dpcheck.number(0, 120), rows=100)
PLANE = dpcheck.records(a=dpcheck.number(-5, 5), b=dpcheck.number(-5, 5), rows=100)
VOTES = dpcheck.records(
    a=dpcheck.number(0, 1), b=dpcheck.number(0, 1), c=dpcheck.number(0, 1), rows=100
)
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    income=dpcheck.number(0, 1000),
    city=dpcheck.one_of("A", "B", "C"),
    rows=100,
)
CITIES = ["A", "B", "C"]
CLASSIC = 0.5 / math.sqrt(2 * math.log(1.25e5))  # mu of the classic Gaussian mechanism at 1/2, 1e-5


def laplace_mechanism(value, sensitivity, epsilon):
    return value + np.random.laplace(0, sensitivity / epsilon)


def gaussian_mechanism(value, sensitivity, epsilon, delta):
    sigma = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return value + np.random.normal(0, sigma)


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def dp_sum_with_helper(ages):
    clipped = np.clip(ages, 0, 100)
    return laplace_mechanism(clipped.sum(), sensitivity=100, epsilon=1.0)


@CASES(AGES, replace_one=1.0)
def dp_mean_with_defaults(ages, epsilon=1.0, lower=0, upper=100):
    n = len(ages)
    clipped = [min(max(a, lower), upper) for a in ages]
    sensitivity = (upper - lower) / n
    return sum(clipped) / n + np.random.laplace(loc=0.0, scale=sensitivity / epsilon)


@CASES(AGES, replace_one=1.0, add_remove=2.0)
def dp_mean_as_sum_over_count(ages, epsilon=2.0):
    half = epsilon / 2
    noisy_sum = np.clip(ages, 0, 50).sum() + np.random.laplace(0, 50 / half)
    noisy_count = len(ages) + np.random.laplace(0, 1 / half)
    return noisy_sum / max(noisy_count, 1.0)


@CASES(AGES, replace_one=0.5, add_remove=0.5)
def dp_count_over_a_loop(ages, epsilon=0.5):
    count = 0
    for age in ages:
        if age >= 18 and age <= 65:
            count += 1
    noise = np.random.laplace(0, 1 / epsilon)
    return max(0, round(count + noise))


@CASES(AGES, replace_one=1.0, add_remove=0.5)
def dp_histogram_np(ages, rng):
    hist, edges = np.histogram(ages, bins=range(0, 130, 10))
    noisy = hist + rng.laplace(0, 2, size=hist.shape)
    return np.maximum(noisy, 0).round().astype(int), edges


@CASES(AGES, replace_one=1.0, add_remove=0.5)
def dp_histogram_dict(ages, rng):
    bins = [(0, 18), (18, 40), (40, 65), (65, 200)]
    result = {}
    for lo, hi in bins:
        n = sum(1 for a in ages if lo <= a < hi)
        result[f"{lo}-{hi}"] = n + rng.laplace(0, 2)
    return result


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def dp_value_counts(df, epsilon=1.0):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    noise = np.random.laplace(0, 2.0 / epsilon, size=len(counts))
    return counts + noise


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def dp_counts_by_category(df, epsilon=1.0):
    out = {}
    for city in CITIES:
        out[city] = int(np.round(len(df[df["city"] == city]) + np.random.laplace(0, 2 / epsilon)))
    return out


@CASES(PEOPLE, replace_one=2.0, add_remove=1.0)
def dp_mean_by_group(df, rng):
    result = {}
    for city in CITIES:
        group = df[df.city == city]
        total = group["age"].clip(0, 100).sum() + rng.laplace(scale=200.0)
        count = len(group) + rng.laplace(scale=2.0)
        result[city] = total / max(count, 1)
    return result


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def dp_group_sums(df, rng):
    sums = df.assign(age=df["age"].clip(0, 50)).groupby("city")["age"].sum()
    sums = sums.reindex(CITIES, fill_value=0)
    return {c: sums[c] + rng.laplace(scale=100.0) for c in CITIES}


@CASES(BIT, replace_one=math.log(3), add_remove=None)
def randomized_response_survey(answers, rng):
    """The textbook: heads the truth, tails a second coin."""
    reported = []
    for truth in answers:
        if rng.random() < 0.5:
            reported.append(truth)
        else:
            reported.append(int(rng.random() < 0.5))
    return reported


@CASES(BIT, replace_one=math.log(3))
def randomized_response_vector(answers, rng):
    n = len(answers)
    keep = rng.random(n) < 0.75
    return np.where(keep, answers, 1 - answers)


@CASES(BIT, replace_one=math.log(3))
def randomized_response_estimate(answers, rng):
    p = 0.75
    flipped = [a if rng.random() < p else 1 - a for a in answers]
    observed = sum(flipped) / len(flipped)
    return (observed - (1 - p)) / (2 * p - 1)


def respond(truth, p):
    if random.random() < p:
        return truth
    return 1 - truth


@CASES(BIT, replace_one=math.log(9))
def randomized_response_with_a_helper(answers):
    return [respond(a, 0.9) for a in answers]


@CASES(BIT, replace_one=math.log(3))
def bits_xor_coins(answers, rng):
    bits = answers.astype(int)
    coins = (rng.random(len(bits)) < 0.25).astype(int)
    return bits ^ coins


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def inverse_cdf_laplace(ages, rng):
    u = rng.random() - 0.5
    scale = 100.0
    noise = -scale * np.sign(u) * np.log(1 - 2 * np.abs(u))
    return np.clip(ages, 0, 100).sum() + noise


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def inverse_cdf_laplace_of_math(ages):
    u = random.random() - 0.5
    noise = -100.0 * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))
    return sum(min(a, 100.0) for a in ages) + noise


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def laplace_as_two_exponentials(ages):
    noise = random.expovariate(1 / 100) - random.expovariate(1 / 100)
    return sum(min(max(a, 0), 100) for a in ages) + noise


@CASES(UNIT, replace_one=math.log(2), add_remove=math.log(2))
def two_sided_geometric(x, rng):
    count = int(np.sum(x > 0.5))
    noise = rng.geometric(0.5) - rng.geometric(0.5)
    return count + noise


@CASES(UNIT, replace_one=1.0)
def exponential_mechanism_of_counts(x, rng, epsilon=1.0):
    edges = np.linspace(0, 1, 6)
    scores = np.histogram(x, bins=edges)[0]
    weights = np.exp(epsilon * scores / 2)
    p = weights / weights.sum()
    return rng.choice(len(p), p=p)


@CASES(UNIT, replace_one=1.0)
def exponential_mechanism_stable(x, rng, epsilon=1.0):
    candidates = [0.1, 0.3, 0.5, 0.7, 0.9]
    scores = np.array([-abs((x < c).sum() - len(x) / 2) for c in candidates])
    logits = epsilon * scores / 2
    logits = logits - logits.max()
    probs = np.exp(logits) / np.sum(np.exp(logits))
    index = rng.choice(len(candidates), p=probs)
    return candidates[index]


@CASES(VOTES, replace_one=2.0, add_remove=1.0)
def pate_aggregation(votes, rng):
    counts = votes.sum(axis=0)
    noisy = counts + rng.laplace(loc=0.0, scale=1.0, size=3)
    return int(np.argmax(noisy))


@CASES(VOTES, replace_one=2.0)
def report_noisy_max_in_a_loop(votes, rng):
    best, best_score = None, -float("inf")
    for j in range(3):
        score = votes[:, j].sum() + rng.laplace(scale=1.0)
        if score > best_score:
            best, best_score = j, score
    return best


@CASES(PLANE, replace_one=2.0 * math.sqrt(5) / 4, mu=True)
def noisy_gradient_descent(data, rng):
    """Five steps of clipped gradients, sigma 4."""
    w = 0.0
    for _ in range(5):
        grads = []
        for a, b in data:
            g = (w * a - b) * a
            grads.append(np.clip(g, -1, 1))
        step = np.sum(grads) + rng.normal(0, 4.0)
        w = w - 0.01 * step / len(data)
    return w


@CASES(PLANE, replace_one=2.0 * math.sqrt(3) / 2, add_remove=math.sqrt(3) / 2, mu=True)
def dp_sgd_numpy(data, rng):
    X, y = data[:, :1], data[:, 1]
    w = np.zeros(1)
    for step in range(3):
        residual = X @ w - y
        per_example = X * residual[:, None]
        norms = np.linalg.norm(per_example, axis=1)
        per_example = per_example / np.maximum(1, norms / 1.0)[:, None]
        noisy = per_example.sum(axis=0) + rng.normal(0, 2.0 * 1.0, size=w.shape)
        w -= 0.1 * noisy / 100
    return w


@CASES(PLANE, replace_one=1.5)
def dp_kmeans_one_step(points, rng):
    """Counts: 1/4 twice. Sums: a point moves one by 20 at most, or two by 10 each, of scale 20."""
    centers = np.array([[-2.0, 0.0], [2.0, 0.0]])
    distance = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    nearest = distance.argmin(axis=1)
    new = np.zeros_like(centers)
    for k in range(2):
        members = points[nearest == k]
        count = len(members) + rng.laplace(scale=4.0)
        total = members.sum(axis=0) + rng.laplace(scale=20.0, size=2)
        new[k] = total / max(count, 1.0)
    return new


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def quantile_by_bisection(x, rng, steps=10):
    low, high = 0.0, 1.0
    per_step = 1.0 / steps
    target = 50
    for _ in range(steps):
        mid = (low + high) / 2
        count = np.sum(x <= mid) + rng.laplace(0, 1 / per_step)
        if count < target:
            low = mid
        elif count > target:
            high = mid
        else:
            break
    return (low + high) / 2


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def quantile_by_while(x, rng):
    low, high, rounds = 0.0, 1.0, 0
    while high - low > 0.01 and rounds < 8:
        mid = (low + high) / 2
        if (x < mid).sum() + rng.laplace(scale=8) < 50:
            low = mid
        else:
            high = mid
        rounds += 1
    return low


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def with_scipy_laplace(ages):
    noise = stats.laplace.rvs(loc=0, scale=100)
    return np.clip(ages, 0, 100).sum() + noise


@CASES(AGES, replace_one=0.25, add_remove=0.25, mu=True)
def with_scipy_norm(ages, rng):
    return np.clip(ages, 0, 100).sum() + stats.norm.rvs(scale=400, random_state=rng)


@CASES(AGES, replace_one=0.25, add_remove=0.25, mu=True)
def with_random_gauss(ages):
    total = 0
    for a in ages:
        total += max(0, min(100, a))
    return total + random.gauss(0, 400)


class LaplaceMechanism:
    """As tutorials write it."""

    def __init__(self, epsilon, sensitivity=1.0):
        if epsilon <= 0:
            raise ValueError("epsilon must be positive")
        self.epsilon = epsilon
        self.sensitivity = sensitivity

    @property
    def scale(self):
        return self.sensitivity / self.epsilon

    def add_noise(self, value, rng=None):
        rng = rng or np.random.default_rng()
        return value + rng.laplace(0.0, self.scale)


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def with_a_mechanism_class(ages, rng):
    mechanism = LaplaceMechanism(epsilon=1.0, sensitivity=100)
    total = np.clip(ages, 0, 100).sum()
    return mechanism.add_noise(total, rng)


class BudgetedQueries:
    """A small query engine with a budget."""

    def __init__(self, data, epsilon, rng):
        self.data = data
        self.remaining = epsilon
        self.rng = rng
        self.log = []

    def _spend(self, epsilon):
        if epsilon > self.remaining + 1e-9:
            raise RuntimeError("budget exhausted")
        self.remaining -= epsilon

    def count(self, predicate, epsilon):
        self._spend(epsilon)
        answer = predicate(self.data).sum() + self.rng.laplace(scale=1 / epsilon)
        self.log.append(("count", epsilon))
        return answer

    def total(self, epsilon):
        self._spend(epsilon)
        return self.data.sum() + self.rng.laplace(scale=1 / epsilon)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def with_a_query_engine(x, rng):
    engine = BudgetedQueries(x, 1.0, rng)
    many = engine.count(lambda v: v > 0.5, 0.25)
    total = engine.total(0.75)
    return {"many": many, "total": total, "left": engine.remaining}


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def report_as_dict(ages, rng, epsilon=1.0):
    adults = int((ages >= 18).sum())
    noisy = adults + rng.laplace(scale=1 / epsilon)
    return {
        "mechanism": "laplace",
        "epsilon": epsilon,
        "adults": round(float(noisy), 2),
        "text": f"about {noisy:.0f} adults",
    }


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def prints_what_it_releases(ages, rng):
    noisy = (ages > 65).sum() + rng.laplace(scale=1.0)
    print("noisy count:", noisy)
    print(f"rounded: {noisy:.1f}")
    return noisy


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def filtered_mean_income(df, rng):
    adults = df[(df["age"] >= 18) & (df["city"] == "A")]
    clipped = adults["income"].clip(lower=0, upper=500)
    noisy_sum = clipped.sum() + rng.laplace(0, 1000)
    noisy_count = adults.shape[0] + rng.laplace(0, 2)
    return noisy_sum / noisy_count if noisy_count > 1 else 0.0


@CASES(UNIT, replace_one=2.0)
def dp_mean_and_variance(x, rng):
    n = x.shape[0]
    mean = x.mean() + rng.laplace(0, 1 / n)
    second = (x**2).mean() + rng.laplace(0, 1 / n)
    return mean, max(second - mean**2, 0.0)


@REFUSED(UNIT, replace_one=1.0)
def sample_and_aggregate(x, rng):
    """Ten blocks of public places; one record moves one block's mean, in [0, 1]: 1/10 over 1/10."""
    blocks = x.reshape(10, 10)
    estimates = np.clip(np.median(blocks, axis=1), 0, 1)
    return estimates.mean() + rng.laplace(scale=0.1)


@CASES(UNIT, replace_one=0.1)
def sample_and_aggregate_split(x, rng):
    """A record moves one of ten means, of ten values each."""
    parts = np.array_split(x, 10)
    estimates = [np.clip(p.mean(), 0, 1) for p in parts]
    return np.mean(estimates) + rng.laplace(scale=0.1)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def early_stopping(x, rng):
    """Ten noisy counts of 1/10 at most."""
    for i in range(10):
        count = (x > i / 10).sum() + rng.laplace(scale=10.0)
        if count < 20:
            return i
    return 10


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def early_stopping_with_history(x, rng):
    history = []
    for t in range(5):
        value = (x > t / 5).sum() + rng.laplace(scale=5.0)
        history.append(value)
        if value < 10:
            break
    return history


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def adaptive_clipping(x, rng):
    """Five rounds: a count at a bound that follows what was released, 1/5 each."""
    bound = 0.5
    for _ in range(5):
        below = (x <= bound).sum() + rng.laplace(scale=5.0)
        if below / 100 < 0.9:
            bound *= 1.2
        else:
            bound *= 0.9
    return bound


@REFUSED(VOTES, replace_one=2.0)
def noisy_top_two(votes, rng):
    counts = votes.sum(axis=0)
    chosen = []
    remaining = [0, 1, 2]
    for _ in range(2):
        noisy = [counts[j] + rng.laplace(scale=1.0) for j in remaining]
        best = remaining[int(np.argmax(noisy))]
        chosen.append(best)
        remaining.remove(best)
    return chosen


@CASES(UNIT, replace_one=1.0, add_remove=0.75)
def sparse_vector_first(x, rng):
    epsilon = 1.0
    threshold = 60 + rng.laplace(scale=2 / epsilon)
    for i, cut in enumerate([0.1, 0.3, 0.5, 0.7, 0.9]):
        query = (x > cut).sum()
        if query + rng.laplace(scale=4 / epsilon) >= threshold:
            return i
    return None


@CASES(UNIT, replace_one=2.0, add_remove=1.5)
def dp_range(x, rng):
    """Two bins' worth of searches."""
    grid = np.linspace(0, 1, 11)
    counts = np.array([(x <= g).sum() for g in grid[1:]])
    lo = np.argmax(counts + rng.gumbel(scale=2.0, size=10))
    hi = np.argmax(-counts + rng.gumbel(scale=2.0, size=10))
    return grid[lo], grid[hi]


@CASES(UNIT, replace_one=1.0)
def local_laplace(x, rng):
    """Every record noised by itself: a record moves one number by 1."""
    noisy = x + rng.laplace(scale=1.0, size=len(x))
    return noisy.mean()


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def marginals_with_counter(df, rng):
    counts = Counter()
    for city in df["city"]:
        counts[city] += 1
    return {c: counts[c] + rng.laplace(scale=2.0) for c in CITIES}


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def marginals_with_defaultdict(df, rng):
    counts = defaultdict(int)
    for city in df["city"]:
        counts[city] += 1
    return [counts[c] + rng.laplace(scale=2.0) for c in CITIES]


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def marginals_with_plain_dict(df, rng):
    counts = {c: 0 for c in CITIES}
    for city in df["city"]:
        counts[city] += 1
    return {c: n + rng.laplace(scale=2.0) for c, n in counts.items()}


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def crosstab_by_hand(df, rng):
    table = {}
    for city in CITIES:
        for old in (True, False):
            mask = (df["city"] == city) & ((df["age"] >= 50) == old)
            table[(city, old)] = mask.sum() + rng.laplace(scale=2.0)
    return table


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def as_a_frame(df, rng):
    rows = []
    for city in CITIES:
        rows.append({"city": city, "n": (df["city"] == city).sum() + rng.laplace(scale=2.0)})
    return pd.DataFrame(rows)


@CASES(PLANE, replace_one=1.0, add_remove=0.5, mu=True)
def noisy_mean_of_clipped(points, rng):
    """Rows of norm at most 1, sigma 2."""
    norms = np.linalg.norm(points, ord=2, axis=1, keepdims=True)
    scale = np.minimum(1.0, 1.0 / (norms + 1e-12))
    clipped = points * scale
    return (clipped.sum(axis=0) + rng.normal(loc=0.0, scale=2.0, size=clipped.shape[1])) / 100


@CASES(PLANE, replace_one=1.0, mu=True)
def dp_covariance(points, rng):
    """Products of rows of norm 1: Frobenius at most 2 under replacement, sigma 2."""
    norms = np.maximum(np.linalg.norm(points, axis=1), 1.0)
    rows = points / norms[:, None]
    cov = rows.T @ rows
    noise = rng.normal(scale=2.0, size=(2, 2))
    return cov + noise


@CASES(UNIT, replace_one=0.5, add_remove=0.5)
def typed_and_documented(data: np.ndarray, rng: np.random.Generator) -> float:
    """Sum with the Laplace mechanism.

    :param data: values in [0, 1]
    :return: the noisy sum
    """
    assert data.ndim == 1
    epsilon: float = 0.5
    true_sum: float = float(np.sum(data))
    return true_sum + float(rng.laplace(loc=0.0, scale=1.0 / epsilon))


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def checked_and_clamped(x, rng, epsilon=1.0, lower=0.0, upper=1.0):
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    if lower >= upper:
        raise ValueError("bad bounds")
    sensitivity = max(abs(lower), abs(upper))
    noisy = np.clip(x, lower, upper).sum() + rng.laplace(0, sensitivity / epsilon)
    if noisy < 0:
        noisy = 0.0
    return noisy


@CASES(UNIT, replace_one=0.875, add_remove=0.625)
def several_queries_in_a_list(x, rng):
    queries = [
        lambda d: (d > 0.5).sum(),
        lambda d: d.sum(),
        lambda d: np.clip(d, 0, 0.5).sum(),
        lambda d: (d < 0.1).sum(),
    ]
    epsilon = 1.0 / len(queries)
    return [q(x) + rng.laplace(scale=1 / epsilon) for q in queries]


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def split_budget(x, rng, epsilon=1.0):
    budget = {"count": 0.3 * epsilon, "sum": 0.7 * epsilon}
    results = {}
    for name, eps in budget.items():
        if name == "count":
            value = (x > 0.5).sum()
        else:
            value = x.sum()
        results[name] = value + rng.laplace(scale=1 / eps)
    return results


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def prefix_sums(x, rng):
    """Ten running counts; one record moves all of them by 1."""
    cuts = np.arange(1, 11) / 10
    counts = np.array([np.count_nonzero(x <= c) for c in cuts])
    noisy = counts + rng.laplace(scale=10.0, size=10)
    return np.maximum.accumulate(noisy)


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def range_tree(x, rng):
    """Two levels of a histogram, scale 4: a record moves two counts of each level."""
    answers = []
    for level in (1, 2):
        hist, _ = np.histogram(x, bins=2**level, range=(0, 1))
        answers.append(hist + rng.laplace(scale=4.0, size=2**level))
    return answers


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def noisy_threshold_decision(ages, rng):
    noisy = (ages > 60).sum() + rng.laplace(scale=1.0)
    if noisy > 50:
        decision = "publish"
    elif noisy > 20:
        decision = "review"
    else:
        decision = "suppress"
    return decision


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def suppressed_small_counts(df, rng):
    out = {}
    for city in CITIES:
        noisy = (df["city"] == city).sum() + rng.laplace(scale=2.0)
        if noisy >= 10:
            out[city] = noisy
    return out


@CASES(BIT, replace_one=2 * math.log(3))
def rappor_like(answers, rng):
    """One-hot of two, each bit flipped with probability 1/4: two bits change."""
    k = 2
    onehot = np.eye(k)[answers.astype(int)]
    flip = rng.random(onehot.shape) < 0.25
    reports = np.abs(onehot - flip)
    return reports.sum(axis=0)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def rounded_noise_is_fine(x, rng):
    total = x.sum()
    noisy = total + rng.laplace(0, 1)
    return int(np.rint(noisy)) if noisy > 0 else 0


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def legacy_state(x):
    noise = np.random.laplace(size=None, loc=0.0, scale=1.0)
    return np.sum(x) + noise


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def own_generator(x):
    generator = np.random.default_rng()
    return float(x.sum()) + generator.laplace(scale=1.0)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def own_random_state(x):
    state = np.random.RandomState()
    return float(x.sum()) + state.laplace(0, 1.0)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def secure_random(x):
    source = random.SystemRandom()
    return x.sum() + (source.expovariate(1) - source.expovariate(1))


@CASES(AGES, replace_one=CLASSIC, add_remove=CLASSIC, mu=True)
def classic_gaussian(ages, rng):
    """Its exact curve, below the claimed (1/2, 1e-5)."""
    return gaussian_mechanism(np.clip(ages, 0, 100).sum(), 100, 0.5, 1e-5)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def counter_of_a_column(df, rng):
    counts = Counter(df["city"])
    return [counts[c] + rng.laplace(scale=2.0) for c in CITIES]


@CASES(BIT, replace_one=math.log(3))
def random_module_survey(answers):
    out = []
    for a in answers:
        if random.random() < 0.75:
            out.append(int(a))
        else:
            out.append(1 - int(a))
    return sum(out) / len(out)
