"""Auditors: each finds lower bounds its own way."""
