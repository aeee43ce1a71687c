"""Mechanisms that are known by a guarantee or by their outcomes."""
