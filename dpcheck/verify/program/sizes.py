"""How large a vector may be, in every norm at once: of one record's row, or of a difference.

`entries` bounds each entry (or all by one number), `l1`, `l2`, `linf` the norms of the whole array as one
vector, `changed` the number of entries that are not 0. Every rule is the triangle inequality or a
comparison of norms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcheck.verify.program.boxes import Entries, pair
from dpcheck.verify.program.numbers import INF, ONE, ZERO, Number, add, magnitude, root_up, times

NORMS = ("l1", "l2", "linf", "changed")


def total(values: Iterable[Number]) -> Number:
    """Their sum."""
    found: Number = ZERO
    for value in values:
        found = add(found, value)
    return found


def length(a: Number, b: Number) -> Number:
    """The root of the sum of two squares."""
    return max(a, b) if not a or not b else root_up(add(times(a, a), times(b, b)))


@dataclass(frozen=True, slots=True)
class Size:
    """Bounds of one vector."""

    entries: Entries = (INF,)
    l1: Number = INF
    l2: Number = INF
    linf: Number = INF
    changed: Number = INF

    @property
    def zero(self) -> bool:
        """Whether the vector is 0."""
        return not self.l1 or not self.linf or not self.changed

    def tightened(self, count: int) -> Size:
        """What the bounds say together of an array with so many entries."""
        repeats = Fraction(count, max(1, len(self.entries)))
        top = max(self.entries, default=ZERO) if count else ZERO
        changed = min(self.changed, Fraction(count))
        linf = min(self.linf, top, self.l1, self.l2)
        wide = root_up(changed)
        l1 = min(
            self.l1, times(total(self.entries), repeats), times(changed, linf), times(wide, self.l2)
        )
        squares = times(total(times(each, each) for each in self.entries), repeats)
        l2 = min(self.l2, root_up(squares), l1, root_up(times(l1, linf)), times(wide, linf))
        l1 = min(l1, times(wide, l2))
        entries = tuple(min(each, linf) for each in self.entries)
        return Size(entries, l1, l2, linf, changed)

    def norms(self) -> Size:
        """Without the entries."""
        return replace(self, entries=(INF,))

    def scaled(self, factors: Entries) -> Size:
        """Each entry times at most its factor in absolute value."""
        mine, sizes = pair(self.entries, tuple(map(magnitude, factors)))
        most = max(map(magnitude, factors), default=ZERO)
        return Size(
            tuple(map(times, mine, sizes)),
            times(self.l1, most),
            times(self.l2, most),
            times(self.linf, most),
            self.changed,
        )

    def plus(self, other: Size) -> Size:
        """The sum of two vectors."""
        mine, theirs = pair(self.entries, other.entries)
        return Size(tuple(map(add, mine, theirs)), *(add(a, b) for a, b in self._beside(other)))

    def either(self, other: Size) -> Size:
        """One of two vectors, it is not known which."""
        mine, theirs = pair(self.entries, other.entries)
        return Size(tuple(map(max, mine, theirs)), *(max(a, b) for a, b in self._beside(other)))

    def both(self, other: Size) -> Size:
        """A vector of which two bounds are known."""
        mine, theirs = pair(self.entries, other.entries)
        return Size(tuple(map(min, mine, theirs)), *(min(a, b) for a, b in self._beside(other)))

    def beside(self, other: Size, entries: Entries) -> Size:
        """Two vectors side by side as one."""
        return Size(
            entries,
            add(self.l1, other.l1),
            length(self.l2, other.l2),
            max(self.linf, other.linf),
            add(self.changed, other.changed),
        )

    def repeated(self, times_over: int) -> Size:
        """Every entry so many times over; the entries are laid out by the caller."""
        if times_over <= 1:
            return self
        many = Fraction(times_over)
        return Size(
            self.entries,
            times(self.l1, many),
            times(self.l2, root_up(many)),
            self.linf,
            times(self.changed, many),
        )

    def laid(self, entries: Entries) -> Size:
        """The same norms with the entries in another order or shape, or some of them left out."""
        return replace(self, entries=entries)

    def holds(self, other: Size) -> bool:
        """Whether every bound here is at least the other's."""
        mine, theirs = pair(self.entries, other.entries)
        return all(a >= b for a, b in zip(mine, theirs, strict=True)) and all(
            a >= b for a, b in self._beside(other)
        )

    def _beside(self, other: Size) -> list[tuple[Number, Number]]:
        return [(getattr(self, name), getattr(other, name)) for name in NORMS]


UNKNOWN = Size()
NOTHING = Size((ZERO,), ZERO, ZERO, ZERO, ZERO)
ONE_ENTRY = Size((INF,), ONE, ONE, ONE, ONE)


def where_it_differs(size: Size) -> Size:
    """A vector that is not 0 where another one is not, nobody knows how large."""
    return Size(changed=size.changed)
