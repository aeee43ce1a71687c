"""`dpcheck reproduce TABLE`: a paper's table beside ours."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click

from dpcheck.core.errors import UnknownName, UsageError

Reproduction = Callable[[Path | None, Callable[[str], None]], None]

# Table -> "module:function"; the function takes the data directory (or None) and an echo.
TABLES = {
    "dpda-amazon": "dpcheck.reproduce.dpda.training:amazon",
    "dpda-epochs": "dpcheck.reproduce.dpda.epochs:epochs",
    "dpda-office31": "dpcheck.reproduce.dpda.training:office31",
    "dphtl-20news": "dpcheck.reproduce.dphtl.table:news",
    "dphtl-amazon": "dpcheck.reproduce.dphtl.table:reviews",
    "dphtl-20news-labels": "dpcheck.reproduce.dphtl.labels:news_labels",
    "dphtl-amazon-labels": "dpcheck.reproduce.dphtl.labels:review_labels",
    "ftl-credit": "dpcheck.reproduce.ftl.table:credit",
    "ftl-common": "dpcheck.reproduce.ftl.figures:nuswide_common",
    "ftl-nuswide": "dpcheck.reproduce.ftl.table:nuswide",
    "pptl-fs-mnist": "dpcheck.reproduce.stacking.table:pptl_fs_mnist",
    "learning-bounds": "dpcheck.reproduce.stacking.bounds:learning_bounds",
    "pptl-fs-groups": "dpcheck.reproduce.stacking.figures:pptl_fs_groups",
    "pptl-fs-hospitals": "dpcheck.reproduce.stacking.hospitals:pptl_fs_hospitals",
    "pst-combined": "dpcheck.reproduce.stacking.figures:pst_combined",
    "pst-groups": "dpcheck.reproduce.stacking.figures:pst_groups",
    "pst-importances": "dpcheck.reproduce.stacking.figures:pst_importances",
    "pst-mnist": "dpcheck.reproduce.stacking.table:pst_mnist",
    "pst-news20": "dpcheck.reproduce.stacking.table:pst_news20",
}


@click.command(name="reproduce", epilog=f"TABLE is one of: {', '.join(TABLES)}.")
@click.argument("table")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder with the papers' datasets, for tables that need them.",
)
def command(table: str, data_dir: Path | None) -> None:
    """Print a table of a paper beside what dpcheck finds.

    Example: dpcheck reproduce dpda-epochs
    """
    if table not in TABLES:
        close = get_close_matches(table, TABLES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(TABLES)}."
        raise UnknownName(f"unknown table {table!r}; {hint}", value=table)
    if data_dir is not None and not data_dir.is_dir():
        raise UsageError(f"--data-dir {data_dir} is not a folder.")
    load(TABLES[table])(data_dir, click.echo)


def load(path: str) -> Reproduction:
    """The function a table's entry names."""
    module, _, name = path.partition(":")
    function: Reproduction = getattr(import_module(module), name)
    return function
