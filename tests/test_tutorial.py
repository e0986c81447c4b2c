"""The tutorial prints what its notebook shows; `python tests/test_tutorial.py` writes that."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def run_cell(source, names):
    """Run a cell as Jupyter does: what it prints, and the picture that its last line gives, if any."""
    if source.startswith("%%writefile "):
        name, _, text = source.removeprefix("%%writefile ").partition("\n")
        Path(name).write_text(f"{text}\n")
        return f"Writing {name}\n", None
    if source.startswith("!"):
        env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", source[1:].replace("\n!", "\n")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=env,
        )
        return done.stdout, None
    *most, last = ast.parse(source).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(most, []), "cell", "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
            return printed.getvalue(), None
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if hasattr(value, "_repr_png_"):
        return printed.getvalue(), value._repr_png_()
    return printed.getvalue() + ("" if value is None else f"{value!r}\n"), None


def outputs_of(cell):
    """Join the text of a cell, and say whether it has a picture."""
    texts = ["".join(out.get("text", [])) for out in cell["outputs"]]
    return "".join(texts), any("image/png" in out.get("data", {}) for out in cell["outputs"])


def same(text):
    """Take out what differs from run to run: seconds."""
    return re.sub(r"\d+\.\d+ s\b", "… s", text)


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(tmp_path, monkeypatch):
    """Cell by cell, in one folder, as somebody who follows it does."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__tutorial__"}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 10
    for cell in cells:
        source = "".join(cell["source"])
        text, image = run_cell(source, names)
        shown, pictured = outputs_of(cell)
        assert same(text) == same(shown), source
        assert (image is not None) == pictured, source


def smaller(image):
    """Draw a picture with few colours, a quarter of the bytes."""
    from PIL import Image

    with Image.open(io.BytesIO(image)) as picture, io.BytesIO() as file:
        picture.convert("RGB").quantize(96, method=Image.Quantize.FASTOCTREE).save(file, "png", optimize=True)
        return file.getvalue()


def main():
    """Run all cells in an empty folder, and write what they print into the notebook."""
    import tempfile

    notebook, names, count = json.loads(NOTEBOOK.read_text()), {"__name__": "__tutorial__"}, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            text, image = run_cell("".join(cell["source"]), names)
            cell["execution_count"] = count = count + 1
            lines = text.splitlines(keepends=True)
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": lines}] if lines else []
            if image is not None:
                data = {"image/png": base64.b64encode(smaller(image)).decode(), "text/plain": ["<Figure>"]}
                shown = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
                cell["outputs"].append(shown | {"data": data})
        os.chdir(ROOT)
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
