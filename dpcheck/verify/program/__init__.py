"""Checks proofs of programs: a graph of primitives, a fact for every node, what it releases."""
