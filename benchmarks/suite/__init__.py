"""Mechanisms with known leaks, and what is known of their densities, for the auditors to be measured on."""
