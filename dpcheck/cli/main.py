"""The `dpcheck` command: a group whose commands are imported only when they run."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

import click

from dpcheck import __version__
from dpcheck.cli.terminal.exit_codes import ExitCode
from dpcheck.core.errors import DpcheckError, UsageError, reason

# Command -> one line of help. `dpcheck.cli.NAME` must define a click command named `command`.
# The help stands here so that `dpcheck --help` needs none of the modules behind it.
COMMANDS = {
    "init": "Start here: write a claim for your function, a project file and a CI workflow.",
    "list": "List what you can audit by name.",
    "audit": "Run the real code on neighbouring data and compare it with its claim.",
    "pld": "Show the privacy-loss distribution of the real code beside the accountant's curve.",
    "prove": "Prove what a function spends, for all data that fit its description.",
    "check": "Run every audit and budget of this project; one exit code for CI.",
    "baseline": "Accept a finding until a date, and say why.",
    "account": "Bound the epsilon that a mechanism spends, with a proof.",
    "verify": "Check a certificate or a report from its file alone.",
    "calibrate": "Find the noise, or the number of steps, for a budget.",
    "ledger": "Show what was spent of a budget: totals, history, a report, a statement.",
    "reproduce": "Print a table of a paper next to ours.",
    "explain": "Explain a verdict, a word in a report, or an error code.",
    "doctor": "Show what is installed, and what is missing.",
    "ftl": "Train one model on two parties' encrypted data. The model itself is not private.",
}


INTERRUPTED = 130  # as shells say it of a command that Ctrl-C ended
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _installed(name: str) -> bool:
    """Whether a command is there; those of the papers may be left out."""
    return name in COMMANDS and find_spec(f"dpcheck.cli.{name}") is not None


class LazyGroup(click.Group):
    """Loads `dpcheck.cli.NAME` when the command is used, not when help is printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All commands that are installed, in the order they are introduced."""
        return [name for name in COMMANDS if _installed(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        if not _installed(cmd_name):
            return None
        command = import_module(f"dpcheck.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for a misspelt one."""
        from difflib import get_close_matches

        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else " See 'dpcheck --help'."
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="dpcheck")
@click.pass_context
def main(context: click.Context) -> None:
    """Prove what a private algorithm spends, audit what its code leaks, compare the two.

    Exit codes: 0 holds or consistent, 1 violated, 2 failed, 3 undecided, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run() -> None:
    """Entry point: one line per error, never a traceback for what a user can mend."""
    try:
        result = main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except SystemExit as end:
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):  # click: nobody reads,
            sys.exit(ExitCode.ERROR)  # and its exit code 1 would say "violated"
        sys.exit(end.code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        _fail(f"{UsageError.code} {_one_line(error)}")
    except DpcheckError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno not in _NO_ROOM:
            if not isinstance(error.filename, str) or error.errno is None:
                _crash(error)
            _fail(f"{UsageError.code} cannot use {error.filename[:200]!r}: {reason(error)}.")
        _silence()
        _fail(
            f"{UsageError.code} cannot write: {error.strerror}. Free some space, or write elsewhere."
        )
    except Exception as error:  # exit code 1 would say "violated"
        _crash(error)
    else:
        sys.exit(result if isinstance(result, int) else ExitCode.OK)


def _crash(error: Exception) -> None:
    """A mistake of ours, with all that helps to find it."""
    import traceback

    traceback.print_exc()
    _fail(f"{DpcheckError.code} internal error, {type(error).__name__}: {error}")


def _silence() -> None:
    """Let nothing that is left in a full output be written again at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return f"{text} Try '{context.command_path} --help'." if context else text


def _fail(message: str) -> None:
    from dpcheck.cli.terminal.colour import error

    click.echo(f"{error('error:')} {message}", err=True)
    sys.exit(ExitCode.ERROR)
