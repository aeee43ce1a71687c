"""SmartNoise SQL: SQL queries on tables with noise."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "smartnoise-sql",
    module="snsql",
    requires=("smartnoise-sql",),
    tried="1.0.10",
    says=":param epsilon: The epsilon value for each statistic returned by the private SQL connection.",
    place="docstring of snsql.Privacy",
    reading="How many statistics a query has is ours; one row more or less makes a neighbour.",
)
__getattr__ = LIBRARY.find
_EPSILON, _DELTA, _COPIES = 1.0, 0.01, 500
_TABLE = {
    "row_privacy": True,
    "x": {"type": "float", "lower": 0.0, "upper": 1.0},
    "k": {"type": "string"},
}
_ROWS = [(1.0, "a"), (0.0, "a"), (0.5, "b"), (1.0, "a")]
_REMOVED = [(_ROWS, _ROWS[:-1])]
_ONE_OF_TWO = [([(1.0, "a"), (0.0, "a")], [(0.0, "a")])]  # moves a mean most
_BATCHED = (
    "One query takes a tenth of a second, so that one query answers for 500 groups, each with a copy of the "
    "data of its own: the groups' answers have noise of their own, and count as 500 calls on the data."
)
_ANSWERS: dict[tuple[str, Any], list[Any]] = {}  # each is handed out once


def _reader(rows: Any, *, censored: bool) -> Any:
    """A connection to a table; with `censored`, groups that are too small are left out."""
    import pandas as pd
    from snsql import Privacy, from_df

    table = pd.DataFrame({"x": [row[0] for row in rows], "k": [row[1] for row in rows]})
    privacy = Privacy(epsilon=_EPSILON, delta=_DELTA)
    metadata = {"": {"d": {"t": _TABLE | {"rows": len(rows), "censor_dims": censored}}}}
    return from_df(table, privacy=privacy, metadata=metadata)


def _execute(reader: Any, text: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [list(row) for row in reader.execute(text)[1:]]


@cache
def _copies(rows: Any) -> Any:
    every = [(row[0], str(group)) for group in range(_COPIES) for row in rows]
    return _reader(every, censored=False)


def _statistic(name: str, text: str, columns: int, **quoted: str) -> None:
    """One statistic of the whole data, asked of every copy at once."""

    def run(rows: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        data = tuple(tuple(row) for row in rows)
        answers = _ANSWERS.setdefault((name, data), [])
        if not answers:
            answers += _execute(_copies(data), f"SELECT k, {text} AS s FROM d.t GROUP BY k")
        return float(answers.pop()[1])

    _target(name, columns, run, **quoted)


def _target(name: str, columns: int, run: Any, **quoted: str) -> None:
    LIBRARY.target(
        name,
        claim=(columns * _EPSILON, _DELTA),
        adjacency="add-remove",
        neighbours=_ONE_OF_TWO if name in ("average", "variance") else _REMOVED,
        **quoted,
    )(run)


_ONE = "How many statistics a query has is ours; one row more or less makes a neighbour. "
_statistic("count", "COUNT(*)", 1, reading=_ONE + _BATCHED)
_statistic("count_column", "COUNT(x)", 1, reading=_ONE + _BATCHED)
_statistic("sum", "SUM(x)", 1, reading=_ONE + _BATCHED)
_statistic(
    "average",
    "AVG(x)",
    2,
    says="will be ~0.2 epsilon, since AVG computed from SUM and COUNT",
    place="docstring of snsql PrivateReader.get_privacy_cost, for epsilon=0.1",
    reading=_BATCHED,
)
_statistic(
    "variance",
    "VAR(x)",
    3,
    reading="Three statistics (count, sum, sum of squares) for a variance is ours. " + _BATCHED,
)


@cache
def _whole(rows: Any) -> Any:
    return _reader(rows, censored=True)


def _group_by(rows: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
    reader = _whole(tuple(tuple(row) for row in rows))
    return sorted(_execute(reader, "SELECT k, COUNT(*) AS n FROM d.t GROUP BY k"))


_target(
    "group_by",
    2,
    _group_by,
    reading="Two statistics, one to choose the groups that are shown and one for their counts, is ours.",
)
