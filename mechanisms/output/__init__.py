"""Output perturbation: rows, solvers, noise."""
