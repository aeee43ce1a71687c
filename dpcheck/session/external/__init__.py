"""Targets in another process: a function in another interpreter, or any program that reads JSON lines."""
