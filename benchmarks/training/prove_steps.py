"""What a proof of a real training step takes: a transformer of a million parameters, a CNN on MNIST's shape.

    python benchmarks/training/prove_steps.py            # the rows whose framework is installed
    python benchmarks/training/prove_steps.py --write    # also docs/benchmarks/proved-steps.md

Every row is a process of its own that has imported dpcheck and the framework: CPU seconds of the proof,
attack included, and the largest memory of the process. Rows of a framework that is not installed stay as the
page has them, so that one page holds both.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "proved-steps.md"
HEAD = """# What a proof of a training step takes

A causal transformer of two blocks, and a convolutional network on images of MNIST's shape, each with
per-example gradients, one clipping norm, Gaussian noise and a descent step. CPU seconds of `dpcheck.prove`
or `dpcheck.prove_training`, the attack included, and the largest memory of the process with its framework, by
`python benchmarks/training/prove_steps.py --write`, once with jax installed and once with torch and Opacus.
"""
CLIP, NOISE, BATCH = 1.0, 1.1, 8
WORDS, WIDTH, LENGTH, BLOCKS, HEADS = 2400, 128, 32, 2, 4


def jax_step(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Clip each record's gradient, sum, add noise, descend."""
    import jax
    import jax.numpy as jnp

    def step(params: Any, batch: Any, key: Any) -> Any:
        grads = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, batch["x"], batch["y"])
        leaves, tree = jax.tree.flatten(grads)
        norms = jnp.sqrt(sum(jnp.sum(g.reshape(len(g), -1) ** 2, axis=1) for g in leaves))
        factor = jnp.minimum(1.0, CLIP / norms)
        noisy = [
            jnp.tensordot(factor, g, 1) + NOISE * CLIP * jax.random.normal(k, g.shape[1:])
            for g, k in zip(leaves, jax.random.split(key, len(leaves)), strict=True)
        ]
        return jax.tree.map(
            lambda p, g: p - 0.1 * g / BATCH, params, jax.tree.unflatten(tree, noisy)
        )

    return step


def jax_transformer() -> Any:
    import jax
    import jax.numpy as jnp
    import numpy as np

    import dpcheck

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape) * 0.05, jnp.float32)

    params = {
        "embed": normal(WORDS, WIDTH),
        "place": normal(LENGTH, WIDTH),
        "head": normal(WIDTH, WORDS),
    }
    for block in range(BLOCKS):
        shapes = {
            "qkv": (WIDTH, 3 * WIDTH),
            "out": (WIDTH, WIDTH),
            "up": (WIDTH, 4 * WIDTH),
            "down": (4 * WIDTH, WIDTH),
        }
        params |= {f"{name}{block}": normal(*shape) for name, shape in shapes.items()}
        params |= {f"scale{block}": jnp.ones(WIDTH)}

    def layer_norm(x: Any, scale: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale

    def split(x: Any) -> Any:
        return x.reshape(LENGTH, HEADS, -1).transpose(1, 0, 2)

    def loss(p: Any, tokens: Any, following: Any) -> Any:
        x = p["embed"][tokens] + p["place"]
        for i in range(BLOCKS):
            q, k, v = jnp.split(layer_norm(x, p[f"scale{i}"]) @ p[f"qkv{i}"], 3, axis=-1)
            scores = split(q) @ split(k).transpose(0, 2, 1) / (WIDTH / HEADS) ** 0.5
            scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
            mixed = (jax.nn.softmax(scores) @ split(v)).transpose(1, 0, 2).reshape(LENGTH, WIDTH)
            x = x + mixed @ p[f"out{i}"]
            x = x + jax.nn.gelu(layer_norm(x, p[f"scale{i}"]) @ p[f"up{i}"]) @ p[f"down{i}"]
        logits = jax.nn.log_softmax(x @ p["head"])
        return -jnp.take_along_axis(logits, following[:, None], axis=1).mean()

    tokens = jnp.asarray(rng.integers(0, WORDS, (BATCH, LENGTH + 1)))
    batch = {"x": tokens[:, :-1], "y": tokens[:, 1:]}
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    return size, lambda: dpcheck.prove(
        jax_step(loss),
        params=params,
        batch=batch,
        key=jax.random.PRNGKey(3),
        adjacency="add-remove",
    )


def jax_cnn() -> Any:
    import jax
    import jax.numpy as jnp
    import numpy as np

    import dpcheck

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape) * 0.1, jnp.float32)

    params = {
        "a": normal(16, 1, 8, 8),
        "b": normal(32, 16, 4, 4),
        "w": normal(512, 32),
        "v": normal(32, 10),
    }

    def convolved(x: Any, kernel: Any) -> Any:
        return jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (2, 2), "VALID"))

    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = convolved(convolved(x[None], p["a"]), p["b"]).reshape(-1)
        return -jax.nn.log_softmax(jax.nn.relu(hidden @ p["w"]) @ p["v"])[y]

    batch = {"x": normal(BATCH, 1, 28, 28), "y": jnp.arange(BATCH) % 10}
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    return size, lambda: dpcheck.prove(
        jax_step(loss),
        params=params,
        batch=batch,
        key=jax.random.PRNGKey(3),
        adjacency="add-remove",
    )


def opacus_training(model: Any, inputs: Any, targets: Any, loss: Callable[..., Any]) -> Any:
    """The whole training, as PrivacyEngine sets it up."""
    import torch
    from opacus import PrivacyEngine

    import dpcheck

    size = sum(each.numel() for each in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, targets), batch_size=BATCH
    )
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
    )
    return size, lambda: dpcheck.prove_training(
        model=made[0], optimizer=made[1], loader=made[2], epochs=2, loss=loss
    )


def opacus_cnn() -> Any:
    import torch
    from torch import nn

    model = nn.Sequential(
        nn.Conv2d(1, 16, 8, 2), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    rows = 16 * BATCH
    return opacus_training(
        model, torch.randn(rows, 1, 28, 28), torch.arange(rows) % 10, nn.functional.cross_entropy
    )


def opacus_transformer() -> Any:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.mixed = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
            self.out, self.second = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            shape = (*x.shape[:-1], HEADS, WIDTH // HEADS)
            q, k, v = (
                each.reshape(shape).transpose(1, 2)
                for each in self.mixed(self.norm(x)).chunk(3, -1)
            )
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(WORDS, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
            self.head = nn.Linear(WIDTH, WORDS)

        def forward(self, tokens: Any) -> Any:
            x = self.table(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    def loss(logits: Any, following: Any) -> Any:
        each = nn.functional.cross_entropy(logits.transpose(1, 2), following, reduction="none")
        return each.mean()

    tokens = torch.randint(0, WORDS, (16 * BATCH, LENGTH + 1))
    return opacus_training(Transformer(), tokens[:, :-1], tokens[:, 1:], loss)


ROWS = {
    "jax, transformer": (jax_transformer, "jax"),
    "jax, CNN": (jax_cnn, "jax"),
    "Opacus, transformer": (opacus_transformer, "opacus"),
    "Opacus, CNN": (opacus_cnn, "opacus"),
}


def measure(name: str) -> None:
    """One row, printed: parameters, what was proved, CPU seconds, MB."""
    warnings.simplefilter("ignore")
    size, prove = ROWS[name][0]()
    before = time.process_time()
    proof = prove()
    spent = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {size:,} | `{proof.event}` | {spent:.1f} | {memory:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", choices=ROWS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.row:
        measure(options.row)
        return
    kept = PAGE.read_text().splitlines() if PAGE.exists() else []
    lines = []
    for name, (_, needs) in ROWS.items():
        if importlib.util.find_spec(needs) is None:
            lines += [line for line in kept if line.startswith(f"| {name} |")]
            continue
        run = subprocess.run(
            [sys.executable, __file__, "--row", name], capture_output=True, text=True, check=False
        )
        lines.append(
            run.stdout.strip()
            if not run.returncode
            else f"| {name} | failed: {run.stderr.strip().splitlines()[-1]} |"
        )
        print(lines[-1], flush=True)
    if options.write:
        head = "| step | parameters | proved | CPU s | MB |\n|---|---|---|---|---|"
        date = f"Written {datetime.now(UTC):%Y-%m-%d}."
        PAGE.write_text("\n".join([HEAD, head, *lines, "", date]) + "\n")


if __name__ == "__main__":
    main()
