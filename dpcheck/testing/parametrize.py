"""`parametrize_with_checks`, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dpcheck.auditing.mechanism import declaration
from dpcheck.core.errors import NothingToAudit, UnknownName
from dpcheck.core.extras import need
from dpcheck.testing.checks import all_checks

if TYPE_CHECKING:
    import pytest

Expected = Mapping[str, str] | Callable[[object], Mapping[str, str]]


def parametrize_with_checks(
    mechanisms: Sequence[object], *, expected_failed_checks: Expected | None = None
) -> pytest.MarkDecorator:
    """A decorator that runs a test once for every mechanism and check.

        @dpcheck.testing.parametrize_with_checks([noisy_sum, noisy_mean])
        def test_mechanism(mechanism, check):
            check(mechanism)

    `expected_failed_checks` maps names of checks to reasons, or a mechanism to such a mapping. An
    expected failure that passes fails the test: take it off the list.
    """
    mark, param = need("pytest", "testing").mark, need("pytest", "testing").param
    if not mechanisms:
        raise NothingToAudit("no mechanism was given to parametrize_with_checks.")
    names = {check.name for check in all_checks()}
    cases = []
    for mechanism in mechanisms:
        declaration(mechanism)  # fails at once, where the list is written
        expected = expected_failed_checks or {}
        reasons = expected(mechanism) if callable(expected) else expected
        for unknown in sorted(set(reasons) - names):
            raise UnknownName(
                f"no check is called {unknown!r}; checks are {', '.join(sorted(names))}."
            )
        label = getattr(mechanism, "__name__", type(mechanism).__name__)
        for check in all_checks():
            marks = []
            if check.name in reasons:
                marks.append(mark.xfail(reason=reasons[check.name], strict=True))
            cases.append(param(mechanism, check, marks=marks, id=f"{label}-{check.name}"))
    decorator: pytest.MarkDecorator = mark.parametrize(("mechanism", "check"), cases)
    return decorator
