"""The vocabulary: adjacency, budgets, bounds, events, claims, verdicts, errors."""
