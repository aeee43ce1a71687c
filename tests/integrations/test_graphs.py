"""Graphs of networkx: looking at one fills what it keeps for the next look, and changes nothing."""

from __future__ import annotations

import networkx
import pytest

import dpcheck
from dpcheck.core.data import fingerprint
from dpcheck.core.errors import InputMutated
from dpcheck.core.verdict import Verdict


def path(edges):
    return networkx.path_graph(edges + 1)


def audit(function, **options):
    both = path(5), path(5)
    both[1].remove_edge(0, 1)
    options = {"neighbours": [both], "adjacency": "add-remove", "max_runs": 3000} | options
    (entry,) = dpcheck.audit(function, **options).entries
    return entry


def edges(graph, rng, scale=1.0):
    degrees = dict(graph.degree())
    assert len(graph.adj) == len(graph.nodes) == len(degrees)
    return graph.number_of_edges() + rng.laplace(scale=scale)


def test_reading_a_graph_does_not_change_it():
    graph = path(5)
    before = fingerprint(graph)
    assert sum(dict(graph.degree()).values()) == 2 * len(graph.edges) == 10
    assert fingerprint(graph) == before
    graph.add_edge(0, 5)
    assert fingerprint(graph) != before


def test_functions_that_only_read_a_graph_are_audited():
    assert audit(edges, epsilon=1.0).verdict is not Verdict.VIOLATED
    assert audit(lambda g, rng: edges(g, rng, 0.2), epsilon=1.0).verdict is Verdict.VIOLATED


def test_an_answer_kept_in_the_data_is_still_refused():
    def kept(graph, rng):
        if "answer" not in graph.graph:
            graph.graph["answer"] = edges(graph, rng)
        return graph.graph["answer"]

    data = {"graph": [1.0], "other": None}

    def kept_in_a_dict(data, rng):
        data.setdefault("answer", data["graph"][0] + rng.laplace())
        return data["answer"]

    with pytest.raises(InputMutated):
        audit(kept_in_a_dict, epsilon=1.0, neighbours=[(data, data | {"graph": [2.0]})])
    # Every call reads a graph of its own, so that answers cannot be kept in it.
    assert audit(kept, epsilon=1.0).verdict is not Verdict.VIOLATED
