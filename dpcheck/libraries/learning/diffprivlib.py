"""diffprivlib: mechanisms, tools and models in the style of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "diffprivlib",
    module="diffprivlib",
    requires=("diffprivlib", "scikit-learn>=1.6,<1.7"),
    tried="0.6.6",
    says=r"Privacy parameter :math:`\epsilon`",
    place="docstring of each function of diffprivlib.tools and each class of diffprivlib.models",
    reading="The adjacency is ours: replace-one, unless the row says otherwise.",
)
__getattr__ = LIBRARY.find
_EPSILON = 1.0
_ZEROS = [0.0] * 10
_ONE = [1.0] + [0.0] * 9
_REPLACED = [(_ZEROS, _ONE)]
_REMOVED = [(_ZEROS, _ZEROS[:-1])]


def _mechanism(kind: str, pair: tuple[Any, Any], claim: Any = _EPSILON, **given: Any) -> None:
    """One of diffprivlib.mechanisms: two values as far apart as its sensitivity says."""

    def randomise(value: Any, rng: Any) -> Any:
        from diffprivlib import mechanisms

        seed = int(rng.integers(1 << 31))
        return getattr(mechanisms, kind)(random_state=seed, **given).randomise(value)

    LIBRARY.target(
        kind,
        claim=claim,
        adjacency="replace-one",
        neighbours=[pair],
        says=rf"Privacy parameter :math:`\{'delta' if kind == 'Uniform' else 'epsilon'}` for the mechanism.",
        place="docstring of each class of diffprivlib.mechanisms",
        reading="Two values as far apart as the sensitivity that is given are neighbours.",
    )(randomise)


_PURE = {"epsilon": _EPSILON, "sensitivity": 1}
_APPROXIMATE = {"epsilon": 0.9, "delta": 0.01, "sensitivity": 1}
_INSIDE = {"lower": 0, "upper": 3}
_mechanism("Binary", ("a", "b"), epsilon=_EPSILON, value0="a", value1="b")
_mechanism("Laplace", (0.0, 1.0), **_PURE)
_mechanism("LaplaceTruncated", (0.0, 1.0), **_PURE, **_INSIDE)
_mechanism("LaplaceFolded", (0.0, 1.0), **_PURE, **_INSIDE)
_mechanism("LaplaceBoundedDomain", (0.0, 1.0), **_PURE, **_INSIDE)
_mechanism("LaplaceBoundedNoise", (0.0, 1.0), (0.9, 0.01), **_APPROXIMATE)
_mechanism("Snapping", (0.0, 1.0), **_PURE, **_INSIDE)
_mechanism("Staircase", (0.0, 1.0), **_PURE)
_mechanism("Geometric", (0, 1), **_PURE)
_mechanism("GeometricTruncated", (0, 1), **_PURE, **_INSIDE)
_mechanism("GeometricFolded", (0, 1), **_PURE, **_INSIDE)
_mechanism("Gaussian", (0.0, 1.0), (0.9, 0.01), **_APPROXIMATE)
_mechanism("GaussianAnalytic", (0.0, 1.0), (0.9, 0.01), **_APPROXIMATE)
_mechanism("GaussianDiscrete", (0, 1), (0.9, 0.01), **_APPROXIMATE)
_mechanism("Uniform", (0.0, 1.0), (0.0, 0.2), delta=0.2, sensitivity=1)
_mechanism(
    "ExponentialCategorical",
    ("a", "c"),
    epsilon=_EPSILON,
    utility_list=[["a", "b", 1], ["a", "c", 2], ["b", "c", 2]],
)
_mechanism("ExponentialHierarchical", ("a", "c"), epsilon=_EPSILON, hierarchy=[["a", "b"], ["c"]])


def _selection(kind: str) -> None:
    """A choice by utilities, which are the data here: each may move by the sensitivity."""

    def select(utility: Any, rng: Any) -> Any:
        from diffprivlib import mechanisms

        seed = int(rng.integers(1 << 31))
        made = getattr(mechanisms, kind)(
            epsilon=_EPSILON, sensitivity=1, utility=list(utility), random_state=seed
        )
        return made.randomise()

    LIBRARY.target(
        kind,
        claim=_EPSILON,
        adjacency="replace-one",
        neighbours=[((0.0, 1.0, 1.0), (1.0, 0.0, 0.0))],
        says=r"Privacy parameter :math:`\epsilon` for the mechanism.",
        place="docstring of each class of diffprivlib.mechanisms",
        reading="Utilities that each change by at most the sensitivity are neighbours.",
    )(select)


_selection("Exponential")
_selection("PermuteAndFlip")


def _tool(name: str, neighbours: Any = None, adjacency: str = "replace-one", **given: Any) -> None:
    """One of diffprivlib.tools with public bounds."""
    label = given.pop("label", name)
    note = given.pop("note", "")

    def run(data: Any, rng: Any) -> Any:
        import numpy as np
        from diffprivlib import tools

        seed = int(rng.integers(1 << 31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(tools, name)(
                np.array(data), epsilon=_EPSILON, random_state=seed, **given
            )
        return found[0].tolist() if isinstance(found, tuple) else float(found)

    LIBRARY.target(
        label,
        claim=_EPSILON,
        adjacency=adjacency,
        neighbours=neighbours or _REPLACED,
        note=note,
    )(run)


_BOUNDS: dict[str, Any] = {"bounds": (0, 1)}
for _name in ("mean", "nanmean", "var", "nanvar", "std", "nanstd", "sum", "nansum", "median"):
    _tool(_name, **_BOUNDS)
_tool("quantile", quant=0.3, **_BOUNDS)
_tool("percentile", percent=30, **_BOUNDS)
_tool("count_nonzero")
_tool("histogram", _REMOVED, "add-remove", bins=2, range=(0, 1))
_tool(
    "histogramdd",
    [([[0.0, 0.0]] * 5, [[0.0, 0.0]] * 4)],
    "add-remove",
    bins=2,
    range=[(0, 1), (0, 1)],
)
_tool(
    "histogram",
    label="histogram_replaced",
    bins=2,
    range=(0, 1),
    note="not a violation if epsilon is meant for add-remove: a record that moves changes two counts",
)
_tool(
    "mean",
    [([0.0, 0.5, 1.0], [0.0, 0.5, 5.0])],
    label="mean_without_bounds",
    note="documented as not private: a PrivacyLeakWarning says so",
)


def _model(name: str, release: Any, neighbours: Any, **given: Any) -> None:
    """One of diffprivlib.models: what `fit` leaves in the attributes `release` reads."""
    label, note = given.pop("label", name), given.pop("note", "")
    quoted = {word: given.pop(word) for word in ("says", "place", "reading") if word in given}
    adjacency = given.pop("adjacency", "replace-one")

    def fit(data: Any, rng: Any) -> Any:
        import numpy as np
        from diffprivlib import models

        rows, labels = data
        seed = int(rng.integers(1 << 31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(models, name)(epsilon=_EPSILON, random_state=seed, **given)
            model.fit(np.array(rows), None if labels is None else np.array(labels))
        return release(model)

    LIBRARY.target(
        label,
        claim=_EPSILON,
        adjacency=adjacency,
        neighbours=neighbours,
        note=note,
        **quoted,
    )(fit)


def _vote(model: Any) -> Any:
    return int(model.predict([[0.5]])[0])


_ROWS = [[0.5]] * 10
_LABELS = [0] * 5 + [1] * 4
_FOREST: dict[str, Any] = {"bounds": ([0.0], [1.0]), "classes": [0, 1], "max_depth": 1}
_SWAPPED = [((_ROWS, [*_LABELS, 0]), (_ROWS, [*_LABELS, 1]))]
_LEFT_OUT = [((_ROWS, [*_LABELS, 0]), (_ROWS[:-1], _LABELS))]
_HOLDS = "not a violation if epsilon is meant for add-remove: a changed label moves two counts"
_model("RandomForestClassifier", _vote, _SWAPPED, n_estimators=1, note=_HOLDS, **_FOREST)
_model(
    "RandomForestClassifier",
    _vote,
    _LEFT_OUT,
    label="RandomForestClassifier_removed",
    adjacency="add-remove",
    n_estimators=1,
    **_FOREST,
)
_model("DecisionTreeClassifier", _vote, _SWAPPED, note=_HOLDS, **_FOREST)
_model(
    "KMeans",
    lambda m: m.cluster_centers_.ravel().tolist(),
    [(([[0.0]] * 4 + [[1.0]] * 4, None), ([[0.0]] * 5 + [[1.0]] * 3, None))],
    n_clusters=2,
    bounds=(0, 1),
)
_model(
    "GaussianNB",
    lambda m: [m.theta_.ravel().tolist(), m.class_count_.tolist()],
    [(([[10.0]] * 8, [0] * 4 + [1] * 4), ([[10.0]] * 8, [0] * 5 + [1] * 3))],
    bounds=(9, 10),
    note="refuted for replace-one, which the library does not state: a changed label moves the counts "
    "of two classes, each with noise for one",
)
_model(
    "LinearRegression",
    lambda m: m.coef_.tolist(),
    [(([[0.0]] * 4 + [[1.0]], [0.0] * 5), ([[0.0]] * 4 + [[0.1]], [0.0] * 5))],
    bounds_X=(0, 1),
    bounds_y=(0, 1),
    fit_intercept=False,
)
_model(
    "LogisticRegression",
    lambda m: m.coef_.ravel().tolist(),
    [
        (
            ([[1.0]] * 3 + [[-1.0]] * 3, [1] * 3 + [0] * 3),
            ([[1.0]] * 3 + [[-1.0]] * 3, [0] + [1] * 2 + [0] * 3),
        )
    ],
    data_norm=1.0,
)
_model(
    "LogisticRegression",
    lambda m: m.classes_.tolist(),
    [
        (
            ([[1.0], [-1.0]] * 3 + [[0.5]], [1, 0] * 3 + [2]),
            ([[1.0], [-1.0]] * 3, [1, 0] * 3),
        )
    ],
    label="LogisticRegression_rare_label",
    adjacency="add-remove",
    data_norm=1.0,
)
_model(
    "PCA",
    lambda m: m.components_.ravel().tolist(),
    [(([[1.0, 0.0]] * 5, None), ([[1.0, 0.0]] * 4 + [[0.0, 1.0]], None))],
    n_components=1,
    data_norm=1.0,
    centered=True,
)
_model(
    "StandardScaler",
    lambda m: [m.mean_.tolist(), m.var_.tolist()],
    [(([[0.0]] * 10, None), ([[1.0]] + [[0.0]] * 9, None))],
    bounds=(0, 1),
    says="The privacy budget to be allocated to learning the mean and variance of the training sample.",
    place="docstring of diffprivlib.models.StandardScaler, on epsilon",
    reading="The adjacency, replace-one, is ours.",
)
