"""Why nothing bounds what a record adds to a sum, in words of the user's program, and what to do."""

from __future__ import annotations

UNBOUNDED = {
    "no-clip": (
        "nothing bounds what one record adds to this sum",
        "scale each record's gradient by min(1, C / norm), norm the L2 norm of all of it, before the sum",
    ),
    "norm-misses-leaf": (
        "the norm of the clip factor does not cover this array, so that it is not bounded",
        "take the norm over all arrays that are released (optax.global_norm), or clip this one on its own",
    ),
    "factor-unbounded": (
        "this factor does not bound norm * factor",
        "use min(1, C / norm)",
    ),
    "noise-unit": (
        "the noise is not a multiple of the threshold that records are clipped to, which is no known number",
        "multiply the noise by that threshold, the same value of it",
    ),
    "private-rounds": (
        "the number of rounds of this loop is the number of records, which is private under add-remove",
        "use adjacency='replace-one'",
    ),
    "half-precision": (
        "this is computed in half precision, where norms overflow and sums round",
        "convert each record's gradient to float32 before its norm and the sum over records",
    ),
}
