"""Machine code of the built-in problems' kernels, made when the package is built.

    python build_kernels.py                    the library for this processor
    python build_kernels.py linux-x86-64 …     portable ones, for targets whose names begin so

Small instances are solved in every way that has a kernel of its own. Each kernel that is called on the way is
typed and lowered by Numba, once, and then compiled by LLVM for each target: what is shipped is what was run.
Parts run in processes of their own, as many as there are cores. A linker makes one library a target: the
system's compiler, or Zig's from the package index. Objects stay in ``build/``, for the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent / "src"

#: Functions of the C library that kernels may call.
LIBRARY = {"acos", "cos", "exp", "fmod", "log", "memcpy", "memmove", "memset", "pow", "sin", "sqrt"}

#: Problems, and what of them is a part.
PARTS = [
    *((problem, "moves") for problem in ("tsp", "bin", "knapsack", "rosenbrock")),
    *((problem, "large-step") for problem in ("tsp", "bin")),
]

#: Instances of up to so many elements are solved with steps enough for a population.
_POPULATED = 500


class Builder:
    """Compiles kernels ahead of time, in place of `nsa_cli.kernels.toolchain.library.find`.

    Parameters
    ----------
    folder : Path
        For the objects, a folder a target. Those that are there already are of the same sources, as their
        names have a hash of these.
    targets : sequence of Target
        Of which one is this machine's.
    """

    def __init__(self, folder: Path, targets: Sequence[Any]) -> None:
        from nsa_cli.kernels.toolchain.library import fitting

        self._folder, self._targets, self._here = folder, targets, fitting(targets)
        self.made: list[str] = []

    def find(
        self, kernel: Any, types: Sequence[Any], arguments: Sequence[Any], parts: int
    ) -> Callable[..., Any]:
        """Compile a kernel for types of arguments, keep its objects, and load it for this machine."""
        from nsa_cli.kernels.toolchain import library
        from nsa_cli.kernels.toolchain.compiler import lowered
        from nsa_cli.kernels.toolchain.kept import load

        name = library.name_of(kernel.py_func, types)
        places = [self._folder / target.name for target in self._targets]
        known = [f"{name}.{result}" for result in library.RESULTS]
        entry = next((e for e in known if all((place / f"{e}.o").exists() for place in places)), None)
        if entry is None:
            module, returns = lowered(kernel, name, arguments, parts)
            entry, bitcode = f"{name}.{returns}", module.as_bitcode()
            for place, target in zip(places, self._targets, strict=True):
                place.mkdir(parents=True, exist_ok=True)
                new = place / f".{os.getpid()}"  # other parts may be at it, too
                new.write_bytes(_emitted(bitcode, target))
                new.replace(place / f"{entry}.o")
        self.made.append(entry)
        code = (self._folder / self._here.name / f"{entry}.o").read_bytes()
        return library.caller(name, load(entry, code), entry.rpartition(".")[2])


@cache
def _tools() -> str:
    """Tell what makes objects, beside the sources."""
    import numba

    return f"numba {numba.__version__}, {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"


def _emitted(bitcode: bytes, target: Any) -> bytes:
    """Optimise a module for a target; its object file."""
    import llvmlite.binding as llvm
    from llvmlite.binding import newpassmanagers as passes

    from nsa_cli.kernels.toolchain.compiler import outside

    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic"
    )
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    tuning = passes.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    builder = passes.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    if unknown := outside(module) - LIBRARY:
        raise RuntimeError(f"expected code that needs nothing of Numba, got calls of {sorted(unknown)}")
    return machine.emit_object(module)


def run_part(problem_name: str, part: str, folder: Path, names: Sequence[str]) -> None:
    """Solve in all ways of a part, with a builder in place."""
    import llvmlite.binding as llvm
    import numpy as np

    from nsa_cli.core.errors import UsageError
    from nsa_cli.core.problem import Task
    from nsa_cli.kernels.toolchain import library
    from nsa_cli.kernels.toolchain.compiler import linked_only
    from nsa_cli.problems import find_problem
    from nsa_cli.solver.solve import solve_all

    linked_only()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    builder = Builder(folder, [target for target in library.TARGETS if target.name in names])
    library.find = builder.find
    problem = find_problem(problem_name)
    instances = list(_instances(problem, np.random.default_rng(0), part))
    for instance in instances:
        for settings in _ways(problem, instance, part):
            with suppress(UsageError):  # a way that the solver refuses needs no kernel
                solve_all([Task(problem, instance)], settings)
    (folder / f"{problem_name}-{part}.json").write_text(json.dumps(builder.made))


def _instances(problem: Any, rng: Any, part: str) -> Iterator[Any]:
    """Make instances of each kind with kernels of its own."""
    yield from problem.samples(rng)
    if problem.name == "tsp" and part == "large-step":
        for size in (8_000, 15_001):  # in parts; with a bound by boxes
            yield problem.generate(size, rng)
        yield problem.from_record({"coords": rng.integers(0, 3, (40, 2)).tolist()})  # many at few places
        far = rng.integers(1, 80, (2_001, 2)).tolist()  # whose lengths only arrays have to the last bit
        yield problem.from_record({"coords": far, "edge_weight_type": "GEO"})


def _ways(problem: Any, instance: Any, part: str) -> Iterator[Any]:
    """Give every way to solve an instance that kernels may differ in."""
    from nsa_cli.core.options import Steps
    from nsa_cli.policy.checkpoint import available
    from nsa_cli.solver.settings import Settings

    if part == "large-step":
        large_step = problem.large_step()
        if large_step.fits(instance):
            yield Settings(method="large-step", steps=Steps(2), threads=1)
            yield Settings(method="large-step", steps=Steps(2), threads=2, bound=False)
            if instance.size <= _POPULATED:
                yield Settings(method="large-step", steps=Steps(1_000), bound=False)
                yield Settings(method="large-step", steps=Steps(1_000), prove=problem.name == "tsp")
        return
    for neighbourhood in problem.neighbourhoods:
        yield Settings(
            method="anneal", policy="uniform", neighbourhood=neighbourhood.name, steps=Steps(2), bound=False
        )
    for policy in available(problem.name):
        yield Settings(method="anneal", policy=policy, steps=Steps(2), bound=False)
    yield Settings(method="anneal", policy="uniform", steps=Steps(2))


def build(target_names: Sequence[str], here: str, jobs: int, *, portable: bool) -> None:
    """Make a library for each target, in a folder that takes the place of the old one when it is whole.

    Nothing is done where they are of these very sources: installers ask twice. Objects are also made for the
    target that runs `here`.
    """
    from nsa_cli.kernels.toolchain.library import FOLDER, HASHES, TARGETS

    folders = SOURCES, SOURCES.parent / "checkpoints"
    files = sorted(f for folder in folders for f in folder.rglob("*") if f.suffix in (".py", ".json"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files if FOLDER not in file.parents))
    stamp = " ".join([*target_names, digest.hexdigest(), _tools()])
    if (FOLDER / "stamp").exists() and (FOLDER / "stamp").read_text() == stamp:
        return
    objects = SOURCES.parent / "build" / f"kernels-{hashlib.sha256(_tools().encode()).hexdigest()[:16]}"
    objects.mkdir(parents=True, exist_ok=True)

    def start(part: tuple[str, str]) -> list[str]:
        command = [sys.executable, "-P", __file__, "--part", *part, str(objects), *{here, *target_names}]
        paths = os.pathsep.join([str(SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])])
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": paths, "NSA_KERNELS": ""})
        return json.loads((objects / f"{'-'.join(part)}.json").read_text())

    with ThreadPoolExecutor(jobs) as pool:
        entries = sorted({entry for made in pool.map(start, PARTS) for entry in made})
    with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix=".libraries-") as folder:
        hashes = {}
        for target in (target for target in TARGETS if target.name in target_names):
            parts = [objects / target.name / f"{entry}.o" for entry in entries]
            link(target, parts, Path(folder) / target.file, portable=portable)
            hashes[target.file] = hashlib.sha256((Path(folder) / target.file).read_bytes()).hexdigest()
        (Path(folder) / HASHES).write_text(json.dumps(hashes))
        (Path(folder) / "stamp").write_text(stamp)
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(folder, FOLDER)


def link(target: Any, objects: Sequence[Path], into: Path, *, portable: bool) -> None:
    """Link objects to a library, by the system's compiler or by Zig's.

    The latter has the C libraries of other systems, and old versions of this one's: a `portable` library, of
    a wheel, needs no newer one.
    """
    arch, _, system = target.triple.partition("-")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target"]
    zig += [f"{arch.replace('arm64', 'aarch64')}-{'linux-gnu.2.17' if 'linux' in system else 'macos'}"]
    compiler = None if portable else shutil.which("cc")
    command = zig if compiler is None else [compiler]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(f'"{path}"' for path in objects))
        file.flush()
        subprocess.run([*command, "-shared", "-o", str(into), f"@{file.name}", "-lm"], check=True)


def main() -> None:
    """Build, or run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", help="beginnings of targets' names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        problem, part, folder, *names = options.part
        run_part(problem, part, Path(folder), names)
        return
    sys.path.insert(0, str(SOURCES))
    from nsa_cli.kernels.toolchain.library import TARGETS, fitting

    if (here := fitting(TARGETS)) is None:
        sys.exit("expected a processor that is listed in kernels/toolchain/library.py")
    chosen = [target.name for target in TARGETS if target.name.startswith(tuple(options.targets))]
    build(chosen if options.targets else [here.name], here.name, options.jobs, portable=bool(options.targets))


if __name__ == "__main__":
    main()
