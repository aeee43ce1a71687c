"""Hashes, sets, dictionaries and counters of private values."""

from __future__ import annotations

import functools
import operator
from collections import Counter, OrderedDict, defaultdict

import numpy as np

from .base import Group

GROUP = Group("hashing")


@GROUP.wrong(50.0)
def by_hash(x, rng):
    return 50.0 * (hash(x.sum()) == hash(0.0)) + rng.laplace()


@GROUP.wrong(50.0)
def by_hash_of_a_tuple(x, rng):
    return 50.0 * (hash((x.max(),)) == hash((0.0,))) + rng.laplace()


@GROUP.wrong(50.0)
def by_len_of_a_set(x, rng):
    return 50.0 * len(set(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_set_display(x, rng):
    return 50.0 * len({*x}) + rng.laplace()


@GROUP.wrong(50.0)
def by_set_comprehension(x, rng):
    return 50.0 * len({v for v in x}) + rng.laplace()  # noqa: C416


@GROUP.wrong(50.0)
def by_frozenset(x, rng):
    return 50.0 * len(frozenset(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_counter(x, rng):
    return 50.0 * len(Counter(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_most_common(x, rng):
    return Counter(x).most_common(1)[0][1] * 50.0 + rng.laplace()


@GROUP.wrong(50.0)
def by_lookup_in_a_counter(x, rng):
    return 50.0 * Counter(x)[1.0] + rng.laplace()


@GROUP.wrong(50.0)
def by_counter_of_a_list(x, rng):
    return 50.0 * Counter(x.tolist())[1.0] + rng.laplace()


@GROUP.wrong(50.0)
def by_dict_fromkeys(x, rng):
    return 50.0 * len(dict.fromkeys(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_dict_comprehension(x, rng):
    return 50.0 * len(dict.fromkeys(x, 1)) + rng.laplace()


@GROUP.wrong(50.0)
def by_dict_of_a_zip(x, rng):
    return 50.0 * len(dict(zip(x, x, strict=True))) + rng.laplace()


@GROUP.wrong(50.0)
def by_ordered_dict(x, rng):
    return 50.0 * len(OrderedDict.fromkeys(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_default_dict(x, rng):
    seen = defaultdict(int)
    for v in x:
        seen[v] += 1
    return 50.0 * len(seen) + rng.laplace()


@GROUP.wrong(50.0)
def by_membership_of_a_set(x, rng):
    return 50.0 * (x.max() in {0.0}) + rng.laplace()


@GROUP.wrong(50.0)
def by_lookup_in_a_dict(x, rng):
    return {0.0: 50.0}.get(x.max(), 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def by_setdefault(x, rng):
    seen = {0.0: 50.0}
    return seen.setdefault(x.max(), 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def by_set_difference(x, rng):
    return 50.0 * len(set(x) - {0.0}) + rng.laplace()


@GROUP.wrong(50.0)
def by_equality_of_sets(x, rng):
    return 50.0 * (set(x) == {0.0}) + rng.laplace()


@GROUP.wrong(50.0)
def by_disjoint_sets(x, rng):
    return 50.0 * {1.0}.isdisjoint(x) + rng.laplace()


@functools.cache
def _seen(value):
    return value


@GROUP.wrong(50.0)
def by_cache_statistics(x, rng):
    _seen.cache_clear()
    for v in x:
        _seen(v)
    return 50.0 * _seen.cache_info().misses + rng.laplace()


@GROUP.wrong(50.0)
def by_count_of(x, rng):
    return 50.0 * operator.countOf(x, 1.0) + rng.laplace()


@GROUP.wrong(50.0)
def by_identity_of_small_numbers(x, rng):
    return 50.0 * (bool(x.max()) is True) + rng.laplace()


@GROUP.wrong(50.0)
def by_unique_of_numpy(x, rng):
    return 50.0 * len(np.unique(x)) + rng.laplace()


@GROUP.right(1.0)
def public_keys(x, rng):
    """A dictionary with public keys is no more than names for values."""
    sums = {"all": x.sum(), "rows": len(x)}
    return sums["all"] / 1.0 + sums["rows"] + rng.laplace()
