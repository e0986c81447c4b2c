"""Registry of problems: one folder each, found by its name.

A problem is the attribute `problem` of a sub-package, the class or instance that an entry point of the
group ``nsa_cli.problems`` names, or a class in a user's file (``./maxcut.py:MaxCut``).
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import how_to_install
from nsa_cli.core.problem import Problem
from nsa_cli.user.adapter import AdaptedProblem
from nsa_cli.user.calls import class_place, line_of, reason
from nsa_cli.user.model import Model
from nsa_cli.user.problem import UserProblem


@functools.cache
def builtin_names() -> tuple[str, ...]:
    """Names of the built-in problems, the sub-packages of this one."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg))


@functools.cache
def _installed_names() -> tuple[str, ...]:
    """Names of the problems of other packages; cached, for the look-up takes milliseconds."""
    return tuple(e.name for e in entry_points(group="nsa_cli.problems"))


def all_problems() -> list[Problem[Any]]:
    """All built-in and installed problems."""
    return [find_problem(name) for name in (*builtin_names(), *_installed_names())]


def declared(kind: str, problem: Problem[Any] | None = None) -> Iterator[tuple[str, Any]]:
    """Give the forms of files of one problem, or of all, each with the problem's name.

    Those of a built-in problem are in the module `forms` of its folder, which is loaded without the package:
    that imports all that solves.

    Parameters
    ----------
    kind : {'formats', 'json_forms', 'file_sets'}
    problem : Problem, optional
    """
    for name in (*builtin_names(), *_installed_names()) if problem is None else [problem.name]:
        if problem is None and name in builtin_names():
            forms = getattr(_forms(name), kind.upper(), ())
        else:
            forms = getattr(problem or find_problem(name), kind)
        yield from ((name, form) for form in forms)


def _forms(name: str) -> ModuleType | None:
    """Load the module `forms` of a built-in problem; importing it later gives the same."""
    module, file = f"{__name__}.{name}.forms", Path(__path__[0]) / name / "forms.py"
    if module not in sys.modules and file.exists():
        spec = importlib.util.spec_from_file_location(module, file)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        sys.modules.setdefault(module, loaded)  # whole, for other threads
    return sys.modules.get(module)


def find_problem(name: Any) -> Problem[Any]:
    """Find a problem by name, load ``FILE.py:CLASS``, or adapt a class.

    Raises
    ------
    UsageError
        If there is no such problem, or the file does not define it.
    """
    if not isinstance(name, str):
        return as_problem(name)
    if ":" in name or name.endswith(".py"):
        return _from_file(name)
    return _named(name)


@functools.cache
def _named(name: str) -> Problem[Any]:
    if name in builtin_names():
        found = importlib.import_module(f"{__name__}.{name}").problem
        assert isinstance(found, Problem)
        return _travelling(found, name)
    for entry in entry_points(group="nsa_cli.problems"):
        if entry.name == name:
            return _travelling(as_problem(entry.load(), name), name)
    known = ", ".join(builtin_names())
    raise UsageError(f"there is no problem {name!r}; there are {known}, or FILE.py:CLASS for one of your own")


#: Problems from files, with the texts that they were made of, and those of modules beside them.
_loaded: dict[tuple[str, str], tuple[Problem[Any], dict[str, bytes]]] = {}


def _from_file(spec: str) -> Problem[Any]:
    """Load a problem from a file, anew where that or a module beside it was edited."""
    path, _, attribute = spec.rpartition(":") if not spec.endswith(".py") else (spec, "", "")
    key = os.path.abspath(path), attribute
    if key not in _loaded or not all(_holds(*pair) for pair in _loaded[key][1].items()):
        file = Path(path)
        if not os.path.isfile(file):
            raise UsageError(f"{path}: no such file; expected FILE.py:CLASS")
        module, texts = _import_file(file)
        found = _of_module(module, path, attribute, spec)
        _loaded[key] = _travelling(found, ":".join(filter(None, key))), texts
    return _loaded[key][0]


def _travelling(problem: Problem[Any], name: str) -> Problem[Any]:
    """Have pickles of a problem hold its name; an adapted one sees to that itself."""
    if not isinstance(problem, AdaptedProblem):
        copyreg.pickle(type(problem), lambda _: (find_problem, (name,)))
    return problem


def own_sources() -> list[str]:
    """List the files of users that problems were loaded from."""
    return [file for _, texts in _loaded.values() for file in texts]


def _holds(file: str, text: bytes) -> bool:
    try:
        return Path(file).read_bytes() == text
    except OSError:
        return False


def _of_module(module: ModuleType, path: str, attribute: str, spec: str) -> Problem[Any]:
    """Find a problem in a user's module, by its name or as the only one."""
    if attribute:
        if not hasattr(module, attribute):
            raise UsageError(f"{path}: defines no {attribute!r}")
        return as_problem(getattr(module, attribute), spec)
    own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    problems = [c for c in own if issubclass(c, Problem | UserProblem)]
    problems = [c for c in problems if not any(d is not c and issubclass(d, c) for d in problems)]
    if len(problems) != 1:
        raise UsageError(f"{path}: defines {len(problems)} problems; name one as {path}:CLASS")
    return as_problem(problems[0], f"{path}:{problems[0].__name__}")


def _import_file(file: Path) -> tuple[ModuleType, dict[str, bytes]]:
    """Run a file as a module of its own; modules that it imports may lie beside it. Also give their texts.

    For this file alone, since another folder may have modules of the same names; and without compiled files,
    which an edit within the same second would leave as they are.
    """
    spec = importlib.util.spec_from_file_location(f"nsa_user_{file.stem}", file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder, text = file.resolve().parent, file.read_bytes()
    texts = {str(file.resolve()): text}
    before, written, beside = set(sys.modules), sys.dont_write_bytecode, str(folder)
    known = beside in map(os.path.realpath, sys.path)  # as where the command is run, modules are everybody's
    importlib.invalidate_caches()
    sys.path.append(beside)
    sys.dont_write_bytecode = True
    try:
        exec(compile(text, str(spec.origin), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        place = line_of(error, str(spec.origin)) or str(file)
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            raise UsageError(f"{place}: needs {how_to_install('torch')}") from None
        raise UsageError(f"{place}: cannot be imported: {reason(error)}") from error
    finally:
        sys.path[:] = [place for place in sys.path if place is not beside]
        sys.dont_write_bytecode = written
        for name in () if known else set(sys.modules) - before:
            source = Path(getattr(sys.modules[name], "__file__", None) or "/")
            top = folder / name.partition(".")[0]
            if source == top.with_suffix(".py") or source.is_relative_to(top):
                texts[str(source)] = source.read_bytes()
                del sys.modules[name]
    return module, texts


def as_problem(found: object, spec: str = "problem") -> Problem[Any]:
    """Adapt a `UserProblem`, or make the instance of a class; a `Problem` is returned as it is.

    Parameters
    ----------
    found : Problem, UserProblem, or a class of either
    spec : str
        Where it comes from, for messages.

    Raises
    ------
    UsageError
        If it is something else, or lacks a function or an attribute.
    """
    if isinstance(found, UserProblem):
        found = type(found)
    if inspect.isclass(found) and issubclass(found, UserProblem):
        path = os.path.abspath(inspect.getfile(found)) if ":" in spec else ""
        home = (find_problem, (f"{path}:{found.__name__}",)) if path else None
        return AdaptedProblem(Model(found, spec if path else class_place(found), home))
    if inspect.isclass(found) and issubclass(found, Problem):
        try:
            found = found()
        except TypeError as error:  # abstract methods left out
            raise UsageError(f"{spec}: is not complete: {error}") from None
    if isinstance(found, Problem):
        return found
    raise UsageError(f"{spec}: expected a subclass of nsa_cli.UserProblem, got {type(found).__name__}")
