"""Where ledgers are kept in these tests: a file, and a database of a server of our own."""

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A place without a ledger, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "privacy.ledger")
    return request.getfixturevalue("postgresql").database()
