"""Paillier encryption of arrays."""
