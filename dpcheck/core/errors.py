"""Every error dpcheck raises: one root, a stable code, what happened and what to do.

Codes: 1xx a value or event that cannot be used, 2xx a bound that cannot be given, 3xx the ledger,
4xx an audit, 5xx the command line and its files, 6xx a protocol between two parties.
"""

from __future__ import annotations


class DpcheckError(Exception):
    """Root of all dpcheck errors; `code` is stable, `data` holds the values behind the words."""

    code = "DPC000"

    def __init__(self, message: str, **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.code} {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.data))


def _rebuild(kind: type[DpcheckError], message: str, data: dict[str, object]) -> DpcheckError:
    return kind(message, **data)


class InvalidParameter(DpcheckError, ValueError):
    """A parameter outside its domain."""

    code = "DPC101"


class UnknownName(DpcheckError, ValueError):
    """A mechanism, adjacency, method or table nobody registered."""

    code = "DPC102"


class InvalidEvent(DpcheckError, ValueError):
    """A serialised event that is not one."""

    code = "DPC103"


class UnsupportedAdjacency(DpcheckError, ValueError):
    """An event that has no meaning under the wanted neighbouring relation."""

    code = "DPC104"


class NotOneNumber(DpcheckError, TypeError):
    """A bound where one number was wanted: only the caller knows which of its sides."""

    code = "DPC105"


class TheoremConditionViolated(DpcheckError, ValueError):
    """A closed-form theorem asked outside the conditions it was proved under."""

    code = "DPC201"


class CannotCertify(DpcheckError):
    """No bound can be proved within the limits; the message names the one that still can."""

    code = "DPC202"


class ProofsContradict(DpcheckError):
    """A proved lower bound lies above a proved upper one: a mistake in dpcheck, so neither is handed out."""

    code = "DPC205"


class CannotCalibrate(DpcheckError, ValueError):
    """No parameter in the searched range meets the budget."""

    code = "DPC203"


class BudgetExceeded(DpcheckError):
    """A release that would overspend; raised before it happens.

    `data` has `dataset`, `spent`, `allowed` and `wanted`.
    """

    code = "DPC301"


def reason(error: Exception) -> str:
    """Why something failed, as a person would say it: without the number and the path that Python adds.

    >>> reason(FileNotFoundError(2, "No such file or directory", "people.csv"))
    'no such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    if isinstance(error, UnicodeDecodeError):  # Python's own words hold the whole file
        return "it is not UTF-8 text"
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return str(error)


class LedgerBroken(DpcheckError):
    """A ledger file that cannot be trusted."""

    code = "DPC302"


class LedgerOutdated(LedgerBroken):
    """A ledger file of an earlier format; the message says how to convert it."""

    code = "DPC204"


class LedgerMisuse(DpcheckError, ValueError):
    """A dataset, split or plan used against its declaration."""

    code = "DPC303"


class AlreadyReleased(LedgerMisuse):
    """A request id whose releases were made; another release needs another id."""

    code = "DPC304"


class MechanismFailed(DpcheckError):
    """An audited mechanism that raised."""

    code = "DPC401"


class BadOutput(DpcheckError):
    """An audited mechanism whose output cannot be used: NaN, another shape, not a value."""

    code = "DPC402"


class UnreadableOutput(BadOutput):
    """An output of a type nobody can look into."""

    code = "DPC420"


class NotNeighbours(DpcheckError, ValueError):
    """Two datasets that the stated adjacency does not make neighbours."""

    code = "DPC421"


class InvalidRecords(DpcheckError, ValueError):
    """A description of records that fits no data, or data that do not fit it."""

    code = "DPC422"


class InputMutated(DpcheckError):
    """An audited mechanism that changed the data it was given."""

    code = "DPC403"


class RunTimedOut(DpcheckError):
    """An audited mechanism that did not come back."""

    code = "DPC404"


class NothingToAudit(DpcheckError, ValueError):
    """A target, pair or claim without which there is no audit."""

    code = "DPC405"


class CannotReplay(DpcheckError, ValueError):
    """A witness file that is not one, or does not fit the audit."""

    code = "DPC406"


class StoreBroken(DpcheckError):
    """A store of finished runs that cannot be used."""

    code = "DPC407"


class Undecided(DpcheckError):
    """An audit that could not tell within its limits; `data` has what it would take."""

    code = "DPC408"


class TimeLimitReached(DpcheckError):
    """The time an audit was given is over; what was found so far is kept."""

    code = "DPC410"


class WorkerDied(MechanismFailed):
    """A process that ended while it ran an audited mechanism; `data` has how."""

    code = "DPC430"


class UnfitSignature(DpcheckError, ValueError):
    """A function that takes neither (data, rng) nor (data)."""

    code = "DPC431"


class NotTransferable(DpcheckError, ValueError):
    """A mechanism or its data that cannot be sent to a worker process."""

    code = "DPC432"


class NotCovered(DpcheckError, ValueError):
    """A training does what its accountant's bound does not cover."""

    code = "DPC433"


class NotProvable(DpcheckError):
    """A function whose privacy cannot be proved; `line`, `remedy` and `kind` say where and why."""

    code = "DPC440"

    @property
    def line(self) -> str:
        """Where, as file:number."""
        return str(self.data.get("line", "?"))

    @property
    def remedy(self) -> str:
        """What to change."""
        return str(self.data.get("remedy", ""))

    @property
    def kind(self) -> str:
        """One stable word for the reason."""
        return str(self.data.get("kind", ""))


class UsageError(DpcheckError, ValueError):
    """A command line that cannot be carried out."""

    code = "DPC501"


class MissingExtra(DpcheckError, ImportError):
    """An optional package that is needed and not installed."""

    code = "DPC502"


class InvalidProject(DpcheckError, ValueError):
    """A project file (dpcheck.toml, [tool.dpcheck]) that cannot be used."""

    code = "DPC503"


class InvalidBaseline(DpcheckError, ValueError):
    """A baseline of accepted findings, or an entry for it, that cannot be used."""

    code = "DPC504"


class WireError(DpcheckError, ValueError):
    """A message that is malformed, oversized, replayed, or not the one that was due."""

    code = "DPC601"


class PartiesDisagree(DpcheckError):
    """Two parties of a protocol that were not started with the same public settings."""

    code = "DPC602"


class EncodingOverflow(DpcheckError, ValueError):
    """A number the fixed-point encoding cannot hold; raised before anything wraps."""

    code = "DPC603"


class ConnectionLost(DpcheckError, ConnectionError):
    """The other party went away, or was refused; what was finished is kept."""

    code = "DPC604"


class CorruptValue(DpcheckError):
    """A value from the other party that no honest computation gives."""

    code = "DPC605"


class CheckpointBroken(DpcheckError):
    """A checkpoint that cannot be read back as it was written."""

    code = "DPC606"
