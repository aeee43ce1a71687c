"""Guards where people train: count every step before it happens, log epsilon, stop at the budget."""
