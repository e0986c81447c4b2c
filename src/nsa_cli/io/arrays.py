"""Arrays in memory and in binary files: .npy, .npz, and pickles of plain data, whose code never runs.

A pickle is a small program. Here only the operations that build lists, tuples, texts and numbers are let
through, any other is refused by name before anything runs.
"""

from __future__ import annotations

import io
import pickle
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError, InputError, shown
from nsa_cli.core.machine import largest_unpacked

_NPY, _ZIP = b"\x93NUMPY", b"PK\x03\x04"

#: First bytes of NumPy's files, and of pickles of protocol 2 or later (2006).
ARRAYS = (_NPY, _ZIP, b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")


def read_arrays(data: bytes, name: str) -> Any:
    """Read data that begin as one of `ARRAYS`.

    Returns
    -------
    ndarray, dict of str to ndarray, or nested lists and tuples

    Raises
    ------
    InputError
        If the data are damaged, too large, or more than plain data; `name` is the file's.
    """
    try:
        if data.startswith(_NPY):
            return _plain(np.load(io.BytesIO(data), allow_pickle=False), name)
        if data.startswith(_ZIP):
            return _archive(data, name)
        value = _unpickle(data)
        if value is None:
            raise InputError("is a pickle of nothing; expected an instance", name)
        return value
    except InputError:
        raise
    except _RefusedError as error:
        what = f"is a pickle with more than lists of numbers in it ({shown(str(error), 80)})"
        raise InputError(f"{what}; nothing of it was run; give json or npz", name) from None
    except MemoryError:
        raise InputError("claims more numbers than there is memory for", name) from None
    except Exception as error:  # what a damaged archive makes its readers raise is listed nowhere
        raise InputError(f"damaged data: {shown(str(error) or type(error).__name__, 80)}", name) from None


def check_unpacked(size: int, most: int, name: str) -> None:
    """Refuse data that unpack to more bytes than they may (`largest_unpacked`).

    Raises
    ------
    InputError
        In that case.
    """
    if size > most:
        what = "is a small file that unpacks to more than"
        raise InputError(f"{what} {most // 10**6} MB; if that is right, unpack it first", name)


def _archive(data: bytes, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        check_unpacked(unpacked, largest_unpacked(len(data)), name)
        files = archive.namelist()
        if "xl/workbook.xml" in files or "content.xml" in files:
            what = "an Excel workbook" if "content.xml" not in files else "an OpenDocument file"
            raise InputError(f"is {what}; save the sheet as CSV, and give that file", name)
        if not all(file.endswith(".npy") for file in files):
            raise InputError("is a zip archive; expected a file, or NumPy's .npz", name)
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {str(key): _plain(arrays[key], name) for key in arrays.files}


def _plain(array: Any, name: str) -> Any:
    """Refuse arrays of objects, which are pickles, and those that take no room, whatever their shape."""
    if array.dtype.kind not in "iufbU":
        raise InputError(f"expected arrays of numbers, got {shown(str(array.dtype))}", name)
    if array.nbytes == 0:
        raise InputError(f"expected numbers, got an array of the shape {shown(array.shape)}", name)
    return array


#: Operations that build plain data, and those that ask for something to call, which is refused by its name.
_OPERATIONS = re.compile(
    r"PROTO|FRAME|STOP|MARK|NONE|NEW(TRUE|FALSE)|EMPTY_(LIST|TUPLE|DICT)|APPENDS?|LIST|TUPLE[123]?|SETITEMS?"
    r"|(LONG_)?(BIN)?(PUT|GET)|MEMOIZE|BININT[12]?|INT|LONG1?|(BIN)?FLOAT|(SHORT_)?BIN(UNICODE|BYTES)8?"
    r"|UNICODE|BYTEARRAY8|(STACK_)?GLOBAL|REDUCE|BUILD"
)


def _unpickle(data: bytes) -> Any:
    """Read a pickle of plain data.

    Its operations are looked through first, which checks all lengths that it claims; then Python's reader
    runs them, with nothing to call.
    """
    import pickletools  # not every command reads a pickle

    count = 0
    for operation, argument, _ in pickletools.genops(data):
        count += 1
        if not _OPERATIONS.fullmatch(operation.name):
            raise _RefusedError(f"operation {operation.name}")
        if operation.name.endswith("PUT") and not int(argument or 0) < len(data):
            raise ValueError("a place beyond the end of its memory")  # which would be allocated
    value = _PlainUnpickler(io.BytesIO(data)).load()
    _check_plain(value, 2 * count + len(data) + 100)
    return value


class _PlainUnpickler(pickle.Unpickler):
    """Python's reader of pickles, of which nothing has a name."""

    def find_class(self, module: str, attribute: str) -> Any:
        """Refuse what a pickle would call."""
        raise _RefusedError(f"{module}.{attribute}")


class _RefusedError(Exception):
    """More than plain data in a pickle."""


def _check_plain(value: Any, most: int) -> None:
    """Refuse what is no number, text or list of such, and more values than `most`.

    A list may stand in many places of another at no cost to the file, or hold itself.
    """
    open_ = [value]
    while open_:
        item = open_.pop()
        if isinstance(item, dict) and all(isinstance(key, str) for key in item):
            item = list(item.values())
        elif item is None or isinstance(item, int | float | str):
            continue
        elif not isinstance(item, list | tuple):
            raise ValueError(f"a {type(item).__name__} among the numbers")
        most -= len(item) + 1
        if most < 0:
            raise ValueError("lists that repeat or hold themselves")
        open_ += (x for x in item if type(x) not in (int, float))


# --- data in memory ----------------------------------------------------------------------------------

#: Types of what lists may hold as it is.
_VALUES = {int, float, str, bool, type(None)}


def plain_data(value: Any, key: str = "data") -> Any:
    """Turn arrays, and whatever can be one (tensors, series), into lists; mappings and sequences within, too.

    Parameters
    ----------
    value : object
    key : str
        Its name, for messages.

    Raises
    ------
    DataError
        If it cannot be an array, or a mapping has keys that are no names.
    """
    if type(value) in _VALUES:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        if odd := [name for name in value if not isinstance(name, str)]:
            raise DataError(f"{key}: expected names as keys, got {shown(odd[0])}", key)
        return {name: plain_data(inner, name) for name, inner in value.items()}
    if hasattr(value, "tocsr"):  # as SciPy has them
        advice = "of distances give an array, with infinity where there is no edge; of other data toarray()"
        raise DataError(f"{key}: expected an array, got a sparse matrix; {advice}", key)
    if hasattr(value, "__array__"):
        try:
            return np.asarray(value).tolist()
        except Exception as error:  # of the library that made it
            raise DataError(f"{key}: cannot be made an array: {shown(error, 120)}", key) from None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        if set(map(type, value)) <= _VALUES:
            return list(value)
        return [plain_data(inner, key) for inner in value]
    return value
