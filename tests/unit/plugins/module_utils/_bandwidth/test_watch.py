# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.watch import HEAT_INTERVAL, Watch, parse_heat
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading

from hosts.nvidia import Gpu, smi_xml

A = "0000:01:00.0"
BOOT = "[    1.000000] Linux version 6.8.12-9-pve\n"
OLD = "[   99.000000] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def quiet(tree):
    tree.kernel_log(BOOT + OLD).program("nvidia-smi.xml", smi_xml([(A, 0)], "570.133.20"))
    return tree


def hot(**temperatures):
    lines = "".join(f"<{name}>{value}</{name}>" for name, value in temperatures.items())
    return f'<nvidia_smi_log><gpu id="00000000:01:00.0"><temperature>{lines}</temperature></gpu></nvidia_smi_log>'


def test_what_happened_before_is_no_trouble(host, quiet):
    assert Watch(host, heat=True).trouble() is None


@pytest.mark.parametrize("number", [13, 31, 79, 119])
def test_any_new_xid_is(host, quiet, number):
    watch = Watch(host, heat=False)
    quiet.kernel_log(BOOT + OLD + f"[  200.500000] NVRM: Xid (PCI:0000:01:00): {number}, new\n")
    assert watch.trouble() == (
        f"the driver reported Xid {number} on 0000:01:00: NVRM: Xid (PCI:0000:01:00): {number}, new")


def test_the_same_error_once_more_is_new(host, quiet):
    watch = Watch(host, heat=False)
    quiet.kernel_log(BOOT + OLD + OLD.replace("99.000000", "199.000000"))
    assert "Xid 79 on 0000:41:00" in watch.trouble()


def test_a_log_that_goes_away(host, quiet):
    watch = Watch(host, heat=False)
    quiet.remove("/recorded/kmsg.txt")
    assert "the kernel log can no longer be read" in watch.trouble()


def test_a_log_that_cannot_be_read_at_all(host, tree):
    assert "the kernel log cannot be read" in Watch(host, heat=False).blind


def test_nvidia_smi_is_asked_at_once_and_then_now_and_again(host, quiet):
    clock = Clock()
    watch = Watch(host, heat=True, clock=clock)
    assert watch.trouble() is None
    quiet.program("nvidia-smi.xml", hot(gpu_temp="96 C", gpu_temp_slow_threshold="96 C"))
    assert watch.trouble() is None
    clock.now += HEAT_INTERVAL
    assert watch.trouble() == f"{A} is at 96 degrees Celsius, and throttles at 96"


def test_where_nvidia_smi_must_not_run_it_is_not_asked(host, quiet):
    quiet.program("nvidia-smi.xml", hot(gpu_temp="99 C", gpu_temp_slow_threshold="96 C"))
    assert Watch(host, heat=False).trouble() is None


def test_nvidia_smi_that_does_not_answer(host, quiet, monkeypatch):
    silent = Reading("unparsable", None, "timeout: nvidia-smi did not end")
    monkeypatch.setattr(host, "run", lambda *_args, **_named: silent)
    assert Watch(host, heat=True).trouble() == "nvidia-smi failed: timeout: nvidia-smi did not end"


@pytest.mark.parametrize("temperatures, message", [
    ({"gpu_temp": "95 C", "gpu_temp_slow_threshold": "96 C"}, []),
    ({"gpu_temp": "97 C", "gpu_temp_slow_threshold": "96 C"}, [f"{A} is at 97 degrees Celsius, and throttles at 96"]),
    ({"gpu_temp": "97 C", "gpu_temp_slow_threshold": "N/A"}, []),
    ({"gpu_temp": "60 C", "gpu_temp_tlimit": "25 C", "gpu_temp_slow_tlimit_threshold": "-2 C"}, []),
    ({"gpu_temp": "89 C", "gpu_temp_tlimit": "-2 C", "gpu_temp_slow_tlimit_threshold": "-2 C"},
     [f"{A} is 2 degrees Celsius above its limit, and throttles at 2"]),
    ({}, []),
])
def test_degrees(temperatures, message):
    assert parse_heat(hot(**temperatures)) == message


def test_clocks_that_heat_lowers():
    for reason in ("hw_thermal_slowdown", "sw_thermal_slowdown"):
        assert parse_heat(smi_xml([Gpu(A, 0, smi={"reasons": (reason,)})], "570.133.20")) == [
            f"{A} lowers its clocks because of its temperature ({reason})"]
    assert parse_heat(smi_xml([Gpu(A, 0, smi={"reasons": ("gpu_idle", "sw_power_cap")})], "530.1.1")) == []


@pytest.mark.parametrize("text", ["", "no devices were found", "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", "<gpu"])
def test_what_is_no_answer_is_no_heat(text):
    assert parse_heat(text) == []
