"""Values that know which draws they are made of.

Scalars, their arithmetic and arrays of them know each other; `values` is imported first.
"""

from dpcheck.replay.following import values

__all__ = ["values"]
