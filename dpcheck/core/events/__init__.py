"""Events: what was released, and how releases combine."""
