"""Proves a whole training: one noisy step of it followed, times how its loader makes batches."""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"

from __future__ import annotations

import contextlib
import copy
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter, NotProvable
from dpcheck.program.proof import Proof
from dpcheck.training.torch import attack, loaders
from dpcheck.training.torch.facts import Fact, Numbers
from dpcheck.training.torch.step import (
    Run,
    check_generators,
    check_shown,
    check_survivors,
    generators_of,
    made_like,
    proof_of,
    ranges_of,
    rows,
    seeded,
    show,
    tape_on,
    tensors_of,
)
from dpcheck.training.torch.tape import Tape

LOOP = (
    "the loop is: for *inputs, targets in loader: optimizer.zero_grad(); "
    "loss(model(*inputs), targets).backward(); optimizer.step(), with model.train(), "
    "nothing else is released, and gradients of the last batch are not kept"
)
_NOT_YET = {
    "GradSampleModuleFastGradientClipping": "ghost clipping",
    "GradSampleModuleFastGradientClippingFSDP": "ghost clipping",
    "GradSampleModuleFastGradientClippingTP": "ghost clipping",
    "DPOptimizerFastGradientClipping": "ghost clipping",
    "DistributedDPOptimizerFastGradientClipping": "ghost clipping",
    "FSDPOptimizerFastGradientClipping": "ghost clipping",
    "DistributedDPOptimizer": "training on several machines",
    "DistributedPerLayerOptimizer": "training on several machines",
    "DPLSTM": "a recurrent layer",
    "DPGRU": "a recurrent layer",
    "DPRNN": "a recurrent layer",
    "LSTM": "a recurrent layer",
    "GRU": "a recurrent layer",
    "RNN": "a recurrent layer",
}


def prove_training(
    *,
    model: Any,
    optimizer: Any,
    loader: Any,
    loss: Callable[..., Any],
    steps: int | None = None,
    epochs: float | None = None,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
) -> Proof:
    """Prove what a training with torch and Opacus spends, or raise NotProvable.

    Give it what `make_private` returned. `loss(outputs, targets)` is of one batch; a `loss(model, batch)`, with these
    names, is handed both. `steps` counts noisy steps, not physical batches; `epochs` counts passes over the loader.
    Model and optimiser are left as they were.

    Guarantee: no two neighbouring datasets have trainings further apart than `event`.
    Assumes: what `assumes` lists, the loop among it.
    """
    relation = as_adjacency(adjacency)
    if (steps is None) == (epochs is None):
        raise InvalidParameter("say either steps or epochs, one of them.", name="steps")
    known(model, optimizer)
    batches = loaders.read(loader)
    loaders.priced(batches, 1.0, 1, relation)  # refuses what no event describes
    count = int(steps) if steps is not None else math.ceil(float(epochs or 0) * batches.per_epoch)
    if count < 1:
        raise InvalidParameter(f"steps must be at least 1, got {count}.", name="steps")
    example = example_of(loader)
    work = Work(model, optimizer, loss, example, batches.physical)
    with kept(model, optimizer):
        sizes = [2, 3, 4, 5]
        runs = [work.follow(size, trial) for trial, size in enumerate(sizes)]
        check_generators(runs, False)
        one = proof_of(runs, Adjacency.ADD_REMOVE, None)
        for parity in (0, 1):  # first steps, and steps with a state
            check_shown(runs[parity::2])
        multiplier = float(one.event.noise_multiplier)
        work.attack(multiplier)
        empty = work.empty()
    scale = 2.0 if relation is Adjacency.ZERO_OUT else 1.0
    event = loaders.priced(batches, multiplier / scale, count, relation)
    releases = tuple(replace(each, event=None, times=count) for each in one.releases)
    assumes = [*one.assumes, LOOP, f"batches: {batches.described()}; {count} noisy steps"]
    assumes.append("the number of rows is public, and with it the sampling rate and the divisor")
    assumes.append(f"sizes {', '.join(map(str, sizes))} were followed; others do the same")
    if empty:
        assumes.append(f"an empty batch, on which the step raises {empty}, does not occur")
    claimed = getattr(optimizer, "noise_multiplier", None)
    if claimed is not None:
        assumes.append(f"beside this, the optimizer reports noise_multiplier={float(claimed):g}")
    return Proof(event, releases, relation, tuple(assumes))


def known(model: Any, optimizer: Any) -> None:
    """What is not followed yet is refused by name."""
    for each in (model, optimizer, *model.modules()):
        name = type(each).__name__
        if name in _NOT_YET:
            remedy = "use the hooks of GradSampleModule and DPOptimizer, and layers without recurrence, in one process"
            raise NotProvable(
                f"not provable: {_NOT_YET[name]} ({name}) is not followed; {remedy}.",
                kind="unsupported",
                line="?",
                remedy=remedy,
            )
        if isinstance(each, torch.nn.modules.batchnorm._BatchNorm):
            remedy = "use torch.nn.GroupNorm or LayerNorm"
            raise NotProvable(
                f"not provable: {name} mixes the records of a batch; {remedy}.",
                kind="batch-statistics",
                line="?",
                remedy=remedy,
            )


def example_of(loader: Any) -> Any:
    """A few records as the loader hands them over."""
    data = loader.dataset
    count = min(len(data), 256)
    return loader.collate_fn([data[i] for i in range(count)])


class Work:
    """One noisy step of the training, on batches of any size."""

    def __init__(
        self, model: Any, optimizer: Any, loss: Any, example: Any, physical: int | None
    ) -> None:
        self.model, self.optimizer, self.loss, self.example = model, optimizer, loss, example
        self.physical = None if physical is None else min(physical, 2)
        names = list(inspect.signature(loss).parameters) if callable(loss) else []
        self.whole = names[:2] == ["model", "batch"]

    def step(self, batch: Any) -> None:
        """The loop's body; a batch that is cut into parts is one step."""
        parts = [batch] if self.physical is None else split(batch, self.physical)
        for i, part in enumerate(parts):
            if self.physical is not None:
                self.optimizer.signal_skip_step(do_skip=i < len(parts) - 1)
            self.optimizer.zero_grad()
            self._loss(part).backward()
            self.optimizer.step()

    def _loss(self, batch: Any) -> Any:
        if self.whole:
            return self.loss(self.model, batch)
        if not isinstance(batch, (list, tuple)) or len(batch) < 2:
            raise InvalidParameter(
                "batches are not (inputs, targets); hand over loss=lambda model, batch: ...",
                name="loss",
            )
        return self.loss(self.model(*batch[:-1]), batch[-1])

    def follow(self, size: int, trial: int, batch: Any = None) -> Run:
        """One step under the tape."""
        tape = self.taped(size, trial, batch)
        return Run(size, tuple(tape.settled), tuple(tape.shown), generators_of(tape))

    def taped(self, size: int, trial: int, batch: Any = None) -> Tape:
        """One step under the tape, from params that differ from run to run; every other run is a second step."""
        batch = made_like(self.example, size, trial, None) if batch is None else batch
        with restored(self.model, self.optimizer), seeded(900 + trial):
            disturb(self.model, trial)
            if trial % 2:
                self.step(made_like(self.example, size, trial, None))
                self.optimizer.zero_grad()
            tape = Tape(size)
            for name, each in public_tensors(self.model, self.optimizer, self.loss):
                tape.declare(each, Fact(Numbers(), f"param {name}", f"param {name}"))
            ranges = ranges_of(self.example, None)
            for path, tensor in tensors_of(batch):
                if tensor.dim() == 0 or tensor.shape[0] != size:
                    raise InvalidParameter(
                        "a leaf of the batch does not have one row for each record.", name="loader"
                    )
                tape.declare(
                    tensor, Fact(ranges[path], f"batch {path}", f"batch {path}", owner=rows(tensor))
                )
                tape.batch.append(tensor)
            with tape_on(tape):
                self.step(batch)
                if tape.refused is not None:
                    raise tape.refused
                with tape.ours():
                    for name, each in public_tensors(self.model, self.optimizer, None):
                        show(tape, each, name)
                    for name, each in self.model.named_parameters():
                        if each.grad is not None and each.requires_grad and self._steps(each):
                            show(tape, each.grad, f"the gradient of {name} after the step")
                    self.optimizer.zero_grad()
                    for each in self.model.parameters():
                        each.grad = None
            tape.closed = True
            del batch
            check_survivors(tape)
            return tape

    def _steps(self, parameter: Any) -> bool:
        return any(parameter is p for g in self.optimizer.param_groups for p in g["params"])

    def attack(self, multiplier: float) -> None:
        """The real step against the proof."""
        generator = torch.Generator().manual_seed(3)
        batch = made_like(self.example, 4, 1, None)
        attack.check(lambda b: self.taped(4, 0, b), attack.neighbours(batch, generator), multiplier)

    def empty(self) -> str:
        """The error that a batch without records raises; empty if there is none."""
        try:
            with restored(self.model, self.optimizer), seeded(1):
                self.step(made_like(self.example, 0, 1, None))
        except Exception as error:
            return type(error).__name__
        return ""


def split(batch: Any, most: int) -> list[Any]:
    """A batch in parts of `most` records, as BatchSplittingSampler cuts it."""
    leaves = tensors_of(batch)
    n = leaves[0][1].shape[0]
    count = max(1, math.ceil(n / most))
    sizes = [n // count + (1 if i < n % count else 0) for i in range(count)]
    from torch.utils import _pytree as pytree

    parts, start = [], 0
    for size in sizes:
        stop = start + size
        parts.append(
            pytree.tree_map(
                lambda x, a=start, b=stop: x[a:b] if isinstance(x, torch.Tensor) else x, batch
            )
        )
        start = stop
    return parts


def public_tensors(model: Any, optimizer: Any, loss: Any) -> list[tuple[str, Any]]:
    """Params, buffers and the optimiser's state: what everybody sees between steps."""
    found = [(f"parameter {n}", p) for n, p in model.named_parameters()]
    found += [
        (f"gradient {n}", p.grad)
        for n, p in model.named_parameters()
        if loss is not None and p.grad is not None
    ]
    found += [(f"buffer {n}", b) for n, b in model.named_buffers()]
    for i, state in enumerate(list(optimizer.state.values())):
        if isinstance(state, dict):
            found += [
                (f"optimizer state {k} {i}", v)
                for k, v in state.items()
                if isinstance(v, torch.Tensor)
            ]
    if isinstance(loss, torch.nn.Module):
        found += [(f"loss {n}", b) for n, b in (*loss.named_buffers(), *loss.named_parameters())]
    return found


def disturb(model: Any, trial: int) -> None:
    """Other params: what is proved does not depend on their values."""
    generator = torch.Generator().manual_seed(31 + trial)
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and trial:
                p.data = p.data * (1 + 0.05 * torch.randn(p.shape, generator=generator).to(p.dtype))


_FIELDS = ("grad_sample", "summed_grad", "_forward_counter")


@contextlib.contextmanager
def restored(model: Any, optimizer: Any) -> Iterator[None]:
    """Params, buffers, gradients and optimiser as they were afterwards."""
    data = [
        (p, p.data, p.grad, {f: getattr(p, f) for f in _FIELDS if hasattr(p, f)})
        for p in model.parameters()
    ]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    original = getattr(optimizer, "original_optimizer", optimizer)
    state = original.state
    own = {
        f: copy.copy(getattr(optimizer, f))
        for f in ("_step_skip_queue", "_is_last_step_skipped")
        if hasattr(optimizer, f)
    }
    original.state = type(state)(dict) if type(state).__name__ == "defaultdict" else {}
    try:
        for p, old, _, _ in data:
            p.data = old.detach().clone()
            p.grad = None
        for p, values in state.items():
            original.state[p] = (
                {
                    k: v.clone() if isinstance(v, torch.Tensor) else copy.copy(v)
                    for k, v in values.items()
                }
                if isinstance(values, dict)
                else values
            )
        optimizer.zero_grad()
        yield
    finally:
        original.state = state
        with torch.no_grad():
            for p, old, grad, fields in data:
                p.data = old
                p.grad = grad
                for name, value in fields.items():
                    setattr(p, name, value)
            for b, old in buffers:
                b.copy_(old)
        for name, value in own.items():
            setattr(optimizer, name, value)
        for layer in model.modules():
            if isinstance(getattr(layer, "activations", None), list):
                layer.activations.clear()


@contextlib.contextmanager
def kept(model: Any, optimizer: Any) -> Iterator[None]:
    """The mode, the accountant's hook and the warnings as they were afterwards."""
    import warnings

    modes = [(m, m.training) for m in model.modules()]
    hook = getattr(optimizer, "step_hook", None)
    name = getattr(hook, "__qualname__", "")
    generator = getattr(optimizer, "generator", None)
    saved = generator.get_state() if isinstance(generator, torch.Generator) else None
    try:
        model.train()
        if hook is not None and name.startswith("IAccountant.get_optimizer_hook_fn"):
            optimizer.step_hook = None  # it only counts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, mode in modes:
            each.training = mode
        if hook is not None:
            optimizer.step_hook = hook
        if saved is not None and generator is not None:
            generator.set_state(saved)


_: Sequence[Any] = ()
