"""Optional packages, with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from dpcheck.core.errors import MissingExtra


def need(package: str, extra: str) -> ModuleType:
    """The package, or an error that says how to get it.

    >>> need("json", "testing").dumps([])
    '[]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != package.split(".")[0]:
            raise
        raise MissingExtra(
            f"{package} is not installed; run: pip install 'dpcheck[{extra}]'", package=package
        ) from None


def require(packages: tuple[str, ...], extra: str) -> None:
    """Say what is missing before any work is done; nothing is imported.

    >>> require(("json",), "testing")
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingExtra(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; run: "
            f"pip install 'dpcheck[{extra}]'",
            package=missing[0],
        )
