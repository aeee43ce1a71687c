"""Renyi divergences, and what they say about (epsilon, delta)."""
