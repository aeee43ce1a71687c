"""Training steps of jax and torch, read as one graph of primitives -> what they spend for all data."""
