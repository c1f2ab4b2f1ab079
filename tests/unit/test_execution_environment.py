# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-builder understands the definition of the execution environment, and finds what the collection needs."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest
import yaml

from checkout import REPOSITORY


@pytest.fixture
def context(tmp_path) -> pathlib.Path:
    """The build context that ansible-builder writes, of a checkout in which the collection was built."""
    pytest.importorskip("ansible_builder", reason="ansible-builder comes with requirements/dev.txt")
    definition = (REPOSITORY / "execution-environment.yml").read_text(encoding="utf-8")
    tarball = tmp_path / yaml.safe_load(definition)["additional_build_files"][0]["src"]
    tarball.parent.mkdir()
    tarball.write_bytes(b"stands for the built collection")
    shutil.copy(REPOSITORY / "execution-environment.yml", tmp_path)
    builder = pathlib.Path(sys.executable).with_name("ansible-builder")
    subprocess.run([str(builder), "create", "-f", "execution-environment.yml", "-c", "context"], cwd=tmp_path,
                   check=True, capture_output=True)
    return tmp_path / "context"


def test_the_collection_is_installed_from_the_file(context):
    wanted = yaml.safe_load((context / "_build" / "requirements.yml").read_text())["collections"]
    [collection] = wanted
    assert collection["type"] == "file"
    assert (context / "_build" / collection["name"]).read_bytes() == b"stands for the built collection"


def test_ansible_core_is_one_that_is_supported(context):
    [recipe] = [*context.glob("Containerfile"), *context.glob("Dockerfile")]
    assert "ansible-core>=2.19,<2.22" in recipe.read_text()


def test_the_collection_names_its_own_requirements():
    named = yaml.safe_load((REPOSITORY / "meta" / "execution-environment.yml").read_text())["dependencies"]
    assert named == {"python": "meta/ee-requirements.txt", "system": "meta/ee-bindep.txt"}
    assert all((REPOSITORY / path).is_file() for path in named.values())
