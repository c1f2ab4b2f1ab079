# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.device import (
    acs_of,
    express_of,
    find_sleeper,
    look_at_links,
    read_config,
    read_power,
    resizable_bars_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hosts.config_space import ConfigSpace, all_ones, gpu_space, root_port_space
from hosts.pci import plant_device, plant_gpu, plant_root_port, plant_switch, suspend, write_config

GPU = "0000:01:00.0"
ROOT = "0000:00:01.1"


class WatchedHost(Host):
    """Remembers what was opened, and how much of it was read."""

    def __init__(self, sysroot):
        super().__init__(sysroot)
        self.opened = []

    def read_bytes(self, path, *args, **kwargs):
        self.opened.append(path)
        return super().read_bytes(path, *args, **kwargs)

    def read_at(self, path, offset, size):
        self.opened.append((path, offset, size))
        return super().read_at(path, offset, size)


@pytest.fixture
def watched(tree):
    return WatchedHost(str(tree.root))


@pytest.fixture
def gpu(tree):
    plant_root_port(tree, ROOT)
    return plant_gpu(tree, GPU, parent=ROOT, config=gpu_space(acs=0x0000))


def opened_config(host):
    return [seen for seen in host.opened if "config" in str(seen)]


def test_power_of_a_device_that_runs(gpu, host):
    power = read_power(host, GPU)
    assert {name: reading.value for name, reading in power.items()} == {
        "state": "D0", "runtime_status": "active", "control": "on"}


@pytest.mark.parametrize("status, state, asleep", [
    ("active", "D0", False), ("suspended", "D3hot", True), ("suspended", "D3cold", True), ("suspending", "D0", True),
    ("active", "D3cold", True), ("unsupported", "D0", False), ("active", "unknown", False),
])
def test_who_sleeps(tree, host, status, state, asleep):
    plant_device(tree, GPU, runtime_status=status, power_state=state)
    assert find_sleeper(host, GPU) == (GPU if asleep else None)


def test_a_kernel_without_power_management_has_nobody_asleep(tree, host):
    tree.file(f"/sys/bus/pci/devices/{GPU}/config", gpu_space().bytes())
    assert find_sleeper(host, GPU) is None
    assert read_config(host, GPU).ok


@pytest.mark.parametrize("state", ["D3hot", "D3cold"])
def test_a_suspended_device_is_not_woken(tree, gpu, watched, state):
    suspend(tree, GPU, state)
    reading = read_config(watched, GPU)
    assert (reading.status, reading.value) == ("asleep", None)
    assert GPU in reading.detail
    assert opened_config(watched) == []


def test_a_suspended_port_is_not_woken_by_reading_what_lies_below(tree, watched):
    plant_root_port(tree, ROOT)
    below = plant_switch(tree, "0000:02:00.0", ["0000:03:00.0"], parent=ROOT)
    plant_gpu(tree, "0000:04:00.0", parent=below[0])
    suspend(tree, "0000:02:00.0", "D3hot")
    assert read_config(watched, "0000:04:00.0").status == "asleep"
    assert read_config(watched, "0000:03:00.0").status == "asleep"
    assert read_config(watched, ROOT).ok
    assert {seen[0] for seen in opened_config(watched)} == {f"/sys/bus/pci/devices/{ROOT}/config"}


def test_power_is_read_once_a_device(gpu, watched):
    known = {}
    read_config(watched, GPU, known)
    read_config(watched, ROOT, known)
    files = [seen for seen in watched.opened if isinstance(seen, str) and "power" in seen]
    assert len(files) == len(set(files)) == 6


def test_the_registers_of_a_gpu(gpu, host):
    config = read_config(host, GPU)
    assert express_of(config).value["max_read_request"] == 512
    assert acs_of(config).value["request_redirect"] is False
    assert resizable_bars_of(config).value[0]["size"] == 128 << 30


def test_only_registers_that_a_decoder_knows_are_read(gpu, watched):
    assert len(read_config(watched, GPU).value) == 4096
    beyond = sorted((offset, size) for _path, offset, size in opened_config(watched) if offset >= 0x100)
    # Headers of Secondary PCI Express, Resizable BAR, AER and ACS, the bodies of the second and the fourth, and the
    # question whether there is anything at all.
    assert beyond == [(0x100, 4), (0x100, 4), (0x12C, 4), (0x12C, 52), (0x1B8, 4), (0x200, 4), (0x200, 8)]


def test_case_A55_a_device_that_fell_off_is_gone(tree, gpu, host):
    write_config(tree, GPU, all_ones())
    config = read_config(host, GPU)
    assert config.status == "gone"
    assert "all ones" in config.detail
    assert [decode(config).status for decode in (express_of, acs_of, resizable_bars_of)] == ["gone"] * 3
    assert express_of(config).value is None


def test_a_virtual_function_whose_ids_are_all_ones_is_there(tree, gpu, host):
    """SR-IOV specification, 3.4.1.1: Vendor and Device ID of a virtual function read FFFFh."""
    write_config(tree, GPU, gpu_space().put(0x00, 0xFFFFFFFF, 4))
    assert read_config(host, GPU).status == "ok"
    assert express_of(read_config(host, GPU)).value["max_read_request"] == 512


def test_without_root_it_is_denied(tree, gpu, host):
    write_config(tree, GPU, gpu_space().bytes(64))
    config = read_config(host, GPU)
    assert (config.status, express_of(config).status, acs_of(config).status) == ("denied", "denied", "denied")
    assert "needs root" in config.detail


def test_a_gone_device_is_gone_without_root_too(tree, gpu, host):
    write_config(tree, GPU, all_ones(64))
    assert read_config(host, GPU).status == "gone"


@pytest.mark.parametrize("length", [0, 1, 63, 65, 255])
def test_a_cut_file_is_unparsable(tree, gpu, host, length):
    write_config(tree, GPU, gpu_space().bytes(length))
    assert read_config(host, GPU).status == "unparsable"


def test_a_missing_device_is_absent(host):
    assert read_config(host, GPU).status == "absent"


def test_a_conventional_device_has_no_express_and_no_acs(tree, host):
    plant_device(tree, GPU, config=ConfigSpace(size=256).power_management())
    config = read_config(host, GPU)
    assert (express_of(config).status, express_of(config).detail) == (
        "unparsable", "no PCI Express capability in its list")
    assert (acs_of(config).status, acs_of(config).value) == ("ok", None)
    assert (resizable_bars_of(config).status, resizable_bars_of(config).value) == ("ok", [])


def test_an_express_device_whose_extended_space_is_out_of_reach(tree, host):
    plant_device(tree, GPU, config=root_port_space(acs=0x001D).bytes(256))
    config = read_config(host, GPU)
    assert express_of(config).ok
    assert (acs_of(config).status, resizable_bars_of(config).status) == ("absent", "absent")


def test_no_acs_is_a_value(tree, host):
    plant_device(tree, GPU, config=root_port_space(acs=None))
    assert acs_of(read_config(host, GPU)) == ("ok", None, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.builds(lambda head, body: gpu_space().bytes(head) + body,
                                                    st.integers(0, 256), st.binary(min_size=3840, max_size=4096))))
def test_a_config_file_of_any_bytes_is_read_to_an_end(tree, host, content):
    tree.file(f"/sys/bus/pci/devices/{GPU}/config", content)
    config = read_config(host, GPU)
    assert config.status in ("ok", "gone", "denied", "unparsable")
    assert all(decode(config).status in ("ok", "gone", "denied", "unparsable", "absent")
               for decode in (express_of, acs_of, resizable_bars_of))
    if config.ok:
        # What was picked out register by register decodes as the whole file does.
        whole = config._replace(value=content[:4096])
        assert [decode(config) for decode in (express_of, acs_of)] == [decode(whole) for decode in (express_of, acs_of)]


# -- links over a while -----------------------------------------------------------------------------------------------


class ChangingHost(Host):
    """Its GPU shows another link at each look: `(speed code | lanes << 4)`; None is an error."""

    looks = ()

    def read_at(self, path, offset, size):
        assert (offset, size) == (0x72, 2)          # Link Status of a capability at 0x60, and nothing else
        status, self.looks = self.looks[0], self.looks[1:]
        if status is None:
            raise OSError(5, "Input/output error")
        return status.to_bytes(2, "little")


@pytest.fixture
def naps(monkeypatch):
    """The pauses that were made."""
    made = []
    monkeypatch.setattr("time.sleep", made.append)
    return made


def look(tree, *looks):
    plant_gpu(tree, GPU, parent=plant_root_port(tree, ROOT))
    host = ChangingHost(str(tree.root))
    host.looks = looks
    return look_at_links(host, {GPU: 0x60}, len(looks))


def test_case_A52_several_looks_give_the_least_and_the_greatest(tree, naps):
    found = look(tree, 0x101, 0x105, 0x105, 0x102)          # Gen1, Gen5, Gen5, Gen2 with sixteen lanes
    assert found == {GPU: {"looks": 4, "changes": 2, "min_speed_gts": 2.5, "max_speed_gts": 32.0, "min_width": 16,
                           "max_width": 16}}
    assert naps == [0.05] * 3


def test_lanes_that_come_and_go(tree, naps):
    assert look(tree, 0x105, 0x085)[GPU]["min_width"] == 8


def test_looks_without_an_answer_do_not_count(tree, naps):
    assert look(tree, 0xFFFF, None, 0x105)[GPU]["looks"] == 1
    assert look(tree, 0xFFFF, None) == {}


def test_a_speed_without_a_known_code(tree, naps):
    found = look(tree, 0x107)[GPU]
    assert (found["min_speed_gts"], found["max_speed_gts"], found["max_width"]) == (None, None, 16)


def test_looks_are_bounded(tree, naps):
    plant_gpu(tree, GPU, parent=plant_root_port(tree, ROOT))
    assert look_at_links(Host(str(tree.root)), {GPU: 0x60}, 100000)[GPU]["looks"] == 100
    assert look_at_links(Host(str(tree.root)), {GPU: 0x60}, -1) == {}


def test_one_that_falls_asleep_between_two_looks_is_not_woken(tree, monkeypatch):
    plant_gpu(tree, GPU, parent=plant_root_port(tree, ROOT))
    watched = WatchedHost(str(tree.root))
    monkeypatch.setattr("time.sleep", lambda seconds: suspend(tree, GPU))
    assert look_at_links(watched, {GPU: 0x60}, 3)[GPU]["looks"] == 1
    assert [opened for opened in watched.opened if "config" in str(opened)] == [
        (f"/sys/bus/pci/devices/{GPU}/config", 0x72, 2)]
