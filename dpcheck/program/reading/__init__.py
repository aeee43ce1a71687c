"""The reader of Python: source -> the graph of a program. What it does not know it refuses."""
