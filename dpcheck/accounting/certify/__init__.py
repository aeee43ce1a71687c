"""What proves: rules that make theorems about compositions, and bounds from theorems.

Every rule takes the numbers of a plan (points, orders, lattices, windows, orders of outcomes) and proves
what it can with them: good numbers give tight theorems, bad ones loose theorems, none a wrong one. Rules
look for nothing, keep nothing and have no numbers that were tuned. Only they make a `Spends`, a `Curve`, an
`OnLattices`, a `Law` and, from these, a `Bound`; a test says so. What guesses is in `accountants` and `pld`,
and imports from here, never the other way.
"""
