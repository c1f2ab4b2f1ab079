# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, as_facts, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import driver

from facts_schema import problems
from hosts.modules import plant_char_devices, plant_installed_kernel, plant_module
from hosts.nvidia import plant_hung, plant_libraries, plant_modprobe, plant_nvidia

# Minors as on a real host with eight GPUs: they follow no order of the bus.
EIGHT = [("0000:06:00.0", 2), ("0000:07:00.0", 3), ("0000:75:00.0", 0), ("0000:76:00.0", 1),
         ("0000:84:00.0", 6), ("0000:85:00.0", 7), ("0000:f4:00.0", 4), ("0000:f5:00.0", 5)]


def read(host, *, log=None, earlier=None, gone=(), asleep=(), rdma=False, nvswitches=()):
    facts = driver.read(host, log or ok([]), earlier=earlier or ok([]), gone=list(gone), asleep=list(asleep), rdma=rdma,
                        containers=ok({}), release="6.8.12-9-pve", present=True, users=ok([]),
                        nvswitches=list(nvswitches))
    assert problems("nvidia", as_facts(facts)) == []
    return facts


def modules(facts):
    return {module["name"]: module["state"] for module in facts["modules"]}


def test_open_driver_with_eight_gpus(tree, host):
    plant_nvidia(tree, "570.133.20", "open", EIGHT)
    facts = read(host)
    assert facts["module"] == {"state": "live", "version": ok("570.133.20"), "refcount": ok(10)}
    assert (facts["flavour"], facts["driver_version"].value) == ("open", "570.133.20")
    assert [(gpu["bdf"], gpu["minor"]) for gpu in facts["proc_gpus"].value] == EIGHT
    assert facts["proc_gpus"].value[2] == {
        "bdf": "0000:75:00.0", "model": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "minor": 0,
        "uuid": "GPU-00000000-0000-4000-8000-000000000000", "firmware": "570.133.20",
        "excluded": False}
    assert facts["smi"]["state"] == "ok"
    assert [gpu["memory_mib"] for gpu in facts["smi"]["gpus"]] == [97887] * 8
    assert facts["xids"] == ok([])
    assert modules(facts) == {
        "nvidia": "live", "nvidia_uvm": "live", "nvidia_modeset": "live", "nvidia_drm": "live",
        "nvidia_peermem": "absent", "gdrdrv": "absent", "nvidia_fs": "absent", "nouveau": "absent", "ib_core": "absent"}


def test_settings_of_a_driver_that_has_made_no_device_node_are_read(tree, host):
    plant_modprobe(tree, "options nvidia NVreg_EnableStreamMemOPs=1")
    assert [entry["path"] for entry in read(host)["modprobe"].value] == ["/etc/modprobe.d/nvidia.conf"]


def test_minor_is_not_the_place_on_the_bus(tree, host):
    """A-72: the GPU of /dev/nvidia0 is the third one."""
    plant_nvidia(tree, gpus=EIGHT)
    facts = read(host)
    assert driver.proc_gpu(facts, "0000:75:00.0")["minor"] == 0
    assert driver.smi_gpu(facts, "0000:75:00.0")["minor"] == 0
    assert driver.proc_gpu(facts, "0000:06:00.0")["minor"] == 2
    assert driver.proc_gpu(facts, "0000:01:00.0") is None
    assert driver.smi_gpu(facts, "0000:01:00.0") is None


def test_proprietary_driver(tree, host):
    plant_nvidia(tree, "550.90.07", "proprietary", [("0000:01:00.0", 0, "NVIDIA A100-SXM4-80GB", 81920, 131072)])
    facts = read(host)
    assert (facts["flavour"], facts["driver_version"].value) == ("proprietary", "550.90.07")
    assert facts["smi"]["gpus"][0]["memory_mib"] == 81920


def test_majors_are_a_list_by_name(tree, host):
    """Major 195 has three names; other drivers' majors are not NVIDIA's."""
    plant_char_devices(tree, (226, "drm"), (509, "gdrdrv"))
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)], majors=(
        ("nvidia", 195), ("nvidia-modeset", 195), ("nvidiactl", 195), ("nvidia-uvm", 510)))
    assert [(entry["name"], entry["major"]) for entry in read(host)["majors"].value] == [
        ("nvidia", 195), ("nvidia-modeset", 195), ("nvidiactl", 195), ("gdrdrv", 509), ("nvidia-uvm", 510)]


def test_uvm_is_missing_until_first_use(tree, host):
    """A-71: nothing that belongs to CUDA is there, and reading it makes nothing."""
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)], uvm=False)
    before = sorted(tree.root.rglob("*"))
    facts = read(host)
    assert [node["path"] for node in facts["nodes"].value if "uvm" in node["path"]] == []
    assert [entry["name"] for entry in facts["majors"].value if "uvm" in entry["name"]] == []
    assert modules(facts)["nvidia_uvm"] == "absent"
    assert facts["smi"]["state"] == "ok"
    assert sorted(tree.root.rglob("*")) == before


def test_plain_file_in_the_place_of_a_node(tree, host):
    """A-71: inside a guest whose host had no node when it started."""
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)], uvm=False)
    tree.file("/dev/nvidia-uvm", "", mode=0o644)
    assert {"path": "/dev/nvidia-uvm", "type": "file", "major": None, "minor": None,
            "mode": "0644"} in read(host)["nodes"].value


def test_nodes_are_those_of_nvidia(tree, host):
    tree.device("/dev/dri/card0", 226, 0).device("/dev/kvm", 10, 232).device("/dev/gdrdrv", 509, 0)
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)])
    assert [(node["path"], node["major"], node["minor"]) for node in read(host)["nodes"].value] == [
        ("/dev/gdrdrv", 509, 0), ("/dev/nvidia-caps/nvidia-cap1", 235, 1), ("/dev/nvidia-caps/nvidia-cap2", 235, 2),
        ("/dev/nvidia-modeset", 195, 254), ("/dev/nvidia-uvm", 511, 0), ("/dev/nvidia-uvm-tools", 511, 1),
        ("/dev/nvidia0", 195, 0), ("/dev/nvidiactl", 195, 255)]


@pytest.mark.parametrize(("arguments", "words"), [
    ({"gone": ["0000:07:00.0"]}, "0000:07:00.0 reads all ones"),
    ({"asleep": ["0000:07:00.0"]}, "0000:07:00.0 is suspended"),
])
def test_nvidia_smi_stays_away_from_a_gpu_in_trouble(tree, host, arguments, words):
    plant_nvidia(tree, gpus=EIGHT)
    facts = read(host, **arguments)
    assert facts["smi"]["state"] == "not_run"
    assert words in facts["smi"]["reason"]
    assert len(facts["proc_gpus"].value) == 8


def test_a_gpu_that_hung_is_named_and_nvidia_smi_stays_away(tree, host):
    tree.sysctl("kernel.random.boot_id", "boot-1")
    plant_nvidia(tree, gpus=EIGHT)
    assert read(host)["hung"] == ok([])
    plant_hung(tree, "0000:07:00.0")
    facts = read(host)
    assert [(one["bdf"], one["run_id"]) for one in facts["hung"].value] == [("0000:07:00.0", "r9")]
    assert "0000:07:00.0 hung during a measurement" in facts["smi"]["reason"]


def test_nvidia_smi_makes_no_node(tree, host):
    plant_nvidia(tree, gpus=EIGHT, nodes=False)
    tree.device("/dev/nvidia0", 195, 0)
    assert "/dev/nvidiactl is missing" in read(host)["smi"]["reason"]
    tree.device("/dev/nvidiactl", 195, 255)
    assert "/dev/nvidia2, /dev/nvidia3, /dev/nvidia1" in read(host)["smi"]["reason"]


def test_driver_that_is_not_loaded(tree, host):
    tree.file("/proc/devices", "Character devices:\n  1 mem\n").device("/dev/null", 1, 3)
    facts = read(host)
    assert facts["module"]["state"] == "absent"
    assert (facts["flavour"], facts["driver_version"].status, facts["proc_gpus"].status) == (None, "absent", "absent")
    assert facts["smi"] == {"state": "not_run", "reason": "the nvidia module is absent", "driver_version": None,
                            "gpus": []}
    assert facts["majors"] == ok([])
    assert facts["nodes"] == ok([])


def test_version_without_the_drivers_own_file(tree, host):
    plant_module(tree, "nvidia", version="575.57.08")
    facts = read(host)
    assert (facts["flavour"], facts["driver_version"].value) == (None, "575.57.08")


def test_library_of_another_version(tree, host):
    """A-32: the packages were upgraded under a loaded driver."""
    plant_nvidia(tree, "570.133.20", gpus=[("0000:01:00.0", 0)])
    plant_libraries(tree, "575.57.08")
    tree.program("nvidia-smi.xml", "Failed to initialize NVML: Driver/library version mismatch\n"
                                   "NVML library version: 575.57\n")
    facts = read(host)
    assert [facts[name].value for name in ("driver_version", "library_version", "cuda_library_version")] == [
        "570.133.20", "575.57.08", "575.57.08"]
    assert facts["smi"]["state"] == "failed"
    assert "mismatch; NVML library version: 575.57" in facts["smi"]["reason"]
    assert facts["proc_gpus"].value[0]["minor"] == 0


def test_kernel_that_nobody_built_the_driver_for(tree, host):
    """A-85: the running kernel has its module, the newer one that boots next has none."""
    plant_installed_kernel(tree, "6.14.11-9-pve", ("nvidia", "nvidia-uvm"))
    plant_installed_kernel(tree, "6.17.13-2-pve", ("nvidia-peermem", "r8168"))
    plant_installed_kernel(tree, "6.8.12-9-pve", ("nvidia",), bootable=False)
    tree.folder("/lib/modules/left-over").file("/lib/modules/notes", "")
    assert [(kernel["release"], kernel["bootable"], kernel["built"].value) for kernel in read(host)["kernels"]] == [
        ("6.14.11-9-pve", True, True), ("6.17.13-2-pve", True, False), ("6.8.12-9-pve", False, True),
        ("left-over", False, None)]


def test_parameters_of_the_loaded_driver(tree, host):
    plant_nvidia(tree, gpus=[], parameters={"EnableResizableBar": 1, "RegistryDwords": '"ForceP2P=0x11;X=1"'})
    assert read(host)["parameters"].value == [
        {"name": "EnableResizableBar", "value": "1"}, {"name": "RegistryDwords", "value": "ForceP2P=0x11;X=1"}]


def test_symbol_is_only_looked_for_where_there_is_rdma(tree, host):
    tree.file("/proc/kallsyms", "ffffffffc0a1 T ib_register_client\t[ib_core]\n"
                                "ffffffffc0a2 T ib_register_peer_memory_client\t[ib_core]\n")
    assert read(host, rdma=False)["peermem"]["symbol"].status == "absent"
    assert read(host, rdma=True)["peermem"]["symbol"].value is True


def test_inbox_kernel_lacks_the_symbol(tree, host):
    """A-23. Another symbol's name that contains it is not it."""
    tree.file("/proc/kallsyms", "0000 T ib_register_client\n0000 r __ksymtab_ib_register_peer_memory_client\n")
    assert read(host, rdma=True)["peermem"]["symbol"].value is False


def test_log_of_the_driver(tree, host):
    log = ok([{"seconds": 61.5, "text": "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"},
              {"seconds": 99.0, "text": "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=1, Contained error"}])
    facts = read(host, log=log)
    assert facts["peermem"] == {
        "loaded": False, "symbol": facts["peermem"]["symbol"],
        "log": ["nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"]}
    assert [(entry["bdf"], entry["xid"], entry["seconds"]) for entry in facts["xids"].value] == [
        ("0000:01:00", 94, 99.0)]


def test_log_that_may_not_be_read(host):
    facts = read(host, log=Reading("denied", None, "EPERM"))
    assert (facts["xids"].status, facts["peermem"]["log"]) == ("denied", [])


def test_loaded_peermem(tree, host):
    plant_nvidia(tree, gpus=[])
    plant_module(tree, "nvidia_peermem", version="570.133.20")
    assert read(host)["peermem"]["loaded"] is True


def test_files_with_nonsense_do_not_raise(tree, host):
    tree.files("/proc/driver/nvidia", {"version": b"\xff\0\n", "params": b"\0\0:\n::"})
    tree.file("/proc/driver/nvidia/gpus/0000:01:00.0/information", b"\xff\xfe\0").folder("/proc/driver/nvidia/gpus/odd")
    tree.folder("/sys/module/nvidia/initstate").file("/proc/devices", b"\xff\n195\n").file("/recorded/dev.json", "{")
    facts = read(host)
    assert (facts["flavour"], facts["nodes"].status) == (None, "unparsable")
    assert facts["proc_gpus"].value == [
        {"bdf": "0000:01:00.0", "model": None, "minor": None, "uuid": None, "firmware": None,
         "excluded": None}]


def test_this_machine_is_valid():
    host = Host()
    facts = read(host, rdma=bool(host.list("/sys/class/infiniband")))
    assert facts["module"]["state"] in ("live", "coming", "going", "built_in", "absent")
