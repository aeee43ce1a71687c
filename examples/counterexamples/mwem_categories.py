"""smartnoise-synth 1.0.8: MWEM takes the categories from the data. Exits 1 if it shows a rare one."""

import sys
import warnings

import pandas as pd
from snsynth.mwem import MWEMSynthesizer

warnings.simplefilter("ignore")
CALLS = 60


def shown(values):
    """In how many of the calls the synthetic rows have the rare value."""
    found = 0
    for _ in range(CALLS):
        made = MWEMSynthesizer(epsilon=1.0, iterations=1, q_count=3, mult_weights_iterations=2)
        table = pd.DataFrame({"a": values, "b": ["same"] * len(values)})
        made.fit(table, categorical_columns=["a", "b"])
        found += "rare" in set(made.sample(10)["a"])
    return found


with_it, without = shown(["x", "x", "y", "y", "rare"]), shown(["x", "x", "y", "y"])
print(f"claimed epsilon 1; the rare value is in the synthetic rows of {with_it} of {CALLS} calls,")
print(f"without the record that has it in {without}: epsilon is infinite")
sys.exit(int(with_it > CALLS / 4 and without == 0))
