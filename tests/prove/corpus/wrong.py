"""Functions with a mistake: a proof must be refused, or charge what they really cost."""

from __future__ import annotations

import math

import numpy as np

from .base import COLUMN, TABLE, WHOLE, Corpus
from .sums import bounded

WRONG = Corpus()
INF = math.inf
KEPT = []
OWN = np.random.default_rng(3)
SMALL = np.zeros(100, dtype=np.int8)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def sum_without_clip(x, rng):
    """A row may be anything."""
    return np.nan_to_num(x).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def nan_passes_through_clip(x, rng):
    """np.clip keeps NaN: one NaN row makes the answer NaN, surely."""
    return np.clip(x, 0.0, 1.0).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def bins_from_the_data(x, rng):
    """The edges are the smallest and the largest value."""
    counts, edges = np.histogram(np.nan_to_num(x), bins=10)
    return counts + rng.laplace(size=10), edges


@WRONG(COLUMN, replace_one=6.0, add_remove=6.0)
def bins_from_the_data_only_counts(x, rng):
    """One row far away pushes all others into one bin: far more than 2 rows move; 3 at least."""
    return np.histogram(bounded(x), bins=4)[0] + rng.laplace(size=4)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def scale_from_the_data(x, rng):
    """Another scale has other tails."""
    x = bounded(x)
    return x.sum() + rng.laplace(scale=0.1 + x.max())


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def scale_from_the_spread(x, rng):
    x = bounded(x)
    return x.mean() + rng.normal(scale=0.1 + x.std())


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def one_draw_for_three_numbers(x, rng):
    """Differences of the answers have no noise."""
    return bounded(x).sum(axis=0) + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def one_draw_for_ten_numbers(x, rng):
    counts, _ = np.histogram(bounded(x), bins=10, range=(0.0, 1.0))
    return counts + rng.laplace(scale=2.0)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def branch_on_a_private_value(x, rng):
    """Whether there is an answer at all tells."""
    if bounded(x).sum() > 50:
        return None
    return bounded(x).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def branch_in_an_expression(x, rng):
    total = bounded(x).sum()
    return (total if total > 10 else 0.0) + rng.laplace(scale=1.0 if total > 10 else 2.0)


@WRONG(COLUMN, add_remove=INF)
def length_under_add_remove(x, rng):
    """The number of rows is what add-remove hides."""
    return bounded(x).sum() + rng.laplace(), len(x)


@WRONG(COLUMN, add_remove=INF)
def length_as_the_number_of_draws(x, rng):
    """The shape of the answer tells the number of rows."""
    return rng.laplace(size=x.shape[0])


@WRONG(COLUMN, add_remove=INF)
def length_as_the_scale(x, rng):
    """The scale depends on the number of rows, which is private."""
    return bounded(x).mean() + rng.laplace(scale=1.0 / len(x))


@WRONG(SMALL, replace_one=100.0, add_remove=100.0)
def sum_of_int8(x, rng):
    """Sums in eight bits wrap around: 127 + 1 is -128."""
    return np.clip(x, 0, 2).sum(dtype=np.int8) + rng.laplace()


@WRONG(COLUMN, replace_one=100.0, add_remove=100.0)
def sum_in_eight_bits_after_a_cast(x, rng):
    """The same after astype."""
    return bounded(x, 0.0, 2.0).astype(np.int8).sum(dtype=np.int8) + rng.laplace()


@WRONG(WHOLE, replace_one=15.9, add_remove=8.0)
def product_that_overflows(x, rng):
    """2**61 * 4 is -2**63 in 64 bits, and a little less is 2**63: from 8 to -8 after the division."""
    return (np.clip(x, 0, 2**62) * 4).astype(float).sum() / 2**60 + rng.laplace()


@WRONG(TABLE, replace_one=1.0, add_remove=1.0)
def mean_over_a_private_filter(x, rng):
    """One row alone in the filter is its own mean: it moves by 1, not by 1/100; scale 1."""
    x = bounded(x)
    return x[x[:, 0] > 0.5, 1].mean() + rng.laplace(scale=1.0)


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def mean_over_an_empty_filter(x, rng):
    """The mean of no rows is NaN, and the answer tells that there are none."""
    x = bounded(x)
    return x[x[:, 0] > 0.5, 1].mean() + rng.laplace(scale=1000.0)


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def noise_used_twice(x, rng):
    """The difference of two answers has no noise."""
    x = bounded(x)
    noise = rng.laplace()
    return x[:, 0].sum() + noise, x[:, 1].sum() + noise


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def noise_released_beside_the_answer(x, rng):
    noise = rng.laplace()
    return bounded(x)[:, 0].sum() + noise, noise


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_taken_back(x, rng):
    noise = rng.laplace()
    return (bounded(x).sum() + noise) - noise


@WRONG(TABLE, replace_one=2.0, add_remove=2.0)
def amplification_without_sampling(x, rng):
    """The first ten rows are always in: 2 C / sigma and C / sigma are not lowered; scale 1, 2 columns."""
    return bounded(x)[:10, :2].sum(axis=0) + rng.laplace(size=2)


@WRONG(TABLE, replace_one=1.0, add_remove=1.0)
def amplification_with_a_fixed_mask(x, rng):
    """A mask from a seed in the code is no secret."""
    chosen = np.random.default_rng(0).random(100) < 0.1
    return bounded(x)[chosen, 0].sum() + rng.laplace()


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def sampled_rows_are_told(x, rng):
    """Which rows were in is released beside the answer: no amplification, and rows are revealed."""
    x = bounded(x)
    chosen = rng.random(x.shape[0]) < 0.1
    return x[chosen, 0], chosen


@WRONG(COLUMN, replace_one=1.0)
def mask_told_beside_the_answer(x, rng):
    """With the mask known the sum over it is a plain one: 1, scale 1."""
    chosen = rng.random(len(x)) < 0.1
    return np.where(chosen, bounded(x), 0.0).sum() + rng.laplace(), chosen


@WRONG(COLUMN, replace_one=2.0)
def one_mask_for_two_steps(x, rng):
    """Amplified once, not twice: the same rows are in both; 1 each if they are in at all."""
    chosen = rng.random(len(x)) < 0.5
    total = np.where(chosen, bounded(x), 0.0)
    first = total.sum() + rng.laplace()
    return first, total.sum() + rng.laplace(), chosen


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def no_noise(x, rng):
    return bounded(x).sum()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_of_scale_zero(x, rng):
    return bounded(x).sum() + rng.laplace(scale=0.0)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_times_zero(x, rng):
    return bounded(x).sum() + 0.0 * rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def seed_in_the_code(x, rng):
    """A generator with a fixed seed draws what everybody can draw again."""
    return bounded(x).sum() + np.random.default_rng(7).laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def global_generator_seeded(x, rng):
    np.random.seed(0)
    return bounded(x).sum() + np.random.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def generator_in_a_default(x, rng, own=OWN):
    """Made once with a known seed when the module is read."""
    return bounded(x).sum() + own.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def plain_number_first(x, rng):
    """float() leaves what can be followed."""
    return float(bounded(x).sum()) + rng.laplace(scale=float(bounded(x).max()) + 1)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def kept_in_a_global(x, rng):
    """The second answer has the first one's data without noise."""
    KEPT.append(bounded(x).sum())
    return bounded(x).sum() + rng.laplace(), KEPT[-1]
