"""Proves one step: followed at several sizes, its releases compared and priced."""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"
# ruff: noqa: ARG001

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program.proof import Proof, ProvedRelease
from dpcheck.training.facts import Region, Term
from dpcheck.training.groups import Release
from dpcheck.training.price import event_of, moves, noise_multiplier
from dpcheck.training.proof import StepProof
from dpcheck.training.ranges import Range, assumption, declared, name_of
from dpcheck.training.torch import attack, drawing, products, rules  # noqa: F401 - they register their rules
from dpcheck.training.torch.facts import Fact, Numbers, digest, rounded
from dpcheck.training.torch.releases import Settled, released_key, settle_all
from dpcheck.training.torch.tape import Guard, Tape, survivors

ASSUMES = (
    "arithmetic is that of real numbers: rounding of floats is not followed",
    "torch computes what its documentation says, and its generator draws independent numbers",
    "the generator's seed, if it was set before, is secret and not used again",
    "what comes back from the step, and the tensors it leaves changed, is all that anybody sees: no files, no timing, no messages",
    "records are finite numbers; whole numbers lie within the range seen in the example",
)
LARGEST = 24  # records of the largest batch that is followed, unless a step asks for its own size
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Run:
    """What one followed run released, and what it moved."""

    size: int
    settled: tuple[Settled, ...]
    shown: tuple[Any, ...] = ()  # what else comes out, but its numbers
    generators: tuple[
        tuple[Any, bytes, bytes], ...
    ] = ()  # whose, before its first number, after its last
    program: str = ""  # a digest of all calls


def prove_step(
    step: Callable[..., Any],
    params: Any,
    batch: Any,
    adjacency: Adjacency,
    *,
    sampling_rate: float | None = None,
    records: Mapping[str, Range] | None = None,
) -> StepProof:
    """Prove what `step(params, batch)` spends, on dicts of torch tensors.

    Guarantee: no two neighbouring batches have outputs further apart than the proof's event.
    Assumes: what `assumes` lists, and that the step does at other sizes what it does at the sizes tried.
    """
    leaves = tensors_of(batch)
    if not leaves or any(x.dim() == 0 for _, x in leaves):
        refuse(
            "no-batch",
            "the batch has a leaf without a first axis",
            "stack the records along the first axis of every leaf",
        )
    sizes = {x.shape[0] for _, x in leaves}
    if len(sizes) != 1:
        refuse(
            "no-batch",
            "leaves of the batch have different numbers of records",
            "give every record one row in every leaf",
        )
    n = sizes.pop()
    zero = adjacency is Adjacency.ZERO_OUT
    ranges = declared(records, {name_of(path): _seen(x) for path, x in leaves})

    def taped(size: int, trial: int, data: Any) -> Tape:
        return follow(step, params, data, size, trial, batch, ranges, zero)

    def at(size: int, trial: int) -> Run:
        tape = taped(size, trial, made_like(batch, size, trial, ranges))
        return Run(
            size,
            tuple(tape.settled),
            tuple(tape.shown),
            generators_of(tape),
            tape.program.hexdigest(),
        )

    def reread(other: Callable[..., Any], *, params: Any, batch: Any, **_: Any) -> str:
        def program(size: int, trial: int) -> str:
            data = made_like(batch, size, trial, ranges)
            found = follow(other, params, data, size, trial, batch, ranges, zero)
            return found.program.hexdigest()

        return digest([program(size, trial) for trial, size in enumerate(tried)])

    tried = sizes_to_try(n, adjacency)
    runs = [run_or_refuse(at, size, trial, n, adjacency) for trial, size in enumerate(tried)]
    check_generators(runs, True)
    proof = proof_of(runs, adjacency, sampling_rate)
    if adjacency is Adjacency.ADD_REMOVE:
        check_shown(runs)
    size = tried[0] if n > LARGEST else n
    made = made_like(batch, size, 1, ranges)
    pairs = [
        tuple(_fitting(each, ranges) for each in pair)
        for pair in attack.neighbours(made, torch.Generator().manual_seed(3))
    ]
    attack.check(lambda data: taped(size, 0, data), pairs, _multiplier(runs))
    return StepProof(
        proof.event,
        proof.releases,
        adjacency,
        digest=digest([run.program for run in runs]),
        reread=reread,
        assumes=(
            *proof.assumes,
            *([assumption(ranges)] if ranges else []),
            f"sizes {', '.join(map(str, sorted(set(tried))))} were followed; others do the same",
        ),
    )


def run_or_refuse(
    at: Callable[[int, int], Run], size: int, trial: int, n: int, adjacency: Adjacency
) -> Run:
    """A run; a step that is not defined at a neighbour's size is refused."""
    try:
        return at(size, trial)
    except NotProvable:
        raise
    except Exception as error:
        if size == n:
            raise
        remedy = 'use adjacency="replace-one", or batches padded with a mask'
        raise NotProvable(
            f"not provable: the step raises {type(error).__name__} on {size} records ({error}), and takes {n}; {remedy}.",
            kind="undefined-size",
            line=str(_where(error)),
            remedy=remedy,
        ) from error


def _where(error: BaseException) -> str:
    trace, found = error.__traceback__, "?"
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if "site-packages" not in path and "/dpcheck/" not in path:
            found = f"{path.rsplit('/', 1)[-1]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def sizes_to_try(n: int, adjacency: Adjacency) -> list[int]:
    """Sizes to follow: the example's, its neighbours', and small ones."""
    if adjacency is not Adjacency.ADD_REMOVE:
        return [n, n]
    if n <= LARGEST:
        return sorted({2, 3, max(2, n - 1), max(2, n), n + 1})
    return [2, 3, 5, n, n + 1]


def follow(
    step: Callable[..., Any],
    params: Any,
    batch: Any,
    size: int,
    trial: int,
    example: Any,
    records: Any,
    zero: bool = False,
) -> Tape:
    """One run of the step under the tape; everything that comes back or stays is looked at."""
    tape = Tape(size)
    own = perturbed(params, trial)
    named = tensors_of(own)
    for path, tensor in named:
        tape.declare(tensor, Fact(Numbers(), f"param {path}", f"param {path}"))
    ranges = ranges_of(example, records, zero)
    for path, tensor in tensors_of(batch):
        tape.declare(
            tensor, Fact(ranges[path], f"batch {path}", f"batch {path}", owner=rows(tensor))
        )
        tape.batch.append(tensor)
    result = None
    with seeded(1000 + trial), tape_on(tape):
        result = step(own, batch)
        if tape.refused is not None:
            raise tape.refused
        with tape.ours():
            tape.note("output", list(paths_of(result)))
            leave(tape, result, "the output")
            leave(tape, own, "params")
    tape.closed = True
    with torch.random.fork_rng(devices=[]):
        result = None
        check_survivors(tape)
    return tape


def generators_of(tape: Tape) -> tuple[tuple[Any, bytes, bytes], ...]:
    """Generators other than torch's own, and their states."""
    return tuple(
        (source, before, tape.generators[id(source)])
        for source, before in tape.first_states
        if source is not torch.default_generator
    )


def check_shown(runs: Sequence[Run]) -> None:
    """Shapes, numbers and shifts of what comes out do not tell how many records there are."""
    first = runs[0]
    for run in runs[1:]:
        if len(run.shown) != len(first.shown):
            refuse(
                "size",
                "what comes out has another form for another number of records",
                _PUBLIC_SIZE,
            )
        for one, other in zip(first.shown, run.shown, strict=True):
            if one != other:
                refuse(
                    "realised-batch",
                    f"{one[0]} depends on the number of records: it differs between {first.size} and {run.size}",
                    _PUBLIC_SIZE,
                )


_PUBLIC_SIZE = 'use a constant, such as the expected batch size; or adjacency="replace-one", under which the size is public'


def check_generators(runs: Sequence[Run], chained: bool) -> None:
    """A generator is made before the step, and nothing sets it back: each run starts where the last one ended."""
    for run, later in itertools.pairwise(runs):
        for source, before, _ in later.generators:
            earlier = [g for g in run.generators if g[0] is source]
            fresh = not earlier or before == earlier[0][1]
            if fresh or (chained and before != earlier[0][2]):
                refuse(
                    "known-noise",
                    "a generator is made, or seeded, inside the step: its numbers are known or repeated",
                    "make it once, before training, with a secret seed",
                    str(later.settled[0].line) if later.settled else "?",
                )


@contextlib.contextmanager
def tape_on(tape: Tape) -> Iterator[None]:
    """Under the tape and the guard."""
    tape.begin()
    with tape, Guard(tape):
        yield
        with tape.ours():
            tape.end()


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """torch's generator in a known state, then as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def leave(tape: Tape, value: Any, what: str) -> None:
    """Everything in here is seen by everybody."""
    for path, leaf in paths_of(value):
        if isinstance(leaf, torch.Tensor):
            show(tape, leaf, f"{what}{path}")
        elif not (
            leaf is None
            or isinstance(leaf, (int, float, bool, str, torch.dtype, torch.Size))
            or type(leaf).__module__ == "numpy"
        ):
            tape.refuse(
                "unknown-output",
                f"{what}{path} is a {type(leaf).__name__}, which is not followed",
                "return tensors, numbers, lists and dicts",
            )
        elif isinstance(leaf, (int, float, bool, str)) and leaf not in tape.reads:
            tape.shown.append((f"{what}{path}", leaf))


def show(tape: Tape, tensor: Any, what: str) -> None:
    """A tensor that is seen: public, or a release."""
    fact = tape.fact(tensor)
    made = released_key(fact.sum) if fact.sum is not None else fact.ukey
    tape.shown.append((what, tuple(tensor.shape), str(tensor.dtype), made))
    if fact.public:
        return
    if fact.why is not None:
        tape.refuse_why(fact.why, f"it comes out in {what}")
    if settle_all(tape, [tensor], [fact]):
        return
    if fact.sum is not None:
        line = fact.sum.parts[0][1].line if fact.sum.parts else None
        tape.refuse(
            "no-noise",
            f"{what} is a sum over records without Gaussian noise; no other noise of torch is priced",
            "add torch.randn_like of it, times the noise multiplier and the clipping norm",
            line,
        )
    tape.refuse(
        "raw-output",
        f"{what} is a value of single records, without noise",
        "leave it out, or clip, sum and add noise to it",
    )


def check_survivors(tape: Tape) -> None:
    """What is still reachable after the step is seen, too."""
    for _, fact, line in survivors(tape):
        if fact.sum is not None and fact.sum.noise and not fact.sum.parts:
            known = {n for s in tape.settled for n, _ in s.noise}
            if any(n in known for n, _ in fact.sum.noise):
                tape.refuse(
                    "noise-kept",
                    "noise of a release is kept after the step",
                    "do not keep the noise",
                )
            continue
        if fact.why is not None:
            tape.refuse_why(fact.why, "a tensor of it is kept after the step")
        tape.refuse(
            "kept",
            "a private tensor is kept after the step",
            "let it go before the step ends",
            line,
        )


def proof_of(runs: Sequence[Run], adjacency: Adjacency, sampling_rate: float | None) -> Proof:
    """The price of what all runs released alike."""
    priced = [_canonical(run, adjacency) for run in runs]
    first = priced[0]
    if adjacency is Adjacency.ADD_REMOVE:
        for run, each in zip(runs[1:], priced[1:], strict=True):
            if each != first:
                _unlike(runs[0], run, first, each)
    found = [_releases(run, adjacency) for run in runs]
    events = [event_of(each, adjacency, sampling_rate) for each in found]
    event = events[-1]
    if adjacency is Adjacency.ADD_REMOVE and any(e != event for e in events):
        event = min(events, key=lambda e: getattr(e, "noise_multiplier", 0.0))
    listed = tuple(
        ProvedRelease(
            str(each.line),
            _sensitivity(each, adjacency),
            f"Gaussian, standard deviation {each.noise:.6g}",
            event_of([each], adjacency, sampling_rate),
        )
        for each in found[-1]
    )
    return Proof(event, listed, adjacency, ASSUMES)


def _multiplier(runs: Sequence[Run]) -> float:
    """The noise over the bound on one record, by which a replaced one moves twice."""
    return min(
        noise_multiplier(_releases(run, Adjacency.ADD_REMOVE), Adjacency.ADD_REMOVE) for run in runs
    )


def _sensitivity(each: Release, adjacency: Adjacency) -> float:
    groups: dict[object, float] = {}
    for term in each.terms:
        if term.region is None or term.region.start == 0:
            groups[term.source] = groups.get(term.source, 0.0) + term.scale * moves(term, adjacency)
    return math.hypot(*groups.values())


def _canonical(run: Run, adjacency: Adjacency) -> list[Any]:
    """The releases of a run in a form that does not name records."""
    found = []
    for each in run.settled:
        if not each.parts:
            continue
        listed = []
        for key, part in each.parts:
            if adjacency is Adjacency.ADD_REMOVE:
                coefs = {rounded(c) for _, c in part.times}
                if len(part.times) != run.size or len(coefs) != 1:
                    refuse(
                        "position",
                        "what a record adds depends on its place in the batch, or on how many there are",
                        "treat all records alike, wherever they stand",
                        str(part.line),
                    )
                listed.append(
                    (
                        key,
                        part.bound.group,
                        sorted(map(str, part.bound.leaves)),
                        rounded(part.bound.bound),
                        coefs.pop(),
                    )
                )
        weights = sorted(x[3:] for x in listed)
        found.append((str(each.line), sorted(map(repr, listed)), rounded(each.deviation), weights))
    return found


def _unlike(a: Run, b: Run, first: list[Any], second: list[Any]) -> None:
    lines = [x[0] for x in first] or ["?"]
    if len(first) != len(second):
        refuse(
            "size",
            f"{a.size} and {b.size} records make different numbers of releases",
            "release the same for every size",
            lines[0],
        )
    for x, y in zip(first, second, strict=True):
        if x == y:
            continue
        if (x[0], x[2:]) == (y[0], y[2:]) and x[3] == y[3]:
            refuse(
                "size-in-a-record",
                f"what one record adds depends on how many others there are: it differs between {a.size} and {b.size} records",
                "compute each record's loss from that record alone; a mean must be undone before gradients are clipped, so that "
                "loss and hooks must agree on reduction",
                x[0],
            )
        refuse(
            "realised-batch",
            f"what is released, or its noise, depends on the number of records: it differs between {a.size} and {b.size}",
            'divide by the expected batch size, a constant; or use adjacency="replace-one", under which the size is public',
            x[0],
        )


def _releases(run: Run, adjacency: Adjacency) -> list[Release]:
    made = []
    for each in run.settled:
        if not each.parts:
            continue
        terms = []
        for _, part in each.parts:
            coefs = {rounded(c) for _, c in part.times}
            whole = len(part.times) == run.size and len(coefs) == 1
            owners = (
                [(None, coefs.pop())] if whole else [(Region(r, r + 1), c) for r, c in part.times]
            )
            for region, c in owners:
                terms.append(
                    Term(
                        part.bound.group,
                        part.bound.leaves,
                        part.bound.bound * abs(c),
                        part.bound.part,
                        region,
                        line=part.line,
                    )
                )
        made.append(Release(each.line, tuple(terms), each.deviation))
    return made


def refuse(kind: str, reason: str, remedy: str, line: str = "?") -> None:
    """No proof."""
    at = f" {line}:" if line != "?" else ""
    raise NotProvable(f"not provable:{at} {reason}; {remedy}.", kind=kind, line=line, remedy=remedy)


# ---- values


def paths_of(value: Any) -> list[tuple[str, Any]]:
    """The leaves of nested dicts, lists, tuples and dataclasses, with their places."""
    flat, _ = pytree.tree_flatten_with_path(value)
    return [(pytree.keystr(path), leaf) for path, leaf in flat]


def tensors_of(value: Any) -> list[tuple[str, Any]]:
    """The tensors in it."""
    return [(path, leaf) for path, leaf in paths_of(value) if isinstance(leaf, torch.Tensor)]


def rows(tensor: Any) -> Any:
    """Owners of a leaf of the batch."""
    count = torch.arange(tensor.shape[0], dtype=torch.int16)
    return count.reshape(-1, *([1] * (tensor.dim() - 1))).expand(tensor.shape).clone()


def perturbed(params: Any, trial: int) -> Any:
    """Params of the same shapes: what is proved must not depend on their values."""
    generator = torch.Generator().manual_seed(77 + trial)

    def other(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        fresh = x.detach().clone()
        if fresh.is_floating_point() and trial:
            fresh = fresh * (
                1 + 0.05 * torch.randn(fresh.shape, generator=generator).to(fresh.dtype)
            )
        return fresh.requires_grad_(x.requires_grad) if x.is_floating_point() else fresh

    return pytree.tree_map(other, params)


def made_like(batch: Any, size: int, trial: int, records: Any) -> Any:
    """A batch of this size that fits the example."""
    generator = torch.Generator().manual_seed(5 + trial)

    def other(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        take = (
            torch.randint(0, x.shape[0], (size,), generator=generator)
            if x.shape[0]
            else torch.zeros(size, dtype=torch.long)
        )
        if size == x.shape[0] and trial == 0:
            return x.detach().clone()
        fresh = x.detach()[take].clone()
        if fresh.is_floating_point() and not _declared(records):
            fresh = fresh + 0.1 * torch.randn(fresh.shape, generator=generator).to(fresh.dtype)
        return fresh

    return pytree.tree_map(other, batch)


def _declared(records: Any) -> bool:
    return bool(records)


def ranges_of(
    example: Any, ranges: Mapping[str, Range] | None, zero: bool = False
) -> dict[str, Numbers]:
    """What is known of the numbers of each leaf; with `zero`, of a null record's as well."""
    found = {}
    for path, x in tensors_of(example):
        held = (ranges or {}).get(name_of(path))
        if held is None and (x.is_floating_point() or x.numel() == 0):
            found[path] = Numbers()
            continue
        known = Numbers(*(held or _seen(x)))
        found[path] = known.joined(Numbers(0.0, 0.0)) if zero else known
    return found


def _seen(x: Any) -> Range:
    """What a leaf of the example holds."""
    return (float(x.min()), float(x.max())) if x.numel() else (0.0, 0.0)


def _fitting(batch: Any, ranges: Mapping[str, Range]) -> Any:
    """The batch with every number in its declared range."""
    for path, x in tensors_of(batch):
        held = ranges.get(name_of(path))
        if held is not None:
            x.copy_(x.clamp(*held))
    return batch
