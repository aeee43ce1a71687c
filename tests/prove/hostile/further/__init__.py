"""More hostile functions, by causes found later."""
