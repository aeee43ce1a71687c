"""APPFL: federated learning with output perturbation of the local model."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "appfl",
    module="appfl",
    requires=("torch==2.13.0", "numpy", "--no-deps", "appfl"),
    tried="1.12.0",
    says=":param epsilon: privacy budget",
    place="docstring of appfl.privacy.dp.laplace_mechanism_output_perturb",
    reading="That the perturbed weights are epsilon-private for one client's data is ours. Clipped steps "
    "are written as in VanillaTrainer, with its sensitivity; only the perturbation is the library's.",
)
__getattr__ = LIBRARY.find
_CLIP, _RATE, _EPSILON = 1.0, 0.1, 1.0


@cache
def _privacy() -> Any:
    """appfl/privacy/dp.py alone: the package itself imports what its environment lacks."""
    import importlib.util
    import os

    found = importlib.util.find_spec("appfl")
    assert found is not None
    assert found.submodule_search_locations
    path = os.path.join(found.submodule_search_locations[0], "privacy", "dp.py")
    made = importlib.util.spec_from_file_location("appfl_privacy_dp", path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


_GAUSSIAN = {
    "says": "Adds Gaussian noise proportional to sensitivity/epsilon.",
    "place": "docstring of appfl.privacy.dp.gaussian_mechanism_output_perturb",
    "reading": "It promises no more than that; (epsilon, delta)-privacy is what its parameters and its "
    "formula suggest to us.",
}


def _train(name: str, steps: int, noise: str, claim: Any, **given: Any) -> None:
    """Clipped steps as in VanillaTrainer, then the library's perturbation with its sensitivity."""

    def train(record: Any, rng: Any) -> Any:
        import torch

        torch.manual_seed(int(rng.integers(1 << 31)))
        model = torch.nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            model.weight.zero_()
        optimizer = torch.optim.SGD(model.parameters(), lr=_RATE)
        for _ in range(steps):
            optimizer.zero_grad()
            (model.weight * float(record)).sum().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
            optimizer.step()
        perturb = getattr(_privacy(), f"{noise}_mechanism_output_perturb")
        return float(perturb(model, 2.0 * _CLIP * _RATE, **given)["weight"][0, 0])

    words = _GAUSSIAN if noise == "gaussian" else {}
    LIBRARY.target(name, claim=claim, adjacency="replace-one", neighbours=[(5.0, -5.0)], **words)(
        train
    )


_train("laplace_one_step", 1, "laplace", _EPSILON, epsilon=_EPSILON)
_train("laplace_ten_steps", 10, "laplace", _EPSILON, epsilon=_EPSILON)
_train("gaussian_one_step", 1, "gaussian", (0.9, 0.01), epsilon=0.9, delta=0.01)
_train("gaussian_ten_steps", 10, "gaussian", (0.9, 0.01), epsilon=0.9, delta=0.01)
