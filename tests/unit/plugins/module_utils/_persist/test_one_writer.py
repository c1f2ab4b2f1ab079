# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Below /etc and /usr one room writes, called by one module, and only the files of its list."""
from __future__ import annotations

import ast
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.files import Files
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.paths import EVERY_PATH

from checkout import REPOSITORY
from hosts.persisting import snapshot

PLUGINS = REPOSITORY / "plugins"
# What may be read by others: none of these writes.
READERS = {"ledger", "paths"}
WRITES = {"write", "pwrite", "rename", "replace", "unlink", "remove", "mkdir", "makedirs", "symlink", "link", "rmdir",
          "truncate", "ftruncate", "chmod", "fchmod", "chown", "mkfifo", "mknod"}


def imports(path):
    """Dotted names that a file imports from module_utils, as written."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ([node.module] if "." in node.module.replace("module_utils.", "")
                        else [f"{node.module}.{name.name}" for name in node.names])


def test_only_the_module_imports_the_writer():
    found = {}
    for path in PLUGINS.rglob("*.py"):
        inside = str(path.relative_to(PLUGINS))
        for name in imports(path):
            part = re.search(r"(?:^|\.)_persist\.(\w+)", name)
            if part and part[1] not in READERS and not inside.startswith("module_utils/_persist/"):
                found.setdefault(inside, set()).add(part[1])
    assert set(found) <= {"modules/persisted.py"}


def test_what_others_may_import_writes_nothing():
    for name in READERS:
        tree = ast.parse((PLUGINS / "module_utils/_persist" / f"{name}.py").read_text(encoding="utf-8"))
        called = {node.func.attr for node in ast.walk(tree)
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
        assert not called & WRITES


def test_no_other_code_of_a_host_names_a_place_below_etc_or_usr_and_makes_files():
    """Files of a host are made in two places: /run/gpuhost, and the list."""
    makers = set()
    for path in (PLUGINS / "module_utils").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("O_CREAT", "makedirs", "mkdir", "symlink", "rename"):
                makers.add(str(path.relative_to(PLUGINS / "module_utils")))
    assert makers == {"_host/run_folder.py", "_change/hung_gpus.py", "_change/journal.py", "_boot/outcome.py",
                      "_persist/files.py", "_persist/folders.py", "_persist/ledger_place.py"}


@pytest.mark.parametrize("path", ["/etc/sysctl.conf", "/etc/sysctl.d/99-gpuhost.conf", "/etc/passwd",
                                  "/usr/local/lib/gpuhost/other", "/etc/sysctl.d/../passwd"])
def test_a_path_that_is_not_of_the_list_is_never_written(tree, path):
    files = Files(Host(str(tree.root)))
    before = snapshot(tree)
    for call in (lambda: files.put(path, b"x"), lambda: files.remove(path), lambda: files.look(path)):
        with pytest.raises(ValueError, match="is not a file of gpuhost"):
            call()
    assert snapshot(tree) == before


def test_the_list_is_the_documented_one():
    assert set(EVERY_PATH) == {
        "/etc/sysctl.d/90-gpuhost.conf", "/etc/systemd/system/gpuhost-boot.service",
        "/etc/systemd/system/multi-user.target.wants/gpuhost-boot.service", "/etc/udev/rules.d/90-gpuhost.rules",
        "/usr/local/lib/gpuhost/gpuhost-boot.pyz", "/usr/local/lib/gpuhost/boot.json",
        "/var/lib/gpuhost/persisted.json"}


def test_a_folder_without_the_marker_is_never_written(tree):
    (tree.root / ".gpuhost-sysroot").unlink()
    before = snapshot(tree)
    files = Files(Host(str(tree.root)))
    for call in (lambda: files.put(EVERY_PATH[0], b"x"), lambda: files.remove(EVERY_PATH[0]), files.sweep):
        with pytest.raises(OSError, match="a directory without it is never written"):
            call()
    assert snapshot(tree) == before
