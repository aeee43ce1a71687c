"""DataSynthesizer: synthetic tables from noisy marginals."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "DataSynthesizer",
    module="DataSynthesizer",
    requires=("DataSynthesizer",),
    tried="0.1.13",
    says="A parameter in Differential Privacy. Increase epsilon value to reduce the injected noises.",
    place="docstring of DataDescriber.describe_dataset_in_correlated_attribute_mode, on epsilon",
    reading="That the description as a whole is epsilon-private, one record more or less, is ours; "
    "describe_dataset_in_independent_attribute_mode has an epsilon too, and no docstring.",
)
__getattr__ = LIBRARY.find
_EPSILON = 1.0


def _describe(rows: Any, mode: str, rng: Any) -> Any:
    from DataSynthesizer.DataDescriber import DataDescriber

    handle, path = tempfile.mkstemp(suffix=".csv")
    try:
        with os.fdopen(handle, "w") as file:
            file.write("age,kind\n" + "".join(f"{age},{kind}\n" for age, kind in rows))
        made = DataDescriber(category_threshold=5, histogram_bins=2)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            given: dict[str, Any] = {
                "epsilon": _EPSILON,
                "seed": int(rng.integers(1 << 31)),
                "attribute_to_is_candidate_key": {"age": False},  # or distinct ages are left out
            }
            if mode == "correlated":
                given["k"] = 1
            describe = getattr(made, f"describe_dataset_in_{mode}_attribute_mode")
            describe(dataset_file=path, attribute_to_is_categorical={"kind": True}, **given)
        return made.data_description["attribute_description"]
    finally:
        os.unlink(path)


_ROWS = [(20 + i, "ab"[i % 2]) for i in range(12)]
_OLDEST = [([*_ROWS, (90, "a")], _ROWS)]
_INSIDE = [([*_ROWS, (25, "a")], _ROWS)]


def _add(name: str, mode: str, read: Any, neighbours: Any, note: str = "") -> None:
    LIBRARY.target(name, claim=_EPSILON, adjacency="add-remove", neighbours=neighbours, note=note)(
        lambda rows, rng: read(_describe(rows, mode, rng))
    )


for _mode in ("independent", "correlated"):
    _add(
        f"{_mode}_range",
        _mode,
        lambda found: [found["age"]["min"], found["age"]["max"]],
        _OLDEST,
        "no range given; the README says that noise is for statistics within the active domain",
    )
    _add(
        f"{_mode}_histogram",
        _mode,
        lambda found: list(found["kind"]["distribution_probabilities"]),
        _INSIDE,
        "only the noisy histogram of a categorical column with both values present",
    )
