# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils import _nvidia_smi as smi
from ansible_collections.gpuhost.tuning.plugins.module_utils import _program
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import Host

from hosts.nvidia import Gpu, smi_xml

ODD = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <timestamp>Sun Nov 29 18:30:00 2026</timestamp>
  <driver_version>575.57.08</driver_version>
  <gpu id="00000000:F4:00.0">
    <minor_number>N/A</minor_number>
    <persistence_mode>[N/A]</persistence_mode>
    <fb_memory_usage><total>Insufficient Permissions</total></fb_memory_usage>
    <performance_state>Unknown Error</performance_state>
    <utilization><gpu_util>[Not Supported]</gpu_util></utilization>
    <processes>N/A</processes>
  </gpu>
  <gpu id="00010000:01:00.0"><fb_memory_usage><total> 81559 MiB </total></fb_memory_usage></gpu>
  <gpu id="no address"><pci><pci_bus_id>00000000:0A:00.0</pci_bus_id></pci></gpu>
  <gpu id="no address at all"/>
</nvidia_smi_log>
"""
NOTHING = {"minor": None, "memory_mib": None, "bar1_mib": None, "pstate": None, "persistence": None,
           "utilization": None, "processes": None}


def test_gpus_under_the_kernels_addresses():
    parsed = smi.parse(smi_xml([Gpu("0000:f4:00.0", 4, utilization=37, processes=2, pstate="P0")], "570.133.20"))
    assert parsed == {
        "state": "ok", "reason": None, "driver_version": "570.133.20",
        "gpus": [{"bdf": "0000:f4:00.0", "minor": 4, "memory_mib": 97887, "bar1_mib": 131072, "pstate": "P0",
                  "persistence": "Enabled", "utilization": 37, "processes": 2}]}


def test_fields_that_are_missing_or_say_nothing():
    parsed = smi.parse(ODD)
    assert parsed["driver_version"] == "575.57.08"
    assert parsed["gpus"] == [
        {"bdf": "0000:f4:00.0", **NOTHING},
        {"bdf": "10000:01:00.0", **NOTHING, "memory_mib": 81559},
        {"bdf": "0000:0a:00.0", **NOTHING}]


@pytest.mark.parametrize("text", [
    "", "No devices were found", "<nvidia_smi_log><gpu id='1'>", "<other/>", "\0\0",
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>'])
def test_what_is_no_such_xml(text):
    assert smi.parse(text) is None


SAFE = {"state": "live", "control_node": True, "missing_nodes": [], "gone": [], "asleep": []}


@pytest.mark.parametrize(("change", "words"), [
    ({"state": "absent"}, "the nvidia module is absent"),
    ({"state": "coming"}, "the nvidia module is coming"),
    ({"control_node": False}, "/dev/nvidiactl is missing"),
    ({"gone": ["0000:41:00.0"]}, "0000:41:00.0 reads all ones"),
    ({"asleep": ["0000:01:00.0"]}, "0000:01:00.0 is suspended"),
    ({"missing_nodes": ["/dev/nvidia3"]}, "/dev/nvidia3 is missing"),
])
def test_when_it_must_not_run(change, words):
    assert smi.reason_not_to_run(**SAFE) is None
    assert words in smi.reason_not_to_run(**{**SAFE, **change})


def test_a_reason_keeps_it_from_running(tree, host):
    tree.program("nvidia-smi.xml", smi_xml([Gpu("0000:01:00.0", 0)], "570.133.20"))
    assert smi.read(host, None)["state"] == "ok"
    assert smi.read(host, "because") == {"state": "not_run", "reason": "because", "driver_version": None, "gpus": []}


def test_nothing_recorded_is_absent(host):
    assert smi.read(host, None)["state"] == "absent"


def test_recorded_complaint(tree, host):
    tree.program("nvidia-smi.xml", "Failed to initialize NVML: Unknown Error\n")
    fact = smi.read(host, None)
    assert (fact["state"], fact["reason"]) == ("failed", "no XML: Failed to initialize NVML: Unknown Error")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a script in the place of nvidia-smi; the real one, if there is one, is out of reach."""
    def put(script):
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(_program, "PATH", str(program.parent))
        return program
    return put


def test_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(_program, "PATH", str(tmp_path))
    assert smi.read(Host(), None)["state"] == "absent"


def test_arguments_and_output(stand_in):
    stand_in('test "$*" = "-q -x" || exit 3\n'
             'echo "<nvidia_smi_log><driver_version>1.2</driver_version></nvidia_smi_log>"')
    assert smi.read(Host(), None) == {"state": "ok", "reason": None, "driver_version": "1.2", "gpus": []}


def test_library_of_another_version(stand_in):
    """A-32: both lines of the complaint are kept, the second one names the library."""
    stand_in('echo "Failed to initialize NVML: Driver/library version mismatch"\n'
             'echo "NVML library version: 575.57"\nexit 18')
    fact = smi.read(Host(), None)
    assert fact["state"] == "failed"
    assert "Driver/library version mismatch" in fact["reason"]
    assert "NVML library version: 575.57" in fact["reason"]


def test_it_never_returns_and_its_child_holds_the_pipe(stand_in, monkeypatch):
    """A-87: ended at the limit, with its children, and told apart from a failure."""
    monkeypatch.setattr(smi, "TIME_LIMIT", 0.4)
    stand_in("sleep 300 &\nsleep 300")
    started = time.monotonic()
    fact = smi.read(Host(), None)
    assert time.monotonic() - started < 15
    assert (fact["state"], fact["gpus"]) == ("timeout", [])
    assert "0.4 s" in fact["reason"]


def test_child_outside_its_group_keeps_the_pipe_open(stand_in, monkeypatch):
    """A-87: killing the group does not reach it, so the pipe stays open; we go on all the same."""
    monkeypatch.setattr(_program, "GRACE", 0.3)
    stand_in("setsid sleep 8 &\necho '<nvidia_smi_log/>'")
    started = time.monotonic()
    assert smi.read(Host(), None)["state"] == "ok"
    assert time.monotonic() - started < 6
