"""Run by test_server_faults and benchmarks/fuzz/ledger_faults.py: clients of a PostgreSQL that fails.

`kills`: eight clients spend from two overlapping datasets while the server is killed (-9) and started again.
`hosts`: the clients are on two hosts (network namespaces), whose links go down and up. Afterwards the history
is checked: every acknowledged spend is in it once, never more than the budget was acknowledged, and nobody
was refused what would have fitted.

A client logs a line after each answer; requests have ids, so that a lost answer is asked for again.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dpcheck import Budget, BudgetExceeded, Ledger, PureDP
from dpcheck.core.errors import AlreadyReleased, DpcheckError

EACH, CLIENTS = 1 / 256, 8


def client(address, number, log, stop):
    """Spend until there is nothing left or `stop` appears; ask again for what was not answered."""
    ledger, asked, refused = None, 0, 0
    with Path(log).open("a", buffering=1) as out:
        while not Path(stop).exists() and refused < 3:
            request = f"{number}-{asked}"
            try:
                if ledger is None:
                    ledger = Ledger.open(address, block=1)
                    data = ledger.dataset("ab"[number % 2])
                ledger.spend(data, PureDP(EACH), request_id=request).release()
                out.write(f"made {request}\n")
                asked += 1
            except AlreadyReleased:
                out.write(f"lost {request}\n")  # the answer to the release was lost: not shown
                asked += 1
            except BudgetExceeded:
                out.write(f"refused {request}\n")
                refused, asked = refused + 1, asked + 1
            except DpcheckError:
                out.write(f"failed {request}\n")
                ledger = None
                time.sleep(0.05)
    # No close: nothing is counted ahead with block=1.


def check(address, logs, budget):
    """What is wrong with the history, and how much there was."""
    lines = [line.split() for log in logs for line in Path(log).read_text().splitlines()]
    made = [request for what, request in lines if what == "made"]
    with Ledger.open(address) as ledger:
        history = ledger.history()
        total = ledger.epsilon(delta=0.0).upper
    reserved = [e.request for e in history if e.kind == "release"]
    shown = [e.request for e in history if e.kind == "receipt"]
    wrong = []
    if len(set(reserved)) != len(reserved) or len(set(shown)) != len(shown):
        wrong.append("an id was counted or released twice")
    if len(set(made)) != len(made):
        wrong.append("an id was acknowledged twice")
    missing = set(made) - set(reserved)
    if missing or set(made) - set(shown):
        wrong.append(f"acknowledged and not in the history: {sorted(missing)[:3]}")
    if len(made) * EACH > budget or total > budget:
        wrong.append(f"{len(made) * EACH} acknowledged, {total} counted, of {budget}")
    refused = sum(what == "refused" for what, _ in lines)
    if refused and len(reserved) * EACH + EACH <= budget:
        wrong.append("refused what would have fitted")
    failed = sum(what == "failed" for what, _ in lines)
    return {
        "made": len(made),
        "counted": len(reserved),
        "refused": refused,
        "failed": failed,
        "violations": wrong,
    }


def run(server, folder, faults, prefix_of, fault, steps):
    """Start clients, plant faults as they get on, wait for them, check."""
    budget = steps * EACH
    address = server.database()
    with Ledger.open(address, Budget(budget), "add-remove") as ledger:
        ledger.overlaps(ledger.dataset("a"), ledger.dataset("b"))
    stop = folder / "stop"
    logs = [folder / f"{number}.log" for number in range(CLIENTS)]
    clients = []
    for number, log in enumerate(logs):
        prefix, host = prefix_of(number)
        place = address.replace("@127.0.0.1", f"@{host}").replace("@0.0.0.0", f"@{host}")
        command = [sys.executable, __file__, "client", place, str(number), str(log), str(stop)]
        clients.append(subprocess.Popen([*prefix, *command]))

    def progress():
        return sum(log.stat().st_size for log in logs if log.exists())

    planted, rng = 0, random.Random(0)
    last = progress()
    while any(one.poll() is None for one in clients):
        now = progress()
        if planted < faults and now > last + 200:
            time.sleep(rng.uniform(0.0, 0.1))
            fault(planted)
            planted, last = planted + 1, progress()
        time.sleep(0.01)
    found = check(address, logs, budget)
    for log in logs:
        log.unlink(missing_ok=True)
    return {"faults": planted, **found}


def kills(options):
    """The server and all of its processes, at once."""
    import postgresql_server

    server = postgresql_server.Server()

    def fault(_):
        server.kill()
        server.start()

    with tempfile.TemporaryDirectory() as name:
        try:
            found = run(
                server,
                Path(name),
                options.faults,
                lambda _: ([], "127.0.0.1"),
                fault,
                options.steps,
            )
        finally:
            server.stop()
    print(json.dumps({"what": "server killed", **found}))


def hosts(options):
    """Two network namespaces, whose links to the server go down for a while. Needs root."""
    import postgresql_server

    server = postgresql_server.Server(host="0.0.0.0")
    (server.data / "pg_hba.conf").open("a").write("host all all 10.77.0.0/16 trust\n")
    server.kill()
    server.start()
    names = [f"dpcheck{os.getpid() % 10_000}{side}" for side in "ab"]

    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    try:
        for number, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"{name}h", "type", "veth", "peer", "name", f"{name}n")
            ip("link", "set", f"{name}n", "netns", name)
            ip("addr", "add", f"10.77.{number}.1/24", "dev", f"{name}h")
            ip("link", "set", f"{name}h", "up")
            inside = ["netns", "exec", name, "ip"]
            ip(*inside, "addr", "add", f"10.77.{number}.2/24", "dev", f"{name}n")
            ip(*inside, "link", "set", f"{name}n", "up")

        def fault(number):
            link = f"{names[number % 2]}h"
            ip("link", "set", link, "down")
            time.sleep(0.3)
            ip("link", "set", link, "up")

        def prefix_of(number):
            return ["ip", "netns", "exec", names[number % 2]], f"10.77.{number % 2}.1"

        with tempfile.TemporaryDirectory() as folder:
            found = run(server, Path(folder), options.faults, prefix_of, fault, options.steps)
    finally:
        for name in names:
            subprocess.run(["ip", "link", "del", f"{name}h"], check=False)
            subprocess.run(["ip", "netns", "del", name], check=False)
        server.stop()
    print(json.dumps({"what": "two hosts", **found}))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    if sys.argv[1] == "client":
        client(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
        raise SystemExit
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["kills", "hosts"])
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--steps", type=int, default=600)
    chosen = parser.parse_args()
    {"kills": kills, "hosts": hosts}[chosen.mode](chosen)
