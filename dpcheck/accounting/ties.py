"""Pure losses that are fractions of the event's own numbers, added up without rounding.

Three answers with Laplace noise of scale 3 spend exactly 1. Rounded upward one by one they spend the next
number above 1, and a claim of 1 would look broken.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.accounting.worst_case import stated_steps
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.events.noise import DiscreteLaplace, Laplace


def exact_epsilon(event: Event, adjacency: Adjacency) -> Fraction | None:
    """The epsilon of `event` at delta 0; None where it is no sum of such fractions.

    Guarantee: the supremum of the loss over all mechanisms the event describes, exactly: losses of
    adaptive compositions add up, and one that answers about one number attains their sum.

    >>> from dpcheck import Laplace
    >>> exact_epsilon(Laplace(3.0) * 3, Adjacency.ADD_REMOVE)
    Fraction(1, 1)
    """
    total, stack = Fraction(0), [(event, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, Sequential):
            stack += [(inner, times) for inner in node.events]
        elif isinstance(node, Repeated):
            stack.append((node.event, times * node.times))
        elif isinstance(node, Laplace) and node.noise_multiplier:
            total += times * adjacency.moves / Fraction(node.noise_multiplier)
        elif isinstance(node, DiscreteLaplace) and node.scale:
            total += times * adjacency.moves * Fraction(node.norm_bound) / Fraction(node.scale)
        elif isinstance(node, PureDP):
            total += times * stated_steps(node.adjacency, adjacency) * Fraction(node.epsilon)
        else:
            return None
    return total
