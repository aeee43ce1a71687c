"""What both parties of `dpcheck ftl` can be told: types of options, and the options they share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from dpcheck.cli.flags import Flag

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
Command = TypeVar("Command", bound=Callable[..., object])


class NewFile(click.Path):
    """A file to write when all is done: that its folder is there is checked before."""

    def convert(
        self, value: Flag, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """A Path in a folder that exists."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent} to write {path.name} in.", param, ctx)
        return path


OUT = NewFile(dir_okay=False, writable=True, path_type=Path)


def shared_options(function: Command) -> Command:
    """Options of both parties; those under "agreed" must be the same on both sides."""
    for option in reversed(
        (
            click.option("--data", type=FILE, required=True, help="CSV: id, (A: label,) features."),
            click.option(
                "--common",
                type=FILE,
                required=True,
                help="Ids both parties have, one per line: the same file on both sides.",
            ),
            click.option(
                "--certificates",
                type=FOLDER,
                required=True,
                help="This party's folder from 'dpcheck ftl certificates'.",
            ),
            click.option(
                "--hidden",
                default="8",
                show_default=True,
                help="Layer widths, for example 32,16. Both parties must agree.",
            ),
            click.option("--iterations", default=10, show_default=True, help="Agreed."),
            click.option("--rate", default=0.5, show_default=True, help="Learning rate. Agreed."),
            click.option(
                "--tolerance",
                type=float,
                default=None,
                help="Stop when the loss no longer falls by this much. Both parties must agree.",
            ),
            click.option("--alignment-weight", default=0.05, show_default=True, help="Agreed."),
            click.option("--regularization", default=0.005, show_default=True, help="Agreed."),
            click.option(
                "--alignment",
                type=click.Choice(["inner", "distance"]),
                default="inner",
                show_default=True,
                help="Agreed.",
            ),
            click.option(
                "--variant",
                type=click.Choice(["corrected", "printed"]),
                default="corrected",
                show_default=True,
                help="Signs of the loss: corrected, or as the paper prints them. Both parties must agree.",
            ),
            click.option(
                "--key-bits",
                type=click.Choice(["1024", "2048", "3072"]),
                default="2048",
                show_default=True,
                help="Agreed.",
            ),
            click.option(
                "--run",
                default="run",
                show_default=True,
                help="Name of the run. Both parties must agree.",
            ),
            click.option(
                "--pretrain",
                default=0,
                show_default=True,
                help="Epochs of auto-encoder training on this party's rows, before the parties talk.",
            ),
            click.option(
                "--scale/--no-scale",
                default=True,
                show_default=True,
                help="Bring every feature to mean 0 and deviation 1.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(min=0),
                default=None,
                help="Seed of the first network; random by default, and kept with the checkpoints.",
            ),
            click.option(
                "--checkpoints",
                type=FOLDER,
                default=None,
                help="Keep every iteration in this folder; a restart resumes from the last.",
            ),
            click.option("--jobs", default=1, show_default=True, help="Processes for encryption."),
            click.option(
                "--timeout",
                default=600.0,
                show_default=True,
                help="Seconds of silence before giving up.",
            ),
            click.option(
                "--max-message-mb",
                default=256,
                show_default=True,
                help="Largest message to send or accept.",
            ),
            click.option(
                "--out",
                type=OUT,
                default=None,
                help="Write this party's network (with --folds, all of them) to this .npz file.",
            ),
        )
    ):
        function = option(function)
    return function
