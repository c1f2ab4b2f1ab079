# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources as a package of their own, and the one file that is made of them."""
from __future__ import annotations

import ast
import io
import pathlib
import subprocess
import sys
import zipfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._one_file.archive import list_program, make_program
from ansible_collections.gpuhost.tuning.plugins.module_utils._one_file.sources import gather, imported, read_own

MODULE_UTILS = pathlib.Path(__file__).resolve().parents[5] / "plugins" / "module_utils"
ROOM = {
    ("_one", "start"): '"""Says."""\nfrom .near import NEAR\nfrom .._two import far as there\n'
                       "from .._two.farther import X\ndef main():\n    print(NEAR, there.FAR, X)\n    return 3\n",
    ("_one", "near"): "NEAR = 1\n",
    ("_one", "unused"): "raise SystemExit('never')\n",
    ("_two", "far"): "FAR = 2\n",
    ("_two", "farther"): "import json\nX = json.loads('7')\n",
    ("_host", "import_once"): "def install():\n    pass\n",
}


def read(room, file):
    return ROOM[room, file]


def test_what_a_file_needs_and_nothing_else():
    found = gather([("_one", "start")], read)
    assert list(found) == ["gpuhost", "gpuhost._one", "gpuhost._one.near", "gpuhost._one.start", "gpuhost._two",
                           "gpuhost._two.far", "gpuhost._two.farther"]
    assert found["gpuhost._two"] == ""
    assert found["gpuhost._one.near"] == "NEAR = 1\n"


def test_a_text_may_be_kept_in_another_form():
    found = gather([("_one", "near")], read, str.lower)
    assert found["gpuhost._one.near"] == "near = 1\n"


@pytest.mark.parametrize("path", sorted(MODULE_UTILS.glob("*/*.py")), ids=lambda path: path.name)
def test_imports_are_those_that_python_sees(path):
    text, room, seen = path.read_text(encoding="utf-8"), path.parent.name, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = ([room] if node.level == 1 else []) + (node.module or "").split(".") * bool(node.module)
            seen |= {(package[0], file) for file in package[1:] or [name.name for name in node.names]}
    assert set(imported(room, text)) == seen


def test_the_file_runs_and_ends_with_what_main_answers(tmp_path):
    (tmp_path / "x.pyz").write_bytes(make_program("x", ("_one", "start"), read, comment="# look\n"))
    done = subprocess.run([sys.executable, "-I", "-S", tmp_path / "x.pyz"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode, done.stderr) == ("1 2 7\n", 3, "")


def test_the_same_sources_give_the_same_bytes_without_time_or_compression():
    program = make_program("x", ("_one", "start"), read)
    assert program == make_program("x", ("_one", "start"), read)
    with zipfile.ZipFile(io.BytesIO(program)) as archive:
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert "gpuhost/_one/unused.py" not in [entry.filename for entry in entries]


def test_a_program_is_listed_file_by_file():
    listed = list_program(make_program("x", ("_one", "near"), read))
    assert [line.split()[1:] for line in listed if "near" in line] == [["9", "gpuhost/_one/near.py"]]


def test_own_sources_are_read_wherever_they_run():
    assert "COLLECTION = \"gpuhost.tuning\"\n" in read_own("_one_file", "version")
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        read_own("_one_file", "nothing")
