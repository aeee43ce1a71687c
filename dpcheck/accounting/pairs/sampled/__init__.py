"""Noise on a random batch."""
