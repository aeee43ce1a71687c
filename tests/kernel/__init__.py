"""The kernel of proofs, tested without the prover: lemmas by brute force, certificates by hand."""
