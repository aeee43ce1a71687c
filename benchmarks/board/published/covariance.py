"""smartnoise-synth 1.0.5, DPcovariance: clipped data are made, and not used."""

import importlib.util
from importlib.metadata import distribution

import pandas as pd

import dpcheck

# Not by its package, which asks scikit-learn for a module that it no longer has.
PATH = distribution("smartnoise-synth").locate_file("snsynth/models/dp_covariance.py")
SPEC = importlib.util.spec_from_file_location("dp_covariance", PATH)
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
ROWS = [[0.0, 0.0], [1.0, 1.0]]


@dpcheck.audited(
    claim=1.0,
    adjacency="replace-one",
    neighbours=[([*ROWS, [0.0, 1.0]], [*ROWS, [9.0, 1.0]])],
)
def target(rows, rng):  # noqa: ARG001
    made = MODULE.DPcovariance(3, [0, 1], pd.DataFrame([[0.0, 0.0], [1.0, 1.0]]), 1.0)
    return [float(value) for value in made.release(pd.DataFrame(rows))]
