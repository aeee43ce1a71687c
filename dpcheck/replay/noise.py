"""The noise of one call, read off the code: how much there is in the direction with the least."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.checks import confirmed
from dpcheck.replay.draws import UNKNOWN, Family, Line, users_line
from dpcheck.replay.following.values import Affine, Followed
from dpcheck.replay.run import Observer, Run

MOST_OUTPUTS = 1500  # followed numbers are Python objects, and their covariance is decomposed


@dataclass(frozen=True, slots=True)
class AddedNoise:
    """`least` is the smallest standard deviation in any direction of the output, None if not known.

    It is exact: the output is a constant plus a linear map of independent normal numbers, on the same
    path for every value of them. `lines` are where they are drawn.
    """

    least: float | None
    lines: tuple[Line, ...]


def added_noise(
    function: Callable[[Value, Value], Value], data: Value, seed: int = 0
) -> AddedNoise:
    """Follow one call of (data, rng) -> vector.

    Guarantee: where `least` is a number, no direction of the output has less Gaussian noise on `data`.
    Assumes: real arithmetic.

    >>> def two_halves(data, rng):
    ...     return data + rng.normal(scale=0.5, size=2) + rng.normal(scale=0.5, size=2)
    >>> round(added_noise(two_halves, np.zeros(2)).least, 6)
    0.707107
    """
    here = users_line()
    observer = Observer(function)
    run = observer.run(data, seed)
    lines = tuple(
        dict.fromkeys(draw.line for draw in run.recorder.draws if draw.line not in (here, UNKNOWN))
    )
    followed = run.error is None and run.recorder.clean and not run.recorder.decisions
    if not followed or not 0 < len(run.flat.scalars) <= MOST_OUTPUTS:
        return AddedNoise(None, lines)
    least = _least(run)
    if least is not None and not confirmed(observer, data, run, seed):
        least = None
    return AddedNoise(least, lines)


def _least(run: Run) -> float | None:
    """The root of the smallest eigenvalue of the noise's covariance."""
    scalars, atoms = run.flat.scalars, run.recorder.atoms
    matrix = np.zeros((len(scalars), len(atoms)))
    for row, value in enumerate(scalars):
        if type(value) is Affine:
            if any(atoms[atom].family is not Family.NORMAL for atom in value.coefficients):
                return None
            matrix[row, list(value.coefficients)] = list(value.coefficients.values())
        elif issubclass(type(value), Followed) or not isinstance(value, int | float):
            return None  # some followed values pass for the number they stand for
    if not len(atoms):
        return 0.0
    if np.count_nonzero(matrix, axis=0).max() <= 1:  # every number in one output only
        return float(np.sqrt((matrix**2).sum(axis=1).min()))
    if len(atoms) < len(scalars):  # as many directions without noise as numbers are missing
        return 0.0
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


def function_around(line: Line) -> str:
    """The function a line is in, with its own first line; the line alone where that is not known."""
    try:
        tree = ast.parse(Path(line.path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return str(line)
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line.number <= (node.end_lineno or node.lineno)
    ]
    if not inside:
        return str(line)
    innermost = max(inside, key=lambda node: node.lineno)
    return f"{innermost.name}, {Path(line.path).name}:{innermost.lineno}"
