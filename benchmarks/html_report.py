"""What an HTML report costs: sampling for its pictures, and writing the file.

    python benchmarks/html_report.py [--target pptl_fs]

Prints seconds of wall and CPU for the audit without pictures, with them, and for the file itself in a
process that has not loaded matplotlib yet.
"""

from __future__ import annotations

import argparse
import os
import platform
import time

from dpcheck.execution.parallel import Workers
from dpcheck.session.run import AuditRequest, run_request


def timed(what: str, function, *arguments):
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:32} {wall:7.2f} s wall {cpu:7.2f} s CPU")
    return result


def write(report) -> str:
    from dpcheck.report import html

    return html.render(report)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--target", default="pptl_fs")
    target = options.parse_args().target
    print(f"{target}, epsilon 1, seed 0, one process; {platform.machine()}, {os.cpu_count()} cores")
    timed("audit", run_request, AuditRequest(target, epsilon=1.0, workers=Workers(1)))
    pictured = AuditRequest(target, epsilon=1.0, workers=Workers(1), pictures=True)
    report = timed("audit with pictures", run_request, pictured)
    text = timed("file, matplotlib not loaded", write, report)
    timed("file, matplotlib loaded", write, report)
    print(f"{len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
