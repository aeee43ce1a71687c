"""Outputs that are affine in the noise: y = f + A z on both sides.

With the same A the two laws differ by a shift s = f(D') - f(D), and with any d such that A d = s the
law on D' is that of A (z + d) moved. Hence, re-derived:

- A injective: z is known from y, so the loss is that of z against z + d, atom by atom, exactly.
- s outside the range of A: some combination w of outputs has w A = 0 and w s != 0; it carries no
  noise and tells D from D' for certain.
- Normal noise, any A: mu is the length of the shortest such d.
- Laplace noise (and normal), any A, pure loss: the least cost of a shift, min sum |d_k| subject to
  A d = s over Laplace atoms. Above by post-processing; below because for each w the tail of w y
  falls like exp(-|x| / max_k |w A_k|), so the loss tends to |w s| / max_k |w A_k|, whose maximum over
  w is the dual of the same linear program. A dual point is a proof whatever the solver did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.accounting.losses import GaussianLoss
from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Atom, Family
from dpcheck.replay.following.values import Affine
from dpcheck.replay.losses.parts import Part, revealed
from dpcheck.replay.losses.shifts import SHIFTABLE, shifted

_DENSE = 700  # rows or columns of one connected block
ROUNDING = 1e-11  # share of an output's size below which a difference counts as rounding


@dataclass(frozen=True, slots=True)
class Block:
    """Outputs that share noise: matrix (rows, atoms), the shift and what of it may be rounding."""

    ways: tuple[str, ...]
    columns: tuple[int, ...]
    matrix: Array
    shift: Array
    slack: Array


def blocks(ways: Sequence[str], first: Sequence[Affine], second: Sequence[Affine]) -> list[Block]:
    """Connected blocks of outputs whose matrix is the same on both sides."""
    columns = sorted({atom for value in first for atom in value.coefficients})
    at = {atom: index for index, atom in enumerate(columns)}
    shift = np.array([b.base - a.base for a, b in zip(first, second, strict=True)])
    slack = np.array([slack_of(a, b) for a, b in zip(first, second, strict=True)])
    found = _connected([[at[atom] for atom in v.coefficients] for v in first], len(columns))
    return [
        Block(
            tuple(ways[r] for r in mine_rows),
            tuple(columns[c] for c in mine_cols),
            _matrix([first[r].coefficients for r in mine_rows], [columns[c] for c in mine_cols]),
            shift[mine_rows],
            slack[mine_rows],
        )
        for mine_rows, mine_cols in found
        if len(mine_rows) <= _DENSE and len(mine_cols) <= _DENSE
    ]


def _connected(uses: Sequence[Sequence[int]], many: int) -> list[tuple[list[int], list[int]]]:
    """Rows and columns that hang together, where row r uses the columns uses[r]."""
    root = list(range(len(uses) + many))  # rows first, then columns

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for row, mine in enumerate(uses):
        for column in mine:
            root[top(len(uses) + column)] = top(row)
    found: dict[int, tuple[list[int], list[int]]] = {}
    for node in range(len(root)):
        rows, columns = found.setdefault(top(node), ([], []))
        if node < len(uses):
            rows.append(node)
        else:
            columns.append(node - len(uses))
    return list(found.values())


def _matrix(rows: Sequence[Mapping[int, float]], columns: Sequence[int]) -> Array:
    """The coefficients of a block, 0 where a row has none."""
    return np.array([[row.get(column, 0.0) for column in columns] for row in rows]).reshape(
        len(rows), len(columns)
    )


def slack_of(first: Affine, second: Affine) -> float:
    """What of a difference may be rounding: of the noisy steps, and a share of the values."""
    size = max(abs(first.base), abs(second.base))
    return first.error + second.error + ROUNDING * size


def block_parts(block: Block, atoms: Sequence[Atom]) -> list[Part]:
    """The losses of one block."""
    if not np.any(np.abs(block.shift) > block.slack):
        return []
    if any(atoms[c].family not in SHIFTABLE for c in block.columns):
        return []
    if block.matrix.shape == (1, 1):
        by = _less(block.shift[0], block.slack[0]) / block.matrix[0, 0]
        return [_atom_part(block, 0, float(by), atoms)]
    solved, *_ = np.linalg.lstsq(block.matrix, block.shift, rcond=1e-10)
    moved = np.asarray(solved, dtype=np.float64)
    left = block.shift - block.matrix @ moved
    if np.any(np.abs(left) > 1e3 * (block.slack + 1e-10 * np.abs(block.shift).max())):
        return _certain(block, left)
    rank = int(np.linalg.matrix_rank(block.matrix, tol=1e-9 * np.abs(block.matrix).max()))
    if rank == len(block.columns):
        # What rounding of the outputs can be worth in units of the atoms.
        doubt = np.abs(np.linalg.pinv(block.matrix, rcond=1e-10)) @ block.slack
        return [
            _atom_part(block, k, float(_less(d, e)), atoms)
            for k, (d, e) in enumerate(zip(moved, doubt, strict=True))
            if abs(d) > e
        ]
    return _many_to_one(block, moved, atoms)


def _less(value: float, by: float) -> float:
    """`value` nearer to 0 by `by`."""
    return math.copysign(max(0.0, abs(value) - by), value)


def _atom_part(block: Block, column: int, moved: float, atoms: Sequence[Atom]) -> Part:
    atom = block.columns[column]
    forward, backward, loss = shifted(atoms[atom], moved)
    if moved == 0:
        forward = backward = 0.0
        loss = None
    rows = np.flatnonzero(block.matrix[:, column])
    ways = tuple(block.ways[r] for r in rows)
    words = f"{atoms[atom].family} noise moved by {abs(moved):.6g} of its scale"
    return Part(forward, backward, loss, ways, frozenset((atom,)), words)


def _certain(block: Block, left: Array) -> list[Part]:
    """A combination of outputs without noise that differs: a proof once rounded it still has none."""
    weights = left / np.abs(left).max()
    weights = np.round(weights, 9)
    noise = np.abs(weights @ block.matrix).max()
    seen = abs(weights @ block.shift) - np.abs(weights) @ block.slack
    if seen <= 0 or noise > 1e-9 * np.abs(block.matrix).max():
        return []
    used = [w for w, x in zip(block.ways, weights, strict=True) if abs(x) > 1e-6]
    rows = [i for i, x in enumerate(weights) if abs(x) > 1e-6]
    touched = np.flatnonzero(np.abs(block.matrix[rows]).max(axis=0))
    words = "the noise cancels between outputs and what is left differs"
    return [revealed(used, frozenset(block.columns[c] for c in touched), words)]


def _many_to_one(block: Block, moved: Array, atoms: Sequence[Atom]) -> list[Part]:
    """More atoms than outputs: exact for normal noise, a linear program for Laplace noise."""
    families = {atoms[c].family for c in block.columns}
    if families == {Family.NORMAL}:
        doubt = float(np.linalg.norm(np.abs(np.linalg.pinv(block.matrix)) @ block.slack))
        mu = max(0.0, float(np.linalg.norm(moved)) - doubt)
        words = f"normal noise moved by {mu:.6g} of its spread"
        return (
            [
                Part(
                    math.inf,
                    math.inf,
                    GaussianLoss(mu),
                    block.ways,
                    frozenset(block.columns),
                    words,
                )
            ]
            if mu > 0
            else []
        )
    if not families <= {Family.NORMAL, Family.LAPLACE}:
        return []
    heavy = [i for i, c in enumerate(block.columns) if atoms[c].family is Family.LAPLACE]
    if len(heavy) < len(block.columns):
        light = _light(block, heavy)
        if light is not None:
            return [light]
    weights = _dual(block.matrix[:, heavy], block.shift)
    if weights is None:
        return []
    steep = float(np.abs(weights @ block.matrix[:, heavy]).max())
    seen = abs(float(weights @ block.shift)) - float(np.abs(weights) @ block.slack)
    if seen <= 0 or steep <= 0:
        return []
    value = seen / steep
    words = f"sums of Laplace noise moved by {value:.6g} of the widest scale"
    return [Part(value, value, None, block.ways, frozenset(block.columns), words)]


def _light(block: Block, heavy: list[int]) -> Part | None:
    """A combination of outputs that only normal noise hides: no pure loss bounds it."""
    explained, *_ = np.linalg.lstsq(block.matrix[:, heavy], block.shift, rcond=1e-10)
    left = block.shift - block.matrix[:, heavy] @ explained
    if not np.any(np.abs(left) > 1e3 * (block.slack + 1e-10 * np.abs(block.shift).max())):
        return None
    weights = left / np.abs(left).max()
    if np.abs(weights @ block.matrix[:, heavy]).max() > 1e-9 * np.abs(block.matrix).max():
        return None
    normal = np.delete(weights @ block.matrix, heavy)
    seen = abs(float(weights @ block.shift)) - float(np.abs(weights) @ block.slack)
    mu = seen / float(np.linalg.norm(normal))
    words = (
        f"a combination of outputs hidden by normal noise alone, moved by {mu:.6g} of its spread"
    )
    return Part(math.inf, math.inf, GaussianLoss(mu), block.ways, frozenset(block.columns), words)


def _dual(matrix: Array, shift: Array) -> Array | None:
    """The combination of outputs with the steepest tail: max w s with |w A_k| <= 1."""
    from scipy.optimize import linprog  # takes half a second to import

    limits = np.vstack([matrix.T, -matrix.T])
    found = linprog(
        -shift, A_ub=limits, b_ub=np.ones(len(limits)), bounds=(None, None), method="highs"
    )
    return np.asarray(found.x) if found.status == 0 else None
