"""`python -m dpcheck`: the command, also where its script is not on the path."""

from dpcheck.cli.entry import main

if __name__ == "__main__":
    main()
