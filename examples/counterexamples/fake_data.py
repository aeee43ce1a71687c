"""multi-freq-ldpy 0.2.5: RSpFD_GRR_Client is amplified for one attribute, not for a whole tuple.

Needs multi-freq-ldpy; exits 1 if a whole tuple is told apart better than the claim allows.
"""

import math
import sys

from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

SIZES, EPSILON, CALLS = [2, 2, 2], 1.0, 200_000
true = math.log(len(SIZES) * (math.exp(EPSILON) - 1) + 1)
hits = {
    value: sum(RSpFD_GRR_Client([value] * 3, SIZES, 3, EPSILON) == [1, 1, 1] for _ in range(CALLS))
    for value in (0, 1)
}
ratio = math.log(hits[1] / hits[0])
# A ratio of two binomial counts: its logarithm has this standard error, nearly normal.
error = math.sqrt(1 / hits[0] + 1 / hits[1])
print(f"claimed {EPSILON}; closed form ln(d(e^eps - 1) + 1) = {true:.4f}")
print(f"report (1, 1, 1): {hits[1]} and {hits[0]} of {CALLS}, log ratio {ratio:.3f} +- {error:.3f}")
sys.exit(int(ratio - 4 * error > EPSILON))
