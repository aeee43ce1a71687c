"""Random allocation: every record joins exactly one of t Gaussian steps, chosen uniformly.

P = (1/t) sum_i N(mu e_i, I), Q = N(0, I) in t dimensions dominates the epoch, adaptive steps included
([Chua2025], [Feldman2025]: the dominating pair of balls-and-bins sampling). Its likelihood ratio is
S/t with S a sum of t independent copies of Y = e^{mu Z - mu^2/2} under Q, so F(y) = E_Q (S/t - y)+
and, backwards, E_Q (1 - y S/t)+: expectations of convex functions of S. Replacing Y by a lattice
variable that is larger in convex order, copy by copy, can only raise both. The sum is one FFT on a
*linear* lattice; its atoms then have exact losses log(k w / t).

Errors, all counted as infinite loss: Y above the cap c is cut to c, which costs E(Y - c)+ <= P(Y > c)
forwards and helps backwards; sums beyond the lattice, by Chernoff; the rounding of the FFT,
by Cauchy-Schwarz.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr, ndtri

from dpcheck.accounting.pld.pairs import AtomicPair, Atoms
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.fourier import transform_error
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array
from dpcheck.numerics.tails import normal_masses

# Share of Y's standard deviation taken as lattice width: raises the variance by width^2 / 6.
WIDTH = 0.05
CUT_MASS = 1e-14
# Relative error of Y at a computed cut: a few units times (|log Y| + mu^2), generously.
CUT_SLIP = 1e-12
MAX_POINTS = 2**20


class AllocationPair(AtomicPair):
    """One epoch of random allocation, known from above."""

    def __init__(self, mu: float, batches: int, *, backwards: bool) -> None:
        width, one = _one_step(mu, decreasing=backwards)
        sums, noise, beyond = _sum(one, batches)
        # A copy may lie beyond its cell by the rounding of the cut; the losses allow for it.
        slack = -CUT_SLIP if backwards else CUT_SLIP
        position = np.arange(len(sums)) * (width / batches * (1 + slack))
        if backwards:
            p, q = sums, position * sums
            # (1 - y S/t)+ <= 1: errors of single masses count at most fully.
            lost = noise * math.sqrt(len(sums)) + beyond
        else:
            p, q = position * sums, sums
            lost = noise * float(np.linalg.norm(position)) + beyond * len(sums) * width / batches
            lost += _above_cap(mu)
        # Atoms lighter than the error allowance are added to it instead of being listed.
        kept = p > 0.1 * lost / len(p)
        lost += float(np.sum(p[~kept]))
        atoms = Atoms(p[kept], q[kept], 64 * UNIT)
        super().__init__(atoms, rest=lost * (1 + 1e-12) + 1e-300)

    def lower(self, step: float, low: float, high: float) -> LatticeLoss:  # noqa: ARG002
        """Not known."""
        raise CannotCertify("random allocation is bounded from above only.")


def _cap(mu: float) -> float:
    return math.exp(mu * float(-ndtri(CUT_MASS)) + mu * mu / 2)


def _above_cap(mu: float) -> float:
    """P(Y > c): under P the normal is shifted by mu."""
    z = math.log(_cap(mu)) / mu - mu / 2
    return float(ndtr(-z)) * (1 + 1e-10) + 1e-300


def _one_step(mu: float, *, decreasing: bool) -> tuple[float, Array]:
    """(lattice width, masses) of a lattice variable above min(Y, cap) in convex order.

    A cell [a, a+w] with mass q and first moment m gives (m - a q)/w to its right end. Rounding must
    not lower the mean for an increasing function, nor raise it for a decreasing one.
    """
    width = WIDTH * math.sqrt(math.expm1(mu * mu))
    cells = math.ceil(_cap(mu) / width)
    if cells > MAX_POINTS:
        raise CannotCertify(
            f"random allocation with sensitivity over noise {mu:.3g} needs a lattice of {cells} points, "
            f"more than {MAX_POINTS} fit within memory; account the epoch as one Gaussian step of all "
            "records instead (its Renyi bound, method='rdp', holds)."
        )
    edges = width * np.arange(1, cells + 1)
    # Y = edge at z = log(edge)/mu + mu/2.
    cuts = np.concatenate(([-np.inf], np.log(edges) / mu + mu / 2, [np.inf]))
    q, q_error = normal_masses(cuts, 0.0)
    m, m_error = normal_masses(cuts, mu)
    left = width * np.arange(cells)
    q, tail = q[:-1], float(q[-1] + q_error[-1])
    slip = CUT_SLIP * (left + width) * q
    error = (m_error[:-1] + left * q_error[:-1] + slip) / width
    right = (m[:-1] - left * q) / width
    right = right - error if decreasing else right + error
    right = np.clip(right, 0.0, q + q_error[:-1])
    masses = np.zeros(cells + 1)
    masses[:-1] += q + q_error[:-1] - right
    masses[1:] += right
    masses[-1] += tail
    return width, masses * (1 + 8 * UNIT)


def _sum(one: Array, copies: int) -> tuple[Array, float, float]:
    """(masses of the sum on 0..size-1, 2-norm of their error, bound on the mass beyond)."""
    level = np.arange(len(one), dtype=np.float64)
    size, beyond = _reach(one, level, copies)
    if size > MAX_POINTS:
        raise CannotCertify(
            f"random allocation over {copies} batches needs a lattice of {size} points, more than "
            f"{MAX_POINTS} fit within memory; the Renyi bound of one step on all records (method='rdp') "
            "still holds."
        )
    eta = transform_error(size)
    total = float(np.sum(one))
    circle = np.bincount(np.arange(len(one)) % size, weights=one, minlength=size)
    spectrum = rfft(circle)
    modulus = np.maximum(np.abs(spectrum), eta * total)
    grown = np.exp(copies * np.log(modulus))
    turn = np.angle(spectrum)
    spread = copies * (eta * total / modulus + UNIT * (6 + 4 * np.abs(turn)))
    missed = grown * (np.expm1(np.minimum(spread, 600.0)) + 64 * ELEMENTARY)
    sums = irfft(grown * np.exp(1j * np.remainder(copies * turn, 2 * np.pi)), size)
    error = math.sqrt(2 * float(np.sum(missed**2)) / size)
    error += 2 * eta * float(np.linalg.norm(sums)) + 1e-290
    return np.maximum(sums, 0.0), error, beyond


def _reach(one: Array, level: Array, copies: int) -> tuple[int, float]:
    """A size beyond which the sum has next to no mass, and the Chernoff bound on S that proves it.

    For slope s and s B >= 1, S 1{S >= B} <= B e^{s (S - B)}, so the same bound times B covers E S.
    """
    mean = copies * float(np.sum(one * level))
    best, best_log, best_slope = MAX_POINTS + 1, 0.0, 1.0
    for slope in np.geomspace(1.0, 60.0, 24) / len(one):
        moment = copies * math.log(float(np.sum(one * np.exp(slope * level))))
        # The smallest B with moment - slope B <= log(CUT_MASS / B), about.
        wanted = (moment - math.log(CUT_MASS) + math.log(mean + len(one))) / slope
        if wanted < best:
            best = max(math.ceil(wanted), math.ceil(1 / slope), 64)
            best_log = moment
            best_slope = slope
    if best > MAX_POINTS:
        return best, 1.0
    size = next_fast_len(best, real=True)
    return size, math.exp(best_log - best_slope * size + 1e-9)
