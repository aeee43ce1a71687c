"""Local privacy: every person reports noise of their own."""
