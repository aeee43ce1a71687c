"""One rule per primitive: facts of the inputs imply the fact of the output."""
