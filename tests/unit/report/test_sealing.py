"""A report shows that it was changed, and who signed it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from dpcheck.cli.main import run
from dpcheck.core.audit_result import AuditReport
from dpcheck.report.formats import render
from dpcheck.report.sealing import is_unchanged, sign

SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(AuditReport(0, ()), "html"), encoding="utf-8")
    return path


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture
def verify(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpcheck", "verify", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run()
        found = capsys.readouterr()
        return end.value.code, found.out + found.err

    return call


def test_every_changed_byte_is_seen(report):
    text = report.read_text()
    assert is_unchanged(text)
    for place in range(0, len(text), 997):
        changed = text[:place] + ("x" if text[place] != "x" else "y") + text[place + 1 :]
        assert not is_unchanged(changed)


def test_a_report_without_a_signature_says_so(report, verify):
    code, said = verify(report)
    assert code == 0
    assert "unchanged since dpcheck wrote it" in said
    assert "not signed" in said


def test_a_changed_report_is_refused(report, verify):
    report.write_text(report.read_text().replace("dpcheck audit report", "dpcheck audit rapport"))
    code, said = verify(report)
    assert code == 1
    assert said.startswith("refused")


def test_what_is_no_report_is_an_error(tmp_path, verify):
    (tmp_path / "other.html").write_text("<html></html>")
    code, said = verify(tmp_path / "other.html")
    assert code == 2
    assert "is not a report of dpcheck" in said


@SSH
def test_a_signature_is_checked_against_the_allowed_signers(report, key, tmp_path, verify):
    sign(report, key)
    code, said = verify(report)
    assert code == 0
    assert "nobody vouches for" in said
    signers = tmp_path / "signers"
    signers.write_text(f"officer@example.org {key.with_suffix('.pub').read_text()}")
    code, said = verify(report, "--signers", signers)
    assert (code, "signed by officer@example.org" in said) == (0, True)
    assert verify(report, "--signers", signers, "--signer", "somebody@else")[0] == 1


@SSH
def test_a_signature_for_other_content_is_refused(report, key, tmp_path, verify):
    sign(report, key)
    report.write_text(render(AuditReport(1, ()), "html"), encoding="utf-8")  # sealed, not signed
    code, said = verify(report)
    assert code == 1
    assert "does NOT fit" in said


@SSH
def test_a_signer_who_is_not_on_the_list_is_refused(report, key, tmp_path, verify):
    sign(report, key)
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"officer@example.org {other.with_suffix('.pub').read_text()}")
    assert verify(report, "--signers", signers)[0] == 1


def test_a_signature_that_was_asked_for_and_is_missing_is_an_error(report, tmp_path, verify):
    (tmp_path / "signers").write_text("")
    assert verify(report, "--signers", tmp_path / "signers")[0] == 2
