"""The tables of [Liu2018]."""
