"""Where ledgers are kept in these tests: a file, and a database of a server of our own."""

import pytest

from dpcheck import Budget, Ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A place without a ledger, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "privacy.ledger")
    return request.getfixturevalue("postgresql").database()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def opened(request, tmp_path):
    """A function that gives a handle on one ledger."""
    if request.param == "memory":
        one = Ledger(Budget(1.0), "add-remove")
        return lambda: one
    place = str(tmp_path / "privacy.ledger")
    if request.param == "postgresql":
        place = request.getfixturevalue("postgresql").database()
    Ledger.open(place, Budget(1.0), "add-remove").close()
    return lambda: Ledger.open(place)
