# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules out of an archive, as Ansible sends them: each file is compiled once, and tracebacks show its lines."""
from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from checkout import REPOSITORY

PACKAGE = "ansible_collections/gpuhost/tuning/plugins/module_utils"
COUNTING = """
import builtins, collections, sys
sys.path.insert(0, sys.argv[1])
compiled = collections.Counter()
real = builtins.compile
def count(source, filename, *given, **more):
    name = str(filename).rpartition("/")[2]
    compiled.update([name] if name != "__init__.py" else [])        # empty
    return real(source, filename, *given, **more)
import zipimport
zipimport.compile = builtins.compile = count
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import import_once
import_once.install()
import_once.install()
assert sum(type(one).__name__ == "_Once" for one in sys.meta_path) == 1
compiled.clear()
from ansible_collections.gpuhost.tuning.plugins.module_utils._other import two
from ansible_collections.gpuhost.tuning.plugins.module_utils._room import one
print(dict(compiled), one.__file__.rpartition("/")[2], two.up)
"""


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "payload.zip"
    with zipfile.ZipFile(path, "w") as made:
        folders = PACKAGE.split("/")
        for depth in range(1, len(folders) + 1):
            made.writestr("/".join([*folders[:depth], "__init__.py"]), "")
        for room in ("_host", "_room", "_other"):
            made.writestr(f"{PACKAGE}/{room}/__init__.py", "")
        finder = "_host/import_once.py"
        made.write(REPOSITORY / "plugins" / "module_utils" / finder, f"{PACKAGE}/{finder}")
        made.writestr(f"{PACKAGE}/_room/one.py",
                      "from .._other import two\n\n\ndef fall():\n    raise ValueError(two.up)  # here\n")
        made.writestr(f"{PACKAGE}/_other/two.py", "up = 'two'\n")
    return path


def python(archive, program):
    return subprocess.run([sys.executable, "-c", program, str(archive)], check=False, capture_output=True, text=True)


def test_each_file_is_compiled_once(archive):
    done = python(archive, COUNTING)
    assert done.stdout == "{'two.py': 1, 'one.py': 1} one.py two\n", done.stderr


def test_without_it_python_compiles_twice(archive):
    """Should this fail with a newer Python, it is the time to drop the file."""
    done = python(archive, COUNTING.replace("import_once.install()\n", "").replace("\nassert", "\n#"))
    assert done.stdout == "{'two.py': 2, 'one.py': 2} one.py two\n", done.stderr


def test_a_traceback_shows_the_line(archive):
    falling = "\nimport traceback\ntry:\n    one.fall()\nexcept ValueError:\n    traceback.print_exc()\n"
    done = python(archive, COUNTING + falling)
    assert "raise ValueError(two.up)  # here" in done.stderr
    assert 'payload.zip/ansible_collections/gpuhost/tuning/plugins/module_utils/_room/one.py", line 5' in done.stderr


def test_a_file_that_is_not_there_is_an_import_error(archive):
    done = python(archive, f"{COUNTING}\nfrom {PACKAGE.replace('/', '.')}._room import three\n")
    assert "cannot import name 'three'" in done.stderr


def test_plain_files_are_left_to_python():
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host import import_once

    before = list(sys.meta_path)
    import_once.install()
    assert sys.meta_path == before
