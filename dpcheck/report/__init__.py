"""Reports: text, JSON, markdown, GitHub annotations."""
