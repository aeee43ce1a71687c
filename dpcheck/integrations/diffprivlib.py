"""Audit IBM's diffprivlib: tools and models against the epsilon they are given.

    from diffprivlib import models, tools
    from dpcheck.integrations.diffprivlib import audited_model, audited_tool

    mean = audited_tool(tools.mean, epsilon=1.0, bounds=(0, 1), neighbours=[...], adjacency="replace-one")
    bayes = audited_model(models.GaussianNB, epsilon=1.0, bounds=(0, 1), release=("theta_", "var_"), ...)

diffprivlib is seeded from the audit's generator, so audits repeat exactly. Data are arrays, or
(X, y) for models.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from dpcheck.auditing.mechanism import audited
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data, Output
from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign

Release = Sequence[str] | Callable[[Foreign], Foreign]


class Tool:
    """A function of diffprivlib.tools as a mechanism (data, rng) -> output."""

    def __init__(self, tool: Callable[..., Foreign], arguments: dict[str, Foreign]) -> None:
        self.tool, self.arguments = tool, arguments
        self.__name__ = str(getattr(tool, "__name__", "tool"))

    def __call__(self, data: Data, rng: np.random.Generator) -> Output:
        """One release."""
        with warnings.catch_warnings():
            # What the library warns about (bounds read from the data) is what the audit is to find.
            warnings.simplefilter("ignore")
            found = self.tool(data, **self.arguments, **_seeded(rng))
        return _flat(found) if isinstance(found, tuple) else found


class Model:
    """A model of diffprivlib as a mechanism: fit on (X, y), return what `release` names."""

    def __init__(
        self, model: Callable[..., Foreign], arguments: dict[str, Foreign], release: Release
    ) -> None:
        self.model, self.arguments, self.release = model, arguments, release
        self.__name__ = str(getattr(model, "__name__", "model"))

    def __call__(self, data: Data, rng: np.random.Generator) -> Output:
        """One fitted model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = self.model(**self.arguments, **_seeded(rng))
            fitted.fit(*data) if isinstance(data, tuple) else fitted.fit(data)
        if callable(self.release):
            return self.release(fitted)
        return _flat(tuple(getattr(fitted, name) for name in self.release))


def _seeded(rng: np.random.Generator) -> dict[str, Foreign]:
    """The audit's generator in diffprivlib's clothes, and an accountant that forgets."""
    try:
        from diffprivlib import BudgetAccountant
    except ImportError:
        raise MissingExtra(
            "diffprivlib is not installed; run: pip install diffprivlib 'scikit-learn<1.7'"
        ) from None
    return {
        "random_state": np.random.RandomState(rng.bit_generator),
        "accountant": BudgetAccountant(),
    }


def _flat(parts: tuple[object, ...]) -> Output:
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


def audited_tool(
    tool: Callable[..., Foreign],
    *,
    epsilon: float,
    delta: float = 0.0,
    adjacency: Adjacency | str,
    neighbours: Sequence[tuple[Data, Data]],
    **arguments: Foreign,
) -> Tool:
    """A tool with its arguments as an audit target; the claim is the epsilon it is given."""
    wrap = audited(
        claim=Budget(epsilon, delta), adjacency=str(as_adjacency(adjacency)), neighbours=neighbours
    )
    return wrap(Tool(tool, {"epsilon": epsilon, **arguments}))


def audited_model(
    model: Callable[..., Foreign],
    *,
    epsilon: float,
    delta: float = 0.0,
    adjacency: Adjacency | str,
    neighbours: Sequence[tuple[Data, Data]],
    release: Release,
    **arguments: Foreign,
) -> Model:
    """A model as an audit target; `release` names the fitted attributes an attacker sees."""
    wrap = audited(
        claim=Budget(epsilon, delta), adjacency=str(as_adjacency(adjacency)), neighbours=neighbours
    )
    return wrap(Model(model, {"epsilon": epsilon, **arguments}, release))
