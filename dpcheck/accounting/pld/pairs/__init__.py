"""Pairs (P, Q) that can be put on a lattice from either side."""
