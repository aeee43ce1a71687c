"""Every aten call of a step as it is made, with what is known of its results.

The step really runs. What it computes is found by the storage a tensor lies in, so that views and writing in
place are followed whoever makes them; a call without a rule makes its results unusable, not unseen.
"""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"
# ruff: noqa: ARG002, C901

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import sysconfig
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from dpcheck.core.errors import NotProvable
from dpcheck.replay.draws import Line
from dpcheck.training.torch.facts import (
    MIXED,
    PUBLIC,
    Fact,
    Numbers,
    Why,
    constant,
    digest,
)
from dpcheck.training.torch.owners import filled
from dpcheck.training.torch.spread import axis_of, pattern_of, pointwise, spread

_HERE = str(Path(__file__).parent.parent.parent)
_LIBRARY = (
    sysconfig.get_paths()["stdlib"],
    sysconfig.get_paths()["purelib"],
    str(Path(torch.__file__).parent),
)
_MOST = 64  # entries of a tensor that may come from nowhere
GUIDE = "see docs/explanation/training-proofs.md"

Rule = Callable[["Call"], Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register what an aten operation implies."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


class Call:
    """One aten call: the operation, its arguments, what is known of them, its real results."""

    def __init__(
        self,
        tape: Tape,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        entrywise: bool = False,
    ):
        self.tape, self.name, self.args, self.kwargs, self.out = tape, name, args, kwargs, out
        self.entrywise = entrywise and isinstance(out, torch.Tensor)

    def arg(self, place: int, name: str = "", default: Any = None) -> Any:
        """An argument by place, or by name."""
        return self.args[place] if place < len(self.args) else self.kwargs.get(name, default)

    def fact(self, value: Any) -> Fact:
        """What is known of an argument, a tensor or a number, where it goes in the result."""
        found = self.tape.fact(value)
        if not (self.entrywise and isinstance(value, torch.Tensor)):
            return found
        if found.sum is not None or found.why is not None or value.shape == self.out.shape:
            return found
        return spread(value, found, self.out.shape, *self._records())

    def _records(self) -> tuple[int | None, int]:
        """The axis of the result, from its end, along which records lie, and how many there are."""
        from dpcheck.training.torch.rules import shape_of

        for each in _flat((self.args, self.kwargs)):
            if isinstance(each, torch.Tensor):
                known = self.tape.fact(each)
                if known.owner is not None:
                    found = axis_of(each, shape_of(each, known))
                    if found is not None:
                        return found
        return None, 1

    def why(self, kind: str, reason: str, remedy: str) -> Fact:
        """A result that no rule bounds."""
        return Fact(why=Why(kind, self.tape.line(), reason, remedy))


class Tape(TorchDispatchMode):
    """Follows a run. `named` are tensors that are known to be public; `records` how many records there are."""

    def __init__(self, records: int) -> None:
        super().__init__()
        self.records = records
        self.held: dict[int, tuple[Any, dict[Any, Fact], tuple[Any, Fact] | None]] = {}
        self.alive: Any = WeakIdKeyDictionary()
        self.draws: list[Any] = []
        self.settled: list[Any] = []
        self.generators: dict[int, bytes] = {}
        self.first_states: list[tuple[Any, bytes]] = []
        self.closed = False
        self.inside = 0
        self.half = False
        self.refused: NotProvable | None = None
        self.shown: list[Any] = []
        self.reads: list[Any] = []
        self.where: Line | None = None
        self.batch: list[Any] = []
        self.pieces: dict[Any, list[Any]] = {}
        self.values: dict[int, Any] = {}
        self.drawn: dict[Any, Any] = {}
        self.named: dict[int, int] = {}  # memory, by the order in which it was first seen
        self.program = hashlib.sha256()

    # ---- lines and refusals

    def line(self) -> Line:
        """The user's line that is running."""
        frame = sys._getframe(1)
        found = None
        while frame is not None:
            path = frame.f_code.co_filename
            if not path.startswith((_HERE, "<", *_LIBRARY)):
                found = Line(path, frame.f_lineno)
                break
            frame = frame.f_back
        return found or self.where or Line("?", 0)

    def refuse(self, kind: str, reason: str, remedy: str, line: Line | None = None) -> None:
        """No proof."""
        at = line or self.line()
        self.refused = self.refused or NotProvable(
            f"not provable: {at}: {reason}; {remedy}.", kind=kind, line=str(at), remedy=remedy
        )
        raise self.refused

    def refuse_why(self, why: Why, use: str) -> None:
        """No proof, for a reason found earlier."""
        self.refuse(why.kind, f"{why.reason}, and {use}", why.remedy, why.line)

    # ---- facts by storage

    def declare(self, tensor: Any, fact: Fact) -> None:
        """A tensor of the inputs."""
        self.set(tensor, fact)

    def fact(self, value: Any) -> Fact:
        """What is known of a tensor or number."""
        if not isinstance(value, torch.Tensor):
            return constant(float(value))
        storage = value.untyped_storage()
        entry = self.held.get(storage._cdata)
        if entry is None:
            return self._constant(value)
        _, by_place, whole = entry
        place = _place(value)
        if place in by_place:
            return by_place[place]
        if whole is None:
            return Fact(
                why=Why(
                    "alias",
                    self.line(),
                    "a tensor lies in memory in a way that is not followed",
                    "copy it with clone()",
                )
            )
        found = self._seen(value, *whole)
        by_place[place] = found
        return found

    def set(self, tensor: Any, fact: Fact) -> None:
        """What is known of a tensor from now on; other views of its memory follow."""
        storage = tensor.untyped_storage()
        place = _place(tensor)
        entry = self.held.get(storage._cdata)
        if entry is not None and entry[2] is not None and not _covers(place, entry[2][0], tensor):
            merged = self._partly(tensor, fact, *entry[2])
            self.held[storage._cdata] = (storage, {place: fact}, (entry[2][0], merged))
        else:
            self.held[storage._cdata] = (storage, {place: fact}, (place, fact))
        self.alive[tensor] = self.line() if fact.private else None

    def _constant(self, value: Any) -> Fact:
        """A tensor that came from nowhere: small ones are constants."""
        if value.numel() == 0:
            return constant(0.0)
        if value.device.type == "meta" or value.numel() > _MOST:
            self.refuse(
                "unknown-tensor",
                f"a tensor of {value.numel()} entries is used that is neither a parameter nor in the batch",
                "hand it over in params if it is public, in batch if it holds records",
            )
        flat = value.detach().reshape(-1).double()
        self.note("constant", value, *flat.tolist())
        first = float(flat[0])
        if bool((flat == first).all()):
            fact = constant(first)
        else:
            name = digest("constant", tuple(value.shape), flat.tolist())
            low, high = float(flat.min()), float(flat.max())
            bad = not (bool(torch.isfinite(flat).all()))
            fact = Fact(
                Numbers(low, high, bad, bool(torch.isnan(flat).any())),
                name,
                name,
                extra={"known": True},
            )
        self.set(value, fact)
        return fact

    def _seen(self, view: Any, place: Any, fact: Fact) -> Fact:
        """What is known of another view of the memory that `fact` is about."""
        offset, size, stride = place
        if fact.value is not None and fact.public:
            return fact
        if fact.why is not None:
            return fact
        if view.numel() == 0:
            return (
                replace(fact.bare(), owner=None)
                if fact.owner is None
                else replace(fact.bare(), owner=_owners(view.shape))
            )
        extent = 1 + max(
            offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)),
            view.storage_offset()
            + sum((n - 1) * s for n, s in zip(view.shape, view.stride(), strict=True)),
        )
        numel = 1
        for n in size:
            numel *= n
        same = numel == view.numel()
        if (
            same
            and _dense(size, stride)
            and _dense(tuple(view.shape), view.stride())
            and offset == view.storage_offset()
        ):
            owner = None if fact.owner is None else fact.owner.reshape(view.shape)
            return replace(fact, owner=owner)
        logical = torch.full((extent,), -1, dtype=torch.int64)
        torch.as_strided(logical, size, stride, offset).copy_(torch.arange(numel).reshape(size))
        source = torch.as_strided(logical, tuple(view.shape), view.stride(), view.storage_offset())
        if bool((source < 0).any()):
            return Fact(
                why=Why(
                    "alias",
                    self.line(),
                    "a tensor lies in memory in a way that is not followed",
                    "copy it with clone()",
                )
            )
        return selected(self, fact, source.clone(), numel)

    def _partly(self, tensor: Any, new: Fact, place: Any, old: Fact) -> Fact:
        """A part was written: nothing that bounds the whole is kept."""
        if old.public and new.public:
            name = digest("written", old.ekey, new.ekey, _place(tensor), place)
            return Fact(
                old.numbers.joined(new.numbers), name, name, released=old.released or new.released
            )
        why = old.why or new.why
        if why is not None or old.sum is not None or new.sum is not None:
            return Fact(
                why=why
                or Why(
                    "partial-write",
                    self.line(),
                    "a part of a tensor is overwritten with a private sum",
                    "write whole tensors, or stack them",
                )
            )
        offset, size, stride = place
        extent = 1 + offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        flat = torch.full((extent,), PUBLIC, dtype=torch.int16)
        if old.owner is not None:
            torch.as_strided(flat, size, stride, offset).copy_(old.owner)
        target = torch.as_strided(
            flat, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        )
        target.copy_(_owners(tensor.shape) if new.owner is None else new.owner)
        owner = torch.as_strided(flat, size, stride, offset).clone()
        name = digest("written", old.ukey, new.ukey, _place(tensor), place)
        exact = digest("written", old.ekey, new.ekey, _place(tensor), place)
        return Fact(old.numbers.joined(new.numbers), name, exact, owner=owner)

    # ---- calls

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """What happens here is this package's, not the step's."""
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.inside or self.closed or func.namespace == "profiler":
            return func(*args, **(kwargs or {}))
        with self.ours():
            self.note(str(func), args, list((kwargs or {}).items()))
            out = self._called(func, args, kwargs or {})
            self.note("", out)
            return out

    def note(self, *parts: Any) -> None:
        """A line of the program: calls, what they are made on, and what they make; no private numbers."""
        listed = [self._noted(each) for each in _flat(parts)]
        self.program.update(repr(listed).encode())

    def _noted(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            memory = value.untyped_storage()._cdata
            number = self.named.setdefault(memory, len(self.named))
            return number, str(value.dtype), _place(value)
        plain = isinstance(value, (bool, int, float, str, torch.dtype, type(None)))
        return str(value) if plain else type(value).__name__

    def _called(self, func: Any, args: Any, kwargs: Any) -> Any:
        name = func._schema.name.split("::")[1]
        tensors = [x for x in _flat((args, kwargs)) if isinstance(x, torch.Tensor)]
        facts = [self.fact(x) for x in tensors]
        fused = (
            name.startswith("_scaled_dot_product")
            and float(_named(func, args, kwargs, "dropout_p")) == 0
        )
        if not fused and (torch.Tag.nondeterministic_seeded in func.tags or name in _RANDOM):
            return self._draw(func, name, args, kwargs, facts)
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            if any(each.private for each in facts) and self.refused is None:
                remedy = "do not let it depend on the data whether something is raised"
                self.refused = NotProvable(
                    f"not provable: {self.line()}: {name} raised {type(error).__name__} on private numbers; {remedy}.",
                    kind="raises",
                    line=str(self.line()),
                    remedy=remedy,
                )
            raise
        results = [x for x in _flat(out) if isinstance(x, torch.Tensor)]
        written = [
            value
            for argument, value in _bound(func._schema, args, kwargs)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        views = any(
            r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns
        )
        if views or name in _RESHAPES:
            where = self.line()
            for each in results:
                self.alive[each] = where
            return out
        private = any(each.private for each in facts)
        from dpcheck.training.torch.releases import settle_all
        from dpcheck.training.torch.rules import MAKES, public_result

        if not results and not written:
            if private:
                self._read(name, tensors, facts)
            self.reads.append(out)
            return out
        call = Call(self, name, args, kwargs, out, pointwise(func, name))
        targets = list(_flat(written)) if written else results
        found: Any
        base = name.removesuffix("_") if written else name
        valued = (
            base in {"fill", "full", "full_like", "new_full"}
            and private
            and any(f.private for f in facts[1:])
        )
        if not private or (base in MAKES and not valued):
            found = [
                public_result(call, func, x, facts, i)
                for i, x in enumerate(_flat(written) if written else _flat(out))
            ]
        elif name.startswith("_foreach_") and name != "_foreach_norm":
            found = self._each(name, args, kwargs, targets)
        elif (known := RULES.get(name) or RULES.get(base)) is not None:
            found = known(call)
        else:
            settled = settle_all(self, tensors, facts)
            if settled:
                found = [
                    public_result(call, func, x, [self.fact(t) for t in tensors], i)
                    for i, x in enumerate(_flat(written) if written else _flat(out))
                ]
            else:
                found = self.unknown(name, facts)
        if not isinstance(found, (list, tuple)):
            found = [found] * len(targets)
        elif not written:
            outs = list(_flat(out))
            found = [f for f, o in zip(found, outs, strict=True) if isinstance(o, torch.Tensor)]
        for target, each in zip(targets, found, strict=True):
            if isinstance(target, torch.Tensor):
                if each is None:
                    each = self.unknown(name, facts)
                self.set(target, checked(self, each, target))
        return out

    def _each(self, name: str, args: Any, kwargs: Any, targets: list[Any]) -> list[Fact]:
        """An operation on lists is one on each of their tensors."""
        base = name.removeprefix("_foreach_").removesuffix("_")
        known = RULES.get(base)
        found = []
        for i, target in enumerate(targets):
            mine = tuple(a[i] if isinstance(a, (list, tuple)) else a for a in args)
            if known is None:
                found.append(
                    self.unknown(name, [self.fact(x) for x in mine if isinstance(x, torch.Tensor)])
                )
            else:
                found.append(known(Call(self, base, mine, kwargs, target, entrywise=True)))
        return found

    def unknown(self, name: str, facts: list[Fact]) -> Fact:
        """The result of an operation that has no rule."""
        for each in facts:
            if each.why is not None:
                return Fact(why=each.why)
        kind, reason, remedy = _NAMED.get(
            name,
            (
                "unknown-operation",
                f"aten.{name} has no rule",
                f"write it with other operations; {GUIDE}",
            ),
        )
        return Fact(why=Why(kind, self.line(), reason, remedy))

    def _read(self, name: str, tensors: list[Any], facts: list[Fact]) -> None:
        from dpcheck.training.torch.releases import settle_all

        if not settle_all(self, tensors, facts):
            why = next((f.why for f in facts if f.why is not None), None)
            said = f" ({why.reason})" if why else ""
            self.refuse(
                "private-read",
                f"a private tensor is read as a Python number{said}",
                "keep it a tensor, and add noise before anybody looks",
            )

    def _draw(self, func: Any, name: str, args: Any, kwargs: Any, facts: list[Fact]) -> Any:
        from dpcheck.training.torch.drawing import drawn

        generator = kwargs.get("generator") or next(
            (x for x in _flat(args) if isinstance(x, torch.Generator)), None
        )
        source = torch.default_generator if generator is None else generator
        before = _state(source)
        known = self.generators.get(id(source))
        if known is None:
            self.first_states.append((source, before))
            if source is torch.default_generator and before != self.start_state:
                self._reseeded()
        elif known != before:
            self._reseeded()
        out = func(*args, **kwargs)
        self.generators[id(source)] = _state(source)
        drawn(self, func, name, args, kwargs, facts, out)
        return out

    def _reseeded(self) -> None:
        self.refuse(
            "known-noise",
            "the generator is seeded, or set back, inside the step: its numbers are known or repeated",
            "seed before training, and only once",
        )

    def begin(self) -> None:
        """Remember the generator."""
        self.start_state = _state(torch.default_generator)

    def end(self) -> None:
        """The generator was not set back after the last draw."""
        expected = self.generators.get(id(torch.default_generator), self.start_state)
        if _state(torch.default_generator) != expected:
            self._reseeded()
        for source, _ in self.first_states:
            if _state(source) != self.generators[id(source)]:
                self._reseeded()


class Guard(TorchFunctionMode):
    """Refuses what would look at a private tensor past the dispatcher."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if (
            not self.tape.inside
            and name in _LOOKS
            and args
            and isinstance(args[0], torch.Tensor)
            and not self.tape.closed
        ):
            from dpcheck.training.torch.releases import settle_all

            tensor = args[0]
            with contextlib.suppress(RuntimeError, NotImplementedError):
                fact = self.tape.fact(tensor)
                if fact.private and not settle_all(self.tape, [tensor], [fact]):
                    self.tape.refuse(
                        "private-read",
                        f"{name}() hands a private tensor to something that is not followed",
                        "stay with torch until noise is added",
                    )
        if name in ("compile",):
            self.tape.refuse(
                "unknown-operation",
                "torch.compile is not followed",
                "prove the step before it is compiled",
            )
        return func(*args, **(kwargs or {}))


_LOOKS = frozenset(
    {
        "numpy",
        "__array__",
        "tolist",
        "data_ptr",
        "__dlpack__",
        "untyped_storage",
        "storage",
        "_typed_storage",
        "__repr__",
        "__str__",
        "__format__",
        "__reduce_ex__",
        "__reduce__",
        "share_memory_",
        "apply_",
        "map_",
        "map2_",
        "const_data_ptr",
        "mutable_data_ptr",
    }
)
_RESHAPES = frozenset(
    {
        "squeeze_",
        "unsqueeze_",
        "transpose_",
        "t_",
        "swapdims_",
        "swapaxes_",
        "as_strided_",
        "detach_",
    }
)
_RANDOM = frozenset(
    {
        "bernoulli",
        "bernoulli_",
        "normal",
        "normal_",
        "native_dropout",
        "randperm",
        "multinomial",
        "_fused_dropout",
    }
)
_NAMED = dict.fromkeys(
    ("lstm", "gru", "rnn_tanh", "mkldnn_rnn_layer", "_thnn_fused_lstm_cell"),
    ("recurrent", "recurrent layers are not followed", "write the recurrence with linear layers"),
) | dict.fromkeys(
    ("_native_batch_norm_legit", "_batch_norm_with_update", "batch_norm_backward"),
    (
        "batch-statistics",
        "batch normalisation mixes the records",
        "use group or layer normalisation",
    ),
)


def selected(tape: Any, fact: Fact, source: Any, numel: int) -> Fact:
    """The entries of a value, by their places in it: kept, left out, repeated, in another order."""
    places = source.reshape(-1)
    counts = torch.bincount(places, minlength=numel)
    whole = bool((counts >= 1).all())
    once = bool((counts <= 1).all())
    shape = source.shape
    if fact.value is not None and fact.owner is None:
        return fact
    owner = None if fact.owner is None else fact.owner.reshape(-1)[places].reshape(shape)
    if fact.owner is None:
        plain = _squeezed(source)
        pattern = pattern_of(_moving(source), source.shape)
        if pattern:
            mark = digest("spread", pattern, places_digest(plain))
            name, exact = digest("view", fact.key, mark), digest("view", fact.exact, mark)
        elif plain.numel() == numel and bool((plain.reshape(-1) == torch.arange(numel)).all()):
            name, exact = fact.key, fact.exact
        else:
            mark = digest(tuple(plain.shape), places_digest(plain))
            name, exact = digest("view", fact.key, mark), digest("view", fact.exact, mark)
    else:
        mark = ranks(fact.owner.reshape(-1), places, numel)
        if mark == "same":
            name, exact = fact.key, fact.exact
        else:
            name, exact = digest("view", fact.key, mark), digest("view", fact.exact, mark)
    extra = fact.extra
    if "masked" in extra or "between" in extra:
        extra = {k: v for k, v in extra.items() if k not in ("masked", "between")}
    found = fact.bare(key=name, exact=exact, owner=owner, extra=extra)
    if fact.sum is not None:
        from dpcheck.training.torch.releases import sum_part

        return sum_part(tape, fact.sum, places, numel, once and whole, fact)
    return replace(
        found,
        leaf=fact.name() if whole and once else None,
        made_of=fact.made_of if whole and once else None,
        below=fact.below if whole else None,
        shrinks=fact.shrinks,
        test=fact.test,
        bounded=fact.bounded if once else None,
    )


def places_digest(places: Any) -> str:
    """A name for a tensor of places."""
    return digest(places.reshape(-1).numpy().tobytes())


def _moving(source: Any) -> tuple[int, ...]:
    """Its shape, 1 along axes that only repeat."""
    return tuple(
        1 if bool((source == source.narrow(axis, 0, 1)).all()) else n
        for axis, n in enumerate(source.shape)
    )


def _squeezed(source: Any) -> Any:
    """Without the axes that only repeat."""
    for axis in reversed(range(source.dim())):
        if source.shape[axis] == 1 or bool((source == source.narrow(axis, 0, 1)).all()):
            source = source.narrow(axis, 0, 1).squeeze(axis)
    return source


def ranks(owner: Any, places: Any, numel: int) -> str:
    """Which of a record's entries these are, the same for each record; else a name for this very choice."""
    order = torch.argsort(owner, stable=True)
    sorted_owner = owner[order]
    _, counts = torch.unique_consecutive(sorted_owner, return_counts=True)
    starts = torch.cumsum(counts, 0) - counts
    within = torch.arange(numel) - torch.repeat_interleave(starts, counts)
    rank = torch.empty(numel, dtype=torch.int64)
    rank[order] = within
    mine = owner[places]
    again = torch.argsort(mine, stable=True)
    chosen = rank[places][again]
    which, sizes = torch.unique_consecutive(mine[again], return_counts=True)
    groups = list(torch.split(chosen, sizes.tolist()))
    real = [g for g, w in zip(groups, which.tolist(), strict=True) if w >= 0]
    rest = [g for g, w in zip(groups, which.tolist(), strict=True) if w < 0]
    if rest or not real or any(not torch.equal(real[0], g) for g in real[1:]):
        return digest("ragged", tuple(places.shape), places_digest(places))
    full = int(counts[0])
    if real[0].numel() == full and bool((real[0] == torch.arange(full)).all()):
        return "same"
    return places_digest(real[0])


def checked(tape: Tape, fact: Fact, tensor: Any) -> Fact:
    """A rule's result fits the tensor it is about."""
    if fact.owner is not None:
        assert tuple(fact.owner.shape) == tuple(tensor.shape), (fact.owner.shape, tensor.shape)
        if tensor.numel() == 0:
            return fact
        if int(fact.owner.min()) == MIXED and fact.why is None:
            raise AssertionError("a mixed owner without a reason")
        full = filled(fact.owner)
        if full is not fact.owner:
            fact = replace(fact, owner=full)
    if tensor.dtype in (torch.float16, torch.bfloat16) and fact.private and fact.sum is None:
        tape.half = True
        numbers = replace(fact.numbers, inf=True, nan=True)
        fact = replace(fact, numbers=numbers, below=None, shrinks=None)
    return fact


def _owners(shape: Any) -> Any:
    return torch.full(tuple(shape), PUBLIC, dtype=torch.int16)


def _place(tensor: Any) -> tuple[Any, ...]:
    return (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))


def _dense(size: Any, stride: Any) -> bool:
    """Row-major without holes."""
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1 and s != expected:
            return False
        expected *= n
    return True


def _covers(place: Any, whole: Any, tensor: Any) -> bool:
    """Whether writing at `place` replaces all that `whole` is about."""
    if place == whole:
        return True
    numel = 1
    for n in whole[1]:
        numel *= n
    repeats = any(s == 0 and n > 1 for n, s in zip(place[1], place[2], strict=True))
    return not repeats and tensor.numel() >= numel and place[0] == whole[0]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _flat(each)
    else:
        yield value


def _bound(schema: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    for i, argument in enumerate(schema.arguments):
        if i < len(args):
            yield argument, args[i]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def _named(func: Any, args: Any, kwargs: Any, name: str) -> Any:
    """An argument by its name, or its default."""
    for argument, value in _bound(func._schema, args, kwargs):
        if argument.name == name:
            return value
    return 0


def _state(generator: Any) -> bytes:
    return bytes(generator.get_state().numpy().tobytes())


def survivors(tape: Tape) -> list[tuple[Any, Fact, Line | None]]:
    """Private tensors that are still reachable, batches apart."""
    found = _alive(tape)
    if found:
        del found
        gc.collect()  # slow, so only where cycles may keep something
        found = _alive(tape)
    return found


def _alive(tape: Tape) -> list[tuple[Any, Fact, Line | None]]:
    found = []
    inputs = {x.untyped_storage()._cdata for x in tape.batch}
    for tensor in list(tape.alive.keys()):
        if tensor is None or tensor.untyped_storage()._cdata in inputs:
            continue
        fact = tape.fact(tensor)
        if fact.private:
            found.append((tensor, fact, tape.alive[tensor]))
    return found


_ = weakref
