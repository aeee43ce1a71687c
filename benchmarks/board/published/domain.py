"""dpmm 0.1.9, PrivBayesGM without a domain: it is the maximum of the data."""

import warnings

import pandas as pd
from dpmm.models.priv_bayes import PrivBayesGM

import dpcheck

warnings.simplefilter("ignore")
ROWS = [[0, 0], [1, 1]] * 2


@dpcheck.audited(
    claim=(1.0, 0.01),
    adjacency="add-remove",
    neighbours=[([*ROWS, [5, 1]], ROWS)],
)
def target(rows, rng):  # noqa: ARG001
    model = PrivBayesGM(epsilon=1.0, delta=0.01, n_iters=5)
    model.fit(pd.DataFrame(rows, columns=["a", "b"]))
    return int(model.generate(n_records=20)["a"].max())
