"""Budgets over time: who is in which data, what was released, what is left."""
