"""Lower bounds from runs of the real code, exact witnesses, verdicts. Knows no algorithm."""
