"""A Poisson-sampled Gaussian step whose batch size is released, or can be read off the scale of the noise.

Let n count the record in question, b_m = P(Binomial(n-1, q) = m) the law of the size without it. With it a
size of m has probability (1-q) b_m + q b_{m-1} = (1-q) b_m n/(n-m), and given m the record is in the batch,
in place of one of the others, with probability m/n. So F(y) = sum_m b_m E (c_m r_m - y)+ with
c_m = (1-q) n/(n-m) and r_m the ratio of a sampled Gaussian of rate m/n and shift 2C; backwards,
sum_m b_m E (1 - y c_m r_m)+. Both grow with m/n; the first grows and the second falls with c_m: sizes are
taken together with the larger rate and the worse c.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, FAINTEST, LARGEST_EXPONENT, UNIT
from dpcheck.numerics.tails import binomial_masses

# Sizes this many standard deviations out, and 60 more, count as an infinite loss of that probability: by
# Bernstein's inequality at most 2 exp(-t^2 / (2 (var + t/3))) < 2 e^-60 < 2e-26.
SIZES_REACH = 11.0
BEYOND = 1e-25
GROUPS = 120
POINTS = 1500


def revealed_size_pair(mu: float, rate: float, rows: int, *, backwards: bool) -> AtomicPair:
    """The pair from above."""
    others = rows - 1
    reach = SIZES_REACH * math.sqrt(others * rate * (1 - rate)) + 60
    first, last = (
        max(0, math.floor(others * rate - reach)),
        min(others, math.ceil(others * rate + reach)),
    )
    sizes = np.arange(first, last + 1, dtype=np.float64)
    weights = binomial_masses(sizes, others, rate)
    # The size may be `rows` itself only with the record: all of that mass is lost.
    lost = BEYOND + math.exp(rows * math.log(rate)) * (1 + 1e-12)
    stride = -(-len(sizes) // GROUPS)
    p_parts, loss_parts = [], []
    for start in range(0, len(sizes), stride):
        group = sizes[start : start + stride]
        share = min((group[-1] / rows) * (1 + 4 * UNIT), 1.0)
        worst = group[0] if backwards else group[-1]
        # Both logarithms err by 10 units of 1 + their size.
        log_c, absent = math.log1p(-rate), math.log((rows - worst) / rows)
        slip, log_c = 10 * UNIT * (2 - log_c - absent), log_c - absent
        found = _mixture(mu, share, backwards=backwards)
        weight = float(np.sum(weights[start : start + stride]))
        if backwards:
            p, losses = weight * found.masses, found.levels - log_c + slip
            lost += weight * found.infinite
        else:
            scale = weight * math.exp(log_c + slip) * (1 + 4 * ELEMENTARY)
            p, losses = scale * found.masses, found.levels + log_c + slip
            lost += scale * found.infinite
        p_parts.append(p)
        loss_parts.append(losses)
    p, losses = np.concatenate(p_parts), np.concatenate(loss_parts)
    losses = losses + 16 * UNIT * (1 + np.abs(losses)) + 8 * ELEMENTARY
    q = p * np.exp(-np.clip(losses, -LARGEST_EXPONENT, LARGEST_EXPONENT))
    kept = (p > FAINTEST) & (np.abs(losses) < LARGEST_EXPONENT)
    lost += float(np.sum(p[~kept]))
    return AtomicPair(Atoms(p[kept], q[kept], 64 * UNIT, losses[kept]), rest=lost * (1 + 1e-9))


def _mixture(mu: float, share: float, *, backwards: bool) -> LatticeLoss:
    """The sampled Gaussian given the size, on a lattice of its own."""
    if share <= 0:
        pair = NormalPair(Mixture((mu,), (1e-12,)), Mixture())
    elif backwards:
        pair = NormalPair(Mixture(), Mixture((-mu,), (share,)))
    else:
        pair = NormalPair(Mixture((mu,), (share,)), Mixture())
    losses, logs = pair.nodes()
    likely = losses[logs > -90.0]
    low, high = float(likely.min()), float(likely.max())
    return pair.upper(max((high - low) / POINTS, 1e-9), low, high)
