"""Secure federated transfer learning between two parties."""
