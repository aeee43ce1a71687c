"""What answers rest on beside their event, as their `assumes` says it (docs/explanation/certified.md)."""

from __future__ import annotations

# All that is computed about noise.
RANDOMNESS = (
    "noise is drawn from the stated continuous or integer distribution, not a float sampler"
)
# Numbers from a privacy-loss distribution.
ARITHMETIC = (
    "floats are IEEE 754, rounded to nearest, and numpy's functions and scipy's FFT err by no more than "
    "docs/explanation/certified.md assumes (A1 to A4)"
)
# The same for bounds that are closed forms, sums and quadratures of floats: Renyi's and the distance of laws.
PLAIN_ARITHMETIC = (
    "floating-point arithmetic and numpy's elementary functions err by no more than "
    "docs/explanation/certified.md assumes (A1, A2 and A4)"
)
