"""Graphs that differ in one edge or one node."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.graphs import usual_graphs
from dpcheck.core.errors import NotNeighbours
from dpcheck.core.relation import relation
from dpcheck.core.verdict import Verdict

nx = pytest.importorskip("networkx")
EDGES, NODES = relation("edges"), relation("nodes")


@pytest.mark.parametrize("given", [EDGES, NODES])
def test_the_usual_graphs_are_neighbours(given):
    pairs = usual_graphs(given)
    assert len(pairs) >= 20
    assert check_pairs(pairs, given) == ()
    other = NODES if given is EDGES else EDGES
    for pair in pairs:
        with pytest.raises(NotNeighbours):
            check_pairs([pair], other)


def test_what_else_changes_is_seen():
    path = nx.path_graph(4)
    weighted, renamed, two = path.copy(), nx.relabel_nodes(path, {0: 9}), path.copy()
    weighted.edges[0, 1]["weight"] = 2.0
    two.remove_edges_from([(0, 1), (2, 3)])
    more = path.copy()
    more.add_edges_from([(9, 0), (1, 3)])  # somebody new, and an edge between others
    for second in (path, weighted, renamed, two, nx.DiGraph(path), [1]):
        with pytest.raises(NotNeighbours):
            check_pairs([Pair(path, second)], EDGES)
    for second in (path, more, two):
        with pytest.raises(NotNeighbours):
            check_pairs([Pair(path, second)], NODES)


def largest_degree(graph, rng):
    return max((d for _, d in graph.degree), default=0) + rng.laplace(scale=1.0)


def edges(graph, rng):
    return graph.number_of_edges() + rng.laplace(scale=1.0)


@pytest.mark.parametrize(
    ("function", "given", "wrong"),
    [
        (largest_degree, NODES, True),
        (edges, EDGES, False),
        (edges, NODES, True),
    ],
)
def test_graphs_are_audited_without_pairs(function, given, wrong):
    (entry,) = dpcheck.audit(function, epsilon=1.0, adjacency=given, max_runs=60).entries
    assert (entry.verdict is Verdict.VIOLATED) is wrong
