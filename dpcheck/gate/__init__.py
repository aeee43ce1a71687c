"""The gate: a project's audits, budgets and accepted findings, as one pass or fail."""
