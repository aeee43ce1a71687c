"""diffprivlib's tools and models as audit targets.

dpcheck audit examples/libraries/diffprivlib_targets.py:linear_regression --max-runs 4000
"""

import numpy as np
from diffprivlib import models, tools

from dpcheck.integrations.diffprivlib import audited_model, audited_tool

zeros, one = np.zeros(10), np.r_[1.0, np.zeros(9)]
CHANGED = [(zeros, one)]

mean = audited_tool(
    tools.mean, epsilon=1.0, bounds=(0, 1), neighbours=CHANGED, adjacency="replace-one"
)
count_nonzero = audited_tool(
    tools.count_nonzero, epsilon=1.0, neighbours=CHANGED, adjacency="replace-one"
)
# No bounds: the library warns and takes them from the data.
mean_without_bounds = audited_tool(
    tools.mean,
    epsilon=1.0,
    neighbours=[(np.linspace(0, 1, 10), np.r_[np.linspace(0, 1, 10)[:-1], 5.0])],
    adjacency="replace-one",
)
# A record that moves to another bin changes two counts.
histogram = audited_tool(
    tools.histogram, epsilon=1.0, bins=2, range=(0, 1), neighbours=[(zeros, zeros[:-1])],
    adjacency="add-remove",
)  # fmt: skip
histogram_replaced = audited_tool(
    tools.histogram, epsilon=1.0, bins=2, range=(0, 1), neighbours=CHANGED,
    adjacency="replace-one",
)  # fmt: skip

# The sensitivity of the sum of x^2 is taken from the lower bound alone: with bounds (0, 1) it is 0 and
# that sum gets no noise. (models/linear_regression.py: np.abs([bounds_X[0][i], bounds_X[0][i]]).)
_rest, _labels = np.zeros((4, 1)), np.zeros(5)
linear_regression = audited_model(
    models.LinearRegression, epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False,
    release=("coef_",), adjacency="replace-one",
    neighbours=[((np.vstack([_rest, [[1.0]]]), _labels), (np.vstack([_rest, [[0.1]]]), _labels))],
)  # fmt: skip

# The sum of a class has sensitivity upper - lower only while nobody changes class: with bounds
# (9, 10), a record that does moves it by up to 10, and the noise is made for 1.
_rows = np.full((40, 1), 10.0)
_half, _other = np.r_[np.zeros(20), np.ones(20)], np.r_[1.0, np.zeros(19), np.ones(20)]
gaussian_nb = audited_model(
    models.GaussianNB, epsilon=1.0, bounds=(9, 10), release=("theta_", "class_count_"),
    adjacency="replace-one", neighbours=[((_rows, _half), (_rows, _other))],
)  # fmt: skip

TARGETS = {
    "mean": (mean, "tools.mean"),
    "count_nonzero": (count_nonzero, "tools.count_nonzero"),
    "histogram": (histogram, "tools.histogram"),
    "histogram_replaced": (histogram_replaced, "tools.histogram"),
    "mean_without_bounds": (mean_without_bounds, "tools.mean, no bounds"),
    "linear_regression": (linear_regression, "models.LinearRegression, bounds_X (0, 1)"),
    "gaussian_nb": (gaussian_nb, "models.GaussianNB, bounds (9, 10)"),
}
PACKAGES = ("diffprivlib", "scikit-learn")
OPTIONS = {"max_runs": 8000, "tolerance": 0.5}
