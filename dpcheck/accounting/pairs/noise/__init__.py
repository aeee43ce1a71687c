"""Noise on all the data."""
