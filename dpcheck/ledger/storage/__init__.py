"""How a ledger is kept: entries, the journal in memory or in a file, terms, conversion, export."""
