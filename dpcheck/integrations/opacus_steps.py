"""Opacus training steps as audit targets: the real engine, optimiser and sampler, run many times."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from dpcheck.auditing.mechanism import audited
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.data import Data, Output, fingerprint
from dpcheck.core.errors import MissingExtra
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.validate import count
from dpcheck.integrations.foreign import Foreign


class TrainingSteps:
    """`steps` DP-SGD steps from the same start as a mechanism ((X, y), rng) -> parameters.

    The engine is made once per dataset and process; every run starts from the same parameters,
    with the sampler and the noise seeded from the audit's generator.
    """

    def __init__(
        self,
        make_model: Callable[[], Foreign],
        loss: Callable[[Foreign, Foreign], Foreign],
        options: dict[str, Foreign],
        steps: int,
        rate: float,
    ) -> None:
        self.make_model, self.loss, self.options = make_model, loss, options
        self.steps, self.rate = steps, rate
        self.__name__ = "opacus_steps"
        self._engines: dict[str | None, Foreign] = {}

    def __call__(self, data: tuple[Foreign, Foreign], rng: np.random.Generator) -> Output:
        """Parameters after the steps, as one vector."""
        key = fingerprint(data)
        if key not in self._engines:
            self._engines[key] = self._prepare(data)
        run: Callable[[int], Output] = self._engines[key]
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Full backward hook is firing"
            )  # inputs need no gradient
            return run(int(rng.integers(1 << 62)))

    def __getstate__(self) -> dict[str, Foreign]:
        return self.__dict__ | {"_engines": {}}

    def _prepare(self, data: tuple[Foreign, Foreign]) -> Callable[[int], Output]:
        try:
            import torch
            from opacus import PrivacyEngine
        except ImportError:
            raise MissingExtra(
                "opacus is not installed; run: pip install 'dpcheck[opacus]'"
            ) from None
        # Here torch's generator is seeded on purpose; Opacus advises against it for production.
        warnings.filterwarnings("ignore", "Secure RNG turned off")
        torch.set_num_threads(1)
        rows, labels = (torch.as_tensor(part, dtype=torch.float32) for part in data)
        table = torch.utils.data.TensorDataset(rows, labels)
        batch = max(1, round(self.rate * len(table)))
        generator = torch.Generator()
        model = self.make_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=optimizer,
            noise_generator=generator,
            data_loader=torch.utils.data.DataLoader(table, batch_size=batch, generator=generator),
            **self.options,
        )
        start = copy.deepcopy(model.state_dict())

        def run(seed: int) -> Output:
            generator.manual_seed(seed)
            model.load_state_dict(start)
            left = self.steps
            while left:
                for inputs, targets in loader:
                    optimizer.zero_grad()
                    self.loss(model(inputs), targets).backward()
                    optimizer.step()
                    left -= 1
                    if not left:
                        break
            found = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
            return found.double().numpy().copy()

        return run


def audited_steps(
    make_model: Callable[[], Foreign],
    loss: Callable[[Foreign, Foreign], Foreign],
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    sampling_rate: float,
    steps: int = 1,
    adjacency: Adjacency | str,
    neighbours: Sequence[tuple[Data, Data]],
    claim: Event | None = None,
    **options: Foreign,
) -> TrainingSteps:
    """Training with Opacus as an audit target; the claim is the accountant's own event.

    `loss(outputs, targets)` is the mean over the batch, as Opacus expects; `options` go to
    `make_private`. The sampling rate must divide the data into whole batches: Opacus samples with 1 / (number
    of batches).
    """
    own = SampledGaussian(noise_multiplier, sampling_rate) * count("steps", steps)
    given = {"noise_multiplier": noise_multiplier, "max_grad_norm": max_grad_norm, **options}
    wrap = audited(
        claim=own if claim is None else claim,
        adjacency=str(as_adjacency(adjacency)),
        neighbours=neighbours,
    )
    return wrap(TrainingSteps(make_model, loss, given, steps, sampling_rate))
