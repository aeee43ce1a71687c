"""multi-freq-ldpy 0.2.5: SS_Client puts the true value at place 0. Needs multi-freq-ldpy; exits 1 if so."""

import sys

from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

DOMAIN, EPSILON, CALLS = 8, 1.0, 5000
later = dict.fromkeys((1, 3), 0)
for true in later:
    for _ in range(CALLS):
        later[true] += 1 in SS_Client(true, DOMAIN, EPSILON)[1:].tolist()
print(f"claimed epsilon {EPSILON}; value 1 after place 0 in {CALLS} reports:")
print(
    f"  {later[1]} times if the true value is 1, {later[3]} times if it is 3: epsilon is infinite"
)
sys.exit(int(later[1] == 0 and later[3] > 0))
