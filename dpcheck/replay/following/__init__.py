"""Values that know which draws they are made of: scalars, arrays, and what numpy does to them."""

from dpcheck.replay.following import functions, ufuncs  # they fill in the rules of the operators

__all__ = ["functions", "ufuncs"]
