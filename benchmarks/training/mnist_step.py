"""One step of Opacus on MNIST, taken apart: the right one, and seven ways to get it wrong.

    python benchmarks/training/mnist_step.py PATH/mnist.npz            # some minutes; needs dpcheck[opacus]
    python benchmarks/training/mnist_step.py PATH/mnist.npz --write    # also docs/benchmarks/training.md

Prints a table: what was changed, the verdict, what is named, CPU seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer

sys.path.insert(0, str(Path(__file__).parents[1]))

from results_file import provenance

from dpcheck.core.errors import NotCovered
from dpcheck.integrations.opacus_step import opacus_step
from dpcheck.testing import check_step

NOISE, CLIP, BATCH = 1.1, 1.0, 256
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "training.md"
HEAD = """# One step of a real training, taken apart

Opacus on 6,000 images of MNIST, a small convolutional network, noise multiplier 1.1, clipping norm 1,
batches of about 250. What is accounted stays the same; what the code does is changed in one place. By
`python benchmarks/training/mnist_step.py mnist.npz --write`, seed 0, on {date}: {machine}. The same
faults on the digits are tests (`tests/integrations/test_training_step.py`).
"""


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
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
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
    rows = ["| changed | verdict | named | CPU seconds |", "|---|---|---|---|"]
    print(*rows, sep="\n", flush=True)
    for name, make in variants.items():
        began = time.process_time()
        try:
            step = opacus_step(
                *make(), torch.nn.functional.cross_entropy,
                noise_multiplier=NOISE, max_grad_norm=CLIP, sampling_rate=rate,
            )  # fmt: skip
            report = check_step(step, examples=500)
            shown = (report.verdict, ", ".join(report.wrong))
        except NotCovered as error:
            shown = ("refused", str(error).split(":")[0])
        spent = time.process_time() - began
        rows.append(f"| {name} | {shown[0]} | {shown[1]} | {spent:.0f} |")
        print(rows[-1], flush=True)
    if options.write:
        made = provenance()
        text = HEAD.format(date=made["date"], machine=made["machine"])
        PAGE.write_text("\n".join([text, *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
