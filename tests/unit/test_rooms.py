# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the shared code: each is a private folder, and imports lead to the rooms that stand above it here.

A room that is new, or an arrow that is, has a line in this table and one in ARCHITECTURE.md.
"""
from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict

import pytest

from checkout import REPOSITORY

PLUGINS = REPOSITORY / "plugins"
ON_TARGETS = {      # room: what it may import, each of them above it
    "_one_file": "",
    "_redaction": "",
    "_host": "",
    "_kernel": "_host",
    "_pci": "_host _kernel",
    "_system": "_host _kernel _pci",
    "_pve": "_host _kernel _pci",
    "_guest_config": "_host _kernel _pve",
    "_placement": "_host _kernel _pve",
    "_tunables": "_redaction _host _kernel _pci _pve",
    "_boot_order": "_host _kernel _tunables",
    "_change": "_host _tunables",
    "_nvidia": "_host _kernel _pci _change",
    "_kinds": "_host _kernel _pci _system _pve _placement _tunables _change _nvidia",
    "_boot": "_one_file _host _pci _tunables _change _kinds",
    "_persist": "_one_file _host _system _tunables _boot_order _change _kinds _boot",
    "_facts": "_one_file _redaction _host _kernel _pci _system _pve _placement _tunables _boot_order _nvidia _boot "
              "_persist",
    "_recording": "_one_file _redaction _host _facts",
    "_workload": "_host _kernel _pci _pve _change _nvidia",
    "_bandwidth": "_host _kernel _pci _pve _change _nvidia _kinds",
}
ON_THE_CONTROLLER = {
    "_ansible": "module_utils._one_file",
    "_render": "",
    "_statistics": "",
    "_answers": "_render",
    "_derive": "_render module_utils._kernel module_utils._boot_order module_utils._nvidia module_utils._pci",
    "_expressions": "_render",
    "_records": "_render",
    "_placement": "_render _derive _records module_utils._kernel module_utils._tunables",
    "_action": "_ansible _render _answers _records",
    "_intake": "_records module_utils._kernel module_utils._nvidia module_utils._pci module_utils._system",
    "_checks": "_derive _expressions module_utils._tunables",
    "_plan": "_render _derive _records _checks module_utils._boot_order module_utils._change module_utils._tunables",
    "_bandwidth": "_render _derive _records _checks module_utils._bandwidth module_utils._pci",
    "_benchmark": "_render _expressions _records _checks module_utils._redaction module_utils._host "
                  "module_utils._workload",
    "_experiment": "_render _statistics _records _plan _benchmark module_utils._redaction module_utils._change "
                   "module_utils._tunables",
    "_rollout": "_render _records _plan",
    "_report": "_render _expressions _statistics _derive _records _placement _checks _bandwidth _benchmark _experiment",
    "_compare": "_render _expressions _records _checks _report",
    "_fleet": "_render _derive _records _checks _rollout _report _compare",
    "_watch": "_render _records _checks _report",
    "_audit": "_render _expressions _records _placement _checks _plan _rollout _report _fleet",
}
DATA = {"catalogue", "schemas", "fleet_page"}
ROOMS = {"module_utils": ON_TARGETS, "plugin_utils": ON_THE_CONTROLLER}


def imported(path):
    """What a file below plugins/ imports of the shared code: `module_utils._pci`, once for each import."""
    package = path.relative_to(PLUGINS).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[:len(package) - node.level + 1], *(node.module or "").split(".")]
            named = [part for part in base if part]
            targets = [named] if len(named) > 1 else [[*named, alias.name] for alias in node.names]
            yield from (".".join(target[:2]) for target in targets)


@functools.cache
def arrows(section):
    """`{room: the other rooms that its files import}`."""
    found = defaultdict(set)
    for path in (PLUGINS / section).rglob("*.py"):
        room = path.relative_to(PLUGINS / section).parts[0]
        found[room] |= {name.removeprefix(f"{section}.") for name in imported(path)} - {room}
    return found


@pytest.mark.parametrize("section", ROOMS)
def test_imports_are_those_of_the_table(section):
    table = {room: set(allowed.split()) for room, allowed in ROOMS[section].items()}
    assert dict(arrows(section)) == table


@pytest.mark.parametrize("section", ROOMS)
def test_the_table_leads_up_only(section):
    """So there is no circle between rooms."""
    above = set()
    for room, allowed in ROOMS[section].items():
        assert {name for name in allowed.split() if not name.startswith("module_utils.")} <= above, room
        above.add(room)
    words = " ".join(ON_THE_CONTROLLER.values()).split()
    others = {name.partition(".")[2] for name in words if "." in name}
    assert others <= set(ON_TARGETS)


@pytest.mark.parametrize("section", ROOMS)
def test_no_file_lies_beside_the_rooms(section):
    found = [entry for entry in (PLUGINS / section).iterdir() if entry.name != "__pycache__"]
    assert [entry.name for entry in found if not entry.is_dir()] == []
    assert {entry.name for entry in found} - DATA == set(ROOMS[section])


@pytest.mark.parametrize("section", ROOMS)
def test_a_room_is_small_enough_to_look_around_in(section):
    sizes = {room: len(list((PLUGINS / section / room).glob("*.py"))) for room in ROOMS[section]}
    assert {room: size for room, size in sizes.items() if size > 40} == {}


@pytest.mark.parametrize("section", ROOMS)
def test_architecture_says_of_every_room_what_it_knows(section):
    text = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    part = re.search(rf"^### `plugins/{section}`.*?(?=^##)", text, re.MULTILINE | re.DOTALL)[0]
    assert re.findall(r"^\| `(_\w+)` \|", part, re.MULTILINE) == list(ROOMS[section])


def files_behind(*rooms):
    """All files of rooms of plugin_utils and of the rooms that they import, directly or not."""
    todo, seen = {f"plugin_utils.{room}" for room in rooms}, set()
    while todo:
        name = todo.pop()
        seen.add(name)
        section, _dot, room = name.partition(".")
        found = {other if "." in other else f"{section}.{other}" for other in arrows(section)[room]}
        todo |= found - seen
    return [path for name in seen for path in (PLUGINS / name.replace(".", "/")).rglob("*.py")]


def test_the_engine_of_checks_imports_nothing_of_ansible():
    """So tools/ansible-tests.sh --brief may leave out its tests."""
    names = defaultdict(set)
    for path in files_behind("_checks", "_expressions"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names[path] |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names[path].add(node.module.partition(".")[0])
    assert PLUGINS / "plugin_utils/_checks/judge.py" in names
    assert [path for path, found in names.items() if found & {"ansible", "ansible_collections"}] == []
