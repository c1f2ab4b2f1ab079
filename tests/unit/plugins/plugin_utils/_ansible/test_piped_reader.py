# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.piped_reader import (
    SOURCES,
    answer,
    bare,
    script,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take_packed

from hosts.story_before import GPUS, story_before


def run(**options):
    """The script as a host's Python gets it, and what it makes of the answer."""
    given = {"sysroot": "/", "tunables": [], "link_samples": 0, **options}
    done = subprocess.run([sys.executable, "-I", "-S", "-"], input=script(given), text=True, capture_output=True,
                          check=False)
    return answer(done.returncode, done.stdout, done.stderr)


def test_a_python_without_installed_packages_reads_a_host(tree):
    story_before(tree).file("/sys/class/dmi/id/product_name", "H14DSG \"O\" \\ \u2028 \u00e4\n")
    facts = take_packed(run(sysroot=str(tree.root), tunables=["sysctl:vm.laptop_mode"])["facts_packed"])
    assert [gpu["bdf"] for gpu in facts["gpus"]] == list(GPUS)
    assert facts["firmware"]["product_name"]["value"] == 'H14DSG "O" \\ \\u2028 \u00e4'
    assert list(facts["tunables"]) == ["sysctl:vm.laptop_mode"]


def test_what_host_info_refuses_is_refused_with_its_words(tmp_path):
    found = run(sysroot=str(tmp_path / 'no "\u00e9" folder'))
    assert found["failed"]
    assert 'no "\u00e9" folder' in found["msg"]


def test_it_is_less_than_a_third_of_a_module():
    """A module of this collection has 460,000 bytes, a ping 177,000."""
    assert len(script({"sysroot": "/", "tunables": [], "link_samples": 0})) < 150_000


def test_what_only_people_read_is_left_out_and_lines_keep_their_numbers():
    text = '"""Says."""\nVALUE = """\n# kept\n"""\n\n# left out\ndef one():\n    """Says."""\n    return 1  # kept\n'
    assert bare(text) == '\nVALUE = """\n# kept\n"""\n\n\ndef one():\n    pass\n    return 1  # kept\n'


def test_a_class_of_nothing_but_its_docstring_stays_one():
    text = 'class Odd(ValueError):\n    """Says\n    # more.\n    """\n'
    assert bare(text) == "class Odd(ValueError):\n    pass\n\n\n"


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_of_every_source_only_docstrings_are_left_out(path):
    text = path.read_text(encoding="utf-8")
    compile(bare(text), path.name, "exec", dont_inherit=True)
    assert without_docstrings(bare(text)) == without_docstrings(text)


def without_docstrings(text):
    """The syntax tree without docstrings and without `pass`, which stands in for some."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            described = ast.get_docstring(node, clean=False) is not None
            node.body = [part for part in node.body[described:] if not isinstance(part, ast.Pass)]
    return ast.dump(tree)


def test_only_what_reading_needs_is_sent():
    given = {"sysroot": "/", "tunables": [], "link_samples": 0}
    program = script(given).replace("print(answer)", "print('gpuhost-error ' + json.dumps(' '.join(sorted(SOURCES))))")
    done = subprocess.run([sys.executable, "-I", "-S", "-"], input=program, text=True, capture_output=True, check=True)
    sent = answer(0, done.stdout, "")["msg"].split()
    assert {"gpuhost", "gpuhost._facts.collect", "gpuhost._pci.gpus"} <= set(sent)
    assert not {"gpuhost._change.setter", "gpuhost._recording.recorder", "gpuhost._bandwidth"} & set(sent)


@pytest.mark.parametrize(("status", "output", "errors", "message"), [
    (127, "", "sh: 1: /opt/python: not found\n", "ended with status 127: sh: 1: /opt/python: not found"),
    (1, "", "a\nb\nc\nSyntaxError: invalid syntax\n", "status 1: b / c / SyntaxError: invalid syntax"),
    (0, "", "", "status 0: no output"),
    (0, "This account is not available.\n", "", "status 0: This account is not available."),
])
def test_a_host_that_does_not_answer_is_a_failure_that_says_why(status, output, errors, message):
    found = answer(status, output, errors)
    assert found["failed"]
    assert message in found["msg"]


def test_what_a_login_prints_before_is_passed_over():
    assert answer(0, "Welcome to pve1\n\ngpuhost-facts eJw=\n", "") == {"facts_packed": "eJw="}
