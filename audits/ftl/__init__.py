"""Secure federated transfer learning: what its messages give away."""

from dpcheck.audits.ftl.audit import AUDIT

__all__ = ["AUDIT"]
