"""Engines and toolkits that answer queries on a table kept in one place."""
