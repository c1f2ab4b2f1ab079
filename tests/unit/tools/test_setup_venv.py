# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/setup-venv.sh: one environment, set up once, and anew only where something changed."""
from __future__ import annotations

import pytest


@pytest.fixture
def source(checkout):
    """A checkout with three locks and a Python whose environments hold a stand-in for pip."""
    for lock in ("run", "test", "dev"):
        checkout.file(f"requirements/{lock}.txt", f"{lock}==1\n")
    checkout.program("bin/chmod", 'exec /bin/chmod "$@"')
    checkout.program("bin/python3.11", f"""case "$1 $2" in
"-c "*version_info*) echo 3.11 ;;
"-c "*sys.executable*) echo {checkout.folder}/bin/python3.11 ;;
"-m venv") mkdir -p "$4/bin"; cp {checkout.folder}/bin/python.in "$4/bin/python"; chmod +x "$4/bin/python" ;;
esac""")
    checkout.program("bin/python.in")
    return checkout


def setup(source, lock, **environment):
    done = source.run("setup-venv.sh", ".venv", lock, "3.11", **environment)
    assert done.returncode == 0, done.stderr
    return done


def installs(source):
    return [words for words in source.calls("python.in") if "[install]" in words]


def test_packages_come_with_hashes(source):
    setup(source, "run")
    assert installs(source) == ["[-m] [pip] [install] [-qq] [--disable-pip-version-check] [--require-hashes] [-r] "
                                "[requirements/run.txt]"]


def test_the_second_time_nothing_is_done_or_said(source):
    setup(source, "run")
    assert setup(source, "run").stdout == ""
    assert len(installs(source)) == 1


def test_a_larger_lock_holds_the_smaller_ones(source):
    setup(source, "dev")
    assert setup(source, "run").stdout == setup(source, "test").stdout == ""
    assert len(installs(source)) == 1


def test_a_changed_lock_is_installed_into_the_same_environment(source):
    setup(source, "run")
    source.file("requirements/run.txt", "run==2\n")
    setup(source, "run")
    assert len(installs(source)) == 2
    assert sum("[venv]" in words for words in source.calls("python3.11")) == 1


def test_an_environment_whose_python_is_gone_is_made_anew(source):
    setup(source, "run")
    source.program(".venv/bin/python", "exit 127")
    setup(source, "run")
    assert len(installs(source)) == 2


def test_a_failed_install_is_not_taken_for_done(source):
    source.program("bin/python.in", 'case "$3" in install) exit 1 ;; esac')
    assert source.run("setup-venv.sh", ".venv", "run", "3.11").returncode == 1
    source.program("bin/python.in")
    source.program(".venv/bin/python")
    setup(source, "run")
    assert not source.run("setup-venv.sh", ".venv", "run", "3.11").stdout
