"""SmartNoise SQL: SQL queries on tables with noise."""

from __future__ import annotations

import warnings
from functools import lru_cache
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
_EPSILON, _DELTA = 1.0, 0.01
_TABLE = {
    "row_privacy": True,
    "rows": 4,
    "x": {"type": "float", "lower": 0.0, "upper": 1.0},
    "k": {"type": "string"},
}
_ROWS = [(1.0, "a"), (0.0, "a"), (0.5, "b"), (1.0, "a")]
_REMOVED = [(_ROWS, _ROWS[:-1])]


@lru_cache(maxsize=64)
def _reader(rows: Any, grouped: bool) -> Any:
    """A connection; small groups are left out only where there are groups to choose."""
    import pandas as pd
    from snsql import Privacy, from_df

    table = pd.DataFrame({"x": [row[0] for row in rows], "k": [row[1] for row in rows]})
    privacy = Privacy(epsilon=_EPSILON, delta=_DELTA)
    metadata = {"": {"d": {"t": _TABLE | {"censor_dims": grouped}}}}
    return from_df(table, privacy=privacy, metadata=metadata)


def _query(name: str, text: str, columns: int, **quoted: str) -> None:
    def run(rows: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = _reader(tuple(tuple(row) for row in rows), "GROUP BY" in text)
            found = reader.execute(text)
        return [list(row) for row in found[1:]]

    LIBRARY.target(
        name,
        claim=(columns * _EPSILON, _DELTA),
        adjacency="add-remove",
        neighbours=_REMOVED,
        **quoted,
    )(run)


_query("count", "SELECT COUNT(*) AS n FROM d.t", 1)
_query("sum", "SELECT SUM(x) AS s FROM d.t", 1)
_query(
    "average",
    "SELECT AVG(x) AS m FROM d.t",
    2,
    says="will be ~0.2 epsilon, since AVG computed from SUM and COUNT",
    place="docstring of snsql PrivateReader.get_privacy_cost, for epsilon=0.1",
)
_query(
    "variance",
    "SELECT VAR(x) AS v FROM d.t",
    3,
    reading="Three statistics (count, sum, sum of squares) for a variance is ours.",
)
_query(
    "group_by",
    "SELECT k, COUNT(*) AS n FROM d.t GROUP BY k",
    2,
    reading="Two statistics, one to choose the groups that are shown and one for their counts, is ours.",
)
