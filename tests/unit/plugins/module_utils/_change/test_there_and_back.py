# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the host and whatever the plan: what was predicted happens, and the way back leads to where it began."""
from __future__ import annotations

import pathlib
import tempfile

from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.config_space import ConfigSpace, all_ones
from hosts.cpu import CPUFREQ, plant_frequency, plant_idle, policy_path
from hosts.memory import THP, plant_thp
from hosts.pci import DEVICES, plant_gpu, plant_root_port, suspend
from hosts.setters import apply_values, file_bytes, read_everything, restore_values
from hosts.tree import Tree

GPUS = ("0000:01:00.0", "0000:41:00.0", "10000:01:00.0")
BRACKETED = ("transparent_hugepage/enabled", "transparent_hugepage/defrag", "transparent_hugepage/shmem_enabled")
KEYS = {"vm.swappiness": (0, 250), "kernel.numa_balancing": (0, 5), "kernel.nmi_watchdog": (0, 1),
        "kernel.watchdog": (0, 1), "kernel.soft_watchdog": (0, 1), "vm.max_map_count": (0, 1 << 20),
        "net.core.rmem_max": (0, 1 << 26)}
PAIRS = (("vm.dirty_ratio", "vm.dirty_bytes"), ("vm.dirty_background_ratio", "vm.dirty_background_bytes"))
TRIPLES = st.lists(st.integers(1, 1 << 24), min_size=3, max_size=3)
SIZES = (128, 256, 512, 1024, 2048, 4096)


@st.composite
def sysctls(draw):
    """`{key: text}` of a host; a pair has one face or none, never both."""
    found = {key: str(draw(st.integers(*limits))) for key, limits in KEYS.items() if draw(st.booleans())}
    for ratio, face in PAIRS:
        which = draw(st.sampled_from(("ratio", "face", "neither", "absent")))
        if which != "absent":
            found[ratio] = str(draw(st.integers(1, 100))) if which == "ratio" else "0"
            found[face] = str(draw(st.integers(8192, 1 << 30))) if which == "face" else "0"
    if draw(st.booleans()):
        found["net.ipv4.tcp_rmem"] = "\t".join(map(str, draw(TRIPLES)))
    return found


@st.composite
def devices(draw):
    """`{address: (capability, size, condition)}`"""
    return {gpu: (draw(st.sampled_from((0x60, 0x68, 0x78, 0x80))), draw(st.sampled_from(SIZES)),
                  draw(st.sampled_from(("fine", "fine", "fine", "vfio", "asleep", "gone", "ignored"))))
            for gpu in GPUS if draw(st.booleans())}


@st.composite
def wishes(draw):
    """Values of all kinds, not all of which a host can take."""
    sysctl = {key: draw(st.integers(*limits)) for key, limits in KEYS.items() if draw(st.booleans())}
    for ratio, face in PAIRS:
        name = draw(st.sampled_from((ratio, face, None)))
        if name is not None:
            sysctl[name] = draw(st.integers(0, 100)) if name == ratio else draw(st.integers(0, 1 << 30))
    if draw(st.booleans()):
        sysctl["net.ipv4.tcp_rmem"] = " ".join(map(str, draw(TRIPLES)))
    if draw(st.booleans()):
        sysctl["net.core.rmem_max"] = {"at_least": draw(st.integers(0, 1 << 26))}
    sysfs = draw(st.dictionaries(st.sampled_from(sorted(SYSFS)), st.none(), max_size=len(SYSFS)))
    sysfs = {path: draw(st.sampled_from(SYSFS[path])) for path in sysfs}
    pcie = {gpu: draw(st.sampled_from(SIZES)) for gpu in GPUS if draw(st.booleans())}
    return {"sysctl": sysctl, "sysfs": sysfs, "pcie_maxreadreq": pcie}


SYSFS = {
    f"{CPUFREQ}/policy*/scaling_governor": ("performance", "powersave", "turbo"),
    f"{CPUFREQ}/policy*/energy_performance_preference": ("performance", "balance_power", "power"),
    policy_path(1, "scaling_max_freq"): ("3300000", "2000000", "9900000"),
    policy_path(1, "scaling_min_freq"): ("1500000", "2500000"),
    f"{CPUFREQ}/boost": ("0", "1", "2"), f"{THP}/enabled": ("always", "madvise", "never", "maybe"),
    f"{THP}/defrag": ("defer+madvise", "never"), f"{THP}/khugepaged/defrag": ("0", "1"),
    "/sys/devices/system/cpu/cpu*/cpuidle/state2/disable": ("0", "1"), "/sys/kernel/mm/ksm/run": ("0", "1", "2"),
}


@st.composite
def hosts(draw):
    """A function that plants one host."""
    keys, gpus = draw(sysctls()), draw(devices())
    fields = draw(st.sampled_from((
        {"driver": "acpi-cpufreq", "governor": "schedutil", "boost": 0},
        {"driver": "amd-pstate-epp", "governor": "powersave", "epp": "balance_performance", "boost": None},
        {"driver": "amd-pstate-epp", "governor": "performance", "epp": "performance", "boost": 1})))
    chosen = draw(st.sampled_from(("always", "madvise", "never")))
    read_only = draw(st.sets(st.sampled_from(sorted(KEYS)), max_size=2))

    def plant(root):
        tree = Tree(pathlib.Path(root))
        for key, text in {**keys, "kernel.random.boot_id": "boot-1"}.items():
            tree.sysctl(key, text)
            if key in read_only:
                tree.path("/proc/sys/" + key.replace(".", "/")).chmod(0o444)
        plant_frequency(tree, range(2), **fields)
        plant_idle(tree, range(2))
        plant_thp(tree, enabled=chosen)
        tree.file("/sys/kernel/mm/ksm/run", 0)
        for number, (gpu, (offset, size, condition)) in enumerate(gpus.items()):
            port = plant_root_port(tree, f"{gpu.split(':')[0]}:{0x80 + number:02x}:01.1")
            space = ConfigSpace().power_management(0x40).express(offset, max_read_request=size)
            plant_gpu(tree, gpu, parent=port, config=all_ones() if condition == "gone" else space,
                      driver="vfio-pci" if condition == "vfio" else "nvidia")
            if condition == "asleep":
                suspend(tree, gpu)
        return PlantedHost(root, {f"{DEVICES}/{gpu}/config" for gpu, one in gpus.items() if one[2] == "ignored"})

    return plant


class PlantedHost(Host):
    """A host whose named files take writes and stay as they are."""

    def __init__(self, root, ignored):
        super().__init__(root)
        self.ignored = ignored
        self.count = 0

    def _write(self, path, data, flags, offset):
        self.count += 1
        if path not in self.ignored:
            super()._write(path, data, flags, offset)


NAMES = {"sysctl": [*KEYS, *(key for pair in PAIRS for key in pair), "net.ipv4.tcp_rmem"], "sysfs": sorted(SYSFS)}


@settings(max_examples=60, deadline=None)
@given(plant=hosts(), values=wishes(), on_refusal=st.sampled_from(("keep", "undo", "report")))
def test_apply_then_restore_is_identity_and_was_predicted(plant, values, on_refusal):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        host = plant(folder)
        names = {**NAMES, "pcie_maxreadreq": [gpu for gpu in GPUS if host.exists(f"{DEVICES}/{gpu}")]}
        bytes_before, readings_before = file_bytes(root, BRACKETED), read_everything(host, names)
        whole = file_bytes(root)

        predicted = apply_values(host, values, check_mode=True, on_refusal=on_refusal)
        assert (host.count, file_bytes(root)) == (0, whole)
        done = apply_values(host, values, on_refusal=on_refusal)
        check_prediction(predicted, done, on_refusal)

        host.count = 0
        again = apply_values(host, values, on_refusal="report", check_mode=False)
        if on_refusal != "undo" and not host.ignored:
            assert host.count == 0
            assert not any(change["outcome"] == "changed" for change in again)

        back = restore_values(host)
        assert all(change["outcome"] in ("changed", "unchanged") for change in back), back
        assert read_everything(host, names) == readings_before
        assert file_bytes(root, BRACKETED) == bytes_before
        host.count = 0
        assert restore_values(host) == []
        assert host.count == 0


def check_prediction(predicted, done, on_refusal):
    """Each change and each refusal; only what the kernel decides may turn out otherwise, and undo takes more back."""
    assert [change["address"] for change in predicted] == [change["address"] for change in done]
    surprised = False
    for foreseen, found in zip(predicted, done):
        if foreseen["outcome"] != "would_change":
            assert foreseen["outcome"] == found["outcome"], (foreseen, found)
            continue
        surprised = surprised or found["outcome"] == "refused"
        if found["outcome"] == "changed":
            assert foreseen["after"] == found["after"]
        elif found["outcome"] == "refused":
            assert foreseen["certainty"] == "kernel_decides"
        else:
            assert on_refusal == "undo"
            assert found["outcome"] in ("reverted", "skipped")
    assert on_refusal == "undo" or surprised or all(
        found["outcome"] == "changed" for foreseen, found in zip(predicted, done)
        if foreseen["outcome"] == "would_change")
