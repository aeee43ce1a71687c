"""Random cases for the accountant, and independent truths to hold them against."""
