"""The tables of [Wang2018]."""
