"""Settings for all tests."""

import gc
import os

from hypothesis import settings

# CI runs the same examples every time; on a developer's machine new ones are tried.
settings.register_profile("ci", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_finish() -> None:
    """Leave the tests and all that was imported out where an audit looks for generators in all objects."""
    gc.collect()
    gc.freeze()
