"""Nastier mistakes: memory that is shared, errors, closures, rows that are mixed, spent coins."""

from __future__ import annotations

import math
import warnings

import numpy as np

from .base import BITS, COLUMN, TABLE
from .sums import bounded
from .wrong import INF, WRONG


@WRONG(COLUMN, replace_one=1e6, add_remove=1e6)
def clip_undone_through_a_view(x, rng):
    """y shares memory with the clipped values: 1000 over a scale of 1/1000."""
    x = bounded(x)
    y = x[:]
    y *= 1000.0
    return x.sum() + rng.laplace(scale=1e-3)


@WRONG(COLUMN, replace_one=1e4, add_remove=1e4)
def view_of_a_reversed_array(x, rng):
    """A view with a negative stride, written to."""
    x = bounded(x)
    y = x[::-1]
    y *= 1e4
    return x.sum() + rng.laplace()


@WRONG(TABLE, replace_one=3e4, add_remove=3e4)
def transposed_view(x, rng):
    x = bounded(x)
    x.T[...] *= 1e4
    return x.sum(axis=0) + rng.laplace(size=3)


@WRONG(COLUMN, replace_one=1e4, add_remove=1e4)
def out_argument(x, rng):
    """np.multiply writes into the clipped array."""
    x = bounded(x)
    np.multiply(x, 1e4, out=x)
    return x.sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def clip_into_another_array(x, rng):
    """The result of clip goes elsewhere; the sum is of the values before."""
    other = np.zeros_like(x)
    np.clip(np.nan_to_num(x), 0.0, 1.0, out=other)
    return np.nan_to_num(x).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=100.0, add_remove=100.0)
def error_of_a_private_value(x, rng):
    """An error is an answer; here it says that some value is above 1/2."""
    x = bounded(x)
    try:
        if (x > 0.5).any():
            raise ValueError
    except ValueError:
        return rng.laplace()
    return 100.0 + rng.laplace()


@WRONG(COLUMN, replace_one=1e6, add_remove=1e6)
def errors_for_warnings(x, rng):
    """With errstate a division by a private 0 raises."""
    x = bounded(x)
    try:
        with np.errstate(divide="raise"):
            1.0 / x
    except FloatingPointError:
        return 1e6 + rng.laplace()
    return rng.laplace()


@WRONG(COLUMN, replace_one=1e18, add_remove=1e18)
def closure_that_changes(x, rng):
    """The closure writes to the array that is added up later."""
    x = bounded(x)

    def louder():
        x[:] = x * 1e12

    louder()
    return x.sum() + rng.laplace(scale=1e-6)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def where_argument_reveals(x, rng):
    """Sum over a private mask of values that were not clipped."""
    x = np.nan_to_num(x)
    return np.sum(x, where=x > 0) + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def unique_values_give_the_shape(x, rng):
    """How many different values there are is the shape of the answer."""
    values = np.unique(bounded(x))
    return rng.laplace(size=values.shape[0])


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def loop_as_often_as_the_data_says(x, rng):
    out = []
    for _ in range(int((bounded(x) > 0.5).sum())):
        out.append(rng.laplace())
    return out


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def loop_over_chosen_rows(x, rng):
    x = bounded(x)
    return [v + rng.laplace() for v in x[x > 0.5]]


@WRONG(COLUMN, replace_one=100.0)
def every_row_with_its_own_noise(x, rng):
    """Local noise: a row is a release by itself; 100 wide, scale 1."""
    return bounded(x, 0.0, 100.0) + rng.laplace(size=100)


@WRONG(COLUMN, replace_one=5.0, add_remove=2.0)
def sorted_then_weighted(x, rng):
    """After sorting, rows are not records: one value replaced shifts all that are between; 5 at least."""
    x = np.sort(bounded(x))
    return (x * (np.arange(100) % 2)).sum() + rng.laplace(scale=0.1)


@WRONG(COLUMN, replace_one=1.98, add_remove=1.98)
def centred_by_the_data(x, rng):
    """x - x.mean() of clipped values: its absolute sum moves by more than a row does, 1.98 here."""
    x = bounded(x)
    return np.abs(x - x.mean()).sum() + rng.laplace(scale=0.5)


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def normalised_by_the_largest(x, rng):
    """Divided by a private maximum, which may be 0: NaN."""
    x = np.abs(np.nan_to_num(x[:, 0]))
    return (x / x.max()).sum() + rng.laplace(scale=1e6)


@WRONG(TABLE, replace_one=5.0, add_remove=5.0)
def clipped_as_one_batch(x, rng):
    """Clipping the norm of all rows together bounds no row's share: all others grow when one leaves."""
    x = bounded(x, -100.0, 100.0)
    x = 10.0 * x / np.maximum(10.0, np.linalg.norm(x))
    return x.sum(axis=0) + rng.laplace(scale=0.01, size=3)


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def norm_clip_divides_by_zero(x, rng):
    """A row of zeros has norm 0: 0 / 0 is NaN."""
    x = bounded(x, -100.0, 100.0)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).sum(axis=0) + rng.normal(size=3)


@WRONG(TABLE, replace_one=20.0, add_remove=10.0)
def norm_clip_the_wrong_way(x, rng):
    """np.minimum instead of np.maximum: long rows stay as long, short ones become longer."""
    x = bounded(x, -10.0, 10.0)
    norms = np.linalg.norm(x, axis=1, keepdims=True) + 1e-3
    return (x / np.minimum(1.0, norms)).sum(axis=0) + rng.laplace(size=3)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def quotient_of_private_sums(x, rng):
    """0 / 0 where nobody is above 1/2."""
    x = bounded(x)
    return x.sum() / (x > 0.5).sum() + rng.laplace(scale=1e6)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def logarithm_of_a_private_sum(x, rng):
    """log 0 is -inf, which no noise hides."""
    return np.log(bounded(x).sum()) + rng.laplace(scale=1e6)


@WRONG(BITS, replace_one=INF)
def response_with_one_coin_for_all(x, rng):
    """One coin for everybody: the pattern of answers is the data or its opposite."""
    return np.where(rng.random() < 0.75, x, ~x)


@WRONG(BITS, replace_one=2 * math.log(3))
def response_given_twice(x, rng):
    """Two answers to one question."""
    one = np.where(rng.random(len(x)) < 0.75, x, ~x)
    return one, np.where(rng.random(len(x)) < 0.75, x, ~x)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def released_with_the_winning_score(x, rng):
    """The index by noisy scores, the score without noise."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.5, 1.0])
    best = np.argmax(counts + rng.gumbel(size=2))
    return best, counts[best]


@WRONG(COLUMN, replace_one=2.0, add_remove=1.0)
def all_noisy_scores_beside_the_winner(x, rng):
    """The scores themselves are released: a histogram, charged as one."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.5, 1.0])
    noisy = counts + rng.laplace(size=2)
    return np.argmax(noisy), noisy


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def type_of_the_answer(x, rng):
    """Whether there is a NaN decides the type."""
    if np.isnan(x).any():
        x = x.astype(np.float32)
    return (bounded(x).sum() + rng.laplace()).astype(x.dtype)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def uniform_noise(x, rng):
    """Noise with bounded support."""
    return bounded(x).sum() + rng.uniform(-1.0, 1.0)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_cut_off(x, rng):
    """Clipped noise has bounded support."""
    return bounded(x).sum() + np.clip(rng.laplace(scale=0.5), -0.5, 0.5)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_that_is_rounded(x, rng):
    """Rounded noise on a sum that is no whole number."""
    return bounded(x).sum() + np.round(rng.laplace(scale=10.0))


@WRONG(COLUMN, replace_one=2.0, add_remove=2.0)
def averaged_noise(x, rng):
    """Four releases averaged are four releases: 4 / 2."""
    x = bounded(x)
    return np.mean([x.sum() + rng.laplace(scale=2.0) for _ in range(4)])


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def counted_in_text(x, rng):
    """A private number in a key of the answer."""
    return {f"above {bounded(x).sum()}": rng.laplace()}


@WRONG(COLUMN, replace_one=1.0, add_remove=1.0)
def result_in_a_buffer(x, rng):
    """out= writes into a plain array that is used afterwards."""
    buffer = np.zeros(100)
    np.clip(np.nan_to_num(x), 0.0, 1.0, out=buffer)
    return buffer.sum() + rng.laplace()


@WRONG(COLUMN, replace_one=1.0, add_remove=1.0)
def product_in_a_buffer(x, rng):
    buffer = np.zeros(100)
    np.multiply(bounded(x), 1.0, out=buffer)
    return buffer.sum() + rng.laplace()


@WRONG(COLUMN, replace_one=1.0)
def one_coin_for_all_rows(x, rng):
    """All rows are in or none: the sum of the others tells which, and nothing is amplified."""
    coins = rng.random(len(x)) < 0.1
    mask = coins[np.zeros(100, dtype=int)]
    return np.where(mask, bounded(x), 0.0).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=1.0)
def one_coin_repeated(x, rng):
    mask = np.repeat(rng.random(1) < 0.1, 100)
    return (bounded(x) * mask).sum() + rng.laplace()


@WRONG(BITS, replace_one=INF)
def response_with_a_repeated_coin(x, rng):
    """The same coin for everybody: the pattern is the data or its opposite."""
    coins = (rng.random(100) < 0.75)[np.zeros(100, dtype=int)]
    return np.where(coins, x, np.logical_not(x))


@WRONG(COLUMN, replace_one=1.0)
def number_of_sampled_rows_beside_the_sum(x, rng):
    """If all hundred coins fall on heads, which the number tells, nothing is amplified: 1 at delta 0."""
    mask = rng.random(len(x)) < 0.1
    chosen = bounded(x)[mask]
    return chosen.sum() + rng.laplace(), chosen.shape[0] + rng.laplace(scale=1e-3)


@WRONG(COLUMN, replace_one=1.0)
def mean_of_the_mask_beside_the_sum(x, rng):
    mask = rng.random(len(x)) < 0.1
    return (bounded(x) * mask).sum() + rng.laplace(), mask.mean()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def leaks_where_the_array_owns_its_memory(x, rng):
    """Attributes of memory are no public values of a symbol."""
    if x.base is None:
        return x.sum()
    return bounded(x).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def leaks_for_plain_arrays(x, rng):
    """A branch on the type goes another way for a symbol than for an array."""
    if isinstance(x, np.ndarray):
        return x.sum()
    return bounded(x).sum() + rng.laplace()


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def leaks_for_plain_numbers(x, rng):
    total = bounded(x).sum()
    if isinstance(total, float) or np.isscalar(total):
        return total
    return total + rng.laplace()


@WRONG(COLUMN, replace_one=1e6, add_remove=1e6)
def warnings_become_errors(x, rng):
    """A division by a private 0 raises, and the answer says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            np.nan_to_num(1.0 / bounded(x))
        except RuntimeWarning:
            return 1e6 + rng.laplace()
    return rng.laplace()


@WRONG(COLUMN, replace_one=10.0, add_remove=19.0)
def whole_parts_of_quotients(x, rng):
    """1.0 // 0.1 is 9 in floats and 1.95 // 0.1 is 19."""
    return (bounded(x, 1.0, 1.95) // 0.1).sum() + rng.laplace()


@WRONG(TABLE, replace_one=20.0, add_remove=10.0)
def factor_of_another_row(x, rng):
    """Rows scaled by the norms of others, in reverse order."""
    x = bounded(x, -10.0, 10.0)
    factor = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(x, axis=1), 1e-9))
    return (x * factor[::-1][:, None]).sum(axis=0) + rng.laplace(size=3)


@WRONG(TABLE, replace_one=20.0, add_remove=10.0)
def factor_of_the_rows_before(x, rng):
    """The norm is taken, then the rows grow."""
    x = bounded(x, -10.0, 10.0)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    x = x * 10.0
    return (x / np.maximum(1.0, norms)).sum(axis=0) + rng.laplace(size=3)


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_kept_in_a_list(x, rng):
    """The same draw through a container and arithmetic."""
    drawn = [rng.laplace() for _ in range(2)]
    noise = drawn[0] + drawn[1]
    return bounded(x).sum() + noise, noise - drawn[1], drawn[0]


@WRONG(COLUMN, replace_one=INF, add_remove=INF)
def noise_that_cancels(x, rng):
    noise = rng.normal(size=2)
    return bounded(x).sum() + (noise[0] - noise[0]), bounded(x).sum() + rng.laplace()
