"""Confidence: exact intervals, anytime-valid evidence, bands."""
