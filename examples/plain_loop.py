"""DP-SGD in a plain numpy loop: the ledger refuses to overspend, the audit checks the step.

python examples/plain_loop.py
"""

import numpy as np

import dpcheck
from dpcheck.testing import Step, check_step

NOISE, RATE, STEPS, CLIP, DELTA = 2.0, 0.1, 60, 1.0, 1e-5


def poisson(size, rng):
    """Everybody is in the batch by a coin of their own."""
    return rng.random(size) < RATE


def noisy_gradient(weights, x, y, rng, noise=NOISE):
    """Clipped logistic gradients of a batch, summed, plus noise."""
    each = -(y / (1 + np.exp(y * (x @ weights))))[:, None] * x
    norms = np.linalg.norm(each, axis=1, keepdims=True)
    clipped = each / np.maximum(1.0, norms / CLIP)
    return clipped.sum(axis=0) + rng.normal(scale=noise * CLIP, size=len(weights))


def train(rows, labels, ledger, data, rng):
    """Every step is declared before it happens; the plan is accounted as one composition."""
    weights = np.zeros(rows.shape[1])
    plan = ledger.plan(data, dpcheck.SampledGaussian(NOISE, RATE) * STEPS, delta=DELTA)
    for _ in range(STEPS):
        plan.step()
        batch = poisson(len(rows), rng)
        weights -= 0.02 * noisy_gradient(weights, rows[batch], labels[batch], rng)
    return weights


def main():
    """Train, say what was spent, audit one step against its claim."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) / 2
    labels = np.sign(rows[:, 0] + 1e-12)
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(4.0, 1e-4), adjacency="add-remove")
    data = ledger.dataset("rows")
    weights = train(rows, labels, ledger, data, rng)
    spent = dpcheck.epsilon(
        dpcheck.SampledGaussian(NOISE, RATE) * STEPS, delta=DELTA, adjacency="add-remove"
    )
    print(f"accuracy {np.mean(np.sign(rows @ weights) == labels):.2f}, spent {spent}")

    print(f"one step, audited: {audit_step(NOISE).verdict}")
    print(take_apart(rows, labels))


def take_apart(rows, labels):
    """The same step on the real data: noise, clipping, who else is in the batch, sampler.

    At weights that get every label wrong, where gradients are long enough to be clipped.
    """
    wrong = np.array([-9.0, 0.0, 0.0])

    def own(index):
        x, y = rows[index], labels[index]
        return -(y / (1 + np.exp(y * (x @ wrong)))) * x

    return check_step(
        Step(
            update=lambda batch, r: noisy_gradient(wrong, rows[batch], labels[batch], r),
            gradient=own, sample=lambda r: np.flatnonzero(poisson(len(rows), r)),
            rows=len(rows), noise_multiplier=NOISE, clip=CLIP, sampling_rate=RATE, divisor=1.0,
        )
    )  # fmt: skip


def audit_step(noise):
    """A batch of one record against an empty one: without sampling, where a wrong noise shows most.

    The record's gradient is far beyond the clipping norm, so a forgotten clip shows as well.
    """
    one, none = (np.full((1, 3), 9.0), np.ones(1)), (np.zeros((0, 3)), np.ones(0))
    return dpcheck.assert_private(
        lambda d, r: noisy_gradient(np.zeros(3), *d, r, noise),
        claim=dpcheck.Gaussian(NOISE), neighbours=[(one, none)],
        adjacency="add-remove", max_runs=4_000, tolerance=2.0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
