"""Worst-case pairs of distributions (P, Q): one file holds all that is known of a pair."""
