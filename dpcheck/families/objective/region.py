"""What the stacking papers claim, for all their parameters: what is spent over what is claimed, enclosed.

Everything depends on the rows n of a model and lambda by x = n lambda only. With q = 1/K and
eps' = eps - 2 K log(1 + q^2/(4x)), which is never above eps:

- F*(e, q, m)/(e q) falls with e and with m: it is 1/2 + max over s of s/2 + log(1 + s(1-s) q^2/m)/(e q), a
  maximum of functions that do. It is 1 from e m = 2q on, and above 1 before.
- Noise that is calibrated as meant spends at most the claim: with eps' the blocks cost at most
  K eps' q + K log(1 + q^2/(4x)) < eps, with eps/2 and Delta at most 3/4 eps.
- A flipped label attains half of noise_epsilon times q in every block, whatever the centre.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpcheck.accounting.objective import objective_epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.session.region import Box, Case, Hypotheses, Interval
from dpcheck.session.registry import AuditSetup

AXES: dict[str, Interval] = {"epsilon": (0.01, 50.0), "n_lambda": (2e-5, 1e4)}
GROUPS = (1, 2, 3, 5)
ROWS = (
    10_000  # of a dataset in which a witness is searched; with centre 0 many rows are what it takes
)
LEAST = 1e-9  # a noise parameter that is as good as 0
_UP = 1 + 1e-15


def factor(noise: float, q: float, modulus: float) -> Interval:
    """F*(noise, q, modulus) over noise q, from both sides; exactly 1 where the determinant costs nothing."""
    if noise * modulus >= 2 * q:
        return 1.0, 1.0
    if modulus <= 0:
        return 1.0, math.inf
    low, high = objective_epsilon(noise, modulus, q, Adjacency.REPLACE_ONE)
    return low / (noise * q), high / (noise * q) * _UP


def left(epsilon: float, x: float, groups: int) -> float:
    """eps' of K blocks of importance 1/K."""
    return epsilon - 2 * groups * math.log1p(1 / (4 * groups**2 * x))


def _ranges(box: Box, groups: int) -> tuple[Interval, Interval, Interval]:
    """(epsilon, x, eps') over a box."""
    epsilon, x = box["epsilon"], box["n_lambda"]
    return epsilon, x, (left(epsilon[0], x[0], groups), left(epsilon[1], x[1], groups))


def _over(noise: Interval, x: Interval, q: float) -> Interval:
    """F*/(e q) over a box: what every point has at least, and what none exceeds."""
    return factor(noise[1], q, x[1])[0], factor(noise[0], q, x[0])[1]


def _either(*options: Interval | None) -> Interval:
    """Over a box where any of several branches may be taken."""
    known = [option for option in options if option is not None]
    return min(low for low, _ in known), max(high for _, high in known)


def plr_fs_printed(box: Box, case: Case) -> Interval:
    """[Guo2018] Algorithm 3: line 6 sets eps where eps' > 0; line 8 is right."""
    groups = int(case["groups"])
    epsilon, x, rest = _ranges(box, groups)
    literal = right = None
    if rest[1] > 0:
        low, high = _over(epsilon, x, 1 / groups)
        # With centre 0 the determinant is a bound only; a flipped label attains half.
        literal = (low if case["center"] == "free" else 0.5, high)
    if rest[0] <= 0:
        right = (0.0, 0.75)
    return _either(literal, right)


def dropped_delta(box: Box, case: Case) -> Interval:
    """[Yao2019] Algorithm 3 with step 12 as printed: where eps' <= 0 noise of eps/2 and no Delta."""
    groups = int(case["groups"])
    epsilon, x, rest = _ranges(box, groups)
    meant = (0.0, 1.0) if rest[1] > 0 else None
    broken = None
    if rest[0] <= 0:
        half = epsilon[0] / 2, epsilon[1] / 2
        low, high = _over(half, x, 1 / groups)
        broken = (low / 2, high / 2)
    return _either(meant, broken)


def full_budget_per_block(box: Box, case: Case) -> Interval:
    """[Yao2019] Algorithm 4 step 3: PLR with eps_src on each of K blocks of the same people."""
    groups = int(case["groups"])
    epsilon, _, rest = _ranges(box, 1)
    first = second = None
    if rest[1] > 0:
        # A flipped label attains K eps'/2.
        first = (groups * max(rest[0], 0.0) / epsilon[1] / 2, float(groups))
    if rest[0] <= 0:
        second = (groups / 4, 0.75 * groups)
    low, high = _either(first, second)
    return low, 1.0 if groups == 1 else high


def any_modulus(box: Box, case: Case) -> Interval:
    """[Yao2019] Algorithm 2: PLR with eps' for modulus 1, a regulariser of another one, any centre."""
    epsilon, x, rest = _ranges(box, 1)
    modulus = float(case["modulus"])
    first = second = None
    if rest[1] > 0:
        noise = max(rest[0], LEAST), rest[1]
        low = noise[0] * factor(noise[0], 1.0, modulus * x[1])[0] / epsilon[1]
        high = noise[1] * factor(noise[1], 1.0, modulus * x[0])[1] / epsilon[0] * _UP
        first = (low, 1.0 if modulus >= 1 else high)
    if rest[0] <= 0:
        # n (lambda + Delta) = 1/(4 (e^(eps/4) - 1)) is what Delta was chosen for.
        wanted = [1 / (4 * math.expm1(value / 4)) for value in epsilon]
        m = wanted[1] - (1 - modulus) * x[1], wanted[0] - (1 - modulus) * x[0]
        low = factor(epsilon[0] / 2, 1.0, m[1])[0] / 2 * epsilon[0] / epsilon[1]
        high = factor(epsilon[1] / 2, 1.0, m[0])[1] / 2 * epsilon[1] / epsilon[0] * _UP
        second = (low, 0.75 if modulus >= 1 else high)
    return _either(first, second)


def _center_zero(point: Mapping[str, float], case: Case) -> AuditSetup:
    """The source of PPTL-FS at a point."""
    groups = int(case["groups"])
    settings = {
        "rows": ROWS,
        "features": 2 * groups,
        "groups": groups,
        "regularization": point["n_lambda"] / ROWS,
        "calibration": "papers",
    }
    return AuditSetup(point["epsilon"], variant="printed", settings=settings)


PLR_FS = (
    Hypotheses(
        "data",
        "[Guo2018] Proposition 3: epsilon, for every 1-strongly convex regulariser",
        AXES,
        {"groups": GROUPS, "center": ("free",)},
        plr_fs_printed,
    ),
)
PPTL_FS = (
    Hypotheses(
        "source",
        "[Guo2018] Theorem 5, source: epsilon_s, with regulariser |w|^2/2",
        AXES,
        {"groups": GROUPS, "center": ("zero",)},
        plr_fs_printed,
        _center_zero,
    ),
    Hypotheses(
        "target",
        "[Guo2018] Theorem 5, target: epsilon_t, around any model of the source",
        AXES,
        {"groups": GROUPS, "center": ("free",)},
        plr_fs_printed,
    ),
)
PST_F = (
    Hypotheses(
        "data",
        "[Yao2019] Theorem 4: epsilon, with Delta as printed in step 12",
        AXES,
        {"groups": GROUPS},
        dropped_delta,
    ),
)
PST_H = (
    Hypotheses(
        "source",
        "[Yao2019] Corollary 6, source: epsilon_src",
        AXES,
        {"groups": GROUPS},
        full_budget_per_block,
    ),
    Hypotheses(
        "target",
        "[Yao2019] Corollary 6, target: epsilon_tgt, around any model of the source",
        AXES,
        {"groups": GROUPS},
        dropped_delta,
    ),
)
PST_S = (
    Hypotheses(
        "data",
        "[Yao2019] Proposition 3: epsilon, for every strongly convex regulariser",
        AXES,
        {"modulus": (1.0, 0.5, 0.1, 0.01)},
        any_modulus,
    ),
)
