"""pure-ldp 1.2.0: RAPPORClient never clears a bit that is set. Needs pure-ldp; exits 1 if that is so.

With one hash function the value's own bit is 1 in every report, and 0 in some reports of another value.
"""

import sys

from pure_ldp.frequency_oracles import RAPPORClient

F, BITS, CALLS = 0.5, 4, 2000
client = RAPPORClient(F, BITS, [[lambda text: int(text) % BITS]], num_of_cohorts=1)
counts = {}
for value in (1, 2):
    reports = [client.privatise(value + 1)[0] for _ in range(CALLS)]  # items count from 1
    counts[value] = sum(report[1] for report in reports)
claimed = client.convert_f_to_eps(F, 1)
print(f"claimed epsilon {claimed:.3f}; bit 1 is set in {counts[1]} of {CALLS} reports of value 1,")
print(
    f"and in {counts[2]} of {CALLS} of value 2, where the protocol sets it with probability {F / 2}"
)
print("a report without the bit excludes value 1: epsilon is infinite")
sys.exit(int(counts[1] == CALLS and counts[2] < 0.5 * CALLS))
