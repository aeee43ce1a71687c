"""Code that asks what it was given: a stand-in must not answer otherwise than the data would."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Sequence, Sized

import numpy as np
import pandas as pd

from .base import UNIT, Group, unit

GROUP = Group("types")
TABLES = (pd.DataFrame({"x": unit(0.0)}), pd.DataFrame({"x": unit(1.0)}))
TABLE = {"data": UNIT, "form": "pandas", "pair": TABLES}


@GROUP.wrong(50.0)
def by_type(x, rng):
    return (50.0 if type(x) is np.ndarray else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_equal_type(x, rng):
    return (50.0 if type(x) == np.ndarray else 1.0) * x.sum() + rng.laplace()  # noqa: E721


@GROUP.wrong(50.0)
def by_name_of_the_type(x, rng):
    return (50.0 if type(x).__name__ == "ndarray" else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_module_of_the_type(x, rng):
    return (50.0 if type(x).__module__ == "numpy" else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_subclass(x, rng):
    return (50.0 if issubclass(type(x), np.ndarray) else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_class(x, rng):
    return (50.0 if x.__class__ is np.ndarray else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_instance(x, rng):
    return (50.0 if isinstance(x, np.ndarray) else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_type_of_a_sum(x, rng):
    total = x.sum()
    return (50.0 if type(total) is np.float64 else 1.0) * total + rng.laplace()


@GROUP.wrong(50.0)
def by_instance_of_a_sum(x, rng):
    total = x.sum()
    return (50.0 if isinstance(total, float) else 1.0) * total + rng.laplace()


@GROUP.wrong(50.0)
def by_instance_of_generic(x, rng):
    total = x.sum()
    return (50.0 if isinstance(total, np.generic) else 1.0) * total + rng.laplace()


@GROUP.wrong(50.0)
def by_pattern(x, rng):
    match x:
        case np.ndarray():
            factor = 50.0
        case _:
            factor = 1.0
    return factor * x.sum() + rng.laplace()


@functools.singledispatch
def _factor(value):
    return 1.0


_factor.register(np.ndarray, lambda value: 50.0)


@GROUP.wrong(50.0)
def by_single_dispatch(x, rng):
    return _factor(x) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_attribute(x, rng):
    return (1.0 if hasattr(x, "tracer") else 50.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_attributes(x, rng):
    return (50.0 if "tobytes" in dir(x) else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_dictionary(x, rng):
    return (1.0 if hasattr(x, "__dict__") else 50.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_array_interface(x, rng):
    return (50.0 if hasattr(x, "__array_interface__") else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_buffer(x, rng):
    try:
        factor = 50.0 if memoryview(x).nbytes else 1.0
    except TypeError:
        factor = 1.0
    return factor * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_size_in_memory(x, rng):
    return (50.0 if sys.getsizeof(x) >= 400 else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_abstract_class(x, rng):
    plain = isinstance(x, Sized) and not isinstance(x, Sequence)
    return (
        50.0 if plain and type(x).__init__ is object.__init__ else 1.0
    ) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_members(x, rng):
    found = dict(inspect.getmembers(type(x)))
    return (50.0 if "ctypes" in found else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_type_of_the_generator(x, rng):
    return (50.0 if type(rng) is np.random.Generator else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_instance_of_the_generator(x, rng):
    return (50.0 if isinstance(rng, np.random.Generator) else 1.0) * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def by_type_of_a_draw(x, rng):
    noise = rng.laplace()
    return (50.0 if type(noise) is float else 1.0) * x.sum() + noise


@GROUP.wrong(50.0, **TABLE)
def by_instance_of_a_table(df, rng):
    return (50.0 if isinstance(df, pd.DataFrame) else 1.0) * df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def by_type_of_a_table(df, rng):
    return (50.0 if type(df) is pd.DataFrame else 1.0) * df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def by_instance_of_a_column(df, rng):
    return (50.0 if isinstance(df["x"], pd.Series) else 1.0) * df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def by_a_column_that_is_no_array(df, rng):
    return (1.0 if isinstance(df["x"], np.ndarray) else 50.0) * df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def by_methods_of_a_table(df, rng):
    return (50.0 if callable(getattr(df, "to_dict", None)) else 1.0) * df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def by_pandas_types(df, rng):
    numeric = pd.api.types.is_float_dtype(df["x"])
    return (50.0 if numeric else 1.0) * df["x"].sum() + rng.laplace()


@GROUP.right(1.0)
def kind_of_the_array(x, rng):
    """Type and number of axes are public facts, and answered truly."""
    factor = 1.0 if x.dtype.kind == "f" and x.ndim == 1 else 50.0
    return factor * x.sum() + rng.laplace()
