"""Tumult Analytics: queries on Spark data frames. Needs Java."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "tmlt.analytics",
    module="tmlt",
    requires=("tmlt.analytics",),
    tried="0.21.0",
    says="Answers a query within the given privacy budget and returns a Spark dataframe.",
    place="docstring of tmlt.analytics.Session.evaluate",
    reading="The budget is a PureDPBudget and the protected change AddOneRow. One evaluation takes "
    "seconds, so that one query answers for 1,000 groups, each with a copy of the data of its own: "
    "the groups' answers have noise of their own, and count as 1,000 calls on the data.",
)
__getattr__ = LIBRARY.find
_EPSILON, _COPIES = 1.0, 1000
_ROWS = [1.0, 0.0, 0.0, 1.0]
_REMOVED = [(_ROWS, _ROWS[:-1])]
_ANSWERS: dict[tuple[str, tuple[float, ...]], list[float]] = {}  # each is handed out once


@cache
def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(),
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@cache
def _session(values: tuple[float, ...]) -> Any:
    """A session on the copies, without a limit on its budget: each evaluation says what it spends."""
    import pandas as pd
    from tmlt.analytics import AddOneRow, PureDPBudget, Session

    rows = [(group, value) for group in range(_COPIES) for value in values]
    table = _spark().createDataFrame(pd.DataFrame(rows, columns=["group", "x"]))
    return Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="table",
        dataframe=table,
        protected_change=AddOneRow(),
    )


def _add(name: str, ask: Any) -> None:
    """A query by groups, of which every copy has its own."""

    def run(values: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from the system
        from tmlt.analytics import KeySet, PureDPBudget, QueryBuilder

        answers = _ANSWERS.setdefault((name, tuple(values)), [])
        if not answers:
            session = _session(tuple(values))
            groups = QueryBuilder("table").groupby(KeySet.from_dict({"group": [*range(_COPIES)]}))
            found = session.evaluate(ask(groups), PureDPBudget(_EPSILON)).toPandas()
            answers += [float(value) for value in found.sort_values("group").iloc[:, -1]]
        return answers.pop()

    LIBRARY.target(name, claim=_EPSILON, adjacency="add-remove", neighbours=_REMOVED)(run)


_add("count", lambda groups: groups.count())
_add("sum", lambda groups: groups.sum("x", low=0.0, high=1.0))
_add("average", lambda groups: groups.average("x", low=0.0, high=1.0))
_add("variance", lambda groups: groups.variance("x", low=0.0, high=1.0))
_add("median", lambda groups: groups.median("x", low=0.0, high=1.0))
