"""The audits of DPHTL and DPIW: the printed algorithms are refuted, the corrected ones hold."""

from __future__ import annotations

import copy
import math
import re

import mpmath
import numpy as np
import pytest

from dpcheck.core.errors import CannotReplay, DpcheckError, InvalidParameter
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness
from dpcheck.families.output import search as _output_hunt
from dpcheck.families.output.loss import OutputGame, OutputPair, as_rows, certified_lower, losses
from dpcheck.mechanisms.output.rows import RowShape
from dpcheck.session import run as session

SMALL = ("rows=1000", "features=4")


def _audit(target, *settings, variant=None, epsilon=1.0, delta=None, max_runs=None):
    request = session.AuditRequest(
        target,
        epsilon=epsilon,
        delta=delta,
        variant=variant,
        settings=(*SMALL, *settings),
        max_runs=max_runs,
    )
    (entry,) = session.run_request(request).entries
    return entry


def _mpmath_loss(game, pair):
    """Both minimisers at 50 digits, by Newton from 0 on the full problem."""
    with mpmath.workdps(50):
        found = []
        for row in (pair.changed, pair.replaced):
            rows = [
                (row, mpmath.mpf(1) / game.rows),
                (pair.background, mpmath.mpf(game.rows - 1) / game.rows),
                (tuple(-v for v in pair.public), mpmath.mpf(int(game.has_public))),
            ]
            wide = [
                ([mpmath.mpf(v) for v, n in zip(r, game.sizes, strict=True) for _ in range(n)], a)
                for r, a in rows
            ]
            d = len(wide[0][0])
            w = mpmath.zeros(d, 1)
            for _ in range(60):
                g = game.regularization * w
                h = mpmath.eye(d) * game.regularization
                for x, a in wide:
                    x = mpmath.matrix(x)
                    s = 1 / (1 + mpmath.exp((w.T * x)[0]))
                    g -= a * s * x
                    h += a * s * (1 - s) * (x * x.T)
                w -= mpmath.lu_solve(h, g)
            found.append(w)
        return float(game.rate * mpmath.norm(found[0] - found[1]))


PAIRS = [
    (
        OutputGame(5.0, 1000, 0.01, (1, 1, 1, 1), True),
        OutputPair((1, 1, 1, 1), (1, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0)),
    ),
    (
        OutputGame(3.0, 30, 0.1, (2, 1), True),
        OutputPair((0.3, -0.4), (-0.2, 0.1), (0.1, 0.2), (0.5, 0.5)),
    ),
    (
        OutputGame(2.5, 50, 0.1, (1,), False),
        OutputPair((1.0,), (-1.0,), (1.0,), (0.0,)),
    ),
]


@pytest.mark.parametrize(("game", "pair"), PAIRS)
def test_certified_loss_is_below_and_close_to_the_truth(game, pair):
    truth = _mpmath_loss(game, pair)
    lower = certified_lower(game, pair)
    assert lower <= truth
    assert lower == pytest.approx(truth, rel=1e-9)
    assert losses(game, as_rows(pair))[0] == pytest.approx(truth, rel=1e-9)


def test_theory_numbers():
    assert certified_lower(*PAIRS[0]) == pytest.approx(0.826887, abs=1e-6)
    assert certified_lower(*PAIRS[2]) == pytest.approx(0.207883, abs=5e-7)


def test_corrected_dpiw_holds_and_is_attacked_to_the_limit():
    entry = _audit("dpiw", "regularization=0.01")
    assert entry.verdict is Verdict.HOLDS
    assert entry.proved.epsilon <= 1
    # Better than the pair of the theory: the search has power.
    assert 0.827 < entry.observed.epsilon <= 1


@pytest.mark.parametrize("bound", ["ball", "positive-ball"])
def test_other_bounds_hold_too(bound):
    entry = _audit("dpiw", f"bound={bound}")
    assert entry.verdict is Verdict.HOLDS
    assert 0.8 < entry.observed.epsilon <= 1


def test_signed_rows_are_refuted_beyond_the_theorys_pair():
    entry = _audit("dpiw", "rows=10000", "features=2", variant="signed")
    assert entry.verdict is Verdict.VIOLATED
    assert 1.68 < entry.observed.epsilon < 2
    assert entry.witness.replay() == pytest.approx(entry.witness["loss"], rel=1e-12)
    assert entry.witness["loss"] > 1


def test_printed_loss_grows_with_the_longest_row():
    found = [
        _audit("dpiw", f"largest_row={reach}", variant="printed").observed.epsilon
        for reach in (2, 20, 200)
    ]
    assert found[0] < found[1] < found[2]
    assert found[2] > 10


def test_dphtl_names_the_vector_that_leaks():
    entry = _audit("dphtl", variant="printed")
    assert entry.part == "source"
    assert entry.verdict is Verdict.VIOLATED
    assert entry.witness["vector"] == "unlabelled"
    assert entry.witness.replay() > 1
    damaged = copy.deepcopy(dict(entry.witness))
    damaged["rows"]["changed"] = [1e9, 0.0]
    with pytest.raises(CannotReplay):
        Witness.from_json(damaged).replay()


def test_dphtl_corrected_holds():
    entry = _audit("dphtl", epsilon=0.5)
    assert entry.verdict is Verdict.HOLDS
    assert 0.4 < entry.observed.epsilon <= 0.5


def test_a_mechanism_with_too_little_noise_is_not_confirmed(monkeypatch):
    """The certified formula and the mechanism's density must agree, or there is no verdict."""
    from dpcheck.mechanisms import DPIW

    honest = DPIW.log_density
    monkeypatch.setattr(DPIW, "log_density", lambda self, d, r: 1.01 * honest(self, d, r))
    with pytest.raises(DpcheckError, match="one of the two is wrong"):
        _audit("dpiw")


def test_wrong_noise_breaks_the_tie(monkeypatch):
    from dpcheck.mechanisms.output import noise as _output

    honest = _output.spherical_noise
    monkeypatch.setattr(_output, "spherical_noise", lambda rate, *rest: honest(1.25 * rate, *rest))
    entry = _audit("dpiw", max_runs=2000)
    assert entry.verdict is not Verdict.HOLDS
    assert re.search(r"is 0\.(79|80|81)\d* times the stated scale", entry.conformance)  # 1 / 1.25
    assert "NOT what the description says" in entry.conformance


def test_search_stays_inside_its_domain():
    rng = np.random.default_rng(0)
    for kind, radius, features in (("box", 1.0, 7), ("ball", 3.0, 2), ("positive-ball", 2.0, 1)):
        domain = _output_hunt.RowDomain(RowShape(kind), radius, features)
        for rows in domain.decode(rng.uniform(-1, 1, (200, 4 * len(domain.sizes)))):
            pair = OutputPair(*(tuple(row) for row in rows.tolist()))
            assert domain.contains(pair)
            norm = math.sqrt(sum(n * v**2 for n, v in zip(domain.sizes, pair.changed, strict=True)))
            assert norm <= (math.sqrt(features) if kind == "box" else radius)


def test_delta_is_refused():
    with pytest.raises(InvalidParameter, match="pure epsilon"):
        _audit("dphtl", delta=1e-5)
