# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/find-python.sh: the first Python that works, and a message a person can act on where there is none."""
from __future__ import annotations

import pathlib

import pytest


def python(checkout, path: str, version: str, venv: bool = True) -> pathlib.Path:
    """A stand-in for an interpreter of that version, with or without the modules that make environments."""
    return checkout.program(path, f"""case $2 in
*version_info*) echo {version} ;;
*ensurepip*) exit {0 if venv else 1} ;;
*sys.executable*) echo {checkout.folder}/{path} ;;
esac""")


@pytest.fixture
def find(checkout):
    # Without the machine's own Pythons: those folders are part of the script.
    script = checkout.folder / "tools" / "find-python.sh"
    script.write_text(script.read_text().replace("/usr/local/bin /usr/bin", ""))
    return lambda *versions, **environment: checkout.run("find-python.sh", *versions, **environment)


def test_the_first_version_asked_for_wins(checkout, find):
    python(checkout, "bin/python3.13", "3.13")
    python(checkout, "bin/python3.11", "3.11")
    assert find("3.11", "3.13").stdout == f"{checkout.folder}/bin/python3.11\n"
    assert find("3.13", "3.11").stdout == f"{checkout.folder}/bin/python3.13\n"


def test_a_shim_that_starts_nothing_is_passed_over(checkout, find):
    checkout.program("bin/python3.11", 'echo "pyenv: python3.11: command not found" >&2; exit 127')
    python(checkout, "bin/python3.12", "3.12")
    assert find("3.11", "3.12").stdout == f"{checkout.folder}/bin/python3.12\n"


def test_pyenv_folders_are_looked_into(checkout, find):
    python(checkout, ".pyenv/versions/3.12.1/bin/python3.12", "3.12")
    assert find("3.12").stdout == f"{checkout.folder}/.pyenv/versions/3.12.1/bin/python3.12\n"


def test_python3_will_do_whatever_it_is_called(checkout, find):
    python(checkout, "bin/python3", "3.12")
    assert find("3.11", "3.12").stdout == f"{checkout.folder}/bin/python3\n"


def test_a_python_without_venv_names_the_package(checkout, find):
    python(checkout, "bin/python3", "3.11", venv=False)
    done = find("3.11", "3.12")
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install python3-venv" in done.stderr


def test_an_old_python_is_named(checkout, find):
    python(checkout, "bin/python3", "3.9")
    done = find("3.11", "3.12")
    assert done.returncode == 1
    assert done.stderr.startswith("No Python 3.11, 3.12 found (python3 is 3.9).")


def test_no_python_at_all(find):
    done = find("3.11")
    assert done.returncode == 1
    assert done.stderr == "No Python 3.11 found. Install one, or name it: make PYTHON=/path/to/python3.11\n"


def test_a_python_that_was_named_is_the_only_one(checkout, find):
    python(checkout, "bin/python3.11", "3.11")
    python(checkout, "mine/python", "3.12")
    named = f"{checkout.folder}/mine/python"
    assert find("3.11", "3.12", PYTHON=named).stdout == f"{named}\n"
    refused = find("3.11", PYTHON=named)
    assert refused.returncode == 1
    assert refused.stderr == f"PYTHON={named} is not one of: Python 3.11\n"
