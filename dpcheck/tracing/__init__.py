"""Somebody's function run once on symbols for its data and noise -> what it spends, for all data."""
