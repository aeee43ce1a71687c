"""The JAX example trains, and says what it spent."""

import runpy
from pathlib import Path


def test_the_example_runs(capsys):
    example = Path(__file__).parents[2] / "examples/jax_training.py"
    runpy.run_path(str(example), run_name="__main__")
    shown = capsys.readouterr().out
    assert float(shown.split()[1].rstrip(",")) > 0.7
    assert "membership advantage" in shown
