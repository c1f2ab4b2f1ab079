# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The excerpt of a report in README counts what an audit of that host counts."""
from __future__ import annotations

import re

from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import summary

from checkout import REPOSITORY
from hosts.story_before import story_before
from hosts.tree import Tree
from verdicts import judged

_COUNTS = re.compile(
    r"^(\d+) things to do \((.*)\) in (\d+) places, (\d+) passed, (\d+) not applicable, (\d+) unknown$", re.MULTILINE)


def test_the_counts_are_those_of_the_host(tmp_path):
    tree = story_before(Tree(tmp_path / "pve1"))
    found = summary(judged(collect(Host(str(tree.root)), [])).values())
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    things, by_priority, places, passed, left_out, unknown = _COUNTS.search(readme).groups()
    assert (int(things), int(places)) == (sum(found["things"].values()), sum(found["places"].values()))
    assert by_priority == ", ".join(f"{count} {priority}" for priority, count in found["things"].items() if count)
    assert (int(passed), int(left_out), int(unknown)) == tuple(
        found["verdicts"][verdict] for verdict in ("pass", "not_applicable", "unknown"))
