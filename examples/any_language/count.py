"""A noisy sum that answers dpcheck in JSON lines, with the standard library alone.

dpcheck audit --exec "python3 count.py" --claim 1 --adjacency replace-one --neighbours pairs.json
"""

import json
import random
import sys


def mechanism(data, rng):
    """The function under audit: a sum of numbers between 0 and 1, with Laplace noise."""
    clipped = sum(min(max(float(value), 0.0), 1.0) for value in data)
    return clipped + rng.expovariate(1.0) - rng.expovariate(1.0)


for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    try:
        outputs = [mechanism(request["data"], rng) for _ in range(request["runs"])]
        answer = {"outputs": outputs}
    except Exception as error:  # an error is an outcome too
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
