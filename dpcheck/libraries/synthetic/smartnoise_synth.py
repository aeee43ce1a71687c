"""smartnoise-synth: synthetic tables, and a covariance with noise."""

from __future__ import annotations

import warnings
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "smartnoise-synth",
    module="snsynth",
    # Its torch synthesizers are left out, and with them torch.
    requires=(
        "smartnoise-sql",
        "pac-synth",
        "Faker",
        "scipy",
        "scikit-learn",
        "--no-deps",
        "smartnoise-synth",
    ),
    tried="1.0.8",
)
__getattr__ = LIBRARY.find
_EPSILON = 1.0
_OUTSIDE = [([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [9.0, 1.0]])]
_COVARIANCE = {
    "says": "Distribute epsilon across all covariances that will be calculated",
    "place": "comment in DPcovariance.__init__, snsynth.models.dp_covariance",
    "reading": "That what is released is global_eps-private, one record replaced by any other, is ours.",
}
_MWEM = {
    "says": ":param epsilon: Privacy budget.",
    "place": "docstring of snsynth.mwem.MWEMSynthesizer",
}


def _covariance(rows: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's own
    import pandas as pd
    from snsynth.models.dp_covariance import DPcovariance

    made = DPcovariance(len(rows), [0, 1], pd.DataFrame([[0.0, 0.0], [1.0, 1.0]]), _EPSILON)
    return [float(value) for value in made.release(pd.DataFrame(rows))]


LIBRARY.target(
    "DPcovariance",
    claim=_EPSILON,
    adjacency="replace-one",
    neighbours=_OUTSIDE,
    **_COVARIANCE,
)(_covariance)


def _mwem(name: str, adjacency: str, neighbours: Any, release: Any, **words: str) -> None:
    """One column of categories; what is released is read from ten synthetic rows."""

    def run(values: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's own
        import pandas as pd
        from snsynth.mwem import MWEMSynthesizer

        table = pd.DataFrame({"a": values, "b": ["same"] * len(values)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = MWEMSynthesizer(
                epsilon=_EPSILON, iterations=1, q_count=3, mult_weights_iterations=2
            )
            made.fit(table, categorical_columns=["a", "b"])
            return release([str(value) for value in made.sample(10)["a"]])

    LIBRARY.target(
        name, claim=_EPSILON, adjacency=adjacency, neighbours=neighbours, **_MWEM, **words
    )(run)


_mwem(
    "MWEM",
    "replace-one",
    [(["x"] * 4 + ["y"], ["x"] * 3 + ["y"] * 2)],
    lambda found: found.count("x"),
    reading="That synthetic rows are epsilon-private, one record replaced, is ours.",
)
_mwem(
    "MWEM_rare_category",
    "add-remove",
    [(["x", "x", "y", "y", "rare"], ["x", "x", "y", "y"])],
    lambda found: sorted(set(found)),
    reading="That synthetic rows are epsilon-private, one record more or less, is ours.",
    note="categories are taken from the data; not a violation if they are public",
)
