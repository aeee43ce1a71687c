"""One answer in every type people return: each entry makes an output of a number."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import pickle
import struct
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Point = namedtuple("Point", "x y")
START = dt.datetime(2026, 1, 1)


@dataclasses.dataclass
class Summary:
    count: int
    mean: float


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Report:
    def __init__(self, value):
        self.title = "report"
        self.inner = {"value": value}


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def _raises(x):
    if x > 2.5:
        raise ValueError("too many")
    return "fine"


def _message(x):
    raise RuntimeError(f"cannot handle {x}")


def _generator(x):
    yield 1
    yield x


async def _coroutine(x):
    await asyncio.sleep(0)
    return x


def _model(x):
    return LinearRegression().fit(np.array([[0.0], [1.0]]), np.array([0.0, x]))


def _pipeline(x):
    model = make_pipeline(StandardScaler(), LinearRegression())
    return model.fit(np.array([[0.0], [1.0]]), np.array([0.0, x]))


def _wide(x):
    image = np.zeros(10_000)
    image[9_876] = x
    return image


def _structured(x):
    return np.array([(1, x)], dtype=[("n", "i4"), ("value", "f8")])


def _masked(x):
    return np.ma.array([1.0, x], mask=[x > 2.5, False])


def _cyclic(x):
    found = [x]
    found.append(found)
    return found


OUTPUT_TYPES: dict[str, Callable[[float], Any]] = {
    "float": float,
    "int": round,
    "int beyond 2^53": lambda x: 2**80 + round(x * 1000),
    "int beyond all floats": lambda x: 10**400 + round(x * 1000),
    "bool": lambda x: x > 2.5,
    "complex": lambda x: complex(1, x),
    "Decimal": lambda x: Decimal(1) + Decimal(repr(x)) / Decimal(10) ** 25,
    "Fraction": lambda x: Fraction(round(x * 1000), 7),
    "None sometimes": lambda x: None if x > 2.5 else 1.0,
    "NaN sometimes": lambda x: float("nan") if x > 2.5 else 1.0,
    "infinity sometimes": lambda x: float("inf") if x > 2.5 else 1.0,
    "text": lambda x: f"the mean is {x:.3f} kg",
    "text of a category": lambda x: "Berlin" if x > 2.5 else "Ulm",
    "JSON": lambda x: json.dumps({"stats": {"mean": x}}),
    "CSV": lambda x: f"name,value\nmean,{x}\n",
    "bytes of text": lambda x: str(x).encode(),
    "bytes of a float": lambda x: struct.pack("d", x),
    "bytes of an array": lambda x: np.array([1.0, x]).tobytes(),
    "bytes of a pickle": lambda x: pickle.dumps(round(x)),
    "date": lambda x: (START + dt.timedelta(days=round(x))).date(),
    "datetime": lambda x: START + dt.timedelta(seconds=x),
    "time of day": lambda x: (START + dt.timedelta(seconds=60 + x)).time(),
    "timedelta": lambda x: dt.timedelta(seconds=x),
    "enum": lambda x: Size.LARGE if x > 2.5 else Size.SMALL,
    "list": lambda x: [1.0, x],
    "long list": lambda x: [0.0] * 40 + [x],
    "list of mixed things": lambda x: [None, "a", x],
    "nested lists": lambda x: [[1, 2], [3, [x]]],
    "list of varying length": lambda x: [0] * max(0, round(x)),
    "tuple of arrays": lambda x: (np.zeros(2), np.array([x])),
    "named tuple": lambda x: Point(1, x),
    "set": lambda x: {"a", "b"} if x > 2.5 else {"a"},
    "set of numbers": lambda x: {1.0, 10 + x},
    "dict": lambda x: {"mean": x},
    "dict whose keys tell": lambda x: {"high" if x > 2.5 else "low": 1},
    "ordered dict": lambda x: OrderedDict(weight=np.array([x]), bias=np.zeros(1)),
    "dict in another order": lambda x: {"a": 1, "b": 2} if x > 2.5 else {"b": 2, "a": 1},
    "Counter": lambda x: Counter("a" * max(0, round(x))),
    "dataclass": lambda x: Summary(3, x),
    "object": Report,
    "object with slots": Slotted,
    "range": lambda x: range(max(0, round(x))),
    "generator": _generator,
    "coroutine": _coroutine,
    "exception sometimes": _raises,
    "message of an exception": _message,
    "part of itself": _cyclic,
    "array of floats": lambda x: np.array([0.0, x]),
    "array with NaN": lambda x: np.array([np.nan, x]),
    "array of large ints": lambda x: np.array([2**62 + round(x * 8)]),
    "array of objects": lambda x: np.array([None, x], dtype=object),
    "array of texts": lambda x: np.array(["a", str(round(x))]),
    "array of dates": lambda x: np.array([np.datetime64("2026-01-01") + round(x)]),
    "array with names": _structured,
    "masked array": _masked,
    "array of varying length": lambda x: np.zeros(max(0, round(x))),
    "array with 10,000 entries": _wide,
    "longdouble": lambda x: np.longdouble(1) + np.longdouble(x) * np.longdouble(1e-18),
    "sparse matrix": lambda x: sp.csr_matrix(np.array([[0.0, x], [0.0, 0.0]])),
    "large sparse array": lambda x: sp.coo_array(([x], ([5], [7])), shape=(1000, 1000)),
    "fitted model": _model,
    "pipeline": _pipeline,
    "DataFrame": lambda x: pd.DataFrame({"name": ["mean"], "value": [x]}),
    "DataFrame of varying length": lambda x: pd.DataFrame({"a": np.zeros(max(0, round(x)))}),
    "DataFrame by group": lambda x: pd.DataFrame({"v": [1.0, x]}, index=["Ulm", "Berlin"]),
    "Series": lambda x: pd.Series([1.0, x]),
    "Series by name": lambda x: pd.Series({"mean": x}),
    "Series with missing values": lambda x: pd.Series([1, None if x > 2.5 else 2], dtype="Int64"),
    "categories": lambda x: pd.Series(["a", "b" if x > 2.5 else "a"], dtype="category"),
    "index": lambda x: pd.Series([1.0], index=[round(x)]),
    "Timestamp": lambda x: pd.Timestamp("2026-01-01") + pd.Timedelta(seconds=x),
    "column of dates": lambda x: pd.Series([pd.Timestamp("2026-01-01") + pd.Timedelta(days=x)]),
}


def with_optional_packages() -> dict[str, Callable[[float], Any]]:
    """All types; those of polars, torch and jax where these are installed."""
    found = dict(OUTPUT_TYPES)
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        found["polars DataFrame"] = lambda x: pl.DataFrame({"name": ["mean"], "value": [x]})
        found["polars Series"] = lambda x: pl.Series("a", [None, x])
        found["polars LazyFrame"] = lambda x: pl.LazyFrame({"value": [x]})
    try:
        import torch
    except ImportError:
        pass
    else:
        found["torch tensor"] = lambda x: torch.tensor([0.0, x])
        found["torch state dict"] = lambda x: {"layer.weight": torch.full((2, 2), x)}
    try:
        import jax.numpy as jnp
    except ImportError:
        pass
    else:
        found["jax array"] = lambda x: jnp.array([0.0, x])
        found["jax tree"] = lambda x: {"w": (jnp.zeros(2), jnp.array(x))}
    return found
