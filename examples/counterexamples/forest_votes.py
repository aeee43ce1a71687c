"""diffprivlib 0.6.6: a leaf of RandomForestClassifier under replace-one. Needs diffprivlib.

The leaf's class is chosen by permute-and-flip with monotonic=True, which holds when a record is added
or removed. A record that changes its label moves both counts. Exits 1 if epsilon 1 is exceeded.
"""

import math
import sys

from diffprivlib.mechanisms import PermuteAndFlip

EPSILON, CALLS = 1.0, 10_000
counts = {}
for votes in ((6, 4), (5, 5)):  # one of ten records changes its label
    made = [
        PermuteAndFlip(
            epsilon=EPSILON,
            sensitivity=1,
            monotonic=True,
            utility=list(votes),
            candidates=[0, 1],
            random_state=seed,
        ).randomise()
        for seed in range(CALLS)
    ]
    counts[votes] = sum(made)
ratio = math.log(counts[5, 5] / counts[6, 4])
error = math.sqrt(1 / counts[5, 5] + 1 / counts[6, 4])
print(f"class 1 chosen {counts[6, 4]} and {counts[5, 5]} times of {CALLS}")
print(f"log ratio {ratio:.3f} +- {error:.3f}")
print("exactly: ln(0.5 / (0.5 e^-2)) = 2, claimed 1; under add-remove the claim holds")
sys.exit(int(ratio - 4 * error > EPSILON))
