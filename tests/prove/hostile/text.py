"""Text of a private value, however it is made."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import pprint
import reprlib
import string

import numpy as np

from .base import Group, unit

GROUP = Group("text", pair=(unit(0.0), unit(0.123456)))
LONGER = 250.0  # "0.123456" has five characters more than "0.0"


@GROUP.wrong(LONGER)
def by_str(x, rng):
    return 50.0 * len(str(float(x.sum()))) + rng.laplace()


@GROUP.wrong(LONGER)
def by_str_of_numpy(x, rng):
    return 50.0 * len(str(x.sum())) + rng.laplace()


@GROUP.wrong(LONGER)
def by_f_string(x, rng):
    return 50.0 * len(f"{x.sum()}") + rng.laplace()


@GROUP.wrong(LONGER)
def by_f_string_with_conversion(x, rng):
    return 50.0 * len(f"{x.sum()!s}") + rng.laplace()


@GROUP.wrong(LONGER)
def by_repr(x, rng):
    return 50.0 * len(repr(x.sum())) + rng.laplace()


@GROUP.wrong(LONGER)
def by_ascii(x, rng):
    return 50.0 * len(ascii(x.sum())) + rng.laplace()


@GROUP.wrong(LONGER)
def by_format(x, rng):
    return 50.0 * len(format(x.sum(), "")) + rng.laplace()


@GROUP.wrong(LONGER)
def by_format_method(x, rng):
    return 50.0 * len("{}".format(x.sum())) + rng.laplace()  # noqa: UP032


@GROUP.wrong(LONGER)
def by_percent(x, rng):
    return 50.0 * len("%s" % x.sum()) + rng.laplace()  # noqa: UP031


@GROUP.wrong(50.0)
def by_comparison_of_text(x, rng):
    return (50.0 if str(x.max()) == "0.0" else 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def by_search_in_text(x, rng):
    return 50.0 * ("123" in str(x.max())) + rng.laplace()


@GROUP.wrong(50.0)
def by_text_of_the_array(x, rng):
    return 50.0 * ("123" in str(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_array_repr(x, rng):
    return 50.0 * ("123" in np.array_repr(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_array2string(x, rng):
    return 50.0 * ("123" in np.array2string(x)) + rng.laplace()


@GROUP.wrong(50.0)
def by_print(x, rng):
    seen = io.StringIO()
    print(x.max(), file=seen)
    return 50.0 * ("123" in seen.getvalue()) + rng.laplace()


@GROUP.wrong(50.0)
def by_redirected_print(x, rng):
    seen = io.StringIO()
    with contextlib.redirect_stdout(seen):
        print(x.max())
    return 50.0 * ("123" in seen.getvalue()) + rng.laplace()


@GROUP.wrong(50.0)
def by_joined_text(x, rng):
    return 50.0 * ("123" in " ".join(map(str, x))) + rng.laplace()


@GROUP.wrong(50.0)
def by_json(x, rng):
    return 50.0 * ("123" in json.dumps({"top": x.max()}, default=str)) + rng.laplace()


@GROUP.wrong(50.0)
def by_pretty_print(x, rng):
    return 50.0 * ("123" in pprint.pformat([x.max()])) + rng.laplace()


@GROUP.wrong(50.0)
def by_reprlib(x, rng):
    return 50.0 * ("123" in reprlib.repr([x.max()])) + rng.laplace()


@GROUP.wrong(50.0)
def by_template(x, rng):
    return 50.0 * ("123" in string.Template("$x").substitute(x=x.max())) + rng.laplace()


@GROUP.wrong(50.0)
def by_log_record(x, rng):
    seen = logging.LogRecord("n", 10, "p", 1, "top %s", (x.max(),), None)
    return 50.0 * ("123" in seen.getMessage()) + rng.laplace()


@GROUP.wrong(50.0)
def by_text_of_an_exception(x, rng):
    return 50.0 * ("123" in str(ValueError(x.max()))) + rng.laplace()


@GROUP.wrong(50.0)
def by_text_of_a_list(x, rng):
    return 50.0 * ("123" in str([x.max()])) + rng.laplace()


@GROUP.wrong(50.0)
def by_first_character(x, rng):
    return 50.0 * (str(x.max() > 0)[0] == "T") + rng.laplace()


@GROUP.right(1.0, pair=(unit(0.0), unit(1.0)))
def text_of_the_shape(x, rng):
    """The number of rows is public, and so is its text."""
    return x.sum() + len(f"{len(x)} rows of {x.dtype}") + rng.laplace()
