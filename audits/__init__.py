"""One file per algorithm: its claim, its neighbours, its variants, its paper."""
