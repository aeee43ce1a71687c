"""A program that was read: its graph, what is known of every value in it, what it spends."""
