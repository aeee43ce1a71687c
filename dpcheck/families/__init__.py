"""What the audits of related algorithms share."""
