"""Audits of adversarial domain adaptation."""
