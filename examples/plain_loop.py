"""DP-SGD in a plain numpy loop: the ledger refuses to overspend, the audit checks the step.

python examples/plain_loop.py
"""

import numpy as np

import dpcheck

NOISE, RATE, STEPS, CLIP, DELTA = 2.0, 0.1, 60, 1.0, 1e-5


def noisy_gradient(weights, rows, labels, rng, noise=NOISE):
    """Clipped logistic gradients of a Poisson batch, summed, plus noise."""
    batch = rng.random(len(rows)) < RATE
    x, y = rows[batch], labels[batch]
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
        weights -= 0.02 * noisy_gradient(weights, rows, labels, rng)
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

    one = (np.full((1, 3), 0.5), np.ones(1))
    none = (np.zeros((0, 3)), np.ones(0))
    entry = dpcheck.assert_private(
        lambda d, r: noisy_gradient(np.zeros(3), *d, r),
        claim=dpcheck.SampledGaussian(NOISE, RATE), neighbours=[(one, none)],
        adjacency="add-remove", max_runs=16_000, tolerance=5.0,
    )  # fmt: skip
    print(f"one step, audited: {entry.verdict}")


if __name__ == "__main__":
    main()
