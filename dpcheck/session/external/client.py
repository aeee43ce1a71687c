"""The other side of `--python`: run by that interpreter, with nothing of dpcheck installed there.

Usage: PYTHON client.py FILE.py:OBJECT. It reads one JSON object a line and writes one; it needs the
standard library only, and numpy or pandas where the data are arrays or tables.
"""

import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import random
import sys
import types

TAG = "__dpcheck__"


class DeclaredEvent:
    """Stands for an event of dpcheck in a declaration: its name and arguments."""

    def __init__(self, name, args=(), named=None):
        """Remember what was asked for."""
        self.name, self.args, self.named = name, args, named or {}

    def __call__(self, *args, **named):
        """The event with arguments."""
        return DeclaredEvent(self.name, args, named)


def stub():
    """A module named dpcheck that remembers declarations and does nothing else."""
    module = types.ModuleType("dpcheck")

    def audited(function=None, **declared):
        def mark(target):
            target.__dpcheck_declared__ = declared
            return target

        return mark if function is None else mark(function)

    def batched(function):
        function.__dpcheck_batched__ = True
        return function

    module.audited, module.batched = audited, batched

    def event(name):
        if name.startswith("__"):  # what inspect and torch ask every module for
            raise AttributeError(name)
        return DeclaredEvent(name)

    module.__getattr__ = event
    return module


def catalogue():
    """The folder of dpcheck's catalogue, the only part of it that runs here."""
    package = types.ModuleType("dpcheck.libraries")
    own = os.path.dirname(os.path.abspath(__file__))
    package.__path__ = [os.path.join(os.path.dirname(os.path.dirname(own)), "libraries")]
    return package


def encode(value: object) -> object:
    """A value as JSON, types included."""
    if value is None or (isinstance(value, (bool, int, float, str)) and type(value) in PLAIN):
        return value
    if type(value) is list:
        return [encode(each) for each in value]
    if type(value) is tuple:
        return {TAG: "tuple", "items": [encode(each) for each in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: encode(each) for key, each in value.items()}
    if isinstance(value, BaseException):
        return {TAG: "raised", "type": type(value).__name__, "message": str(value)}
    if isinstance(value, DeclaredEvent):
        return {
            TAG: "event",
            "name": value.name,
            "args": encode(list(value.args)),
            "named": encode(value.named),
        }
    return encode_foreign(value)


PLAIN = {bool, int, float, str}


def encode_foreign(value):
    """Arrays and tables; anything else by its type, which the other side refuses."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(value, numpy.generic):
        return {TAG: "scalar", "dtype": str(value.dtype), "value": value.item()}
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufU":
        return {
            TAG: "array",
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "values": value.ravel().tolist(),
        }
    if pandas is not None and isinstance(value, pandas.DataFrame):
        columns = [
            [str(name), str(value[name].dtype), encode(value[name].tolist())] for name in value
        ]
        return {TAG: "frame", "columns": columns, "index": encode(value.index.tolist())}
    if pandas is not None and isinstance(value, pandas.Series):
        return {
            TAG: "series",
            "dtype": str(value.dtype),
            "values": encode(value.tolist()),
            "index": encode(value.index.tolist()),
        }
    return {TAG: "unreadable", "type": type(value).__name__}


def decode(value: object) -> object:
    """What `encode` wrote."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(TAG)
    if kind is None:
        return {key: decode(each) for key, each in value.items()}
    if kind == "tuple":
        return tuple(decode(each) for each in value["items"])
    if kind == "array":
        numpy = importlib.import_module("numpy")
        return numpy.array(value["values"], dtype=value["dtype"]).reshape(value["shape"])
    if kind == "scalar":
        return importlib.import_module("numpy").dtype(value["dtype"]).type(value["value"])
    pandas = importlib.import_module("pandas")
    if kind == "frame":
        parts = {
            name: pandas.Series(decode(values), dtype=dtype)
            for name, dtype, values in value["columns"]
        }
        table = pandas.DataFrame(parts)
        table.index = decode(value["index"])
        return table
    if kind == "series":
        return pandas.Series(
            decode(value["values"]), dtype=value["dtype"], index=decode(value["index"])
        )
    raise ValueError(f"unknown kind of value {kind!r}")


def load(text):
    """The object FILE.py:OBJECT or package.module:OBJECT."""
    location, _, name = text.rpartition(":")
    if location.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(location)))
        spec = importlib.util.spec_from_file_location("dpcheck_target", location)
        module = importlib.util.module_from_spec(spec)
        sys.modules["dpcheck_target"] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(location)
    for step in name.split("."):
        module = getattr(module, step)
    return module


def describe(function):
    """What the function declares of itself."""
    declared = getattr(function, "__dpcheck_declared__", {})
    known = {
        name: encode(declared[name])
        for name in ("claim", "adjacency", "neighbours")
        if name in declared
    }
    return {"declared": known, "batched": bool(getattr(function, "__dpcheck_batched__", False))}


class Runs:
    """Calls the function, with the generator the other side asks for."""

    def __init__(self, function):
        """Find out how it wants to be called."""
        self.function, self.rng = function, None
        self.batched = bool(getattr(function, "__dpcheck_batched__", False))
        try:
            self.takes = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            self.takes = 2

    def seed(self, request):
        """The generator of this request; global ones are set at the beginning of a batch."""
        if not request.get("offset"):
            random.seed(request["seed"])
        try:
            numpy = importlib.import_module("numpy")
        except ImportError:
            self.rng = random.Random(request["seed"])
            return
        if not request.get("offset"):
            numpy.random.seed(request["seed"] % 2**32)
        self.rng = numpy.random.default_rng(request["seed"])
        state = request.get("state")
        kind = getattr(numpy.random, state["bit_generator"], None) if state else None
        if kind is not None:  # the very generator of the other side
            self.rng = numpy.random.Generator(kind())
            self.rng.bit_generator.state = state

    def answer(self, request):
        """One line for one request."""
        self.seed(request)
        data, runs = decode(request["data"]), request["runs"]
        if self.batched:
            found = encode(self.function(data, runs, self.rng))
        else:
            found = [encode(self.once(data)) for _ in range(runs)]
        return {"outputs": found, "state": self.state()}

    def state(self):
        """Where the generator is now, so that the other side goes on from there."""
        generator = getattr(self.rng, "bit_generator", None)
        return None if generator is None else json.loads(json.dumps(generator.state, default=int))

    def once(self, data):
        """One output; what it raises is an output as well."""
        try:
            return self.function(data) if self.takes == 1 else self.function(data, self.rng)
        except Exception as error:
            return error


def main():
    """Answer until the input ends."""
    sys.modules["dpcheck"] = stub()
    sys.modules["dpcheck.libraries"] = catalogue()
    lines, out = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the function prints must not look like an answer
    with contextlib.redirect_stdout(io.TextIOWrapper(os.fdopen(2, "wb", closefd=False))):
        function = load(sys.argv[1])
        runs = Runs(function)
        for line in lines:
            request = json.loads(line)
            try:
                answer = describe(function) if request.get("describe") else runs.answer(request)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            out.write(json.dumps(answer) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
