"""The declared lower bounds are true. `.ci/lowest` installs them and runs the fast tests there."""

from __future__ import annotations

import subprocess
import sys


def test_an_old_numpy_without_astype_can_prove(tmp_path):
    """numpy 1.26 is declared; np.astype came with 2.1."""
    program = tmp_path / "without_astype.py"
    program.write_text(
        "import numpy as np, dpcheck, dpcheck.accounting.api\n"
        "del np.astype\n"  # scipy has what it needs by now
        "def f(x, rng): return np.nan_to_num(x).astype(float).clip(0, 1).sum() + rng.laplace(scale=1.0)\n"
        "proof = dpcheck.prove(f, data=np.zeros(5), adjacency='add-remove')\n"
        "print(proof.epsilon(delta=0).upper)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.stdout.strip() == "1.0", done.stderr
