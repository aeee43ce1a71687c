"""The pytest plugin: fixture `dp_audit`, marker `dp_budget`, one error budget for the run.

Loaded in every project that has dpcheck installed, so this file imports nothing but pytest and the
standard library; the auditor comes with the first audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from dpcheck.core.audit_result import AuditEntry
    from dpcheck.core.data import Plain
    from dpcheck.testing.run_budget import TestBudget

MARKER = (
    "dp_budget(epsilon, delta=0.0, adjacency=..., neighbours=[(D, D2)], claim=None, max_runs=None): "
    "the test function is a mechanism (data, rng) or (data, size, rng) and must be this private"
)
_ARGUMENTS = ("data", "size", "rng")
_SHARE = pytest.StashKey[float]()
_BUDGET = pytest.StashKey["TestBudget"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the run."""
    group = parser.getgroup("dpcheck", "differential privacy")
    group.addoption("--dp-seed", type=int, default=0, help="Seed of all audits (0).")
    group.addoption("--dp-max-runs", type=int, default=None, help="Test runs a side, at most.")
    group.addoption("--dp-replay", default=None, metavar="FILE", help="Audit a saved pair only.")
    parser.addini(
        "dp_confidence", "One minus the false-alarm rate of the whole run (0.999).", default="0.999"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a marked test its arguments: placeholders, the audit passes the real ones."""
    if metafunc.definition.get_closest_marker("dp_budget") is None:
        return
    wanted = [name for name in _ARGUMENTS if name in metafunc.fixturenames]
    if "data" in wanted and "rng" in wanted:
        metafunc.parametrize(wanted, [(None,) * len(wanted)], ids=["dp"])


def _audits(item: pytest.Item) -> bool:
    """Whether a test audits, and so takes part in the run's error budget."""
    if item.get_closest_marker("dp_budget") or "dp_audit" in getattr(item, "fixturenames", ()):
        return True
    drawn = getattr(getattr(item, "callspec", None), "params", {}).values()
    return any(getattr(value, "audits_privacy", False) for value in drawn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Split the error rate over the tests that will run."""
    tests = sum(_audits(item) for item in session.items)
    if tests:
        from dpcheck.testing.run_budget import share

        session.config.stash[_SHARE] = share(_confidence(session.config), tests)


def _confidence(config: pytest.Config) -> float:
    text = config.getini("dp_confidence")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise pytest.UsageError(f"dp_confidence must be between 0 and 1, got {text!r}.")
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Let everything the test calls know its share."""
    if not _audits(item):
        return (yield)
    from dpcheck.testing import run_budget

    run_budget.use(_budget(item))
    try:
        return (yield)
    finally:
        run_budget.use(None)


def _budget(item: pytest.Item) -> TestBudget:
    """The test's budget: one, whoever asks."""
    if _BUDGET in item.stash:
        return item.stash[_BUDGET]
    from dpcheck.testing.run_budget import TestBudget

    config = item.config
    cache = getattr(config, "cache", None)
    folder = Path(cache.mkdir("dpcheck")) if cache is not None else Path(".dpcheck")
    saved = config.getoption("--dp-replay")
    item.stash[_BUDGET] = TestBudget(
        name=item.nodeid,
        alpha=config.stash[_SHARE],
        seed=config.getoption("--dp-seed"),
        max_runs=config.getoption("--dp-max-runs"),
        folder=folder,
        replay=None if saved is None else Path(saved),
    )
    return item.stash[_BUDGET]


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Callable[..., AuditEntry]:
    """Audit a mechanism: dp_audit(f, epsilon=1.0, neighbours=[(D, D2)], adjacency="zero-out").

    Takes what dpcheck.assert_private takes but `confidence`, which belongs to the run; returns the
    audit's entry. A failure shows the shrunk witness and the command that replays it.
    """
    budget = _budget(request.node)

    def audit(
        mechanism: object,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        claim: object = None,
        **options: Plain,
    ) -> AuditEntry:
        __tracebackhide__ = True
        from dpcheck.testing.failing import audit_in_test

        return audit_in_test(
            mechanism, claim=_claim(epsilon, delta, claim), budget=budget, **options
        )

    return audit


def _claim(epsilon: float | None, delta: float, claim: object) -> object:
    if (epsilon is None) == (claim is None):
        raise pytest.UsageError("give either epsilon (and delta) or claim, not both or neither.")
    if claim is not None:
        return claim
    from dpcheck.core.budget import Budget

    assert epsilon is not None
    return Budget(epsilon, delta)


@pytest.fixture
def dp_neighbours() -> NoReturn:
    """Override it to give the marked tests of a file or folder their pairs of datasets."""
    raise pytest.UsageError(
        "dp_budget has no neighbours: pass neighbours=[(D, D2)] to the marker, or define a fixture "
        "dp_neighbours that returns them."
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Audit a marked function instead of calling it once."""
    marker = pyfuncitem.get_closest_marker("dp_budget")
    if marker is None:
        return None
    __tracebackhide__ = True
    from dpcheck.testing.marked import audit_marked

    audit_marked(pyfuncitem, marker, _claim)
    return True
