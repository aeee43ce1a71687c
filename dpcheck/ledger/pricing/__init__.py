"""What a release costs: exact costs, filters, the certified track of a loop, what is set aside for it."""
