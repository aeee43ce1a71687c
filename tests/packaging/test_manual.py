"""The manual page says what the commands say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_manual_page_is_what_the_commands_say():
    spec = importlib.util.spec_from_file_location("make", ROOT / "docs" / "man" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run: python docs/man/make.py"
    for name in ("audit", "prove", "verify"):
        assert f".SS dpcheck {name} " in module.page()
