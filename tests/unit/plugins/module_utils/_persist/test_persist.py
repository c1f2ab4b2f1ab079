# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written, in which words, and what a second run, an edit and a removal make of it."""
from __future__ import annotations

import configparser
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import zipfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist import persist as room
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist import texts
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.ledger import parse_ledger, read_ledger
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.paths import (
    ENABLED,
    FILES,
    LEDGER,
    PLAN,
    PROGRAM,
    RULE,
    SYSCTLS,
    UNIT,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.persist import Refusal, persist, remove

from hosts.persisting import GPUS, KSM, THP, VALUES, persisting, snapshot
from requirement import need


@pytest.fixture
def planted(tree):
    return persisting(tree)


def make(tree, values=None, **options):
    return persist(Host(str(tree.root)), VALUES if values is None else values, run_id=options.pop("run_id", "r"),
                   **options)


def take_out(tree, **options):
    return remove(Host(str(tree.root)), run_id="gone", **options)


def unit_of(tree):
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(tree.path(UNIT).read_text())
    return parser


def test_every_file_begins_with_how_to_remove_it_by_hand(planted):
    make(planted)
    for path in (SYSCTLS, UNIT, RULE):
        head = planted.path(path).read_text()
        assert head.startswith("# Written by the Ansible collection gpuhost.tuning, playbook persist.yml")
        removed = re.findall(r"^#     rm -r?f (.*)$", head, re.MULTILINE)
        named = [word for line in removed for word in line.split()]
        assert all(any(f"{one}/".startswith(f"{word}/") for word in named) for one in (*FILES, LEDGER))
    with zipfile.ZipFile(planted.path(PROGRAM)) as program:
        assert b"rm -rf /usr/local/lib/gpuhost /var/lib/gpuhost" in program.read("__main__.py")
    assert json.loads(planted.path(PLAN).read_text())["about"] == list(texts.HEADER)


def test_removed_by_hand_as_the_header_says_nothing_is_left(planted):
    before = snapshot(planted)
    make(planted)
    for line in re.findall(r"^#     (rm .*)$", planted.path(UNIT).read_text(), re.MULTILINE):
        words = [f"{planted.root}{word}" if word.startswith("/") else word for word in line.split()]
        subprocess.run(words, check=True)
    assert snapshot(planted) == before
    assert not take_out(planted).changed


def test_sysctls_in_the_order_that_the_kernel_needs(planted):
    make(planted, {"sysctl": {"vm.dirty_bytes": 1 << 30, "vm.dirty_ratio": 0, "vm.swappiness": 10,
                              "net.core.rmem_max": {"at_least": 65536}}})
    lines = [line for line in planted.path(SYSCTLS).read_text().splitlines() if line and not line.startswith("#")]
    # 0 would be refused for the one and clear the other; what is more than the lower bound stays.
    assert lines == ["vm.dirty_bytes = 1073741824", "vm.swappiness = 10", "net.core.rmem_max = 212992"]


def test_the_unit(planted):
    make(planted)
    unit = unit_of(planted)
    assert unit["Unit"]["After"].split() == ["systemd-modules-load.service", "nvidia-persistenced.service"]
    assert unit["Unit"]["Before"].split() == ["pve-guests.service", "docker.service", "containerd.service",
                                              "libvirt-guests.service"]
    assert unit["Service"]["Type"] == "oneshot"
    assert unit["Service"]["ExecStart"].endswith(f"/python3 -I -B {PROGRAM}")
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert os.readlink(planted.path(ENABLED)) == "../gpuhost-boot.service"
    assert planted.path(ENABLED).resolve() == planted.path(UNIT).resolve()


def test_on_a_node_of_proxmox_it_comes_behind_the_cluster(planted):
    planted.file("/usr/lib/systemd/system/pve-cluster.service")
    make(planted)
    assert unit_of(planted)["Unit"]["After"].split()[-1] == "pve-cluster.service"


def test_systemd_and_udev_take_the_unit_and_the_rule(planted):
    """By the programs of systemd themselves, where this machine has them."""
    need(shutil.which("systemd-analyze"), "systemd-analyze, which reads units")
    make(planted)
    planted.path("/tmp").mkdir(exist_ok=True)
    folder = planted.path("/tmp")
    text = planted.path(UNIT).read_text()
    (folder / "gpuhost-boot.service").write_text(re.sub(r"^ExecStart=.*", "ExecStart=/bin/true", text, flags=re.M))
    done = subprocess.run(["systemd-analyze", "verify", folder / "gpuhost-boot.service"], capture_output=True,
                          text=True, check=False)
    assert "gpuhost-boot" not in done.stderr
    if shutil.which("udevadm") and "verify" in subprocess.run(["udevadm", "--help"], capture_output=True, text=True,
                                                              check=False).stdout:
        subprocess.run(["udevadm", "verify", planted.path(RULE)], check=True, capture_output=True)


def test_the_rule_only_asks_for_the_service(planted):
    make(planted)
    rule = planted.path(RULE).read_text().split("\n\n", 1)[1].replace("\\\n", "")
    keys = [re.split(r"[=!+]", part.strip(), maxsplit=1)[0] for part in rule.split(",")]
    assert keys == ["ACTION", "SUBSYSTEM", "ATTR{class}", "DRIVER", "TAG", "ENV{SYSTEMD_WANTS}"]


def test_only_what_needs_a_driver_has_a_rule(planted):
    make(planted, {"sysfs": {THP: "never"}})
    assert not planted.path(RULE).exists()
    assert planted.path(UNIT).exists()
    make(planted, {"pcie_maxreadreq": {GPUS[0]: 1024}})
    assert planted.path(RULE).exists()


def test_the_plan_knows_the_device_that_it_is_for(planted):
    make(planted)
    values = json.loads(planted.path(PLAN).read_text())["values"]
    assert values == {"sysfs": {THP: "madvise", KSM: "0"},
                      "pcie_maxreadreq": {GPUS[0]: {"set": 4096, "identity": "10de:2bb5 10de:204e a1"}}}


def test_the_ledger(planted):
    make(planted, run_id="20261201T050000Z-abcd")
    ledger = read_ledger(Host(str(planted.root))).value
    assert ledger["run_id"] == "20261201T050000Z-abcd"
    assert ledger["values"]["pcie_maxreadreq"] == {GPUS[0]: 4096}
    assert ledger["baseline"] == {"sysctl": {"vm.swappiness": "60", "kernel.numa_balancing": "1"},
                                  "sysfs": {THP: "always", KSM: "1"}, "pcie_maxreadreq": {GPUS[0]: 512}}
    for path, entry in ledger["files"].items():
        if path != ENABLED:
            assert entry["sha256"] == hashlib.sha256(planted.path(path).read_bytes()).hexdigest()
            assert planted.path(path).stat().st_mode & 0o7777 == int(entry["mode"], 8) == 0o644
    assert set(ledger["files"]) == set(FILES)


@pytest.mark.parametrize("change", [
    {"schema": "gpuhost.persisted/2"}, {"files": None}, {"next": 5}, {"folders": {}}, {"values": "x"}])
def test_a_ledger_that_is_none_is_not_taken(planted, change):
    make(planted)
    document = json.loads(planted.path(LEDGER).read_text()) | change
    with pytest.raises(ValueError, match=r"not what it should be|is not gpuhost"):
        parse_ledger(json.dumps(document))


def test_the_baseline_is_what_was_there_first(planted):
    make(planted, {"sysctl": {"vm.swappiness": 10}})
    planted.sysctl("vm.swappiness", 10)         # as it is after the next boot
    done = make(planted, {"sysctl": {"vm.swappiness": 5}})
    assert done.ledger["baseline"] == {"sysctl": {"vm.swappiness": "60"}}
    assert done.differing == [{"address": "sysctl:vm.swappiness", "now": "10", "value": "5"}]


def test_a_second_run_changes_nothing(planted):
    make(planted, run_id="first")
    before = snapshot(planted)
    done = make(planted, run_id="second")
    assert (done.changed, done.diff, {one["outcome"] for one in done.files}) == (False, [], {"unchanged"})
    assert done.ledger["run_id"] == "first"
    assert snapshot(planted) == before


def test_check_mode_writes_nothing_and_shows_whole_files(planted):
    before = snapshot(planted)
    done = make(planted, check_mode=True)
    assert snapshot(planted) == before
    assert done.changed
    shown = {one["after_header"]: one["after"] for one in done.diff}
    assert set(shown) == set(FILES)
    assert all(one["before"] == "" for one in done.diff)
    make(planted)
    assert shown[SYSCTLS] == planted.path(SYSCTLS).read_text()
    assert shown[ENABLED] == "link to ../gpuhost-boot.service\n"
    assert " gpuhost/_boot/command.py\n" in shown[PROGRAM]
    gone = take_out(planted, check_mode=True)
    assert gone.changed
    assert {one["before_header"]: one["before"] for one in gone.diff} == shown
    assert planted.path(UNIT).exists()


def test_a_mode_that_somebody_changed_is_put_right(planted):
    make(planted)
    planted.path(SYSCTLS).chmod(0o666)
    assert make(planted).changed
    assert planted.path(SYSCTLS).stat().st_mode & 0o777 == 0o644


def test_a_file_that_somebody_removed_is_written_again(planted):
    make(planted)
    planted.path(UNIT).unlink()
    done = make(planted)
    assert {one["path"]: one["outcome"] for one in done.files}[UNIT] == "written"
    assert planted.path(UNIT).exists()


def test_an_edited_file_stays_and_the_rest_goes(planted):
    bare = snapshot(planted)
    make(planted)
    planted.path(UNIT).write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(Refusal, match=f"{UNIT} was edited: nothing was written"):
        make(planted, {"sysctl": {"vm.swappiness": 1}})
    done = take_out(planted)
    assert done.kept == [f"{UNIT} was edited"]
    left = {path for path in snapshot(planted) if path not in bare}
    assert left == {UNIT, "/var/lib/gpuhost", LEDGER}
    again = take_out(planted)
    assert (again.changed, again.kept) == (False, [f"{UNIT} was edited"])
    planted.path(UNIT).unlink()
    assert take_out(planted).changed
    assert snapshot(planted) == bare


def test_a_link_in_the_place_of_a_file_of_ours_is_left(planted):
    make(planted)
    planted.file("/srv/theirs", "keep")
    planted.path(UNIT).unlink()
    planted.link(UNIT, "/srv/theirs")
    done = take_out(planted)
    assert done.kept == [f"{UNIT} is a link"]
    assert planted.path("/srv/theirs").read_text() == "keep\n"


def test_a_folder_of_ours_that_others_use_by_now_stays(planted):
    make(planted)
    planted.file("/usr/local/lib/gpuhost/notes.txt", "theirs").file("/var/lib/gpuhost/notes.txt", "theirs")
    take_out(planted)
    assert planted.path("/usr/local/lib/gpuhost/notes.txt").read_text() == "theirs\n"
    assert sorted(os.listdir(planted.path("/var/lib/gpuhost"))) == ["notes.txt"]


def test_a_newer_collection_replaces_the_files_of_an_older_one(planted, monkeypatch):
    monkeypatch.setattr(room, "VERSION", "0.9.0")
    monkeypatch.setattr(texts, "_program", lambda: b"an older program")
    make(planted)
    monkeypatch.undo()
    assert read_ledger(Host(str(planted.root))).value["version"] == "0.9.0"
    done = make(planted)
    assert {one["path"] for one in done.files if one["outcome"] == "written"} == {PROGRAM}
    assert done.ledger["version"] == room.VERSION
    assert zipfile.is_zipfile(io.BytesIO(planted.path(PROGRAM).read_bytes()))


def test_whatever_the_umask(planted):
    before = os.umask(0o077)
    try:
        make(planted)
    finally:
        os.umask(before)
    assert planted.path("/usr/local/lib/gpuhost").stat().st_mode & 0o777 == 0o755
    assert planted.path("/var/lib/gpuhost").stat().st_mode & 0o777 == 0o755
    assert planted.path(LEDGER).stat().st_mode & 0o777 == 0o644
