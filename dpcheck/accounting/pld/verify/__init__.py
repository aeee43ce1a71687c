"""A second, slow proof of the fast accountant's answer, in ball arithmetic."""
