# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_bandwidth through main(), with a real child process that loads a stand-in for the driver library by ctypes.

The host is planted: it has the sysfs, the kernel log and the processes of a host with three GPUs.
"""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import measurement, parent
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import exec as pve_exec
from ansible_collections.gpuhost.tuning.plugins.modules import gpu_bandwidth

from bandwidth_fixtures import SIZES, A, B, C, hasten, plant
from hosts.config_space import all_ones
from hosts.nvidia import Gpu, plant_hung, plant_libraries, plant_nvidia
from hosts.pci import bind, device_path, suspend, write_config
from hosts.processes import plant_persistenced, plant_process
from hosts.proxmox import plant_proxmox


@pytest.fixture
def root(tree, monkeypatch):
    hasten(monkeypatch, plant(tree))
    affinity = os.sched_getaffinity(0)
    yield tree.root
    assert os.sched_getaffinity(0) == affinity


@pytest.fixture
def measure(call, root, standin):
    def run(*behaviour, check=False, gpus=(A, B, C), **arguments):
        standin.gpus(*gpus).does(*behaviour)
        return call("gpu_bandwidth", {"library": str(standin.path), "sizes": SIZES, "run_id": "r1", "timeout": 20,
                                      **arguments}, check=check)
    return run


def verdicts(result):
    return {gpu["bdf"]: gpu["verdict"] for gpu in result["gpus"]}


def pair_verdicts(result):
    return {(pair["from"], pair["to"]): pair["verdict"] for pair in result["pairs"]}


def marks(tree):
    path = tree.path("/run/gpuhost/hung.json")
    return sorted(json.loads(path.read_text())) if path.exists() else []


def test_healthy(measure, tree):
    result = measure("rate h2d 40", f"rate {A} {B} 20")
    assert not result.get("failed"), result
    assert verdicts(result) == dict.fromkeys((A, B, C), "healthy")
    assert set(pair_verdicts(result).values()) == {"healthy"}
    assert len(result["pairs"]) == 6
    assert {key: result[key] for key in ("changed", "stopped", "hung", "abandoned", "not_measured", "driver_version",
                                         "tool", "where", "sizes", "run_id")} == {
        "changed": False, "stopped": None, "hung": [], "abandoned": None, "not_measured": [], "driver_version": "12.8",
        "tool": "driver", "where": "host", "sizes": SIZES, "run_id": "r1"}
    gpu = result["gpus"][0]
    # 262144 bytes at 40 GB/s take 6.5536 us, and each copy starts 2 us late.
    assert gpu["h2d"]["gb_s"] == pytest.approx(262144 / 8.5536e-6 / 1e9, rel=0.01)
    assert [row["bytes"] for row in gpu["d2h"]["by_size"]] == SIZES
    assert (gpu["name"], gpu["numa_node"], gpu["bound"]) == ("Stand-in GPU 0", 0, True)
    assert gpu["link"] == gpu["link_expected"] == {"speed_gt_s": 32.0, "width": 16}
    assert not tree.path("/run/gpuhost").exists()
    assert (gpu["said"], result["concurrent"]) == (
        f"h2d {gpu['h2d']['gb_s']:g}, d2h {gpu['d2h']['gb_s']:g}, d2d {gpu['d2d']['gb_s']:g} GB/s, and the data of "
        f"all {gpu['copies']} copies was correct", [])


def test_a_pair_is_read_and_written_by_the_same_gpu(measure):
    """Data that goes from A to B is written by A in the pair (A, B), and read by B in the pair (B, A)."""
    result = measure(f"rate {A} {B} 20", gpus=(A, B), devices=[A, B])
    pairs = {(pair["from"], pair["to"]): pair for pair in result["pairs"]}
    slow, fast = (pytest.approx(262144 / (2e-6 + 262144 / rate / 1e9) / 1e9, rel=0.01) for rate in (20, 45))
    assert (pairs[A, B]["write"]["gb_s"], pairs[A, B]["read"]["gb_s"]) == (slow, fast)
    assert (pairs[B, A]["write"]["gb_s"], pairs[B, A]["read"]["gb_s"]) == (fast, slow)
    assert pairs[A, B]["write"]["latency_us"] == pytest.approx(2.0, abs=0.01)
    assert (pairs[A, B]["can_access"], pairs[A, B]["enabled"], pairs[A, B]["performance_rank"]) == (True, True, 0)


def test_a_link_that_is_less_than_both_ends_can_do_is_slow(measure, tree):
    tree.file(f"{device_path(tree, B)}/current_link_width", "8")
    result = measure(pairs=False)
    assert verdicts(result) == {A: "healthy", B: "slow", C: "healthy"}
    assert result["gpus"][1]["said"] == (
        "the link runs at 32 GT/s x8 under load, but both ends support 32 GT/s x16")


def test_wrong_data_between_two_gpus_names_the_place(measure):
    result = measure(f"flip {A} {B} 4097 3")
    found = pair_verdicts(result)
    assert {key for key, verdict in found.items() if verdict == "wrong_data"} == {(A, B), (B, A)}
    pair = next(pair for pair in result["pairs"] if (pair["from"], pair["to"]) == (A, B))
    (wrong,) = pair["wrong"]
    assert {name: wrong[name] for name in ("copied", "first_offset", "wrong_bytes", "bytes")} == {
        "copied": "write", "first_offset": 4097, "wrong_bytes": 3, "bytes": 65536}
    # But for those of 16 bytes, every copy is spoiled.
    assert wrong["copies"] - wrong["wrong_copies"] == 66
    assert pair["said"] == (f"write: {wrong['wrong_copies']} of {wrong['copies']} copies were corrupted, in the first "
                            "of them 3 of 65536 bytes from offset 4097 on")
    assert set(verdicts(result).values()) == {"healthy"}


def test_wrong_data_within_one_gpu_leaves_its_pairs_out(measure):
    result = measure(f"flip {B} {B} 0 1")
    assert verdicts(result) == {A: "healthy", B: "wrong_data", C: "healthy"}
    assert set(pair_verdicts(result)) == {(A, C), (C, A)}
    assert [entry["reason"] for entry in result["not_measured"]] == [f"data copied to {B} is corrupted"] * 4


def test_gpus_that_are_not_measured_are_not_opened(measure, tree):
    """They are hidden by CUDA_VISIBLE_DEVICES: one with another UUID than the stand-in's is not there then."""
    suspend(tree, B)
    assert verdicts(measure(devices=[A, C], pairs=False)) == {A: "healthy", C: "healthy"}
    tree.files(device_path(tree, B), {"power/runtime_status": "active", "power_state": "D0"})
    plant_nvidia(tree, gpus=[(A, 0), (B, 7), (C, 2)])       # another UUID than the stand-in's
    result = measure(devices=[A, B, C])
    assert verdicts(result) == {A: "healthy"}
    assert [entry["subject"] for entry in result["not_measured"][:2]] == [B, f"{A} and {B}"]
    assert result["not_measured"][0]["reason"].startswith("not visible on the host: opening 0000:21:00.0: ")
    assert result["not_measured"][1]["reason"] == f"{B} is not visible on the host"


def test_peer_access_that_is_not_offered(measure):
    result = measure(f"no_peer {A} {B}", gpus=(A, B), devices=[A, B])
    assert pair_verdicts(result) == {(A, B): "staged", (B, A): "healthy"}
    staged = result["pairs"][0]
    assert (staged["can_access"], staged["enabled"]) == (False, False)
    # 262144 bytes at 11 GB/s, by way of the host, and 2 us before them.
    assert staged["read"]["gb_s"] == pytest.approx(262144 / (2e-6 + 262144 / 11e9) / 1e9, rel=0.01)
    assert staged["said"].startswith(f"the driver allows no peer access from {A} to {B}, so copies go through the "
                                     "host's memory: read ")


def test_access_that_is_offered_and_not_given_is_none(measure):
    """The driver says that A can reach B, and then refuses: what is copied goes through the host."""
    result = measure("on cuCtxEnablePeerAccess 1 error 217", gpus=(A, B), devices=[A, B])
    assert pair_verdicts(result) == {(A, B): "staged", (B, A): "healthy"}
    assert (result["pairs"][0]["can_access"], result["pairs"][0]["enabled"]) == (True, False)


def test_an_error_of_the_driver_has_its_name(measure):
    result = measure("on cuCtxEnablePeerAccess 1 error 214", gpus=(A, B), devices=[A, B])
    assert pair_verdicts(result) == {(A, B): "inconclusive", (B, A): "healthy"}
    assert ("cuCtxEnablePeerAccess: CUDA_ERROR_ECC_UNCORRECTABLE (uncorrectable ECC error encountered)"
            in result["pairs"][0]["said"])


def test_readings_that_never_agree_are_inconclusive(measure):
    result = measure("uneven 1.5", pairs=False, devices=[A])
    assert verdicts(result) == {A: "inconclusive"}
    assert "did not converge" in result["gpus"][0]["said"]


@pytest.mark.parametrize("how", ["hang", "deaf"])
def test_a_hang_ends_everything_and_marks_the_gpus_of_its_step(measure, tree, how):
    started = time.monotonic()
    result = measure(f"on cuMemcpyPeerAsync 1 {how}", timeout=5)
    assert time.monotonic() - started < 40
    assert pair_verdicts(result) == {(A, B): "hang"}
    assert verdicts(result) == {A: "healthy", B: "healthy"}
    assert result["pairs"][0]["said"] == "no response within 5 s at peer write of 65536 bytes"
    assert (result["hung"], result["abandoned"]) == ([A, B], None)
    assert result["stopped"] == f"hang: {A} and {B}: no response within 5 s at peer write of 65536 bytes"
    assert [entry["subject"] for entry in result["not_measured"]] == [
        C, f"{A} and {C}", f"{B} and {A}", f"{B} and {C}", f"{C} and {A}", f"{C} and {B}"]
    assert marks(tree) == [A, B]


def test_a_hang_at_the_start_concerns_all(measure, tree):
    result = measure("on cuInit 1 hang", timeout=5)
    assert verdicts(result) == dict.fromkeys((A, B, C), "hang")
    assert marks(tree) == [A, B, C]
    assert result["stopped"].endswith("no response within 5 s at initialising the driver")


def test_what_hung_is_left_alone_from_then_on(measure, call, tree, root):
    measure("on cuMemcpyHtoDAsync_v2 1 hang", timeout=5)
    assert marks(tree) == [A]
    change = call("pcie_maxreadreq", {"sysroot": str(root), "values": {A: 4096}})["changes"][0]
    assert (change["outcome"], change["reason"].startswith(f"{A} hung at ")) == ("refused", True)
    again = measure()
    assert again["failed"]
    assert again["msg"].startswith(f"{A} hung at ")


def test_a_process_that_cannot_be_killed_is_reported_and_not_waited_for(measure, tree, monkeypatch):
    """State D in a sick driver, which no test can make: this process is killed only in appearance."""
    children = []

    class Undying(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            children.append(self)

        def wait(self, timeout=None):
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(measurement.Measurement.__init__, "__defaults__", (Undying,))
    result = measure("on cuMemcpyHtoDAsync_v2 1 hang", timeout=5)
    pid = children[0].pid
    assert (result["abandoned"], verdicts(result)[A]) == (pid, "hang")
    assert f"process {pid} could not be killed and was abandoned" in result["stopped"]
    assert json.loads(tree.path("/run/gpuhost/hung.json").read_text())[A]["pid"] == pid
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def test_death_in_the_middle_ends_the_measurement(measure, tree):
    result = measure("on cuMemcpyDtoDAsync_v2 1 abort")
    assert verdicts(result) == {A: "inconclusive"}
    assert result["stopped"] == (
        f"{A}: the measuring process was killed by signal 6 (Aborted) at d2d of 65536 bytes")
    assert (result["hung"], marks(tree)) == ([], [])


def test_a_new_xid_ends_the_measurement(measure, tree):
    log = tree.path("/recorded/kmsg.txt")
    result = measure(f"on cuMemcpyPeerAsync 1 append {log} [  200.000000] NVRM: Xid (PCI:0000:21:00): 79, pid=1")
    assert result["stopped"].startswith("the driver reported Xid 79 on 0000:21:00: NVRM: Xid (PCI:0000:21:00): 79")
    assert list(verdicts(result)) == [A, B]
    assert list(pair_verdicts(result)) == [(A, B)]
    assert marks(tree) == []


def test_a_hot_gpu_ends_the_measurement(measure, tree):
    plant_nvidia(tree, gpus=[Gpu(A, 0, smi={"reasons": ("hw_thermal_slowdown",)}), (B, 1), (C, 2)])
    result = measure()
    assert result["stopped"] == f"{A} lowers its clocks because of its temperature (hw_thermal_slowdown)"
    assert (result["gpus"], result["pairs"]) == ([], [])


def test_never_more_than_five_percent_of_the_free_memory(measure, standin):
    """The stand-in refuses what goes beyond; 65536 bytes twice fit into 5% of 2.7 MB, 262144 bytes do not."""
    standin.does(f"gpu {A} 100000000 2700000")
    result = measure(gpus=(), devices=[A])
    assert verdicts(result) == {A: "healthy"}
    assert [row["bytes"] for row in result["gpus"][0]["h2d"]["by_size"]] == [65536]
    assert result["not_measured"] == [{"subject": A, "reason":
                                       "262144 bytes: more than 5% of the free memory of the GPU or of the host"}]


def test_memory_for_no_size_at_all(measure, standin):
    standin.does(f"gpu {A} 100000000 1000000")
    result = measure(gpus=(), devices=[A])
    assert verdicts(result) == {A: "inconclusive"}


def test_check_mode_measures_nothing_and_says_what_it_would(measure):
    result = measure("on cuInit 0 abort", check=True)
    assert (result["gpus"], result["pairs"]) == ([], [])
    assert result["msg"] == (f"would measure {A}, {B}, {C} and 6 ordered pairs on the host with driver, at most 20 s "
                             "for each step")


# -- one clear error ---------------------------------------------------------------------------------------------------


def test_no_device(measure):
    result = measure(gpus=())
    assert result["msg"] == ("no measurement on the host: initialising the driver: cuInit: CUDA_ERROR_NO_DEVICE (no "
                             "CUDA-capable device is detected)")


def test_no_library(measure):
    result = measure(library="libcuda-of-nobody.so.1")
    assert result["failed"]
    assert result["msg"].startswith("no measurement on the host: initialising the driver: the CUDA driver library "
                                    "libcuda-of-nobody.so.1 cannot be used: ")


def test_a_library_that_is_another(measure):
    assert "undefined symbol: cuInit" in measure(library="libc.so.6")["msg"]


def test_no_gpu(call, tree, monkeypatch):
    monkeypatch.setattr(gpu_bandwidth, "Host", lambda _root: Host(str(tree.root)))
    assert call("gpu_bandwidth", {})["msg"] == "no NVIDIA GPU on this host"


def test_a_folder_is_skipped(call, root):
    result = call("gpu_bandwidth", {"sysroot": str(root)})
    assert (result["skipped"], result["msg"]) == (True, "needs a live host")


def test_busy(measure, tree):
    plant_process(tree, 4711, "vllm", ("/dev/nvidia1",))
    assert measure()["msg"] == (f"{B} is busy: in use by vllm (pid 4711); stop it first, or set allow_busy")
    assert verdicts(measure(devices=[A], pairs=False)) == {A: "healthy"}
    assert verdicts(measure(allow_busy=True, pairs=False)) == dict.fromkeys((A, B, C), "healthy")


def test_persistenced_keeps_nobody_busy(measure, tree):
    plant_persistenced(tree, 99, ("/dev/nvidia0", "/dev/nvidia1"))
    assert verdicts(measure(pairs=False)) == dict.fromkeys((A, B, C), "healthy")


def test_others_gpus_are_left_out_with_the_reason(measure, tree):
    bind(tree, A, "vfio-pci")
    suspend(tree, B)
    result = measure()
    assert verdicts(result) == {C: "healthy"}
    assert {entry["subject"]: entry["reason"] for entry in result["not_measured"]} == {
        A: "bound to vfio-pci", B: f"{B} is suspended and was not woken",
        "temperature": f"{B} is suspended and nvidia-smi would wake it"}


def test_a_gpu_that_a_vm_names_is_left_out(measure, tree):
    plant_proxmox(tree, vms={"200": f"hostpci0: {A}\n"})
    result = measure(pairs=False)
    assert list(verdicts(result)) == [B, C]
    assert result["not_measured"][0] == {"subject": A, "reason": "named by VM 200 (hostpci0)"}


def test_nothing_left_to_measure(measure, tree):
    for bdf in (A, B, C):
        bind(tree, bdf, "vfio-pci")
    assert measure()["msg"] == "no GPU can be measured: " + "; ".join(f"{bdf}: bound to vfio-pci" for bdf in (A, B, C))


def test_a_gpu_that_answers_no_more_keeps_everything_from_being_measured(measure, tree):
    write_config(tree, C, all_ones())
    assert measure(devices=[A])["msg"] == f"{C} reads all ones: any call of the driver may hang"


def test_marks_that_cannot_be_read_count(measure, tree):
    plant_hung(tree, A)
    tree.file("/run/gpuhost/hung.json", "{")
    assert measure()["msg"].startswith("whether a GPU hung during a measurement is unknown")


def test_a_driver_that_would_load_modules(measure, tree):
    plant_nvidia(tree, gpus=[(A, 0), (B, 1), (C, 2)], uvm=False)
    tree.file("/proc/modules", tree.path("/proc/modules").read_text().replace("nvidia_uvm", "other"))
    shutil.rmtree(tree.path("/sys/module/nvidia_uvm"))
    assert "the module nvidia_uvm is absent, and the driver library would load it" in measure()["msg"]


def test_driver_and_libraries_of_two_versions(measure, tree):
    plant_libraries(tree, "580.95.05")
    assert measure()["msg"].startswith("driver/library version mismatch: the loaded driver is 570.133.20")


def test_without_a_kernel_log_nobody_would_see_an_xid(measure, tree):
    tree.remove("/recorded/kmsg.txt")
    assert "the kernel log cannot be read" in measure()["msg"]


@pytest.mark.parametrize("arguments, words", [
    ({"devices": ["0000:99:00.0"]}, "0000:99:00.0: this host has no such PCI device"),
    ({"devices": ["0000:00:01.1"]}, "0000:00:01.1: not an NVIDIA GPU; this host has 0000:01:00.0, 0000:21:00.0"),
    ({"devices": ["2460.0"]}, "quote it in YAML"),
    ({"sizes": [1000]}, "sizes: 1000: wanted multiples of 4096 bytes up to 1073741824"),
    ({"sizes": [2 << 30]}, "sizes: 2147483648"),
    ({"sizes": []}, "sizes: none"),
    ({"timeout": 0}, "timeout: 0: wanted 1"),
    ({"run_id": "../x"}, "run_id '../x'"),
])
def test_options_that_make_no_sense(measure, arguments, words):
    result = measure(**arguments)
    assert result["failed"]
    assert words in result["msg"]


# -- in a container ----------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs by name, in the folder that stands for the usual ones."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(pve_exec, "PATH", str(folder))
    monkeypatch.setattr(parent, "PATH", f"{folder}:/usr/bin:/bin")

    def add(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return add


def test_in_a_container_of_proxmox(measure, programs, tree):
    programs("pct", 'echo "$1 $2 $3" >&2; shift 3; exec "$@"')
    result = measure(container="101", devices=[A, B])
    assert verdicts(result) == dict.fromkeys((A, B), "healthy")
    assert result["where"] == "lxc:101"


def test_a_container_that_is_given_some_of_the_gpus(measure, programs, tree):
    programs("pct", 'shift 3; exec "$@"')
    result = measure(container="101", gpus=(A, C))
    assert verdicts(result) == dict.fromkeys((A, C), "healthy")
    assert set(pair_verdicts(result)) == {(A, C), (C, A)}
    assert result["not_measured"][0] == {"subject": B, "reason": (
        f"not visible in container 101: opening {B}: cuDeviceGetByPCIBusId: CUDA_ERROR_INVALID_DEVICE (invalid device "
        "ordinal)")}


def test_a_container_that_is_frozen_is_no_gpu_that_hung(measure, programs, tree):
    programs("pct", "exec sleep 60")
    assert measure(container="101", timeout=2)["msg"] == (
        "no measurement in container 101: no response within 2 s at init: the measuring process did not start")
    assert marks(tree) == []


def test_in_a_container_of_lxc(measure, programs):
    programs("lxc-attach", '[ "$1 $2 $3" = "-n web --" ] || exit 3; shift 3; exec "$@"')
    assert verdicts(measure(container="web", devices=[A])) == {A: "healthy"}


DOCKER = f"""if [ "$1" = inspect ]; then echo {'0123456789ab' + 'c' * 52}; exit; fi
[ "$1 $2 $3" = "exec -i vllm" ] || exit 3
shift 3; exec "$@\""""


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_in_a_container_of_an_engine(measure, programs, engine):
    programs(engine, DOCKER)
    result = measure(container=f"{engine}:vllm", devices=[A, B])
    assert verdicts(result) == dict.fromkeys((A, B), "healthy")
    assert result["where"] == f"{engine}:vllm"


@pytest.mark.parametrize("text, words", [
    ("echo 'Error: No such object: vllm' >&2; exit 1", "container docker:vllm is not there: "),
    ("echo 12", "container docker:vllm is not there: its engine tells no id")])
def test_a_container_that_its_engine_does_not_know(measure, programs, text, words):
    programs("docker", text)
    assert words in measure(container="docker:vllm")["msg"]


@pytest.mark.parametrize("container, words", [
    ("podman:vllm", "container podman:vllm cannot be entered: podman is not installed on this host"),
    ("lxd:web", "container lxd:web is not valid: wanted the id of a container, or docker: or podman: and a name or id"),
    ("docker:-v", "container docker:-v is not valid")])
def test_no_way_into_a_container_of_an_engine(measure, programs, container, words):
    assert measure(container=container)["msg"].startswith(words)


@pytest.mark.parametrize("text, words", [
    ("echo 'container 101 not running!' >&2; exit 255", "container 101 not running!"),
    ("echo 'lxc-attach: Failed to exec \"python3\"' >&2; exit 127", 'Failed to exec "python3"'),
    ("echo hello", "wrote invalid output"),
    ("exit 1", "the measuring process ended with status 1 at init"),
])
def test_a_container_that_cannot_measure_is_one_message(measure, programs, tree, text, words):
    programs("pct", text)
    result = measure(container="101")
    assert result["failed"]
    assert result["msg"].startswith("no measurement in container 101: ")
    assert words in result["msg"]
    assert marks(tree) == []


def test_a_stopped_container_is_told_before_anything_runs(measure, programs, tree):
    programs("pct", "exit 1")
    tree.file("/proc/net/unix", "Num RefCount\n0000: 00000002 0 0 0001 01 1 @/var/lib/lxc/102/command\n")
    assert measure(container="101")["msg"] == (
        "container 101 is not running: start it, or choose another one (running: 102)")


def test_no_way_into_a_container(measure, programs):
    assert measure(container="101")["msg"] == (
        "container 101 cannot be entered: neither pct nor lxc-attach is installed on this host")
    assert "is not the id or name of a container" in measure(container="-v")["msg"]


@pytest.mark.parametrize("answer", ['{"result": {}}', '{"result": {"name": 1}}'])
def test_what_a_container_answers_is_checked(measure, programs, answer):
    programs("pct", f"read sources; read init; echo '{{\"result\": {{\"version\": 1}}}}'; "
                    f"while read step; do echo '{answer}'; done")
    result = measure(container="101", devices=[A])
    assert verdicts(result) == {A: "inconclusive"}
    assert result["gpus"][0]["said"] == "the measuring process returned no valid measurement"
