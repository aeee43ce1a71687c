"""The same promise as a unit test."""

from ages import EPSILON, NEIGHBOURS, mean_age

import dpcheck


def test_mean_age_is_as_private_as_it_says():
    """Fails with the witness if the code leaks more than it claims."""
    dpcheck.assert_private(
        mean_age,
        epsilon=EPSILON,
        neighbours=NEIGHBOURS,
        adjacency="replace-one",
        max_runs=200_000,
        seed=0,
    )
