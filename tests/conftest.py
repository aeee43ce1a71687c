"""Settings for all tests."""

import os

from hypothesis import settings

# CI runs the same examples every time; on a developer's machine new ones are tried.
settings.register_profile("ci", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
