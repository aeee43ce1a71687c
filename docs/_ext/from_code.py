"""Tables that are read off the code, so that they cannot go stale: errors, words and command-line help."""

from __future__ import annotations

import click
from docutils import nodes
from docutils.parsers.rst import Directive

from dpcheck.cli.main import COMMANDS, main
from dpcheck.core.errors import DpcheckError
from dpcheck.core.explained.glossary import GLOSSARY
from dpcheck.core.explained.remedies import REMEDIES
from dpcheck.program.operations import families


def _kinds(base: type[DpcheckError]) -> set[type[DpcheckError]]:
    return {base}.union(*(_kinds(kind) for kind in base.__subclasses__()))


class Errors(Directive):
    """Every error with its code and meaning."""

    def run(self) -> list[nodes.Node]:
        """One definition per error."""
        found = nodes.definition_list()
        for kind in sorted(_kinds(DpcheckError), key=lambda kind: kind.code):
            meaning = (kind.__doc__ or "").strip().splitlines()[0].replace("`", "")
            term = nodes.term("", "", nodes.literal("", f"{kind.code} {kind.__name__}"))
            cause, cure = (text.replace("`", "") for text in REMEDIES[kind.code])
            said = [
                nodes.paragraph("", text) for text in (meaning, f"Cause: {cause}", f"Cure: {cure}")
            ]
            item = nodes.definition_list_item("", term, nodes.definition("", *said))
            found += item
        return [found]


class Glossary(Directive):
    """Every word that `dpcheck explain` knows."""

    def run(self) -> list[nodes.Node]:
        """One definition per word, in alphabetical order."""
        found = nodes.definition_list()
        for word, meaning in sorted(GLOSSARY.items()):
            term = nodes.term(
                "", "", nodes.strong("", word), ids=[f"word-{word.replace(' ', '-')}"]
            )
            paragraph = nodes.paragraph("", meaning.replace("`", ""))
            found += nodes.definition_list_item("", term, nodes.definition("", paragraph))
        return [found]


class Help(Directive):
    """`dpcheck COMMAND --help` for every command."""

    def run(self) -> list[nodes.Node]:
        """One section per command, subcommands below it."""
        sections: list[nodes.Node] = []
        for name in COMMANDS:
            context = click.Context(main, info_name="dpcheck")
            command = main.get_command(context, name)
            assert command is not None
            section = nodes.section(ids=[f"dpcheck-{name}"])
            section += nodes.title("", f"dpcheck {name}")
            for text in _helps(command, f"dpcheck {name}"):
                section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def _helps(command: click.Command, path: str) -> list[str]:
    context = click.Context(command, info_name=path, max_content_width=96, terminal_width=96)
    texts = [command.get_help(context)]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                texts += _helps(inner, f"{path} {name}")
    return texts


class Operations(Directive):
    """Every operation that a proof follows, and why what it says of the result is true."""

    def run(self) -> list[nodes.Node]:
        """One list per family, rules with the same reason together."""
        sections: list[nodes.Node] = []
        for family, lemmas in families().items():
            section = nodes.section(ids=[f"operations-{family.replace(' ', '-')}"])
            section += nodes.title("", family.capitalize())
            listed = nodes.definition_list()
            for lemma, names in lemmas.items():
                term = nodes.term("", "", nodes.literal("", ", ".join(names)))
                listed += nodes.definition_list_item(
                    "", term, nodes.definition("", nodes.paragraph("", f"{lemma}."))
                )
            section += listed
            sections.append(section)
        return sections


def setup(app):
    """Register all."""
    app.add_directive("dpcheck-errors", Errors)
    app.add_directive("dpcheck-help", Help)
    app.add_directive("dpcheck-glossary", Glossary)
    app.add_directive("dpcheck-operations", Operations)
    return {"parallel_read_safe": True}
