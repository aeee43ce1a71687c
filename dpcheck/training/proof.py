"""What a training step spends, and whether a step is still the one that was proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.core.events.noise import Gaussian
from dpcheck.program.proof import Proof, ProvedRelease
from dpcheck.training import price
from dpcheck.training.derive import Context, Ledger
from dpcheck.training.facts import Aggregate, Drawn, Fact, Keys, Mixed, Public, Rows
from dpcheck.training.graph import Graph, Value
from dpcheck.training.groups import Release, apart
from dpcheck.training.refusals import UNBOUNDED

FINITE = "numbers in records are finite"
ASSUMES = (
    "arithmetic is that of real numbers from float32 up: rounding is not followed",
    FINITE,
    "whole numbers in records lie in the range of the example, unless records= declares another one",
    "the key is secret, and each step gets one of its own",
    "what the step returns is all that anybody sees of the batch",
)


@dataclass(frozen=True, slots=True)
class StepProof(Proof):
    """What one step spends, for all params, batches and keys of these shapes; `event` describes all of it.

    `digest` is of the program that was read.
    """

    digest: str = field(kw_only=True)
    reread: Callable[..., str] = field(repr=False, compare=False, kw_only=True)

    def check(self, step: Callable[..., object], **example: object) -> bool:
        """Whether `step` still is the program that was proved; other arguments as for `prove`."""
        return self.reread(step, **example) == self.digest


@dataclass(frozen=True, slots=True)
class Derived:
    """What a graph releases."""

    releases: tuple[Release, ...]
    ledger: Ledger
    facts: tuple[Fact, ...]


def derive(graph: Graph, inputs: Sequence[Fact], adjacency: Adjacency) -> Derived:
    """What the step releases, or NotProvable with the line and the remedy."""
    at = Context(adjacency, graph)
    facts = at.derive(inputs)
    for (place, value), fact in zip(graph.outputs, facts, strict=True):
        _leaves(at, place, value, fact)
    for which in at.ledger.noise:
        _check_noise(at.ledger, which)
    for each in at.ledger.releases:
        for term in each.terms:
            if term.scale == float("inf"):
                reason, remedy = UNBOUNDED.get(term.why, UNBOUNDED["no-clip"])
                raise refusal(term.why or "no-clip", str(term.line or each.line), reason, remedy)
    return Derived(tuple(at.ledger.releases), at.ledger, tuple(facts))


def refusal(kind: str, line: str, reason: str, remedy: str) -> NotProvable:
    """NotProvable in words."""
    return NotProvable(
        f"not provable: {line}: {reason}; {remedy}.", kind=kind, line=line, remedy=remedy
    )


def _leaves(at: Context, place: str, value: Value, fact: Fact) -> None:
    """What comes back is public or released."""
    kind = fact.kind
    if isinstance(kind, Mixed):
        raise refusal(kind.kind, str(kind.line), f"{kind.reason} (it reaches {place})", kind.remedy)
    if isinstance(kind, Keys):
        at.ledger.keys.returned.extend((path, place) for path in kind.paths.flat)
    elif isinstance(kind, Drawn):
        at.coin(kind)
    elif not isinstance(kind, Public):
        _raw(at, place, value, kind)


def _raw(at: Context, place: str, value: Value, kind: Rows | Aggregate) -> None:
    made = at.made[value.index]
    what = "a value of each record" if isinstance(kind, Rows) else "a sum over the batch"
    hints = "".join(f" ({hint})" for hint in dict.fromkeys(at.ledger.hints))
    remedy = "do not return it, or clip what each record adds and add noise to the sum"
    raise refusal(
        "raw-output",
        str(made.line),
        f"{place} comes back without noise: it is {what}{hints}",
        remedy,
    )


def _check_noise(ledger: Ledger, which: int) -> None:
    line, loops = ledger.where[which]
    parts = ledger.noise[which]
    twice = any(not apart(a, b) for i, a in enumerate(parts) for b in parts[:i])
    if twice or which in ledger.coins:
        raise refusal(
            "noise-reused",
            str(line),
            "the same noise is used more than once, so that a difference of two values is free of it",
            "draw noise of its own for each array, and use it nowhere else",
        )
    for path in ledger.paths.get(which, ()):
        trouble = ledger.keys.trouble(path, loops)
        if trouble is not None:
            raise refusal(
                "key-reused",
                str(line),
                f"this noise can be known or repeated: {trouble[0]}",
                trouble[1],
            )


def shown(releases: Sequence[Release], adjacency: Adjacency) -> tuple[ProvedRelease, ...]:
    """The releases as a proof lists them."""
    found = []
    for each in releases:
        single = price.noise_multiplier([replace(each, times=1)], adjacency)
        size = each.noise / single if single else float("inf")
        event = Gaussian(single) if 0 < single < 1e150 else None
        text = f"normal noise of scale {price.decimal(each.noise):g}"
        text += " times a public number" if each.scaled else ""
        found.append(
            ProvedRelease(
                str(each.line), price.decimal(size * adjacency.moves), text, event, each.times
            )
        )
    return tuple(found)
