"""`dpcheck verify FILE`: is what a certificate claims proved by what is in it?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpcheck.cli.terminal.exit_codes import ExitCode
from dpcheck.core.errors import UsageError, reason
from dpcheck.report.sealing import Signature, check_signature, is_unchanged, signature_path
from dpcheck.verify.alone import single_file
from dpcheck.verify.answer import check_source, lines
from dpcheck.verify.file import Unreadable, check_data, read_file
from dpcheck.verify.result import Refused

SCHEMA = "dpcheck.verified/1"


@click.command(name="verify")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--signers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Allowed signers of reports, in the format of ssh-keygen: NAME KEYTYPE KEY.",
)
@click.option("--signer", help="Who must have signed the report; by default anybody on the list.")
@click.option(
    "--source",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A source file to compare with the one the proof was read from. Repeat as needed.",
)
@click.option(
    "--kernel",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the checker as one file, which runs with nothing installed: python -I FILE CERTIFICATE.",
)
def command(
    file: Path | None,
    layout: str,
    signers: Path | None,
    signer: str | None,
    files: tuple[Path, ...],
    kernel: Path | None,
) -> ExitCode:
    """Check the certificate or the report in FILE, from that file alone.

    Of an HTML report it checks that nothing was changed since dpcheck wrote it and, if FILE.sig is there, who
    signed it.

    Certificates come from 'dpcheck account ... --certificate FILE' and 'dpcheck prove ... --certificate
    FILE'; a JSON report of an audit keeps them. Nothing of what wrote them is used: the check has its own
    arithmetic. Exit code 0 if every step holds, 1 if one does not.

    Example: dpcheck verify proof.json --source train.py
    """
    if kernel is not None:
        kernel.write_text(single_file(), encoding="utf-8")
        click.echo(f"written: {kernel}. It needs Python alone: python -I {kernel} CERTIFICATE")
        if file is None:
            return ExitCode.OK
    if file is None:
        raise UsageError("verify needs a certificate to check, or --kernel FILE.")
    if file.suffix.lower() in (".html", ".htm"):
        return _report(file, layout, signers, signer)
    try:
        data = read_file(file)
        found = check_data(data)
        read = [check_source(data, each) for each in files]
    except Unreadable as reason:
        raise UsageError(f"{reason}.") from None
    except Refused as reason:
        if layout == "json":
            click.echo(json.dumps({"schema": SCHEMA, "accepted": False, "reason": str(reason)}))
        else:
            click.echo(f"refused: {reason}.")
        return ExitCode.VIOLATED
    if layout == "json":
        shown = {
            "schema": SCHEMA,
            "accepted": True,
            "claim": dict(found.claim),
            "steps": found.steps,
            "words": [*found.words, *read],
        }
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo("\n".join([*lines(found), *read]))
    return ExitCode.OK


def _report(file: Path, layout: str, signers: Path | None, signer: str | None) -> ExitCode:
    """Whether a report is as it was written, and who signed it."""
    try:
        unchanged = is_unchanged(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {reason(error)}.") from None
    if unchanged is None:
        raise UsageError(f"{file} is not a report of dpcheck: it has no digest of itself.")
    signature = check_signature(file, signers, signer)
    if (signers is not None or signer is not None) and signature is None:
        raise UsageError(f"{file} has no signature: there is no {signature_path(file).name}.")
    good = unchanged and (signature is None or signature.fits)
    lines = [
        "unchanged since dpcheck wrote it" if unchanged else "CHANGED since dpcheck wrote it",
        "not signed: anybody could have written it" if signature is None else _signed(signature),
    ]
    if layout == "json":
        said = {"schema": SCHEMA, "accepted": good, "unchanged": unchanged}
        said |= {"signed": signature is not None and signature.fits, "words": lines}
        said |= {"signer": None if signature is None else signature.signer}
        click.echo(json.dumps(said, indent=2))
    else:
        click.echo(
            "\n".join([f"{'accepted' if good else 'refused'}: {file}", *map("  {}".format, lines)])
        )
    return ExitCode.OK if good else ExitCode.VIOLATED


def _signed(signature: Signature) -> str:
    if not signature.fits:
        return f"the signature does NOT fit: {signature.words}"
    if signature.signer is None:
        return f"signed, but nobody vouches for the key (add --signers): {signature.words}"
    return f"signed by {signature.signer}"
