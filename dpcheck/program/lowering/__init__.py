"""Library functions in terms of the primitives."""
