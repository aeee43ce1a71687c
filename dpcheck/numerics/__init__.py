"""Arithmetic that knows which side it errs on."""
