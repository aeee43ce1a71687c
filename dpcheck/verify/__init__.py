"""Checks certificates from the file alone: standard library only, and nothing of the rest of dpcheck."""
