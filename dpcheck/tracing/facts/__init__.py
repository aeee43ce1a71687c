"""What is known of a private value: boxes, sizes, norms, which records it is made of."""
