"""The training step of DPDA and G-DPDA."""
