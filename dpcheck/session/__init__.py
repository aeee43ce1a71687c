"""From a target to a result: registry, targets, plans, runs. Knows no algorithm."""
