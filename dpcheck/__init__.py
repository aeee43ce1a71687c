"""dpcheck: prove what a private algorithm spends, audit what its code leaks, compare the two."""
