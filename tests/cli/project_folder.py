"""A project to check, and the command in it."""

from __future__ import annotations

import json
import sys

import pytest

from dpcheck.cli.main import run
from dpcheck.execution import imports

MECHANISM = """
import numpy as np
import dpcheck

SCALE = 1.0
PAIR = (np.zeros(3), np.array([1.0, 0, 0]))


@dpcheck.audited(claim=dpcheck.PureDP(1.0), adjacency="replace-one", neighbours=[PAIR])
@dpcheck.batched
def noisy(data, size, rng):
    print("a word on standard output")
    return data.sum() + rng.laplace(scale=SCALE, size=size)


number = 3


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
def leaves(data, rng):
    raise SystemExit(0)


@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[PAIR])
@dpcheck.batched
def other(data, size, rng):
    return data.sum() + rng.laplace(scale=1.0, size=size)
"""
ONE = '[[audits]]\ntarget = "mech.py:noisy"\n'


class Folder:
    """A project, and the command in it."""

    def __init__(self, root, monkeypatch, capfd):
        self.root, self._patch, self._capture = root, monkeypatch, capfd
        (root / "mech.py").write_text(MECHANISM)

    def config(self, text, name="dpcheck.toml"):
        (self.root / name).write_text(text)

    def break_noise(self, scale=0.8):
        (self.root / "mech.py").write_text(MECHANISM.replace("SCALE = 1.0", f"SCALE = {scale}"))

    def mend_noise(self):
        (self.root / "mech.py").write_text(MECHANISM)

    def __call__(self, *arguments):
        imports.forget_all()  # as in a new process
        self._patch.setattr(sys, "argv", ["dpcheck", *arguments])
        self._capture.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        self.out, self.err = self._capture.readouterr()
        return end.value.code

    def json(self, *arguments):
        self.code = self("check", "--format", "json", *arguments)
        return json.loads(self.out)
