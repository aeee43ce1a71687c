"""The kernel as one file that needs nothing but Python: all sources as they are, and what runs them."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parent
_START = '''"""Checks certificates of dpcheck's with nothing installed: python -I verify.py CERTIFICATE

Written by `dpcheck verify --kernel FILE`. SOURCES holds the files of dpcheck/verify, character by character.
"""

import importlib.abc
import importlib.util
import sys

SOURCES = {}
'''
_END = '''

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads modules from the texts above, and from nowhere else."""

    def find_spec(self, name, path=None, target=None):
        if name == "dpcheck" or name.startswith("dpcheck."):
            package = name + ".__init__" in SOURCES or name == "dpcheck"
            if package or name in SOURCES:
                return importlib.util.spec_from_loader(name, self, is_package=package)
        return None

    def exec_module(self, module):
        name = module.__name__
        text = SOURCES.get(name, SOURCES.get(name + ".__init__", ""))
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)


if __name__ == "__main__":
    sys.meta_path.insert(0, Finder())
    from dpcheck.verify.answer import main

    sys.exit(main(sys.argv[1:]))
'''


def sources() -> dict[str, str]:
    """Every module of the kernel, with its text."""
    files = sorted(_ROOT.rglob("*.py"))
    return {
        ".".join(
            ("dpcheck", "verify", *file.relative_to(_ROOT).with_suffix("").parts)
        ): file.read_text(encoding="utf-8")
        for file in files
        if file.name != "alone.py"
    }


def single_file() -> str:
    """All of it as one program.

    >>> compile(single_file(), "verify.py", "exec") is not None
    True
    """
    parts = []
    for name, text in sources().items():
        if "'''" in text or text.endswith("\\\\"):
            raise ValueError(f"{name} cannot be quoted as it is")
        parts.append(f"SOURCES[{name!r}] = r'''{text}'''\n")
    return _START + "".join(parts) + _END
