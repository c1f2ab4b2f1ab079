# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host_info on real kernels: what was planted in a guest is what it reads. One call a guest serves all tests."""
from __future__ import annotations

import re

import pytest

from facts_schema import document_problems

pytestmark = pytest.mark.vm

# A host with a fault of every kind. 0001 is on NUMA node 0, 0002 on node 1.
PLANT = """
testhw flawed
setpci -s 0001:01:00.0 CAP_EXP+8.w=5000:7000
setpci -s 0001:03:00.0 ECAP_ACS+6.w=0004:0004
testhw event 0002:04:00.0 correctable
testhw event 0002:04:00.0 correctable
testhw event 0002:04:00.0 nonfatal
echo auto > /sys/bus/pci/devices/0002:06:00.0/power/control
testhw peermem ofed
testhw rdma rebuilt
modprobe nvidia_peermem && exit 1
setsid sleep 3600 < /dev/nvidia0 > /dev/null 2>&1 &
echo '0001:05:00.0 79' > /sys/module/nvidia/parameters/testhw_xid
testhw event 0001:05:00.0 gone
echo 1 > /sys/devices/system/cpu/cpu1/cpuidle/state3/disable
sleep 1
"""
# What programs of the guest say of the same things, independent of the code under test.
TELL = """
lspci -D -vvv | sed -n 's/^\\(0[0-9a-f:.]*\\) .*/device \\1/p; s/.*\\(MaxReadReq\\) \\([0-9]*\\) bytes/\\1 \\2/p'
sed -n 's/\\([0-9]*\\) nvidia-uvm$/uvm \\1/p' /proc/devices
cat /sys/bus/pci/devices/0002:06:00.0/power/runtime_status
"""
NODE_OF_DOMAIN = {"0001": 0, "0002": 1}
GPUS = [f"{domain}:{bus}:00.0" for domain in NODE_OF_DOMAIN for bus in ("01", "04", "05", "06")]
GONE, ASLEEP, PASSED_THROUGH = "0001:05:00.0", "0002:06:00.0", "0002:05:00.0"
PORT_ASLEEP = "0002:00:03.0"        # the kernel lets a port sleep with all that is below it


@pytest.fixture(scope="module")
def every_fact(play, in_every_guest):
    in_every_guest(PLANT)
    run = play("read.yml").succeeded()
    return {name: run.one(name, action="host_info")["facts"] for name in run.stats}


@pytest.fixture(scope="module")
def every_word(every_fact, in_every_guest):
    return in_every_guest(TELL)


@pytest.fixture
def facts(every_fact, release):
    return every_fact[release]


@pytest.fixture
def gpus(facts):
    return {gpu["bdf"]: gpu for gpu in facts["gpus"]}


@pytest.fixture
def ports(facts):
    return {port["bdf"]: port for port in facts["ports"]}


def ok(value):
    return {"status": "ok", "value": value}


ABSENT = {"status": "absent", "value": None}


def test_facts_have_the_shape_of_the_schema(facts):
    assert document_problems("facts.json", facts) == []


def test_kernel_is_that_of_the_release(facts, release):
    kernel, version = {"debian12": ("6.1.", "12"), "debian13": ("6.12.", "13")}[release]
    assert facts["kernel"]["release"]["value"].startswith(kernel)
    assert facts["identity"]["os"]["id"] == "debian"
    assert facts["identity"]["os"]["version_id"] == version


def test_parameter_that_the_kernel_does_not_know(facts):
    assert facts["kernel"]["unknown_parameters"] == ok(["nosuchparameter=1"])
    assert {"name": "nosuchparameter", "value": "1"} in facts["kernel"]["parameters"]


def test_root_can_read_everything(facts):
    assert facts["privileged"] is True
    assert facts["unread"] == []


def test_eight_gpus_in_two_domains_on_two_nodes(gpus):
    assert list(gpus) == GPUS
    assert [gpu["numa_node"] for gpu in gpus.values()] == [ok(0)] * 4 + [ok(1)] * 4
    assert {gpu["generation"] for gpu in gpus.values()} == {"blackwell"}


@pytest.mark.parametrize("bdf", GPUS)
def test_state_of_a_gpu(gpus, bdf):
    states = {GONE: "gone", ASLEEP: "asleep", PASSED_THROUGH: "passed_through"}
    assert gpus[bdf]["state"] == states.get(bdf, "ok")


def test_driver_of_a_gpu(gpus):
    assert gpus[PASSED_THROUGH]["driver"] == "vfio-pci"
    assert {gpus[bdf]["driver"] for bdf in GPUS if bdf != PASSED_THROUGH} == {"nvidia"}


def test_gpu_that_fell_off_the_bus(gpus):
    assert gpus[GONE]["pcie"] == {"status": "gone", "value": None}


def test_sleeping_gpu_is_not_woken(gpus, every_word, release):
    assert gpus[ASLEEP]["pcie"] == {"status": "asleep", "value": None}
    assert every_word[release].splitlines()[-1] == "suspended"


def test_max_read_request_is_what_lspci_says(facts, every_word, release):
    message, device = {}, None
    for word, value in re.findall(r"^(device|MaxReadReq) (\S+)$", every_word[release], re.MULTILINE):
        if word == "device":
            device = value
        else:
            message[device] = int(value)
    devices = facts["gpus"] + facts["ports"]
    assert {one["bdf"]: one["pcie"]["status"] for one in devices if one["pcie"]["status"] != "ok"} == {
        GONE: "gone", ASLEEP: "asleep", PORT_ASLEEP: "asleep"}
    read = {one["bdf"]: one["pcie"]["value"]["max_read_request"] for one in devices if one["pcie"]["status"] == "ok"}
    assert len(read) == 17
    assert read == {bdf: message[bdf] for bdf in read}
    assert read["0001:01:00.0"] == 4096
    assert read["0001:03:00.0"] == 128


def test_link_of_eight_lanes_at_both_ends(gpus, ports):
    for end in (gpus["0001:06:00.0"], ports["0001:00:03.0"]):
        link = end["pcie"]["value"]["link"]
        assert (link["width"], link["max_width"], link["speed_gts"]) == (8, 16, 32.0)


def test_path_through_the_switch(gpus, ports):
    assert gpus["0001:04:00.0"]["path"] == ["0001:03:00.0", "0001:02:00.0", "0001:00:02.0"]
    types = {"0001:03:00.0": "downstream_port", "0001:02:00.0": "upstream_port", "0001:00:02.0": "root_port"}
    assert {bdf: ports[bdf]["pcie"]["value"]["type"] for bdf in types} == types


def test_window_to_the_memory(gpus):
    gpu = gpus["0001:01:00.0"]
    assert [(window["index"], window["size"], window["bits"]) for window in gpu["bars"]["value"]] == [
        (0, 64 << 20, 32), (1, 16 << 30, 64), (3, 32 << 20, 64)]
    assert gpu["resizable_bar"] == ok([{"bar": 1, "size": 16 << 30, "sizes": [1 << power for power in range(28, 35)]}])


def test_errors_that_the_kernel_counted(gpus):
    assert gpus["0002:04:00.0"]["aer"] == ok(
        {"correctable": 2, "nonfatal": 1, "fatal": 0, "details": {"BadTLP": 2, "CmpltTO": 1}})
    assert gpus["0001:01:00.0"]["aer"]["value"]["correctable"] == 0


def test_port_that_redirects_requests(ports):
    redirecting = [bdf for bdf, port in ports.items() if (port["acs"]["value"] or {}).get("request_redirect")]
    assert redirecting == ["0001:03:00.0"]


def test_interrupts_stay_on_the_node(gpus):
    for bdf in ("0001:01:00.0", "0002:01:00.0"):
        node = NODE_OF_DOMAIN[bdf[:4]]      # each node has the CPU of its own number
        assert [(one["effective"], one["node"]) for one in gpus[bdf]["interrupts"]] == [(ok(str(node)), ok(node))]


def test_numa_nodes(facts):
    assert [(node["id"], node["cpus"], node["distances"]) for node in facts["numa"]["nodes"]] == [
        (0, "0", [10, 32]), (1, "1", [32, 10])]


def test_driver_of_nvidia(facts, every_word, release):
    nvidia = facts["nvidia"]
    assert nvidia["driver_version"] == ok("580.95.05")
    assert nvidia["flavour"] == "open"
    uvm = int(re.search(r"^uvm (\d+)$", every_word[release], re.MULTILINE).group(1))
    assert {"name": "nvidia-uvm", "major": uvm} in nvidia["majors"]["value"]
    assert [one["name"] for one in nvidia["majors"]["value"] if one["major"] == 195] == [
        "nvidia", "nvidia-modeset", "nvidiactl"]
    nodes = {node["path"]: node for node in nvidia["nodes"]["value"]}
    assert nodes["/dev/nvidia-uvm"] == {
        "path": "/dev/nvidia-uvm", "type": "c", "major": uvm, "minor": 0, "mode": "0666"}
    modules = {one["name"]: one for one in nvidia["modules"]}
    assert modules["nvidia"]["holders"] == ["nvidia_modeset", "nvidia_uvm"]
    # Two modules, and the open /dev/nvidia0 twice: the kernel counts its cdev and its file operations.
    assert modules["nvidia"]["refcount"] == ok(4)
    assert modules["nvidia_drm"]["state"] == "absent"


def test_peermem_of_another_rdma_stack(facts):
    peermem = facts["nvidia"]["peermem"]
    assert peermem["loaded"] is False
    assert peermem["symbol"] == ok(True)
    assert any("disagrees about version of symbol ib_register_peer_memory_client" in line for line in peermem["log"])


def test_rdma_device(facts):
    [device] = facts["rdma"]["devices"]
    assert {key: device[key] for key in ("name", "bdf", "node_type", "vendor")} == {
        "name": "mlx5_0", "bdf": "0001:07:00.0", "node_type": "CA", "vendor": "15b3"}


def test_xid_of_this_boot(facts):
    [xid] = facts["nvidia"]["xids"]["value"]
    assert (xid["bdf"], xid["xid"]) == ("0001:05:00", 79)


def test_process_that_holds_a_gpu(gpus):
    [user] = gpus["0001:01:00.0"]["users"]["value"]
    assert (user["command"], user["container"]) == ("sleep", None)
    assert gpus["0001:04:00.0"]["users"] == ok([])


def test_frequency_policies(facts, release):
    frequency = facts["cpu"]["frequency"]
    assert frequency["drivers"] == ["acpi-cpufreq"]
    assert frequency["boost"] == ok(1)
    assert frequency["kernel_has_amd_pstate"] == ok(True)
    for policy in frequency["policies"]:
        assert (policy["governor"], policy["governors"]) == (ok("schedutil"), ok(["performance", "schedutil"]))
        assert (policy["hardware_min_khz"], policy["hardware_max_khz"]) == (ok(1500000), ok(3700000))
        # Boost of a single policy came with 6.7.
        assert policy["boost"] == (ok(1) if release == "debian13" else ABSENT)


def test_idle_states(facts):
    states = facts["cpu"]["idle"]["states"]
    assert [(one["name"], one["latency_us"], one["cpus"], one["disabled_cpus"]) for one in states] == [
        ("POLL", 0, "0-1", ""), ("C1", 1, "0-1", ""), ("C2", 18, "0-1", ""), ("C3", 350, "0-1", "1")]


def test_defaults_that_differ_between_the_kernels(facts, release):
    assert facts["sysctl"]["kernel.sched_autogroup_enabled"] == ok({"debian12": "0", "debian13": "1"}[release])
    assert facts["sysctl"]["kernel.nmi_watchdog"] == ok("0")
