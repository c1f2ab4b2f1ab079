# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from check_checks import main

CHECK = """\
- id: my_swappiness
  title: Swapping is rare
  topic: memory
  priority: P2
  actual: 'host.sysctl."vm.swappiness"'
  expect: {{op: at_most, value: {limit}, type: int}}
  why: Pages of the model must stay in memory.
  evidence: kernel_doc
  sources: [Documentation/admin-guide/sysctl/vm.rst]
  takes_effect: at_once
  fix: {{class: none}}
  examples:
    pass: {{sysctl: {{vm.swappiness: {{status: ok, value: "1"}}}}}}
    fail: {{sysctl: {{vm.swappiness: {{status: ok, value: "60"}}}}}}
"""


@pytest.fixture
def checks(tmp_path):
    def write(text):
        path = tmp_path / "mine.yml"
        path.write_text(text)
        return str(path)
    return write


def test_examples_that_hold(checks, capsys):
    assert main([checks(CHECK.format(limit=10))]) is None
    assert capsys.readouterr().out == ("my_swappiness: example pass: as it should be\n"
                                       "my_swappiness: example fail: as it should be\n")


def test_an_example_that_does_not_hold(checks, capsys):
    assert main([checks(CHECK.format(limit=100))]) == "1 wrong"
    assert "my_swappiness: example fail: wrong: found pass (" in capsys.readouterr().out


def test_a_check_without_examples_is_no_proof(checks, capsys):
    assert main([checks(CHECK.format(limit=10).partition("  examples:")[0])]) is None
    assert "my_swappiness: no examples" in capsys.readouterr().out


def test_a_misspelt_name_is_named(checks):
    message = main([checks(CHECK.format(limit=10).replace("vm.swappiness\"'", "vm.swapiness\"'"))])
    assert "actual: there is no 'vm.swapiness' in host.sysctl: did you mean 'vm.swappiness'?" in message


def test_no_file():
    assert main([]).startswith("wanted: FILES=")
