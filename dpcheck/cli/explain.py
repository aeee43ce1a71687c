"""`dpcheck explain WORD`: a verdict, an adjacency, a term or an error code in whole sentences."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import getdoc

import click

from dpcheck.cli.terminal.completion import words
from dpcheck.core.errors import DpcheckError, UnknownName
from dpcheck.core.explained.glossary import GLOSSARY
from dpcheck.core.explained.remedies import REMEDIES


def error_kinds(base: type[DpcheckError] = DpcheckError) -> dict[str, type[DpcheckError]]:
    """Every error by its code."""
    found = {base.code: base}
    for kind in base.__subclasses__():
        for code, each in error_kinds(kind).items():
            found.setdefault(code, each)
    return dict(sorted(found.items()))


@click.command(name="explain")
@click.argument("word", nargs=-1, shell_complete=words)
def command(word: tuple[str, ...]) -> None:
    """Explain a verdict, an adjacency, another word of the reports, or an error code.

    Without a WORD, list everything that can be explained.

    Example: dpcheck explain consistent
    """
    wanted = " ".join(word).strip().lower()
    if not wanted:
        click.echo("words: " + ", ".join(GLOSSARY))
        click.echo("error codes: " + ", ".join(error_kinds()))
        return
    click.echo(explained(wanted))


def explained(wanted: str) -> str:
    """What a word or code means.

    >>> print(explained("dpc101"))
    DPC101 InvalidParameter: A parameter outside its domain.
    cause: A number, name or flag has a value that it cannot have.
    cure: The message names the parameter and the values it may have. Correct it.
    """
    kinds = error_kinds()
    if wanted.upper() in kinds:
        kind = kinds[wanted.upper()]
        meaning = " ".join((getdoc(kind) or "").split())
        cause, cure = REMEDIES[kind.code]
        return f"{kind.code} {kind.__name__}: {meaning}\ncause: {cause}\ncure: {cure}"
    if wanted in GLOSSARY:
        return f"{wanted}: {GLOSSARY[wanted]}"
    if wanted.startswith("dpc"):
        raise UnknownName(f"there is no error code {wanted.upper()}; 'dpcheck explain' lists all.")
    close = get_close_matches(wanted, GLOSSARY, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "'dpcheck explain' lists all words."
    raise UnknownName(f"there is no explanation of {wanted!r}; {hint}", value=wanted)
