"""The tables of [Wang2020]."""
