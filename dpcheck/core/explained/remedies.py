"""Why each error happens and what to do about it: for `dpcheck explain CODE` and the page of errors."""

from __future__ import annotations

# Code -> (cause, cure), each in whole sentences.
REMEDIES: dict[str, tuple[str, str]] = {
    "DPC000": (
        "dpcheck met something it did not expect. This is a mistake in dpcheck, not in your code.",
        "Report it with the traceback and the output of `dpcheck doctor`.",
    ),
    "DPC101": (
        "A number, name or flag has a value that it cannot have.",
        "The message names the parameter and the values it may have. Correct it.",
    ),
    "DPC102": (
        "A name is misspelt, or nothing of that name is installed.",
        "Use the name the message suggests. `dpcheck list` and `dpcheck explain` show what there is.",
    ),
    "DPC103": (
        "A JSON file or a project file describes an event that dpcheck cannot read.",
        "Compare it with the page of events, or write it with `to_json()` of an event in Python.",
    ),
    "DPC104": (
        "The mechanism says nothing about neighbours of this kind.",
        "Account under the adjacency that its guarantee was stated for, or state a guarantee for this "
        "one. `dpcheck explain adjacency` compares them.",
    ),
    "DPC105": (
        "A bound has two sides, and it was used as one number.",
        "Say which side you mean: `bound.upper` for what is spent at most, `bound.lower` for at least.",
    ),
    "DPC201": (
        "A closed formula was asked outside the conditions under which it was proved.",
        "Use another method; `dpcheck account` tries all that apply.",
    ),
    "DPC202": (
        "The question lies outside what dpcheck can bound with a proof, within its limits of size and "
        "accuracy.",
        "The message names the nearest question that can be answered: another delta, fewer steps, "
        "another method.",
    ),
    "DPC203": (
        "No noise, rate or number of steps within the searched range meets the budget.",
        "Raise the budget, take fewer steps, or widen the range.",
    ),
    "DPC204": (
        "The ledger file was written by an earlier version of dpcheck.",
        "Convert it as the message says. The old file is kept.",
    ),
    "DPC205": (
        "Two proofs contradict each other. One of them is wrong, and that is a mistake in dpcheck.",
        "Use neither number. Report it: SECURITY.md says how.",
    ),
    "DPC301": (
        "This release would spend more than the budget of the dataset allows. Nothing was released.",
        "Stop here, add noise, take fewer steps, or raise the budget. The message says what still fits.",
    ),
    "DPC302": (
        "A ledger file is damaged, was edited, or lies where it cannot be locked.",
        "Do not delete it: it is the record of what was spent. Restore it from a backup, or inspect the "
        "line that the message names.",
    ),
    "DPC303": (
        "A dataset, split or plan is used in a way its declaration does not allow.",
        "Declare the dataset as it is, or split it before the first release.",
    ),
    "DPC304": (
        "This request id was used before, and its releases were made.",
        "Use the earlier result. For another release, choose another id.",
    ),
    "DPC401": (
        "Your function raised an exception while it was being audited.",
        "Run it on the data in the message and fix it, or describe the records more closely so that "
        "dpcheck makes up only data it can handle.",
    ),
    "DPC402": (
        "Your function returned something no audit can compare, such as NaN or outputs of varying "
        "shapes.",
        "Return numbers, text, arrays, tables, or containers of them.",
    ),
    "DPC403": (
        "Your function changed the data it was given, so the next run would see other data.",
        "Copy the data first, for example `df = df.copy()`.",
    ),
    "DPC404": (
        "A call of your function did not come back in time, and could not be interrupted.",
        "Find out where it hangs, or allow each call more time with --timeout. Try smaller data.",
    ),
    "DPC405": (
        "There is no claim, no data or no such function to audit.",
        "Let `dpcheck init FILE.py:FUNCTION` write the claim, or check the name of the target.",
    ),
    "DPC406": (
        "The witness file is damaged, or belongs to another audit.",
        "Run the audit again and save a new one with --witness.",
    ),
    "DPC407": (
        "The folder of finished runs cannot be used: it is damaged, full or read-only.",
        "Delete it, or name another one with --store.",
    ),
    "DPC408": (
        "The evidence is not enough to decide, within the runs and the time you allowed.",
        "Allow more runs or time, or give neighbours that differ more. The message says what it takes.",
    ),
    "DPC410": (
        "The time limit passed before there was any result.",
        "Raise --time-limit, or audit on smaller data.",
    ),
    "DPC420": (
        "Your function returned an object of a type dpcheck cannot look into.",
        "Return the numbers in it, or register the type with `dpcheck.auditing.outputs`.",
    ),
    "DPC421": (
        "Two datasets you gave differ by more than the adjacency allows.",
        "Give pairs that differ in one record, or name the adjacency that you mean.",
    ),
    "DPC422": (
        "A table cannot be read, or data do not fit the description of the records.",
        "The message names the line, the column or the flag that answers the question.",
    ),
    "DPC430": (
        "The process that ran your function ended: it crashed, was killed, or called os._exit.",
        "Run the function by itself to see why. If memory ran out, use fewer --jobs.",
    ),
    "DPC431": (
        "An audited function takes (data) or (data, rng), and yours takes something else.",
        "Wrap it: `lambda data, rng: f(data, ...)`.",
    ),
    "DPC432": (
        "Your function or its data cannot be sent to another process.",
        "Define the function at the top level of a file, or use --jobs 1.",
    ),
    "DPC433": (
        "The training does something that its accountant does not cover.",
        "Change what the message names, or the bound is not true of this training.",
    ),
    "DPC440": (
        "dpcheck could not prove what the function spends. That does not mean that it leaks.",
        "Change the line as the message says, or let `dpcheck audit` attack the function instead.",
    ),
    "DPC501": (
        "A flag or argument is missing, misspelt or contradicts another one.",
        "`dpcheck COMMAND --help` lists them with an example.",
    ),
    "DPC502": (
        "What you asked for needs a package that is not installed.",
        "Run the command in the message. `dpcheck doctor` shows what else is missing.",
    ),
    "DPC503": (
        "dpcheck.toml, or [tool.dpcheck] in pyproject.toml, has a key or a value that cannot be used.",
        "Correct the key the message names. The page on CI lists all of them.",
    ),
    "DPC504": (
        "The baseline, or an entry for it, cannot be used.",
        "Correct it as the message says, or add the entry again with `dpcheck baseline add`.",
    ),
    "DPC601": (
        "The other party sent a message that does not belong here. It may be another version of "
        "dpcheck, or somebody else.",
        "Start both parties again with the same version. Check who can reach the port.",
    ),
    "DPC602": (
        "The two parties were started with different public settings.",
        "Compare the settings the message names, and start both with the same.",
    ),
    "DPC603": (
        "A number is too large for the fixed-point encoding.",
        "Scale the features down, or allow more bits.",
    ),
    "DPC604": (
        "The connection to the other party broke, or was refused.",
        "Check address, port and certificates, then start again: finished steps are kept.",
    ),
    "DPC605": (
        "The other party sent a value that no honest computation gives.",
        "Stop. Find out whether its software or its operator is at fault.",
    ),
    "DPC606": (
        "A checkpoint is damaged or incomplete.",
        "Delete it and train again from the last good one.",
    ),
}
