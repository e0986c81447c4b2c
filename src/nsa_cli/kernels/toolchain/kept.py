"""Machine code that is compiled on this machine, and kept in a private folder of the disk.

That is the code of own problems; where the library has none (`nsa_cli.kernels.toolchain.library`), also that
of built-in ones. A kernel is known by its name, which has hashes of its sources and of a user's functions in
it, and by the processor. It is kept only if another process can run it: where those hashes cover all that
was compiled in, no address of this process is in the code, and it calls nothing but the C library.

What is read from the folder is executed. So it must be the user's own, with nobody else able to write to it
or to a folder above it; no pickle is read, and a file that is empty, cut or garbled is as none, and is made
again.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import ctypes.util
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from nsa_cli.kernels import calls, compiled
from nsa_cli.kernels.toolchain.sources import digest_of, rooms

#: Folders of other versions are dropped when unused for this long, in seconds.
_KEEP = 30 * 24 * 3600

#: Bytes of the hash in front of each file.
_HASH = hashlib.sha256().digest_size


@cache
def cache_folder() -> Path:
    """Writable folder of this version's compiled kernels; this process's own where there is none to trust.

    It is named by a hash of all kernels' sources: whatever is edited, what is old goes together.
    """
    digest = hashlib.sha256(metadata.version("numba").encode())
    digest.update("".join(map(digest_of, rooms())).encode())
    for parent in _parents():
        folder = parent / f"kernels-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = folder.resolve()
            if not is_private(folder):
                continue
            os.utime(folder)
        except OSError:
            continue
        _drop_old(parent)
        return folder
    alone = tempfile.mkdtemp(prefix="nsa-kernels-")
    atexit.register(shutil.rmtree, alone, ignore_errors=True)
    return Path(alone)


def _parents() -> Iterator[Path]:
    """Folders that may hold it."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # others are to be ignored, says the XDG specification
        yield Path(chosen) / "nsa"
    else:
        with contextlib.suppress(RuntimeError):  # neither HOME nor an entry for this user
            yield Path.home() / ".cache" / "nsa"
    yield Path(tempfile.gettempdir()) / f"nsa-{os.getuid()}"


def is_private(folder: Path) -> bool:
    """Tell whether nobody but this user, or root, can put anything into a folder, given without links.

    In a folder with the sticky bit, such as ``/tmp``, others cannot rename what is not theirs.
    """
    own = folder.lstat()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.getuid() or own.st_mode & 0o022:
        return False
    above = [parent.lstat() for parent in folder.parents]
    return all(
        s.st_uid in (0, os.getuid()) and (not s.st_mode & 0o022 or s.st_mode & stat.S_ISVTX) for s in above
    )


def _drop_old(parent: Path) -> None:
    for folder in parent.glob("kernels-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < time.time() - _KEEP:
                shutil.rmtree(folder, ignore_errors=True)


def read_checked(path: Path) -> bytes | None:
    """Read a file that `write_checked` wrote; None if it cannot be read, or is not what was written."""
    with contextlib.suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content[_HASH:]).digest() == content[:_HASH]:
            return content[_HASH:]
    return None


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with its hash in front, whole or not at all; none where the disk has no room."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


#: Called with what there is to say to a user of compilation, once in a process.
listeners: list[Callable[[str], None]] = []

#: Beginnings of names of Python's interpreter, which kernels run without: they would wait for it for ever.
#: And of all that are not of the C library.
_PYTHON = ("Py", "_Py")
_ADDED = (*_PYTHON, "numba", "NRT")


@dataclass(frozen=True)
class Owner:
    """Whose functions a kernel is compiled from.

    Attributes
    ----------
    digest : str
        Hash of all that is compiled in.
    kept : bool
        Whether it is; a digest is drawn where something cannot be hashed, and nothing is kept.
    explain : callable
        ``explain(arguments)`` makes the error of a kernel that an exception ended.
    refuse : callable
        ``refuse(error)`` makes the error of what cannot be compiled.
    """

    digest: str
    kept: bool
    explain: Callable[[Sequence[Any]], Exception] = field(compare=False)
    refuse: Callable[[Exception], Exception] = field(compare=False)

    def __str__(self) -> str:
        return f"own {self.digest}"


def code_of(
    owner: Owner | None, kernel: Any, name: str, arguments: Sequence[Any], parts: int
) -> tuple[int, str]:
    """Load a kernel's code, and name the type of its result; compile it where there is none.

    Parameters
    ----------
    owner : Owner or None
        None for this package.
    kernel : nsa_cli.kernels.jit.Kernel
    name : str
        Of its code, see `nsa_cli.kernels.toolchain.library.name_of`.
    arguments : sequence
    parts : int
        Of the arguments, see `nsa_cli.kernels.toolchain.library.flatten`.
    """
    from nsa_cli.core.extras import need

    need("numba", "this machine, for which no machine code came with nsa,")
    keeps = owner is None or owner.kept
    if keeps and (found := read_checked(_path(name))) is not None:
        head, _, code = found.partition(b"\n")
        returns = head.decode()
        return load(f"{name}.{returns}", code), returns
    calls.append(None)
    try:
        tell(own=owner is not None)
        code, returns, alone = _compiled(kernel, name, arguments, parts)
    except Exception as error:  # Numba's own, and whatever else its passes may trip over
        if owner is None:
            raise
        raise owner.refuse(error) from None
    finally:
        calls.pop()
    if not alone:
        _left.add(owner)
    elif keeps:
        write_checked(_path(name), returns.encode() + b"\n" + code)
    return load(f"{name}.{returns}", code), returns


def tell(*, own: bool) -> None:
    """Say once that something is compiled: functions of an own problem, or kernels of this package."""
    if not compiled:
        compiled.append(None)
        for_own = (
            "compiling the functions of this problem, which takes some seconds; until then they run in Python"
        )
        say(for_own if own else "compiling kernels for this machine, which takes up to a minute")


def say(text: str) -> None:
    """Tell all listeners, once."""
    if text not in _said:
        _said.add(text)
        for listener in listeners:
            listener(text)


#: What was said.
_said: set[str] = set()


def is_known(owner: Owner, mark: str) -> bool:
    """Tell whether `note` was called with a mark: in this process, or any if the owner's code is kept."""
    return noted(owner, mark) is not None


def noted(owner: Owner, mark: str) -> str | None:
    """Give the text that `note` was called with beside a mark; None if it was not."""
    if (owner, mark) in _noted or not owner.kept:
        return _noted.get((owner, mark))
    text = read_checked(_mark(owner, mark))
    return None if text is None else text.decode()


def note(owner: Owner, mark: str, text: str = "") -> None:
    """Remember a mark and a text, beyond this process if the owner's code is kept."""
    _noted[owner, mark] = text
    if owner.kept and owner not in _left:
        write_checked(_mark(owner, mark), text.encode())


#: Marks of this process with their texts, and owners of code that only this process can run.
_noted: dict[tuple[Owner, str], str] = {}
_left: set[Owner | None] = set()


def _mark(owner: Owner, mark: str) -> Path:
    return _path(f"{mark} {owner.digest}")


@cache
def _processor() -> str:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return f"{sys.version} {llvm.get_host_cpu_name()} {features} {llvm.llvm_version_info}"


def _path(name: str) -> Path:
    digest = hashlib.sha256(f"{name} {_processor()}".encode()).hexdigest()[:32]
    return cache_folder() / f"{digest}.o"


def _compiled(kernel: Any, name: str, arguments: Sequence[Any], parts: int) -> tuple[bytes, str, bool]:
    """Compile a kernel: its object, the type of its result, and whether another process can run it."""
    import llvmlite.binding as llvm

    from nsa_cli.kernels.toolchain.compiler import holds_addresses, lowered, outside

    module, returns = lowered(kernel, name, arguments, parts)
    called = outside(module)
    if any(name.startswith(_PYTHON) for name in called):
        raise TypeError("it calls Python, as print does")
    machine = _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, reloc="pic"
    )
    alone = not holds_addresses(module) and all(map(_is_of_library, called))
    return machine.emit_object(module), returns, alone


@cache
def _target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


#: What owns the code that was loaded: each object has an engine of its own, so that to load one while another
#: runs in a thread changes nothing of that.
_engines: list[Any] = []


def load(entry: str, code: bytes) -> int:
    """Load an object, and give the address of its entry, by the name that it has there."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine())
    _engines.append(engine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(entry))


def _is_of_library(name: str) -> bool:
    return not name.startswith(_ADDED) and any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> tuple[Any, ...]:
    return ctypes.CDLL(None), ctypes.CDLL(ctypes.util.find_library("m"))
