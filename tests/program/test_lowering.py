"""Every function that is lowered computes what the library's does, over types, shapes and options."""

from __future__ import annotations

import importlib.util
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program import proof
from dpcheck.program.described import described
from dpcheck.program.graph import Graph
from dpcheck.program.lowering import library
from dpcheck.program.lowering.registry import FUNCTIONS, METHODS
from dpcheck.program.proof import Program
from dpcheck.program.reading.calls import call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import Generator
from dpcheck.program.running import run

from .lowered import entrywise, gathered

library.load()
CASES = {**entrywise.CASES, **gathered.CASES}
OF_METHODS = {**entrywise.METHODS, **gathered.METHODS}
TABLES = {
    **{f"function {name}": each for name, each in CASES.items()},
    **{f"method {name}": each for name, each in OF_METHODS.items()},
    **{f"draw {name}": each for name, each in gathered.DRAWS.items()},
}
# Refused whatever they are called with, or read only where the generator is the module's own.
ELSEWHERE = {
    "builtins.print",
    "numpy.random.seed",
    "numpy.random.default_rng",
    "random.Random.seed",
    "pandas.Series",  # of released values: below
    "pandas.DataFrame",
    # In tests/prove/corpus/habits.py: they take no arrays.
    *("random.Random", "random.SystemRandom", "math.copysign"),
    *("collections.Counter", "collections.defaultdict"),
    "scipy.special._logsumexp.softmax",  # in tests/prove/test_by_hand.py
    # In test_tables.py: they take columns of tables.
    *("pandas.cut", "pandas.Categorical", "pandas.crosstab"),
    "pandas.core.indexes.multi.MultiIndex.from_product",
}


def name_of(function: object) -> str:
    """Where a function lives."""
    own = getattr(function, "__qualname__", None) or getattr(function, "__name__", str(function))
    return f"{getattr(function, '__module__', '')}.{own}"


def test_every_lowered_function_has_a_case():
    names = {name_of(function) for function, _ in FUNCTIONS.values()}
    drawing = {name for name in names if ".random." in name or "Random." in name}
    assert names - set(CASES) - ELSEWHERE - drawing == set()


def test_every_lowered_method_has_a_case():
    assert set(METHODS) - set(OF_METHODS) == set()


def data() -> list[np.ndarray]:
    """Arrays of several types and shapes, with edges among them."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(5, 3)) * 2
    whole = rng.integers(-4, 5, (5, 3))
    return [
        table,
        table[:, 0],
        np.where(whole == 0, np.nan, table),
        table.astype(np.float32),
        whole.astype(np.int8) * 31,
        (whole % 5).astype(np.uint8) * 60,
        whole[:, 1] % 3,
        whole > 0,
        (whole > 0)[:, 0],
    ]


HEAD = """import math
from functools import partial as PARTIAL, reduce as REDUCE
import numpy as np
import dpcheck


"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module with a function for every expression: a program is read from its file."""
    path: Path = tmp_path_factory.mktemp("lowered") / "cases.py"
    bodies = [
        f"def case_{i}_{j}(x, rng):\n    return {expression}\n"
        for i, each in enumerate(TABLES.values())
        for j, expression in enumerate(each)
    ]
    path.write_text(HEAD + "\n\n".join(bodies))
    spec = importlib.util.spec_from_file_location("lowered_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(function: Callable[..., object], x: np.ndarray) -> Program:
    """The program, whatever it returns: private values, too."""
    graph = Graph(Adjacency.REPLACE_ONE)
    reader = Reader(graph, frozenset())
    output = call(reader, function, (described(reader, x, None), Generator("rng")), {})
    return Program(graph, output, reader)


def same(found: object, wanted: object) -> None:
    """Types, shapes and whole numbers exactly, floats up to rounding."""
    if isinstance(wanted, list | tuple | dict):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)  # type: ignore[arg-type]
        pairs = zip(found, wanted, strict=True)  # type: ignore[call-overload]
        if isinstance(wanted, dict):
            pairs = zip(found.values(), wanted.values(), strict=True)  # type: ignore[attr-defined]
        for one, two in pairs:
            same(one, two)
        return
    if isinstance(wanted, str):
        assert found == wanted
        return
    one, two = np.asarray(found), np.asarray(wanted)
    assert (one.shape, one.dtype) == (two.shape, two.dtype)
    if two.dtype.kind != "f":
        np.testing.assert_array_equal(one, two)
        return
    eps = float(np.finfo(two.dtype.name).eps)
    np.testing.assert_allclose(one, two, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("name", TABLES)
def test_the_program_computes_what_the_function_does(name: str, cases: ModuleType):
    place, counts = list(TABLES).index(name), Counter[str]()
    for j, expression in enumerate(TABLES[name]):
        function = getattr(cases, f"case_{place}_{j}")
        for x in data():
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    wanted = function(x.copy(), np.random.default_rng(3))
            except (TypeError, ValueError, IndexError, OverflowError):
                counts["raises"] += 1
                continue
            try:
                program = read(function, x)
            except NotProvable:
                counts["refused"] += 1
                continue
            counts["read"] += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = run(program, x.copy(), np.random.default_rng(3)).output
            try:
                same(found, wanted)
            except AssertionError as error:
                raise AssertionError(f"{expression} of {x.dtype} {x.shape}: {error}") from error
    assert counts["read"], counts


def series(x, rng):
    import pandas as pd

    return pd.Series(x.sum(axis=0) + rng.laplace(size=3), index=["a", "b", "c"])


def frame(x, rng):
    import pandas as pd

    return pd.DataFrame({"total": x.sum(axis=0) + rng.laplace(size=3)})


@pytest.mark.parametrize("function", [series, frame])
def test_tables_of_released_values(function):
    """What comes back is the table that the function returns."""
    pytest.importorskip("pandas")
    records = dpcheck.records(**{name: dpcheck.number(0, 1) for name in "abc"}, rows=5)
    program = proof.read(function, records, Adjacency.REPLACE_ONE, form="array")
    table = np.random.default_rng(1).random((5, 3))
    ours = run(program, table, np.random.default_rng(2)).output
    theirs = function(table, np.random.default_rng(2))
    assert type(ours) is type(theirs)
    assert list(ours.index) == list(theirs.index)
    assert np.allclose(ours.to_numpy(), theirs.to_numpy())


def a_number_where_rows_may_be(x, rng):
    """The side that a released value chooses has fewer entries than the result."""
    x = np.nan_to_num(x)
    first = np.clip(x, 0, 1).sum() + rng.laplace()
    chosen = np.where(first > 1e9, np.clip(x, 0, 1), 0.25)
    return first, chosen.sum(axis=0) + rng.laplace(size=3)


@pytest.mark.parametrize("rows", [5, 6])
def test_a_side_that_is_chosen_has_the_shape_of_both(rows):
    example = np.zeros((rows, 3))
    program = proof.read(a_number_where_rows_may_be, example, Adjacency.REPLACE_ONE)
    table = np.random.default_rng(1).random((rows, 3))
    ours = run(program, table, np.random.default_rng(2)).output
    theirs = a_number_where_rows_may_be(table, np.random.default_rng(2))
    for one, two in zip(ours, theirs, strict=True):
        assert np.allclose(one, two)


def a_sum_in_single_precision(x, rng):
    kept = x.astype(np.float32) * (rng.random(x.shape[0]) < 0.5)[:, None]
    return kept.sum() + rng.laplace(scale=2.0)


def test_one_number_of_noise_takes_on_the_type_of_the_sum():
    records = dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=5)
    program = proof.read(a_sum_in_single_precision, records, Adjacency.REPLACE_ONE, form="array")
    table = np.random.default_rng(1).random((5, 2))
    for seed in range(20):
        ours = np.asarray(run(program, table, np.random.default_rng(seed)).output)
        theirs = np.asarray(a_sum_in_single_precision(table, np.random.default_rng(seed)))
        assert (ours.dtype, ours) == (theirs.dtype, theirs)


def noise_around_a_sum_in_single_precision(x, rng):
    return rng.laplace(np.clip(x, 0, 1).astype(np.float32).sum(), 2.0)


def test_noise_around_a_number_is_added_in_double_precision():
    records = dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=5)
    function = noise_around_a_sum_in_single_precision
    program = proof.read(function, records, Adjacency.REPLACE_ONE, form="array")
    table = np.random.default_rng(1).random((5, 2))
    for seed in range(20):
        ours = np.asarray(run(program, table, np.random.default_rng(seed)).output)
        theirs = np.asarray(function(table, np.random.default_rng(seed)))
        assert (ours.dtype, ours) == (theirs.dtype, theirs)
