"""One step of Opacus on MNIST, taken apart: the right one, and seven ways to get it wrong.

    python benchmarks/training/mnist_step.py PATH/mnist.npz      # some minutes; needs dpcheck[opacus]

Prints a table: what was changed, the verdict, what is named, seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer

from dpcheck.core.errors import NotCovered
from dpcheck.integrations.opacus_step import opacus_step
from dpcheck.testing import check_step

NOISE, CLIP, BATCH = 1.1, 1.0, 256


class ClipsTheBatch(DPOptimizer):
    """One clip for the sum of the batch."""

    def clip_and_accumulate(self) -> None:
        """In place of a clip per example."""
        sums = [p.grad_sample.sum(dim=0) for p in self.params]
        norm = float(torch.cat([one.reshape(-1) for one in sums]).norm())
        for p, one in zip(self.params, sums, strict=True):
            p.summed_grad = one * min(1.0, self.max_grad_norm / norm)


class TwoNoises(DPOptimizer):
    """Half of the noise, twice."""

    def add_noise(self) -> None:
        """Their standard deviations do not add up."""
        half = self.noise_multiplier * self.max_grad_norm / 2
        for p in self.params:
            noises = [torch.normal(0.0, half, p.shape, generator=self.generator) for _ in range(2)]
            p.grad = (p.summed_grad + sum(noises)).view_as(p)


def network(norm: Callable[[int], torch.nn.Module]) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, 3), norm(8), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * 8 * 8, 10),
    )  # fmt: skip


def plain(channels: int) -> torch.nn.Module:
    return torch.nn.GroupNorm(2, channels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mnist", help="an .npz with the training images and labels")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with np.load(options.mnist) as found:
        names = list(found.keys())
        images = next(found[n] for n in names if found[n].ndim == 3 and len(found[n]) == 60_000)
        labels = next(found[n] for n in names if found[n].ndim == 1 and len(found[n]) == 60_000)
    pixels = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 255
    table = torch.utils.data.TensorDataset(pixels[:6000], torch.tensor(labels[:6000]).long())
    rate = 1 / -(-6000 // BATCH)  # Opacus samples with 1 / (number of batches)

    def made(noise: float = NOISE, clip: float = CLIP, batch: int = BATCH):
        model = network(plain)
        return PrivacyEngine().make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=torch.utils.data.DataLoader(table, batch_size=batch),
            noise_multiplier=noise, max_grad_norm=clip,
        )  # fmt: skip

    def with_optimizer(kind: type[DPOptimizer]):
        model, right, loader = made()
        given = {"noise_multiplier": NOISE, "max_grad_norm": CLIP}
        return model, kind(right.original_optimizer, expected_batch_size=260, **given), loader

    def with_loader(loader):
        model, optimizer, _ = made()
        return model, optimizer, loader

    def mixing():
        _, optimizer, loader = made()
        return network(torch.nn.BatchNorm2d), optimizer, loader

    shuffled = torch.utils.data.DataLoader(table, batch_size=BATCH, shuffle=True)
    variants = {
        "nothing": made,
        "a quarter of the noise": lambda: made(noise=NOISE / 4),
        "clip forgotten": lambda: made(noise=NOISE * CLIP / 1e4, clip=1e4),
        "clip per batch": lambda: with_optimizer(ClipsTheBatch),
        "noise twice, accounted as one larger": lambda: with_optimizer(TwoNoises),
        "loader with twice the rate": lambda: with_loader(made(batch=2 * BATCH)[2]),
        "BatchNorm": mixing,
        "shuffled batches": lambda: with_loader(shuffled),
    }
    print("| changed | verdict | named | seconds |\n|---|---|---|---|")
    for name, make in variants.items():
        began = time.perf_counter()
        try:
            step = opacus_step(
                *make(), torch.nn.functional.cross_entropy,
                noise_multiplier=NOISE, max_grad_norm=CLIP, sampling_rate=rate,
            )  # fmt: skip
            report = check_step(step)
            shown = (report.verdict, ", ".join(report.wrong))
        except NotCovered as error:
            shown = ("refused", str(error).split(":")[0])
        print(
            f"| {name} | {shown[0]} | {shown[1]} | {time.perf_counter() - began:.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
