"""Exact and certified losses of one pair of known laws."""
