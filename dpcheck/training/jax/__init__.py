"""The jax reader: jaxpr -> graph."""
