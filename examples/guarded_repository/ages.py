"""A private release: the mean age of people whose number is public."""

import numpy as np

import dpcheck

EPSILON = 1.0
OLDEST = 100.0

# Two datasets that differ in one person, as far apart as the clipping allows.
NEIGHBOURS = [([0.0, 40.0, 60.0], [100.0, 40.0, 60.0])]


@dpcheck.audited(claim=dpcheck.PureDP(EPSILON), adjacency="replace-one", neighbours=NEIGHBOURS)
@dpcheck.batched
def mean_age(ages, size, rng):
    """`size` independent releases; each is EPSILON-private when one person is replaced."""
    clipped = np.clip(ages, 0.0, OLDEST)
    sensitivity = OLDEST / len(clipped)
    scale = sensitivity / EPSILON
    return clipped.mean() + rng.laplace(scale=scale, size=size)
