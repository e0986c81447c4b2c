"""Binary data sets: .npy, .npz, and pickles of plain data, whose code never runs.

A pickle is a small program. Here only the operations that build lists, tuples, texts, numbers and arrays of
numbers are let through, any other is refused by name before anything runs; and arrays are built by classes of
our own, for NumPy's trust the state that they are restored from.
"""

from __future__ import annotations

import io
import pickle
import re
import zipfile
from typing import Any

import numpy as np

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.limits import largest_unpacked

_NPY, _ZIP = b"\x93NUMPY", b"PK\x03\x04"


def holds_arrays(data: bytes) -> bool:
    """Recognise NumPy's files and pickles of protocol 2 or later (2006) by their first bytes."""
    return data.startswith((_NPY, _ZIP, b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5"))


def read_arrays(data: bytes, name: str) -> Any:
    """Read data that `holds_arrays` recognised.

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
        value = _unpickle(data, name)
        if value is None:
            raise InputError("is a pickle of nothing; expected an instance", name)
        return value
    except InputError:
        raise
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
        if not all(member.filename.endswith(".npy") for member in archive.infolist()):
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


#: Operations that build lists, tuples, dictionaries, texts, numbers, and what NumPy's arrays are made of.
_OPERATIONS = re.compile(
    r"PROTO|FRAME|STOP|MARK|NONE|NEW(TRUE|FALSE)|EMPTY_(LIST|TUPLE|DICT)|APPENDS?|LIST|TUPLE[123]?|SETITEMS?"
    r"|(LONG_)?(BIN)?(PUT|GET)|MEMOIZE|BININT[12]?|INT|LONG1?|(BIN)?FLOAT|(SHORT_)?BIN(UNICODE|BYTES)8?"
    r"|UNICODE|BYTEARRAY8|(STACK_)?GLOBAL|REDUCE|BUILD"
)


def _unpickle(data: bytes, name: str) -> Any:
    """Read a pickle of plain data.

    Its operations are looked through first, which checks all lengths that it claims; then Python's reader
    runs them, with nothing to call but the builders below.
    """
    import pickletools  # not every command reads a pickle

    count = 0
    for operation, argument, _ in pickletools.genops(data):
        count += 1
        if not _OPERATIONS.fullmatch(operation.name):
            raise _refusal(f"operation {operation.name}", name)
        if operation.name.endswith("PUT") and not int(argument or 0) < len(data):
            raise ValueError("a place beyond the end of its memory")  # which would be allocated
    return _Finish(2 * count + len(data) + 100)(_PlainUnpickler(data, name).load())


class _PlainUnpickler(pickle.Unpickler):
    """Python's reader with builders of ours for the names under which NumPy pickles arrays."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(io.BytesIO(data))
        self._name = name

    def find_class(self, module: str, attribute: str) -> Any:
        """Give a builder; a new one each time, since a pickle may set attributes of it."""
        match f"{module.replace('numpy._core', 'numpy.core')}.{attribute}":
            case "numpy.core.multiarray._reconstruct":
                return lambda *_: _Array()
            case "numpy.core.multiarray.scalar":
                return lambda kind, data: kind.numbers(data).item()
            case "numpy.core.numeric._frombuffer":
                return lambda data, kind, shape, order: kind.numbers(data).reshape(shape, order=order)
            case "numpy.dtype":
                return lambda code, *_: _Dtype(code)
            case "numpy.ndarray":
                return object()  # an argument of the first, of no use to it
            case "_codecs.encode":  # how older protocols write bytes
                return lambda text, *_: text.encode("latin-1")
        raise _refusal(f"{module}.{attribute}", self._name)


def _refusal(what: str, name: str) -> InputError:
    return InputError(
        f"is a pickle with more than plain numbers in it ({shown(what, 80)}); nothing of it was run; "
        "give json or npz",
        name,
    )


class _Dtype:
    """A type of numbers while a pickle builds it."""

    def __init__(self, code: Any) -> None:
        if not isinstance(code, str) or code[:1] not in "fiub" or code[1:] not in ("1", "2", "4", "8"):
            raise ValueError(f"an array of {shown(code)}")
        self.code, self.order = code, "="

    def __setstate__(self, state: Any) -> None:
        """Take the byte order from NumPy's state; nothing else of it can matter to plain numbers."""
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("an unknown byte order")
        self.order = state[1]

    def numbers(self, data: Any) -> np.ndarray[Any, Any]:
        if not isinstance(data, bytes | bytearray):
            raise ValueError("an array without its bytes")
        return np.frombuffer(data, np.dtype(self.order + self.code))


class _Array:
    """An array while a pickle builds it."""

    def __init__(self) -> None:
        self.value: np.ndarray[Any, Any] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Dtype):
            raise ValueError("an array without a type")
        self.value = kind.numbers(data).reshape(shape, order="F" if fortran else "C")


class _Finish:
    """Replaces array builders by their arrays, in nested lists.

    A list or an array may stand in many places of another at no cost to the file: no more values than the
    file has operations and bytes are unfolded, and a list that holds itself never ends otherwise.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, value: Any) -> Any:
        self._left -= len(value) + 1 if isinstance(value, list | tuple | dict) else 0
        if self._left < 0:
            raise ValueError("lists that repeat or hold themselves")
        if isinstance(value, _Array):
            value = value.value
        if isinstance(value, np.ndarray):
            if value.size == 0:
                raise ValueError(f"an array of the shape {shown(value.shape)}")
            self._left -= value.size
            if self._left < 0:
                raise ValueError("arrays that repeat")
        if isinstance(value, list | tuple):
            return value if all(type(x) in (int, float) for x in value) else [self(x) for x in value]
        if isinstance(value, dict):
            return {str(key): self(x) for key, x in value.items()}
        if not isinstance(value, int | float | str | np.ndarray | None):
            raise ValueError(f"a {type(value).__name__.strip('_')} among the numbers")
        return value
