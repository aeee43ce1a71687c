"""Settings for all tests."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # postgresql_server.py

# CI runs the same examples every time; on a developer's machine new ones are tried.
settings.register_profile("ci", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_finish() -> None:
    """Leave the tests and all that was imported out where an audit looks for generators in all objects."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """Which database the tests of ledgers use."""
    import postgresql_server

    return f"PostgreSQL: {postgresql_server.described()}"


@pytest.fixture(scope="session")
def postgresql():
    """A server of our own."""
    import postgresql_server

    if postgresql_server.binaries() is None:
        if os.environ.get("DPCHECK_REQUIRE_POSTGRESQL"):
            pytest.fail(postgresql_server.described())
        pytest.skip(postgresql_server.described())
    server = postgresql_server.Server()
    yield server
    server.stop()
