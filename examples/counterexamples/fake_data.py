"""multi-freq-ldpy 0.2.5: RSpFD_GRR_Client is amplified for one attribute, not for a whole tuple.

The last lines are exact sums over all reports, for tuples that differ in one attribute only.

Needs multi-freq-ldpy; exits 1 if a whole tuple is told apart better than the claim allows.
"""

import math
import sys
from itertools import product

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


def exact(reports, fakes):
    """The largest log ratio of a tuple of zeros and one whose first value is 1; P(y | v) by its sum."""

    def chance(y, v):
        return sum(
            reports[j](y[j], v[j]) * math.prod(fakes[i](y[i]) for i in range(3) if i != j)
            for j in range(3)
        )

    return max(math.log(chance(y, (0, 0, 0)) / chance(y, (1, 0, 0))) for y in product(*DOMAINS))


def response(size):
    """Randomized response with the library's amplified epsilon, and its fake."""
    low = 1 / (math.exp(true) + size - 1)
    return (lambda y, v: low * math.exp(true) if y == v else low), (lambda _: 1 / size)


def encoding(size, random):
    """Unary encoding (p = 1/2) and its fake: of a random value, or of no value."""
    q = 1 / (math.exp(true) + 1)

    def report(y, v):
        return math.prod(0.5 if i == v else (q if bit else 1 - q) for i, bit in enumerate(y))

    def fake(y):
        return sum(report(y, v) for v in range(size)) / size if random else report(y, None)

    return report, fake


print("tuples that differ in one attribute, exactly:")
for sizes in ((4, 4, 4), (100, 2, 2)):
    DOMAINS = [range(size) for size in sizes]
    found = exact(*zip(*(response(size) for size in sizes), strict=True))
    print(f"  randomized response, sizes {sizes}: {found:.4f}")
DOMAINS = [list(product((0, 1), repeat=4))] * 3
for random in (False, True):
    found = exact(*zip(*[encoding(4, random)] * 3, strict=True))
    print(f"  unary encoding, fakes of {'a random' if random else 'no'} value, size 4: {found:.4f}")
sys.exit(int(ratio - 4 * error > EPSILON))
