"""OpenDP measurements as audit targets; their claims are their own privacy maps.

dpcheck audit examples/libraries/opendp_targets.py:laplace_sum --max-runs 4000
"""

import opendp.prelude as dp

from dpcheck.integrations.opendp import audited_measurement

dp.enable_features("contrib")
space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0))), dp.symmetric_distance()
sized = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=3), dp.symmetric_distance()
REMOVED = [([0.5, 1.0], [0.5])]

laplace_sum = audited_measurement(
    space >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0),
    d_in=1, adjacency="add-remove", neighbours=REMOVED, name="laplace_sum",
)  # fmt: skip
gaussian_sum = audited_measurement(
    space >> dp.t.then_sum() >> dp.m.then_gaussian(scale=2.0),
    d_in=1, adjacency="add-remove", neighbours=REMOVED, name="gaussian_sum",
)  # fmt: skip
laplace_mean = audited_measurement(
    sized >> dp.t.then_mean() >> dp.m.then_laplace(scale=0.5),
    d_in=2, adjacency="replace-one", neighbours=[([0.5, 0.5, 0.0], [0.5, 0.5, 1.0])],
    name="laplace_mean",
)  # fmt: skip
randomized_response = audited_measurement(
    dp.m.make_randomized_response_bool(prob=0.75),
    d_in=1, adjacency="replace-one", neighbours=[(True, False)], name="randomized_response",
)  # fmt: skip
# A mistake of the caller, not of OpenDP: a person with two rows is at distance 2, not 1.
two_rows_each = audited_measurement(
    space >> dp.t.then_sum() >> dp.m.then_laplace(scale=1.0),
    d_in=1, adjacency="add-remove", neighbours=[([0.5, 1.0, 1.0], [0.5])], name="two_rows_each",
    rows_per_person=2,
)  # fmt: skip

TARGETS = {
    "laplace_sum": (laplace_sum, "bounded sum, then_laplace"),
    "gaussian_sum": (gaussian_sum, "bounded sum, then_gaussian (zCDP)"),
    "laplace_mean": (laplace_mean, "sized mean, then_laplace"),
    "randomized_response": (randomized_response, "make_randomized_response_bool"),
    "two_rows_each": (two_rows_each, "the same, map asked at d_in 1 for a person with two rows"),
}
PACKAGES = ("opendp",)
OPTIONS = {"max_runs": 8000, "tolerance": 0.5}
