"""The papers' own slips, through the registered audits: as printed against as corrected."""

from __future__ import annotations

from .base import Planted, Registered


def _slip(name, audit, variant, exact, provenance, *, delta=0.0, epsilon=1.0, settings=()):
    broken = Registered(audit, variant, epsilon, delta, settings)
    corrected = Registered(audit, "corrected", epsilon, delta, settings)
    return Planted(name, broken, corrected, None, (), exact, provenance)


ROWS = [
    _slip(
        "PLR-FS at the full budget per group",
        "plr_fs",
        "printed",
        None,
        "[Guo2018] Algorithm 3, line 6",
        settings=("rows=100", "groups=5", "features=10", "regularization=0.0015"),
    ),
    _slip(
        "PPTL-FS target",
        "pptl_fs",
        "printed",
        None,
        "[Guo2018] Theorem 5 by Algorithm 3, line 6",
        settings=("rows=200", "regularization=0.0015"),
    ),
    _slip(
        "PST-F drops the index of Delta",
        "pst_f",
        "printed",
        None,
        "[Yao2019] Algorithm 3, step 12",
        settings=("rows=100", "groups=1", "regularization=0.001"),
    ),
    _slip(
        "PST-H trains every block at the full budget",
        "pst_h",
        "printed",
        None,
        "[Yao2019] Algorithm 4, step 3",
    ),
    _slip(
        "DPIW without a bound on rows",
        "dpiw",
        "printed",
        None,
        "[Wang2018] Algorithm 2: the sensitivity assumes rows of bounded norm",
    ),
    _slip(
        "DPIW with signed rows",
        "dpiw",
        "signed",
        None,
        "[Wang2018] Algorithm 2: half the noise unless rows are non-negative",
    ),
    _slip(
        "DPHTL without a bound on rows",
        "dphtl",
        "printed",
        None,
        "[Wang2018] Theorem 1",
    ),
    _slip(
        "DPDA clips two blocks, accounts one",
        "dpda",
        "blocks-apart",
        None,
        "[Wang2020] equations 14 and 15",
        epsilon=4.0,
        delta=1e-5,
    ),
]
