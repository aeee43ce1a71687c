"""Mutants of the prover's facts and rules, and the tests that kill them."""
