"""Objective perturbation: blocks, solver, noise."""
