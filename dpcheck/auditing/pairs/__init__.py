"""Pairs of neighbouring datasets: from a description of a record, searched, and checked."""
