"""The algorithms of five transfer-learning papers, as printed and as corrected."""
