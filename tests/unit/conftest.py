# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every unit test may use. The collection becomes importable only after this file was read."""
from __future__ import annotations

import os
import pathlib
import shutil

import hypothesis
import pytest

# What decides about a change is the same every time; whoever runs the tests by hand tries new examples each time.
hypothesis.settings.register_profile("same_every_time", derandomize=True)
if os.environ.get("GPUHOST_CI"):
    hypothesis.settings.load_profile("same_every_time")

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path):
    """A planted host with nothing on it but the id of its boot, without which nothing is written."""
    from hosts.tree import Tree

    return Tree(tmp_path / "host").file("/proc/sys/kernel/random/boot_id", "boot-1")


@pytest.fixture
def host(tree):
    """The Host that reads `tree`."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

    return Host(str(tree.root))


@pytest.fixture(scope="session")
def built_standin(tmp_path_factory):
    from requirement import need
    from standin.cuda import build

    need(shutil.which("gcc"), "gcc compiles the stand-in for the CUDA driver library")
    return build(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def standin(built_standin, tmp_path):
    """A stand-in for the CUDA driver library, of this test alone."""
    from standin.cuda import Standin

    return Standin(built_standin, tmp_path)


@pytest.fixture(scope="session")
def field_files():
    """The folder of public field material, where this machine has it."""
    folder = pathlib.Path(os.environ.get("GPUHOST_CASES") or REPOSITORY.parent / "shared" / "cases") / "files"
    if not folder.is_dir():
        pytest.skip("the public field files are not on this machine (GPUHOST_CASES names their folder)")
    return folder


@pytest.fixture(scope="session")
def facts_of(tmp_path_factory):
    """The facts of a planted host, by the function that plants it: each is planted and read once."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
    from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

    from hosts.tree import Tree

    known = {}

    def facts(plant):
        if plant not in known:
            tree = Tree(tmp_path_factory.mktemp("planted", numbered=True))
            plant(tree)
            known[plant] = collect(Host(str(tree.root)), [])
        return known[plant]

    return facts
