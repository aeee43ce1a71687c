"""Tables in docs/benchmarks/, each a pure function of the data files."""
