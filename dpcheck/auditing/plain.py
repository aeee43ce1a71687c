"""Data as a report can carry it."""

from __future__ import annotations

import numpy as np

from dpcheck.core.data import Plain


def plain(value: object, limit: int = 2000) -> Plain:
    """Data as JSON can carry it; large things as a short description."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= limit else f"array of shape {value.shape}"
    if isinstance(value, tuple | list):
        return [plain(item, limit) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item, limit) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int | float | str | bool) or value is None:
        return value
    return repr(value)[:200]
