"""The same promise as a unit test."""

import dpcheck
from ages import EPSILON, NEIGHBOURS, mean_age


def test_mean_age_is_as_private_as_it_says():
    dpcheck.assert_private(
        mean_age,
        epsilon=EPSILON,
        neighbours=NEIGHBOURS,
        adjacency="replace-one",
        max_runs=200_000,
        seed=0,
    )
