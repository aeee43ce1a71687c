"""What the commands about events share: their parameters, their figures, a paper's table."""
