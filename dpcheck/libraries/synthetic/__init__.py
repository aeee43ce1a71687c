"""Generators of synthetic data."""
