"""Graphs of networkx that differ in one edge or one node: checked, and the usual ones tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeGuard

from dpcheck.auditing.mechanism import Pair
from dpcheck.core.data import Data
from dpcheck.core.errors import MissingExtra
from dpcheck.core.relation import Relation

if TYPE_CHECKING:
    import networkx

_SIZE = 6  # nodes


def is_graph(data: Data) -> TypeGuard[networkx.Graph]:
    """Whether it is a graph of networkx, by what it offers."""
    return all(hasattr(data, name) for name in ("nodes", "edges", "adj", "is_directed"))


def problem_of(first: Data, second: Data, relation: Relation) -> str | None:
    """Why two graphs are no neighbours; None where they are."""
    if not (is_graph(first) and is_graph(second)):
        return f"neighbours by {relation} are graphs of networkx"
    if type(first) is not type(second) or first.graph != second.graph:
        return "the two graphs are of different kinds"
    only = [_nodes(a) - _nodes(b) for a, b in ((first, second), (second, first))]
    if relation.kind == "edges":
        if any(only):
            return "their nodes differ, and neighbours by edges have the same"
        gone, came = (_edges(a) - _edges(b) for a, b in ((first, second), (second, first)))
        differing = gone.total() + came.total()
        return None if differing == 1 else f"{differing} edges differ, not one"
    if sorted(len(list(side)) for side in only) != [0, 1]:
        return "one of them has one node more"
    larger, smaller = (first, second) if only[0] else (second, first)
    name, _ = next(iter(only[0] or only[1]))
    rest = larger.copy()
    rest.remove_node(_by_name(larger, name))
    return None if _edges(rest) == _edges(smaller) else "edges differ that are not the node's own"


def _nodes(graph: networkx.Graph) -> Counter[tuple[str, str]]:
    return Counter(
        (repr(node), repr(sorted(about.items()))) for node, about in graph.nodes(data=True)
    )


def _by_name(graph: networkx.Graph, name: str) -> Any:
    return next(node for node in graph.nodes if repr(node) == name)


def _edges(graph: networkx.Graph) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for one, two, about in graph.edges(data=True):
        ends = [repr(one), repr(two)]
        if not graph.is_directed():
            ends.sort()
        found[(*ends, repr(sorted(about.items())))] += 1
    return found


def usual_graphs(relation: Relation) -> list[Pair]:
    """Pairs of small graphs in which one edge, or one node, counts for much."""
    try:
        nx = import_module("networkx")
    except ImportError:
        raise MissingExtra(
            f"neighbours by {relation} need networkx: pip install networkx."
        ) from None
    made = {
        "no edges": nx.empty_graph(_SIZE),
        "a path": nx.path_graph(_SIZE),
        "a circle": nx.cycle_graph(_SIZE),
        "a star": nx.star_graph(_SIZE - 1),
        "all edges": nx.complete_graph(_SIZE),
        "two cliques": nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3)),
        "two groups": nx.complete_bipartite_graph(3, 3),
    }
    changes = _other_edges if relation.kind == "edges" else _other_nodes
    return [
        Pair(graph, other, f"{name}, {change}")
        for name, graph in made.items()
        for change, other in changes(graph)
    ]


def _other_edges(graph: networkx.Graph) -> Iterator[tuple[str, Data]]:
    """One edge less, one more: between the first two nodes, and between the last ones that allow it."""
    for listed, word in (
        (list(graph.edges), "less"),
        ([pair for pair in combinations(graph.nodes, 2) if not graph.has_edge(*pair)], "more"),
    ):
        for one, two in dict.fromkeys([*listed[:1], *listed[-1:]]):
            other = graph.copy()
            (other.remove_edge if word == "less" else other.add_edge)(one, two)
            yield f"one edge {word} ({one}, {two})", other


def _other_nodes(graph: networkx.Graph) -> Iterator[tuple[str, Data]]:
    """Without its first node and without its last; with one that knows everybody, or nobody."""
    nodes = list(graph.nodes)
    for gone in (nodes[0], nodes[-1]):
        other = graph.copy()
        other.remove_node(gone)
        yield f"without node {gone}", other
    for known, word in ((nodes, "everybody"), ([], "nobody")):
        other = graph.copy()
        other.add_node(len(nodes))
        other.add_edges_from((len(nodes), node) for node in known)
        yield f"with somebody who knows {word}", other
