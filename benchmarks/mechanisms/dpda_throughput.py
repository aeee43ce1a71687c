"""Trainings per second of DPDA: vmapped together against one at a time, in one run.

One at a time is measured twice: one jitted call per step, which is what a training is made of and
what the aim of 20 times refers to, and one jitted scan per training. Run with
    python benchmarks/mechanisms/dpda_throughput.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpcheck.mechanisms import DPDA
from dpcheck.mechanisms.adaptation.step import Data, gather, jitted_run, jitted_runs, step

TOGETHER, STEPS, ROWS, FEATURES, REPEATS = 1024, 40, 200, 8, 12


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int32)
    data = Data(jnp.asarray(X), jnp.asarray(y), jnp.asarray(X + 0.3))
    model = DPDA(4.0, noise=4.0, batch=8, epochs=2, hidden=(4,))
    rules, sizes = model.step_rules(), {"source": ROWS, "target": ROWS}
    nus = model.nus(0, STEPS, STEPS)
    weights = [model.initial_weights(FEATURES, 2, rng) for _ in range(TOGETHER)]
    tables = [model.sample_rows(sizes, STEPS, rng) for _ in range(TOGETHER)]
    width = max(table.shape[2] for table in tables)
    rows = np.stack(
        [np.pad(t, ((0, 0), (0, 0), (0, width - t.shape[2])), constant_values=ROWS) for t in tables]
    )
    keys = jax.random.split(jax.random.key(0), TOGETHER)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *weights)
    domains = jnp.zeros(ROWS, jnp.int32), jnp.ones(ROWS, jnp.int32)

    def vmapped(_: int) -> None:
        jax.block_until_ready(jitted_runs(rules, stacked, data, rows, nus, keys))

    def from_rows(state: Any, chosen: Any, nu: Any, key: Any) -> Any:
        batches = [
            gather(data.X_source, data.y_source, chosen[0]),
            gather(data.X_source, domains[0], chosen[1]),
            gather(data.X_target, domains[1], chosen[2]),
        ]
        return step(rules, state, *batches, nu, key)

    compiled = jax.jit(from_rows)

    def by_steps(index: int) -> None:
        state, own = weights[index], list(jax.random.split(keys[index], STEPS))
        for number in range(STEPS):
            state = compiled(state, rows[index, number], nus[number], own[number])
        jax.block_until_ready(state)

    def by_trainings(index: int) -> None:
        jax.block_until_ready(
            jitted_run(rules, weights[index], data, rows[index], nus, keys[index])
        )

    def seconds(work: Callable[[int], None], index: int) -> float:
        started = time.perf_counter()
        work(index)
        return time.perf_counter() - started

    kinds = {vmapped: TOGETHER, by_steps: 1, by_trainings: 1}
    for work in kinds:
        work(0)  # compile
    # In turn, the best of each: what else the machine does falls on none of them alone.
    best = dict.fromkeys(kinds, float("inf"))
    for index in range(REPEATS):
        for work in kinds:
            best[work] = min(best[work], seconds(work, index))
    together, steps, trainings = (each / best[work] for work, each in kinds.items())
    print(
        f"{STEPS} steps each, {ROWS} rows, {FEATURES} features, batch 8, hidden 4, jax {jax.__version__}"
    )
    print(f"{TOGETHER} together, vmapped:                   {together:10,.1f} trainings/s")
    print(
        f"one at a time, one jitted call a step:     {steps:10,.1f}  ratio {together / steps:,.0f}"
    )
    print(
        f"one at a time, one jitted call a training: {trainings:10,.1f}  ratio {together / trainings:,.0f}"
    )


if __name__ == "__main__":
    main()
