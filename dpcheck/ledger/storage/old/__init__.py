"""Ledgers of earlier formats: read once, checked, and written anew under the same terms."""
