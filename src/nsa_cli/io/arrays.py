"""Binary data sets: .npy, .npz, and pickles of plain data, whose code never runs.

A pickle is a small program. Python's own reader can restrict the names it calls, but not the memory it
takes, and NumPy's classes trust the state they are restored from. This reader knows the operations that
build lists, tuples, texts, numbers and arrays of numbers; any other is refused by name before it runs.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from nsa_cli.core.errors import InputError, shown

#: Bytes of uncompressed data, at most; a few kilobytes can hide any amount.
LARGEST = 2**30
#: Operations that a pickle may have.
_MOST_VALUES = 100_000_000

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
        value = _Unpickler(name).load(data)
        if value is None:
            raise InputError("is a pickle of nothing; expected an instance", name)
        return value
    except InputError:
        raise
    except MemoryError:
        raise InputError("claims more numbers than there is memory for", name) from None
    except Exception as error:  # what a damaged archive makes its readers raise is listed nowhere
        raise InputError(f"damaged data: {shown(str(error) or type(error).__name__, 80)}", name) from None


def _archive(data: bytes, name: str) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST:
            raise InputError(f"is more than {LARGEST // 2**20} MiB when uncompressed", name)
        if not all(member.filename.endswith(".npy") for member in archive.infolist()):
            raise InputError("is a zip archive; expected a file, or NumPy's .npz", name)
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {str(key): _plain(arrays[key], name) for key in arrays.files}


def _plain(array: Any, name: str) -> Any:
    """Refuse arrays of objects, which are pickles."""
    if array.dtype.kind not in "iufbU":
        raise InputError(f"expected arrays of numbers, got {shown(str(array.dtype))}", name)
    return array


class _Name(str):
    """A class or function that a pickle names; here no more than its name."""


#: Names under which NumPy pickles arrays, whatever its version: a file uses one at most.
_RECONSTRUCT = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"}
_FROM_BUFFER = {"numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer"}
_SCALAR = {"numpy.core.multiarray scalar", "numpy._core.multiarray scalar"}
_NAMES = {*_RECONSTRUCT, *_FROM_BUFFER, *_SCALAR, "numpy ndarray", "numpy dtype", "_codecs encode"}


class _Dtype:
    """A type of numbers while a pickle builds it."""

    def __init__(self, code: Any) -> None:
        if not isinstance(code, str) or code[:1] not in "fiub" or code[1:] not in ("1", "2", "4", "8"):
            raise ValueError(f"an array of {shown(code)}")
        self.code, self.order = code, "="

    def restore(self, state: Any) -> None:
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

    def restore(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Dtype):
            raise ValueError("an array without a type")
        self.value = kind.numbers(data).reshape(shape, order="F" if fortran else "C")


_MARK = object()


class _Unpickler:
    """Interpreter of the pickle operations that build plain data."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._values = 0

    def load(self, data: bytes) -> Any:
        import pickletools  # not every command reads a pickle

        for code, argument, _ in pickletools.genops(data):
            step = _STEPS.get(code.name)
            if step is None:
                self._refuse(f"operation {code.name}")
            self._values += 1
            if self._values > _MOST_VALUES:
                raise InputError(f"is a pickle of more than {_MOST_VALUES} values", self._name)
            step(self, argument)
        return _Finish(2 * self._values + 100)(self._stack.pop())

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(
            f"is a pickle with more than plain numbers in it ({shown(what, 80)}); nothing of it was run; "
            "give json or npz",
            self._name,
        )

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def _top(self, kind: type) -> Any:
        if not self._stack or not isinstance(self._stack[-1], kind):
            raise ValueError("operations in a wrong order")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                values = self._stack[at + 1 :]
                del self._stack[at:]
                return values
        raise ValueError("operations in a wrong order")

    def tuple_of(self, count: int) -> None:
        values = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        self.push(tuple(values))

    def append(self, values: list[Any]) -> None:
        self._top(list).extend(values)

    def set_items(self, values: list[Any]) -> None:
        self._top(dict).update({str(k): v for k, v in zip(values[::2], values[1::2], strict=True)})

    def remember(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]

    def named(self, name: str) -> None:
        if name not in _NAMES:
            self._refuse(name.replace(" ", "."))
        self.push(_Name(name))

    def stack_name(self) -> None:
        attribute, module = self._stack.pop(), self._stack.pop()
        self.named(f"{module} {attribute}")

    def call(self) -> None:
        """Call one of the known names."""
        arguments, name = self._stack.pop(), self._stack.pop()
        if not isinstance(name, _Name) or not isinstance(arguments, tuple):
            self._refuse("a call")
        if name in _RECONSTRUCT:
            self.push(_Array())
        elif name == "numpy dtype":
            self.push(_Dtype(arguments[0]))
        elif name == "_codecs encode":  # how older protocols write bytes
            self.push(str(arguments[0]).encode("latin-1"))
        elif name in _SCALAR and isinstance(arguments[0], _Dtype):
            self.push(arguments[0].numbers(arguments[1]).item())
        elif name in _FROM_BUFFER and isinstance(arguments[1], _Dtype):
            data, kind, shape, order = arguments
            self.push(kind.numbers(data).reshape(shape, order="F" if order == "F" else "C"))
        else:
            self._refuse(name.replace(" ", "."))

    def restore(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if not isinstance(target, _Array | _Dtype):
            self._refuse("a restored object")
        target.restore(state)


class _Finish:
    """Replaces array builders by their arrays, in nested lists.

    A list may stand in many places of another at no cost to the file: no more values than the file has
    operations are unfolded, and a list that holds itself never ends otherwise.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, value: Any) -> Any:
        self._left -= len(value) + 1 if isinstance(value, list | tuple | dict) else 0
        if self._left < 0:
            raise ValueError("lists that repeat or hold themselves")
        if isinstance(value, _Array):
            value = value.value
        if isinstance(value, list | tuple):
            return value if all(type(x) in (int, float) for x in value) else [self(x) for x in value]
        if isinstance(value, dict):
            return {key: self(x) for key, x in value.items()}
        if isinstance(value, _Name) or not isinstance(value, int | float | str | np.ndarray | None):
            raise ValueError(f"a {type(value).__name__.strip('_')} among the numbers")
        return value


def _pushes(make: Callable[[], Any]) -> Callable[[_Unpickler, Any], None]:
    return lambda machine, _: machine.push(make())


_LITERALS = """BININT BININT1 BININT2 INT LONG LONG1 BINFLOAT FLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8
UNICODE BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"""

# What each operation does is in the documentation of Python's module pickletools.
_STEPS: Mapping[str, Callable[[_Unpickler, Any], None]] = {
    **dict.fromkeys(_LITERALS.split(), lambda machine, x: machine.push(x)),
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda _, __: None),
    "MARK": lambda machine, _: machine.push(_MARK),
    "NONE": _pushes(lambda: None),
    "NEWTRUE": _pushes(lambda: True),
    "NEWFALSE": _pushes(lambda: False),
    "EMPTY_LIST": _pushes(list),
    "EMPTY_TUPLE": _pushes(tuple),
    "EMPTY_DICT": _pushes(dict),
    "APPEND": lambda machine, _: machine.append([machine._stack.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine._since_mark()),
    "LIST": lambda machine, _: machine.push(machine._since_mark()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine._since_mark())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "SETITEM": lambda machine, _: machine.set_items([machine._stack.pop(-2), machine._stack.pop()]),
    "SETITEMS": lambda machine, _: machine.set_items(machine._since_mark()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), lambda machine, key: machine.remember(int(key))),
    "MEMOIZE": lambda machine, _: machine.remember(None),
    **dict.fromkeys(
        ("GET", "BINGET", "LONG_BINGET"), lambda machine, key: machine.push(machine._memo[int(key)])
    ),
    "GLOBAL": lambda machine, name: machine.named(name),
    "STACK_GLOBAL": lambda machine, _: machine.stack_name(),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.restore(),
}
