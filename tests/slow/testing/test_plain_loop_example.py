"""The plain-loop example trains, and its audit can fail."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = str(Path(__file__).parents[3] / "examples/plain_loop.py")


def test_the_example_runs(capsys):
    runpy.run_path(EXAMPLE, run_name="__main__")
    shown = capsys.readouterr().out
    assert float(shown.split()[1].rstrip(",")) > 0.7
    assert "audited: consistent" in shown
    assert "one step: consistent" in shown


@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
def test_a_step_with_less_noise_is_caught(share):
    loop = runpy.run_path(EXAMPLE)
    with pytest.raises(AssertionError, match="not"):
        loop["audit_step"](share * loop["NOISE"])


def test_a_step_that_forgets_to_clip_is_caught():
    loop = runpy.run_path(EXAMPLE)
    loop["noisy_gradient"].__globals__["CLIP"] = 1e9  # with the noise of a clip at 1
    with pytest.raises(AssertionError, match="not"):
        loop["audit_step"](loop["NOISE"] / 1e9)
