"""The syntax tree of a function, once its source was seen to be the source of its code.

An edited file, a replaced `__code__` or a decorator that hides another function is noticed: the file is
compiled, and the code object of the definition must equal the function's: byte code, constants and names.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import operator
from functools import lru_cache
from types import CodeType, FunctionType

_FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
Definition = ast.FunctionDef | ast.Lambda


class NoSource(Exception):
    """Why a function cannot be read; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy


def definition(function: FunctionType) -> Definition:
    """The tree of a plain function.

    Guarantee: compiling the tree gives the code that Python runs for `function`.
    """
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise NoSource(
            f"the source of {function.__qualname__} cannot be found",
            "put the function into a file",
        )
    try:
        tree, compiled = _compiled(text, code.co_filename, code.co_flags & _FUTURES)
    except SyntaxError as error:
        raise NoSource(
            f"its file does not compile ({error.msg})", "run it in a fresh process"
        ) from None
    if not any(each == code for each in compiled):
        raise NoSource(
            f"the source of {function.__qualname__} is not the source of the code that runs: the file was "
            "edited, or the function was replaced after it was defined",
            "start again in a fresh process",
        )
    found = [
        each for each in ast.walk(tree) if _starts(each) == (code.co_firstlineno, code.co_name)
    ]
    if len(found) != 1:
        raise NoSource(
            f"{len(found)} functions of that name stand on line {code.co_firstlineno}",
            "put each on a line of its own",
        )
    node = found[0]
    assert isinstance(node, ast.FunctionDef | ast.Lambda)
    return node


@lru_cache(maxsize=64)
def _compiled(text: str, path: str, flags: int) -> tuple[ast.Module, frozenset[CodeType]]:
    """The tree, and the codes of all functions; `flags` are the futures a notebook may have set."""
    tree = ast.parse(text, path)
    return tree, frozenset(_codes(compile(text, path, "exec", flags=flags, dont_inherit=True)))


def _codes(code: CodeType) -> list[CodeType]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [code, *(found for each in inner for found in _codes(each))]


def _starts(node: ast.AST) -> tuple[int, str] | None:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return first, node.name
    return (node.lineno, "<lambda>") if isinstance(node, ast.Lambda) else None


def module_seeds(function: FunctionType) -> int | None:
    """The line on which the function's file seeds a global generator, if it does."""
    text = "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))
    try:
        tree, _ = _compiled(
            text, function.__code__.co_filename, function.__code__.co_flags & _FUTURES
        )
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "seed":
            return node.lineno
    return None
