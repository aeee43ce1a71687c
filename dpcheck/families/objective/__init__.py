"""Audits of objective perturbation."""
