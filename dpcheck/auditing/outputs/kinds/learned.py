"""Fitted models: what they learned, not how they were set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.kinds.objects import attributes
from dpcheck.auditing.outputs.registry import reads_named

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.tree._tree import Tree


@reads_named("sklearn", "BaseEstimator")
def read_estimator(value: BaseEstimator, path: str, flat: Flat) -> None:
    """Attributes that end in an underscore, its steps, and what else it carries but parameters."""
    parameters = set(value.get_params(deep=False))
    for name, item in attributes(value).items():
        if name in parameters and not hasattr(item, "fit") and name not in _STEPS:
            continue
        flat.child(item, f"{path}.{name}")


_STEPS = ("steps", "transformers", "estimators", "transformer_list")


@reads_named("sklearn", "Tree")
def read_tree(value: Tree, path: str, flat: Flat) -> None:
    """The arrays of a decision tree."""
    for name in ("children_left", "children_right", "feature", "threshold", "value", "impurity"):
        flat.child(getattr(value, name), f"{path}.{name}")
    flat.child(value.weighted_n_node_samples, f"{path}.weighted_n_node_samples")
