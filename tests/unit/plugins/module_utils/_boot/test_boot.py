# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpuhost-boot as systemd runs it: one file, on a host that was set up and booted since."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot import command
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot.outcome import merge, read_outcome
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot.plan import PLAN, parse_plan, read_plan
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import pair_lines, plan_back
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._persist.persist import persist
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables import maxreadreq

from hosts.config_space import gpu_space
from hosts.pci import bind, write_config
from hosts.persisting import GPUS, KSM, THP, VALUES, persisting
from pythons import VERSIONS, find_python

PROGRAM = "/usr/local/lib/gpuhost/gpuhost-boot.pyz"
OUTCOME = "/run/gpuhost/boot.json"


@pytest.fixture
def booted(tree):
    """A host with VALUES made last, in its next boot: nothing is set yet."""
    persisting(tree)
    persist(Host(str(tree.root)), VALUES, run_id="r")
    return tree.file("/proc/sys/kernel/random/boot_id", "c7d1e0f2-0b5e-4a50-8b8b-1f6f6f0a9e11")


def boot(tree, python=sys.executable):
    return subprocess.run([python, "-I", "-S", "-B", tree.path(PROGRAM), "--sysroot", str(tree.root)],
                          capture_output=True, text=True, check=False)


def outcome(tree):
    return json.loads(tree.path(OUTCOME).read_text())


def changes(tree):
    return {change["address"]: (change["before"], change["after"], change["outcome"])
            for change in outcome(tree)["changes"]}


def test_everything_but_sysctls_is_set_and_told(booted):
    done = boot(booted)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"sysfs:{THP}: changed: always -> madvise\n" in done.stdout
    assert changes(booted) == {f"sysfs:{THP}": ("always", "madvise", "changed"), f"sysfs:{KSM}": ("1", "0", "changed"),
                               f"pcie_maxreadreq:{GPUS[0]}": (512, 4096, "changed")}
    assert booted.path("/proc/sys/vm/swappiness").read_text() == "60\n"
    assert maxreadreq.read(Host(str(booted.root)), GPUS[0]).value == 4096
    document = outcome(booted)
    assert (document["schema"], document["boot_id"], document["run_id"], document["error"]) == (
        "gpuhost.boot/1", "c7d1e0f2-0b5e-4a50-8b8b-1f6f6f0a9e11", "boot-c7d1e0f2", None)
    assert oct(booted.path(OUTCOME).stat().st_mode & 0o777) == "0o600"


def test_the_journal_knows_the_way_back(booted):
    boot(booted)
    lines = read_journal(Host(str(booted.root))).value
    assert {line["run"] for line in lines} == {"boot-c7d1e0f2"}
    plan = plan_back(pair_lines(lines), "c7d1e0f2-0b5e-4a50-8b8b-1f6f6f0a9e11")
    assert plan.restore["sysfs"][THP]["set"] == "always"
    assert plan.restore["pcie_maxreadreq"][GPUS[0]] == {
        "set": 512, "only_from": 4096, "identity": "10de:2bb5 10de:204e a1", "restores": True}


def test_started_again_it_writes_nothing_and_still_tells_what_it_did(booted):
    boot(booted)
    first, lines = changes(booted), booted.path("/run/gpuhost/journal.jsonl").read_text()
    done = boot(booted)
    assert (done.returncode, changes(booted)) == (0, first)
    assert booted.path("/run/gpuhost/journal.jsonl").read_text() == lines


def test_what_an_earlier_boot_did_is_not_told_again(booted):
    boot(booted)
    booted.file("/proc/sys/kernel/random/boot_id", "11111111-0b5e-4a50-8b8b-1f6f6f0a9e11")
    boot(booted)
    assert {entry[2] for entry in changes(booted).values()} == {"unchanged"}


def test_a_device_that_is_not_there_is_no_failure(booted):
    shutil.rmtree(booted.path(f"/sys/bus/pci/devices/{GPUS[0]}").resolve())
    booted.path(f"/sys/bus/pci/devices/{GPUS[0]}").unlink()
    done = boot(booted)
    assert done.returncode == 0
    change = next(one for one in outcome(booted)["changes"] if one["address"].startswith("pcie"))
    assert (change["outcome"], change["reason"].split(":")[0]) == ("refused", "absent")


def test_another_device_at_the_address_is_never_written(booted):
    config = bytearray(gpu_space().bytes())
    config[0x02:0x04] = (0x2684).to_bytes(2, "little")
    write_config(booted, GPUS[0], bytes(config))
    done = boot(booted)
    assert done.returncode == 1
    assert "refused: 512 -> 512: another device: found 10de:2684" in done.stdout
    assert booted.path(f"/sys/bus/pci/devices/{GPUS[0]}/config").read_bytes() == bytes(config)


def test_a_gpu_of_a_vm_is_refused_and_the_rest_is_set(booted):
    bind(booted, GPUS[0], "vfio-pci")
    done = boot(booted)
    assert done.returncode == 1
    assert "vfio-pci" in done.stdout
    assert changes(booted)[f"sysfs:{THP}"][2] == "changed"


@pytest.mark.parametrize(("text", "message"), [
    (None, "absent"), ("", "Expecting value"), ("[]", "its schema is None"), ('{"schema": "x"}', "its schema is 'x'"),
    ('{"schema": "gpuhost.boot_plan/1", "values": {"sysctl": {}}}', "'sysctl' is none of sysfs, module"),
    ('{"schema": "gpuhost.boot_plan/1", "values": {"sysfs": {"/sys/a": true}}}', "sysfs:/sys/a: true is a boolean"),
])
def test_a_plan_that_is_none_is_said_and_nothing_is_set(booted, text, message):
    booted.path(PLAN).unlink() if text is None else booted.path(PLAN).write_text(text)
    done = boot(booted)
    assert done.returncode == 1
    assert message in done.stderr
    assert message in outcome(booted)["error"]
    assert booted.path(THP).read_text() == "[always] madvise never\n"
    assert not booted.path("/run/gpuhost/journal.jsonl").exists()


def test_a_folder_without_the_marker_is_never_written(booted):
    booted.path("/.gpuhost-sysroot").unlink()
    done = boot(booted)
    assert done.returncode == 1
    assert "a directory without it is never written" in done.stderr
    assert booted.path(THP).read_text() == "[always] madvise never\n"
    assert not booted.path("/run/gpuhost").exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_of_a_host_runs_it(booted, version):
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    done = boot(booted, python)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(changes(booted)) == 3


def test_an_outcome_that_is_a_link_is_not_followed(booted):
    booted.file("/srv/theirs", "keep")
    booted.folder("/run/gpuhost").path("/run/gpuhost").chmod(0o700)
    booted.link(OUTCOME, os.path.join(booted.root, "srv/theirs"))
    assert boot(booted).returncode == 0
    assert booted.path("/srv/theirs").read_text() == "keep\n"
    assert not booted.path(OUTCOME).is_symlink()


def test_the_kinds_are_set_in_the_order_of_a_tune():
    plan = {"schema": "gpuhost.boot_plan/1", "values": {"pcie_maxreadreq": {GPUS[0]: 512}, "module": {
        "nvidia_peermem": "present"}, "sysfs": {KSM: "0"}}}
    assert list(parse_plan(json.dumps(plan))) == ["sysfs", "module", "pcie_maxreadreq"]


def outcomes(passed):
    return {change["address"]: (change["before"], change["after"], change["outcome"]) for change in passed.changes}


def test_what_appears_late_is_set_and_what_was_set_before_is_still_told(booted, host, monkeypatch):
    booted.path(KSM).unlink()
    monkeypatch.setattr(command.time, "sleep",
                        lambda _seconds: booted.path(KSM).exists() or booted.path(KSM).write_text("1\n"))
    passed = command.settle(host, read_plan(host), "boot-1", patience=60)
    assert outcomes(passed) == {f"sysfs:{THP}": ("always", "madvise", "changed"), f"sysfs:{KSM}": ("1", "0", "changed"),
                                f"pcie_maxreadreq:{GPUS[0]}": (512, 4096, "changed")}
    assert (passed.absent, passed.failed()) == (set(), [])


def test_what_never_appears_ends_the_wait(booted, host, monkeypatch):
    booted.path(KSM).unlink()
    waits = []
    monkeypatch.setattr(command.time, "sleep", waits.append)
    monkeypatch.setattr(command.time, "monotonic", lambda: len(waits))
    passed = command.settle(host, read_plan(host), "boot-1", patience=3)
    assert len(waits) == 3
    assert passed.absent == {f"sysfs:{KSM}"}
    assert outcomes(passed)[f"sysfs:{THP}"] == ("always", "madvise", "changed")


def test_a_driver_that_is_bound_meanwhile_makes_it_look_again(booted, host, monkeypatch):
    bind(booted, GPUS[0], None)
    go_over, passes = command.go_over, []

    def bound_behind_the_first(*given):
        passed = go_over(*given)
        if not passes:
            bind(booted, GPUS[0], "nvidia")
            write_config(booted, GPUS[0], gpu_space())      # a driver that sets its device up
        passes.append(passed)
        return passed
    monkeypatch.setattr(command, "go_over", bound_behind_the_first)
    monkeypatch.setattr(command.time, "sleep", lambda _seconds: None)
    passed = command.settle(host, read_plan(host), "boot-1", patience=0)
    assert len(passes) == 2
    assert outcomes(passed)[f"pcie_maxreadreq:{GPUS[0]}"] == (512, 4096, "changed")
    assert maxreadreq.read(Host(str(booted.root)), GPUS[0]).value == 4096


def test_a_value_that_somebody_changed_meanwhile_is_told_as_it_is():
    made = {"address": "a", "outcome": "changed", "before": 1, "after": 2}
    now = {"address": "a", "outcome": "unchanged", "before": 3, "after": 3}
    assert merge([made], [now]) == [now]
    assert merge([made], [{**now, "after": 2}]) == [made]
    assert merge([], [now]) == [now]


def test_an_outcome_is_read_as_it_was_written(booted, host):
    assert read_outcome(host).status == "absent"
    boot(booted)
    assert read_outcome(host).value["run_id"] == "boot-c7d1e0f2"
    booted.path(OUTCOME).write_text("{}")
    assert read_outcome(host).status == "unparsable"
