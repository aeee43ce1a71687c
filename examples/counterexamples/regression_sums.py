"""diffprivlib 0.6.6: LinearRegression adds no noise to the sum of x^2 if the lower bound is 0.

Needs diffprivlib; exits 1 if the noisy sum equals the exact one in every call.
"""

import sys
import warnings

import numpy as np
from diffprivlib.models.linear_regression import _construct_regression_obj

warnings.simplefilter("ignore")
seen = {}
for last in (1.0, 0.1):
    rows, labels = np.array([[0.0]] * 4 + [[last]]), np.zeros((5, 1))
    bounds = (np.array([0.0]), np.array([1.0]))
    seen[last] = set()
    for seed in range(50):
        objective, _ = _construct_regression_obj(
            rows, labels, bounds, bounds, 1.0, alpha=0, random_state=np.random.RandomState(seed)
        )
        # second difference of the quadratic objective: twice the coefficient of x^2
        values = [objective[0](np.array([point]))[0] for point in (0.0, 1.0, 2.0)]
        seen[last].add(round(float(values[2] - 2 * values[1] + values[0]) / 2, 9))
print("claimed epsilon 1; sums of x^2 that were used in 50 fits:")
for last, sums in seen.items():
    print(f"  last record {last}: {sorted(sums)}")
sys.exit(int(all(len(sums) == 1 for sums in seen.values()) and seen[1.0] != seen[0.1]))
