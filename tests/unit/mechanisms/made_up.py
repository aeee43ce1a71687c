"""Data for tests of the stacking and transfer algorithms."""

import numpy as np

from dpcheck.mechanisms import Labelled, Transfer


def blank(rows: int, features: int) -> Labelled:
    return Labelled(np.zeros((rows, features)), np.ones(rows))


def blank_transfer(source: int, target: int, features: int) -> Transfer:
    return Transfer(
        np.zeros((source, features)), np.ones(source), np.zeros((target, features)), np.ones(target)
    )


def random_labelled(rng: np.random.Generator, rows: int, features: int) -> Labelled:
    return Labelled(rng.standard_normal((rows, features)), rng.choice([-1.0, 1.0], rows))


def random_transfer(rng: np.random.Generator, source: int, target: int, features: int) -> Transfer:
    s, t = random_labelled(rng, source, features), random_labelled(rng, target, features)
    return Transfer(s.X, s.y, t.X, t.y)
