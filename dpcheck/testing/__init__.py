"""For test suites: checks of mechanisms, strategies over data and events, accountants compared.

Nothing heavy is imported until it is used; Hypothesis and pytest come with
`pip install 'dpcheck[testing]'`.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "Step": "dpcheck.auditing.training.step",
    "check_step": "dpcheck.auditing.training.checks",
    "all_checks": "dpcheck.testing.checks",
    "compare_accountants": "dpcheck.testing.accountants",
    "parametrize_with_checks": "dpcheck.testing.parametrize",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck.testing' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
