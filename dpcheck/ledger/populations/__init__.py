"""Budgets by the million: an account per person or bucket, charged many at a time."""
