"""The plain-loop example trains, and its audit can fail."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import dpcheck

EXAMPLE = str(Path(__file__).parents[3] / "examples/plain_loop.py")


def test_the_example_runs(capsys):
    runpy.run_path(EXAMPLE, run_name="__main__")
    shown = capsys.readouterr().out
    assert float(shown.split()[1].rstrip(",")) > 0.7
    assert "audited: consistent" in shown


def test_a_step_with_a_quarter_of_the_noise_is_caught():
    loop = runpy.run_path(EXAMPLE)
    one, none = (np.full((1, 3), 0.5), np.ones(1)), (np.zeros((0, 3)), np.ones(0))
    loop["noisy_gradient"].__globals__["RATE"] = 1.0
    point = dpcheck.delta(dpcheck.Gaussian(0.8), epsilon=1.0).upper  # of the curve of noise 0.8
    with pytest.raises(AssertionError, match="not"):
        dpcheck.assert_private(
            lambda d, r: loop["noisy_gradient"](np.zeros(3), *d, r, noise=0.2),
            epsilon=1.0,
            delta=point,
            neighbours=[(one, none)],
            adjacency="add-remove",
            max_runs=4000,
        )
