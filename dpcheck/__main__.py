"""`python -m dpcheck`: the command, also where its script is not on the path."""

from dpcheck.cli.main import run

if __name__ == "__main__":
    run()
