"""Pairs made of other pairs."""
