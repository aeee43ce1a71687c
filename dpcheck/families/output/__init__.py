"""Audits of output perturbation."""
