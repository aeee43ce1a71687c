"""The broken functions, by theme."""

from . import local, means, selection, tables, training

CASES = [*means.CASES, *tables.CASES, *selection.CASES, *training.CASES, *local.CASES]
