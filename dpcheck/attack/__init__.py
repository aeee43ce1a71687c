"""Every proof is attacked on real data before it is announced; knows no prover."""
