"""mostlyai-engine 2.7.3: dp_non_rare shows the value of a lone person. Exits 1 if so."""

import math
import sys

from mostlyai.engine._common import dp_non_rare

epsilon, calls = 0.1, 4000
shown = [
    sum("lone" in dp_non_rare(dict(counts), epsilon)[0] for _ in range(calls))
    for counts in ({"a": 2, "lone": 1}, {"a": 2})
]
print(
    f"claimed epsilon {epsilon}; the lone person's value is shown in {shown[0]} of {calls} calls,"
)
print(f"closed form exp(-4 epsilon)/2 = {math.exp(-4 * epsilon) / 2:.4f};")
print(f"without that person in {shown[1]} of {calls}: epsilon is infinite")
sys.exit(int(shown[0] > calls / 4 and shown[1] == 0))
