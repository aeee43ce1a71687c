"""What a ledger states to others: a registry of deployments, a reviewer, a reader."""
