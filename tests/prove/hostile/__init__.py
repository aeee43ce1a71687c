"""Functions that look at private data behind a prover's back, grouped by how they do it.

Nothing here knows how a prover works: a case is a plain function, its data, an adjacency and the
epsilon it really has, which `test_truth` measures on a pair.
"""
