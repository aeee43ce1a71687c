"""Upper bounds written down for others to check, and proved a second time in balls."""
