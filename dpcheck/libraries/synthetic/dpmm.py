"""dpmm: synthetic tables from marginal models (PrivBayes, MST, AIM)."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "dpmm",
    module="dpmm",
    requires=("dpmm",),
    tried="0.1.9",
    says=":param epsilon: Privacy budget. … :param delta: Privacy parameter.",
    place="docstrings of PrivBayesGM, MSTGM and AIMGM in dpmm.models",
    reading="That the synthetic rows are (epsilon, delta)-private, one record more or less, with a "
    "public domain, is ours. Five steps of inference instead of 1,000, which is done on noisy marginals.",
)
__getattr__ = LIBRARY.find
_EPSILON, _DELTA = 1.0, 0.01
_ROWS = [[i % 2, i % 2] for i in range(6)]
_REMOVED = [([*_ROWS, [1, 0]], _ROWS)]


def _add(name: str, module: str, kind: str) -> None:
    """Fit on two binary columns with a public domain; one synthetic row is released."""

    def run(rows: Any, rng: Any) -> Any:
        import importlib

        import numpy as np
        import pandas as pd

        model = getattr(importlib.import_module(f"dpmm.models.{module}"), kind)
        table = pd.DataFrame(rows, columns=["a", "b"])
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            made = model(epsilon=_EPSILON, delta=_DELTA, domain={"a": 2, "b": 2}, n_iters=5)
            seed = int(rng.integers(1 << 31))
            made.set_random_state(np.random.RandomState(seed))
            made.fit(table)
            found = made.generate(n_records=4)
        return [[int(value) for value in row] for row in found[["a", "b"]].to_numpy()]

    LIBRARY.target(name, claim=(_EPSILON, _DELTA), adjacency="add-remove", neighbours=_REMOVED)(run)


_add("PrivBayes", "priv_bayes", "PrivBayesGM")
_add("MST", "mst", "MSTGM")
_add("AIM", "aim", "AIMGM")
