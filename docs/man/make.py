"""Writes dpcheck.1 from the commands' own help: python docs/man/make.py"""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from dpcheck import __version__
from dpcheck.cli.main import COMMANDS, main

PAGE = Path(__file__).with_name("dpcheck.1")


def roff(text: str) -> str:
    """Text that roff takes as it is."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    lines = plain.split("\n")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def options(command: click.Command) -> list[str]:
    """The options of a command, one paragraph each."""
    context = click.Context(command)
    found = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            found += [".TP", f".B {roff(record[0])}", roff(record[1] or "")]
    return found


def described(name: str, command: click.Command) -> list[str]:
    """A section for a command, and for those below it."""
    if isinstance(command, click.Group):
        inner = [
            (f"{name} {each}", command.get_command(click.Context(command), each))
            for each in command.list_commands(click.Context(command))
        ]
        return [line for path, each in inner if each is not None for line in described(path, each)]
    pieces = " ".join(command.collect_usage_pieces(click.Context(command)))
    text = cleandoc((command.help or "").replace("\b", ""))
    return [f".SS {roff(f'dpcheck {name} {pieces}')}", roff(text), *options(command)]


def page() -> str:
    """The manual page."""
    context = click.Context(main)
    lines = [
        f'.TH DPCHECK 1 "" "dpcheck {__version__}"',
        ".SH NAME",
        "dpcheck \\- prove what a private algorithm spends, audit what its code leaks",
        ".SH SYNOPSIS",
        ".B dpcheck",
        "[\\-\\-version] [\\-\\-help] COMMAND [ARGUMENTS]",
        ".SH DESCRIPTION",
        roff(cleandoc(main.help or "")),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        lines += described(name, command)
    lines += [
        ".SH EXIT STATUS",
        "0 holds or consistent, 1 violated, 2 failed, 3 undecided, 130 interrupted.",
    ]
    return "\n".join(line for line in lines if line) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
