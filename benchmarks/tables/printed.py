"""docs/benchmarks/accounting.md and findings.md: what commands printed, as they printed it."""

from __future__ import annotations

from transcripts import runs

PAGES = {
    "accounting.md": (
        "# Accountants beside their peers",
        "Time and tightness in one run on one machine; what each column is, is in the script.",
        ("accounting_rdp", "accounting_pld"),
    ),
    "findings.md": (
        "# Findings in released peers",
        "Each script states the exact value or the null it compares with, and ends in exit code 1 while "
        "the release errs.",
        (
            "findings/dp_accounting_randomized_response",
            "findings/dp_accounting_pld_small_delta",
            "findings/jax_privacy_gdp",
            "peers/features",
        ),
    ),
}


def render() -> dict[str, str]:
    pages = {}
    for page, (title, words, names) in PAGES.items():
        parts = [title, words]
        for name in names:
            for earlier, kept in enumerate(runs(name)):
                versions = ", ".join(f"{n} {v}" for n, v in sorted(kept["versions"].items()))
                printed = "\n".join(kept["output"])
                title = f"## {name.split('/')[-1]}"
                machine = kept["machine"]
                if kept.get("started"):
                    machine += f", started as {kept['started']}"
                parts += [
                    f"{title}, {kept['date']}, {machine}" if earlier else title,
                    f"```console\n$ {kept['command']}\n{printed}\n```",
                    f"Exit code {kept['exit']}. {machine}. {versions}. {kept['date']}.",
                ]
        if len(parts) > 2:
            pages[page] = "\n\n".join(parts) + "\n"
    return pages
