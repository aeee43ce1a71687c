"""What a program that was read spends, for every dataset of the described shape."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dpcheck.accounting.api import epsilon as account
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.core.events.event import Event, Grouped, Sequential
from dpcheck.core.records import Records
from dpcheck.program import releases
from dpcheck.program.alternatives import larger
from dpcheck.program.described import described
from dpcheck.program.facts.rowsets import disjoint
from dpcheck.program.graph import Graph
from dpcheck.program.joints import settle
from dpcheck.program.lowering import library
from dpcheck.program.outputs import check_output
from dpcheck.program.reading.calls import call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import Generator
from dpcheck.program.releases import Release

ASSUMES = (
    "arithmetic is that of real numbers: rounding of floats is not followed",
    "numpy and pandas compute what their documentation says, and the generator draws independent numbers",
    "what the function returns is all that anybody sees: no files, no timing, no messages, no memory",
)
# What a value that no lowering foresaw raises: it is refused at the line that was read.
UNFORESEEN = (
    *(TypeError, ValueError, ArithmeticError, LookupError, AttributeError, MemoryError),
    *(AssertionError, NotImplementedError),
)
_RANDOM = frozenset({"rng", "random_state", "generator", "random_generator", "gen", "prng"})


@dataclass(frozen=True, slots=True)
class ProvedRelease:
    """One release: where, how far one record moves it, what noise it has, what it spends."""

    line: str
    sensitivity: float
    noise: str
    event: Event | None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was read: its graph, the names of its inputs, what it returns."""

    graph: Graph
    output: object
    reader: Reader


@dataclass(frozen=True, slots=True)
class Proof:
    """What a function releases, proved for all data of a shape; `event` describes all of it."""

    event: Event
    releases: tuple[ProvedRelease, ...]
    adjacency: Adjacency
    assumes: tuple[str, ...]
    program: Program | None = field(default=None, repr=False, compare=False)
    rows_per_person: int = 1

    def certificate(self, delta: float | None = None) -> dict[str, Plain]:
        """The proof as plain data that `dpcheck verify` checks from a file of it alone.

        With `delta` it has the accountant's certificate of epsilon there too, if one can be written.
        CannotCertify where the kernel has no lemma for something in the program.
        """
        if self.program is None:
            raise CannotCertify("proofs of training steps have no certificate yet.")
        from dpcheck.program.certificates import certificate

        bound = None
        if delta:
            with suppress(CannotCertify):
                bound = self.epsilon(delta).certificate()
        event, adjacency = self.event, str(self.adjacency)
        return certificate(
            self.program, event, adjacency, self.assumes, self.rows_per_person, bound
        )

    def epsilon(self, delta: float = 0.0) -> Bound:
        """What it spends at `delta`, by the accountant."""
        bound = account(self.event, delta=delta, adjacency=self.adjacency)
        return replace(bound, assumes=tuple(dict.fromkeys((*bound.assumes, *self.assumes))))


def read(
    function: Callable[..., object],
    data: object,
    adjacency: Adjacency,
    *,
    form: str | None = None,
    public: Sequence[str] = (),
) -> Program:
    """The program of a function for all data like `data`."""
    library.load()
    graph = Graph(adjacency)
    reader = Reader(graph, frozenset(public))
    symbol = described(reader, data, form)
    args, named = arguments_for(function, symbol, Generator("rng"))
    try:
        output = call(reader, unwrapped(function), args, named)
        check_output(reader, output)
    except RecursionError:
        reader.refuse("too-long", "the program nests too deeply", "use fewer rounds of its loops")
    except UNFORESEEN as error:
        if isinstance(error, DpcheckError):
            raise
        reader.refuse(
            "unknown-operation",
            f"this is not followed ({type(error).__name__}: {error})",
            "write it with other operations",
        )
    return Program(graph, output, reader)


def unwrapped(function: Callable[..., object]) -> Callable[..., object]:
    """The function behind our own decorators, which add nothing to a call."""
    found = function
    while getattr(found, "__dpcheck_transparent__", False) and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def arguments_for(
    function: Callable[..., object], symbol: object, rng: object
) -> tuple[tuple[object, ...], dict[str, object]]:
    """How the function wants data and generator."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (symbol, rng), {}
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in _RANDOM]
    if len(places) >= 2 and (
        places[1].default is inspect.Parameter.empty or places[1].name in _RANDOM
    ):
        return (symbol, rng), {}
    later = [p.name for p in places[1:] if p.name in _RANDOM] + keywords
    return (symbol,), {later[0]: rng} if later else {}


def proof_of(program: Program, data: object) -> Proof:
    """What the releases of a program spend together."""
    graph = program.graph
    settle(graph)
    _share_samples(graph.releases, graph.used)
    found: Counter[ProvedRelease] = Counter()
    for each in graph.releases:
        if not (each.opened or each.selected):
            each.opened = True  # it was thrown away; counting it is safe
        if each.opened and each.fixed is None and each.family not in releases.ADDITIVE:
            graph.line = each.line
            graph.refuse(
                "unknown-noise",
                f"numbers with {each.family} noise are released",
                "release only their argmax, or use Laplace or Gaussian noise",
            )
        found[_shown(each)] += each.times
    listed = tuple(replace(each, times=times) for each, times in found.items())
    event = composed(graph.releases, graph.adjacency)
    assumes = list(ASSUMES)
    if not graph.public_rows:
        assumes.append("there are fewer than 2^40 records")
    assumes += [f"{name} is public" for name in program.reader.constants]
    named = (*graph.assumes, *assumes)
    proof = Proof(event, listed, graph.adjacency, named, program)
    if isinstance(data, Records) and data.person is not None:
        return of_people(proof, data.rows_per_person)
    return proof


def of_people(proof: Proof, rows: int) -> Proof:
    """The proof of one record, for people who own up to `rows` of them."""
    if rows == 1:
        return proof
    return replace(proof, event=Grouped(proof.event, rows), rows_per_person=rows)


def composed(made: Sequence[Release], adjacency: Adjacency) -> Event:
    """All releases together, on the most expensive path."""
    parts = _along(made, 0, adjacency)
    listed = [event if times == 1 else event * times for event, times in parts.items()]
    return listed[0] if len(listed) == 1 else Sequential(tuple(listed))


def _along(made: Sequence[Release], depth: int, adjacency: Adjacency) -> Counter[Event]:
    """What is spent from this branch on.

    A released value decides between two sides: see `alternatives` for what covers both.
    """
    found: Counter[Event] = Counter()
    while made:
        found += _together([each for each in made if len(each.path) == depth], adjacency)
        made = [each for each in made if len(each.path) > depth]
        tests = dict.fromkeys(each.path[depth][0] for each in made)
        if len(tests) == 1 and len({each.path[depth] for each in made}) == 1:
            depth += 1  # one way only: a loop that may be left early gets this deep
            continue
        for test in tests:
            sides = [
                _along([r for r in made if r.path[depth] == (test, answer)], depth + 1, adjacency)
                for answer in (True, False)
            ]
            found += larger(sides[0], sides[1], adjacency)
        break
    return found


def _together(made: Sequence[Release], adjacency: Adjacency) -> Counter[Event]:
    """Releases of one path: those behind which a record is only one at a time count once, or twice."""
    parts: Counter[Event] = Counter()
    for cell in _cells(made):
        known = [each.event for each in cell if each.event is not None]
        if len(cell) == 1:
            parts.update(dict.fromkeys(known, cell[0].times))
        elif adjacency is Adjacency.ADD_REMOVE:
            parts[known[0]] += 1  # a record is behind one of them, on one side only
        else:
            parts += of_one_or_two(cell[0], known[0], adjacency)
    return parts


def of_one_or_two(release: Release, event: Event, adjacency: Adjacency) -> Counter[Event]:
    """A record changes inside of one release; or it leaves one and enters another. All cost the same.

    Lemma. Which of the two it is, is decided by the neighbours, so that what covers both cases covers each
    pair of neighbours.
    """
    crossing = release.entering
    if crossing is None:
        return Counter({event: 2})
    return larger(Counter({event: 1}), Counter({crossing: 2}), adjacency)


def _cells(made: Sequence[Release]) -> list[list[Release]]:
    """Releases that no record shares, put together: see `disjoint_parts` for why that is sound.

    Their predicates compare records with public values only, so that they are the same in every run.
    """
    found: list[list[Release]] = []
    for each in made:
        if each.predicate and each.sampling is None and each.event is not None:
            home = next((cell for cell in found if _fits(each, cell)), None)
            if home is not None:
                home.append(each)
                continue
        found.append([each])
    return found


def _fits(each: Release, cell: Sequence[Release]) -> bool:
    return all(
        other.predicate
        and other.sampling is None
        and other.event == each.event
        and other.entering == each.entering
        and other.times == each.times == 1
        and disjoint(other.predicate, each.predicate)
        for other in cell
    )


def _shown(each: Release) -> ProvedRelease:
    return ProvedRelease(str(each.line), each.sensitivity, each.noise, each.event)


def _share_samples(made: Sequence[Release], spent: set[int]) -> None:
    """Sampling amplifies a release only if nothing else saw the same coins."""
    seen: Counter[int] = Counter()
    for each in made:
        seen.update(each.coins)
    for each in made:
        if each.sampling is None:
            continue
        own = each.sampling.ids
        # Coins of another choice that the release has seen as well: only one of them is accounted.
        each.shared = any(seen[i] > 1 or i in spent for i in own) or each.coins != own
