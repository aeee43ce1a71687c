"""Upper (and lower) bounds on what an event spends."""
