"""The declared lower bounds are true. `.ci/lowest` installs them and runs the fast tests there."""

from __future__ import annotations

import subprocess
import sys

# What came to the namespace of numpy with 2.0 and later.
NEW = """acos acosh asin asinh astype atan atan2 atanh bitwise_count bitwise_invert bitwise_left_shift
bitwise_right_shift concat cumulative_prod cumulative_sum isdtype matrix_transpose matvec permute_dims pow
trapezoid unique_all unique_counts unique_inverse unique_values unstack vecdot vecmat"""


def test_an_old_numpy_can_prove(tmp_path):
    """numpy 1.26 is declared."""
    program = tmp_path / "old_numpy.py"
    program.write_text(
        "import numpy as np, dpcheck, dpcheck.accounting.api\n"
        f"for name in {NEW!r}.split(): vars(np).pop(name, None)\n"  # scipy has what it needs by now
        "def f(x, rng): return np.nan_to_num(x).astype(float).clip(0, 1).sum() + rng.laplace(scale=1.0)\n"
        "proof = dpcheck.prove(f, data=np.zeros(5), adjacency='add-remove')\n"
        "print(proof.epsilon(delta=0).upper)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.stdout.strip() == "1.0", done.stderr
