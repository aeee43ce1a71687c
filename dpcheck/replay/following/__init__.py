"""Values that know which draws they are made of."""
