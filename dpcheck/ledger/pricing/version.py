"""The version that priced a balance: another one prices what was counted anew."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

_PRICES = 1  # raise it when an event costs something else than before


def _installed() -> str:
    try:
        return version("dpcheck")
    except PackageNotFoundError:
        return "unknown"


PRICED_BY = f"dpcheck {_installed()}, prices {_PRICES}"
