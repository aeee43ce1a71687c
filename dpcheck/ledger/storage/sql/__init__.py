"""A ledger in a database: its tables, what is read from and written to them, and two databases."""
