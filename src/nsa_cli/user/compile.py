"""Why a user's functions are not compiled, or have failed as compiled code: the line, in a user's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError, UncompiledError, cut
from nsa_cli.core.extras import how_to_install, is_installed
from nsa_cli.kernels.toolchain import kept
from nsa_cli.user.calls import LINE, Data, MistakeError, class_place
from nsa_cli.user.check import look_around
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import Model

#: What messages of Numba mean.
_MEANINGS = {
    "NRT required|Only accept returning of array passed": "it makes an array; a loop over numbers would do",
    "(?i)read-?only|cannot modify": "it changes the data, which belong to all chains; change x only",
    r"name '(\w+)': Cannot determine Numba type of <class 'function'>": r"\1 calls itself, or lies elsewhere",
    r"name '(\w+)': Cannot determine Numba type of <class '(\w+)'>": r"it looks up \1, a \2",
    r"Unknown attribute '(\w+)' of type Module\(<module '(\w+)'": (
        r"it calls \2.\1; a function of your own would be compiled after 'from \2 import \1'"
    ),
    r"STORE_GLOBAL": r"it changes a global variable",
    r"yield in a closure": r"it has a generator; a loop would do",
}

#: Where an error is, in Numba's messages; colours; and beginnings of lines that say little.
_LINE = re.compile(r'File "([^"]+)", line (\d+)')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BORING = re.compile("Failed in|During:|File |>>>|- Resolution|[\\^]|Overload|There are|<source|Please|$")

#: Seconds that the case is sought for in which compiled code fails.
_SECONDS = 2.0


@cache
def owner_of(model: Model) -> kept.Owner:
    """Make the owner of the kernels that are compiled from a problem's functions."""
    return kept.Owner(
        model.digest, model.hash is not None, partial(explained, model), partial(refused, model)
    )


def uncompiled(model: Model) -> str | None:
    """Tell why a problem's functions are not compiled; empty where it says so itself, None if they are."""
    if not model.cls.compiled:
        return ""
    if not is_installed("numba"):
        return f"{model.spec}: its functions are not compiled without {how_to_install('numba')}"
    return kept.noted(owner_of(model), uncompiled_mark(model))


def uncompiled_mark(model: Model) -> str:
    """Give the mark under which that is noted; with the functions' lines, which the reason names."""
    return f"uncompiled {' '.join(f'{code.co_filename}:{code.co_firstlineno}' for code in model.codes)}"


def refused(model: Model, error: Exception) -> UncompiledError:
    """Say why Numba does not compile a problem's functions, with the line of the problem's file."""
    functions = {code: name for code, name in model.codes.items() if code.co_filename == model.file}
    found = [int(line) for file, line in _LINE.findall(str(error)) if model.file.endswith(file.lstrip("./"))]
    printing = [code.co_firstlineno for code in functions if "print" in code.co_names]
    line = next(reversed(found), printing[0] if printing else None)
    here = [name for code, name in functions.items() if line in {at for *_, at in code.co_lines()}]
    place = class_place(model.cls) if line is None else f"{model.file}:{line}"
    told = next(iter(here), model.cls.__name__)
    return UncompiledError(f"{place}: {told} cannot be compiled by Numba: {_reason(error)}")


def _reason(error: Exception) -> str:
    """Cause of an error, a line of Numba's message."""
    text = _COLOUR.sub("", str(error))
    for words, meaning in _MEANINGS.items():
        if found := re.search(words, text):
            return found.expand(meaning)
    lines = (line.strip() for line in text.partition(" Raised from")[0].splitlines())
    told = next((line for line in lines if not _BORING.match(line)), type(error).__name__)
    return cut(told.rstrip(".:"), LINE)


def explained(model: Model, arguments: Sequence[Any]) -> NsaError:
    """Make the error of a kernel that an exception ended.

    Parameters
    ----------
    model : Model
    arguments : sequence
        Of the kernel: among their parts are the data, and solutions as it left them.
    """
    parts = list(_parts(arguments))
    fields = (*model.given, "scale")
    data = next(part for part in parts if getattr(part, "_fields", ())[: len(fields)] == fields)
    try:
        for which in range(len(data.scale)):
            keys = {key: getattr(data, key)[which] for key in model.given}
            instance = UserInstance(model=model, data=Data(**keys, scale=1.0))
            rows = [row for part in parts if isinstance(part, np.ndarray) for row in np.atleast_2d(part)]
            kind = model.kind.dtype
            found = [x for x in rows if x.dtype == kind and instance.fault(x) is None]
            if found:
                look_around(instance, _SECONDS / len(data.scale), found)
    except NsaError as error:
        return error
    message = "compiled code fails where Python was not seen to: an index out of range, or a raise"
    return MistakeError(f"{class_place(model.cls)}: {model.cls.__name__}: {message}")


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for part in value if isinstance(value, tuple | list) else ():
        yield from _parts(part)
