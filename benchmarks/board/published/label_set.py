"""diffprivlib 0.6.6, LogisticRegression: the labels are those of the data."""

import warnings

from diffprivlib.models import LogisticRegression

import dpcheck

warnings.simplefilter("ignore")
RECORDS = [[1.0, 1], [-1.0, 0]] * 3


@dpcheck.audited(
    claim=1.0,
    adjacency="add-remove",
    neighbours=[([*RECORDS, [0.5, 2]], RECORDS)],
)
def target(records, rng):
    model = LogisticRegression(epsilon=1.0, data_norm=1.0, random_state=int(rng.integers(1 << 31)))
    model.fit([[x] for x, _ in records], [label for _, label in records])
    return model.classes_.tolist()
