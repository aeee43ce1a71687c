"""`dpcheck explain WORD`: a verdict, an adjacency, a term or an error code in whole sentences."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import getdoc

import click

from dpcheck.core.errors import DpcheckError, UnknownName
from dpcheck.core.glossary import GLOSSARY


def error_kinds(base: type[DpcheckError] = DpcheckError) -> dict[str, type[DpcheckError]]:
    """Every error by its code."""
    found = {base.code: base}
    for kind in base.__subclasses__():
        for code, each in error_kinds(kind).items():
            found.setdefault(code, each)
    return dict(sorted(found.items()))


@click.command(name="explain")
@click.argument("word", nargs=-1)
def command(word: tuple[str, ...]) -> None:
    """Explain a verdict, an adjacency, another word of the reports, or an error code.

    Without a WORD, list what can be explained.

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

    >>> explained("dpc101")
    'DPC101 InvalidParameter: A parameter outside its domain.'
    """
    kinds = error_kinds()
    if wanted.upper() in kinds:
        kind = kinds[wanted.upper()]
        return f"{kind.code} {kind.__name__}: {' '.join((getdoc(kind) or '').split())}"
    if wanted in GLOSSARY:
        return f"{wanted}: {GLOSSARY[wanted]}"
    close = get_close_matches(wanted, [*GLOSSARY, *(code.lower() for code in kinds)], n=1)
    hint = f"did you mean {close[0]!r}?" if close else "'dpcheck explain' lists what is there."
    raise UnknownName(f"nothing is known about {wanted!r}; {hint}", value=wanted)
