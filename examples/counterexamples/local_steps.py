"""APPFL 1.12: noise for one local step after ten of them. Needs torch and appfl (--no-deps is enough).

Exits 1 if the weights of two clients are further apart than the sensitivity the trainers use.
"""

import importlib.util
import sys
from pathlib import Path

import torch

CLIP, RATE, STEPS, EPSILON = 1.0, 0.1, 10, 1.0
package = importlib.util.find_spec("appfl")
path = Path(package.submodule_search_locations[0]) / "privacy/dp.py"
spec = importlib.util.spec_from_file_location("appfl_dp", path)
dp = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dp)


def trained(record):
    """VanillaTrainer's loop: clip each gradient, step."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (model.weight * record).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    return model


first, second = trained(5.0), trained(-5.0)
sensitivity = 2.0 * CLIP * RATE  # as the trainers set it
apart = abs(first.weight.item() - second.weight.item())
noisy = [
    float(dp.laplace_mechanism_output_perturb(first, sensitivity, EPSILON)["weight"])
    for _ in range(20_000)
]
scale = sum(abs(value - first.weight.item()) for value in noisy) / len(noisy)  # E|Laplace(b)| = b
print(f"weights {apart:.3f} apart, Laplace scale {sensitivity / EPSILON} (measured {scale:.4f})")
print(f"claimed epsilon {EPSILON}; spent {apart / (sensitivity / EPSILON):.3f}")
sys.exit(int(apart / scale > 1.5 * EPSILON))
