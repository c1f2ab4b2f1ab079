# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.kmod import ModuleKind, parse_depends

from hosts.kernel import plant_kernel
from hosts.modules import plant_module
from hosts.nvidia import plant_hung, plant_libraries, plant_nvidia
from hosts.processes import plant_process
from hosts.proxmox import plant_proxmox

OK = Reading("ok", "")
DEPENDS = {
    "nvidia_peermem": "insmod /lib/modules/6.8.12-9-pve/kernel/drivers/infiniband/core/ib_core.ko \n"
                      "insmod /lib/modules/6.8.12-9-pve/updates/dkms/nvidia.ko NVreg_OpenRmEnableUnsupportedGpus=1\n"
                      "insmod /lib/modules/6.8.12-9-pve/updates/dkms/nvidia-peermem.ko \n",
    "gdrdrv": "insmod /lib/modules/6.8.12-9-pve/updates/dkms/nvidia.ko \n"
              "insmod /lib/modules/6.8.12-9-pve/updates/dkms/gdrdrv.ko.xz \n",
    "nvidia_uvm": "insmod /lib/modules/6.8.12-9-pve/updates/dkms/nvidia.ko \n"
                  "insmod /lib/modules/6.8.12-9-pve/updates/dkms/nvidia-uvm.ko \n",
}


class Programs:
    """Stands for Host.run() with modprobe, rmmod and modinfo: it keeps what was called, and answers as it was told."""

    def __init__(self, tree):
        self.tree = tree
        self.calls = []
        self.answers = {}
        self.depends = dict(DEPENDS)

    def __call__(self, argv, timeout):
        self.calls.append(argv)
        if argv[:2] == ["modprobe", "--show-depends"]:
            return Reading("ok", self.depends[argv[2]])
        if argv[0] in self.answers:
            answer = self.answers[argv[0]]
            return answer(argv) if callable(answer) else answer
        if argv[0] == "modprobe":
            plant_module(self.tree, argv[1])
        if argv[0] == "rmmod":
            unplant(self.tree, argv[1])
        return OK

    @property
    def changing(self):
        return [argv for argv in self.calls if argv[0] in ("modprobe", "rmmod") and argv[1] != "--show-depends"]


def unplant(tree, name):
    shutil.rmtree(tree.path(f"/sys/module/{name}"))
    lines = tree.path("/proc/modules").read_text().splitlines(keepends=True)
    tree.path("/proc/modules").write_text("".join(line for line in lines if not line.startswith(f"{name} ")))


def failed(text, name="nvidia_peermem"):
    return Reading("unparsable", None,
                   f"modprobe ended with status 1: modprobe: ERROR: could not insert '{name}': {text}")


@pytest.fixture
def host(tree):
    plant_kernel(tree)
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0)])
    return Host(str(tree.root))


@pytest.fixture
def programs(tree):
    return Programs(tree)


@pytest.fixture
def rdma(tree):
    """An RDMA device, with the peer memory interface in the kernel."""
    tree.file("/sys/class/infiniband/mlx5_0/node_type", "1: CA")
    tree.file("/proc/kallsyms", "0000000000000000 t ib_register_peer_memory_client\t[ib_core]")


def run(host, values, programs=None, **options):
    return set_values(ModuleKind(host, programs), host, values, options.pop("names", []), **options)


def change_of(host, values, programs=None, **options):
    return run(host, values, programs, **options)["changes"][0]


# -- loading -----------------------------------------------------------------------------------------------------------


def test_loading_and_the_way_back(tree, host, programs):
    predicted = change_of(host, {"gdrdrv": "present"}, programs, check_mode=True)
    assert (predicted["outcome"], predicted["certainty"], predicted["reason"]) == (
        "would_change", "kernel_decides", "loads gdrdrv")
    assert programs.changing == []
    done = run(host, {"gdrdrv": "present"}, programs)
    assert (done["changes"][0]["outcome"], done["snapshot"]) == ("changed", {"gdrdrv": "absent"})
    assert programs.changing == [["modprobe", "gdrdrv"]]
    assert run(host, {"gdrdrv": "present"}, programs)["changed"] is False
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), host.read(
        "/proc/sys/kernel/random/boot_id").value)
    assert plan.restore == {"module": {"gdrdrv": {"set": "absent", "only_from": "present", "restores": True}}}
    assert change_of(host, plan.restore["module"], programs)["outcome"] == "changed"
    assert programs.changing[-1] == ["rmmod", "gdrdrv"]


def test_the_driver_is_left_alone_once_a_gpu_hung_while_it_was_measured(tree, host, programs):
    plant_hung(tree, "0000:01:00.0", boot=host.read("/proc/sys/kernel/random/boot_id").value)
    change = change_of(host, {"gdrdrv": "present"}, programs)
    assert change["outcome"] == "refused"
    assert change["reason"].startswith("0000:01:00.0 hung at 2026-11-30T03:00:00Z during a measurement")
    assert programs.changing == []


def test_a32_with_libraries_of_another_version_nothing_is_loaded_but_the_way_back_is_open(tree, host, programs):
    """A-32: packages were upgraded under the loaded driver, after we had loaded gdrdrv."""
    assert change_of(host, {"gdrdrv": "present"}, programs)["outcome"] == "changed"
    plant_libraries(tree, "580.95.05")
    after = Host(str(tree.root))
    change = change_of(after, {"nvidia_uvm": "present"}, programs, check_mode=True)
    assert change["outcome"] == "unchanged"         # it is loaded
    unplant(tree, "nvidia_uvm")
    change = change_of(after, {"nvidia_uvm": "present"}, programs)
    assert (change["outcome"], change["reason"]) == (
        "refused", "driver/library version mismatch: the loaded driver is 570.133.20, libnvidia-ml.so is 580.95.05 and "
                   "libcuda.so is 580.95.05")
    assert change_of(after, {"gdrdrv": "absent"}, programs)["outcome"] == "refused"
    back = {"gdrdrv": {"set": "absent", "only_from": "present", "restores": True}}
    assert change_of(after, back, programs)["outcome"] == "changed"
    assert programs.changing == [["modprobe", "gdrdrv"], ["rmmod", "gdrdrv"]]


def test_a27_hyphens_and_underscores_are_one_name(tree, host, programs):
    """A-27."""
    plant_module(tree, "nvidia_peermem")
    change = change_of(host, {"nvidia-peermem": "present"}, programs)
    assert (change["address"], change["outcome"]) == ("module:nvidia_peermem", "unchanged")
    assert programs.calls == []


def test_what_would_be_loaded_along_is_in_the_plan(tree, host, programs, rdma):
    change = change_of(host, {"nvidia_peermem": "present"}, programs, check_mode=True)
    assert change["reason"] == "loads ib_core, nvidia_peermem"
    assert change["inexact"] == ["module:ib_core"]


def test_uvm_is_loaded_and_never_unloaded(tree, programs):
    plant_kernel(tree)
    plant_nvidia(tree, uvm=False)
    plant_proxmox(tree, containers={"101": "dev0: /dev/nvidia0\n"})
    host = Host(str(tree.root))
    assert change_of(host, {"nvidia_uvm": "present"}, programs)["outcome"] == "changed"
    change = change_of(host, {"nvidia_uvm": "absent"}, programs)
    assert change["outcome"] == "refused"
    assert "used by containers 101" in change["reason"]


@pytest.mark.parametrize("name", ["nvidia", "nvidia_modeset", "nvidia_drm"])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_the_driver_itself_is_read_and_refused_with_the_consequences(tree, host, programs, name, state):
    if state == "present":
        unplant(tree, name)
    plant_proxmox(tree, containers={"101": "dev0: /dev/nvidia0\n", "102": "memory: 512\n"})
    change = change_of(host, {name: state}, programs)
    assert change["outcome"] == "refused"
    for message in ("driver itself", "nvidia-uvm 511", "nvidia-caps 235", "used by containers 101"):
        assert message in change["reason"]
    assert programs.calls == []


@pytest.mark.parametrize("name", ["nouveau", "vfio_pci", "ib_core", "zfs", "kvm"])
def test_other_modules_are_refused(host, programs, name):
    change = change_of(host, {name: "present"}, programs)
    assert (change["outcome"], programs.calls) == ("refused", [])
    assert "only gdrdrv, nvidia_fs, nvidia_peermem, nvidia_uvm are loaded" in change["reason"]


@pytest.mark.parametrize("state", ["coming", "going"])
def test_only_while_nvidia_is_live(tree, host, programs, state):
    tree.file("/sys/module/nvidia/initstate", state)
    change = change_of(host, {"gdrdrv": "present"}, programs)
    assert (change["outcome"], programs.calls) == ("refused", [])
    assert f"module nvidia is {state}" in change["reason"]


def test_without_the_driver(tree, programs):
    plant_kernel(tree)
    change = change_of(Host(str(tree.root)), {"gdrdrv": "present"}, programs)
    assert "module nvidia is absent" in change["reason"]


def test_a_configuration_that_runs_a_command_is_refused(host, programs):
    programs.depends["gdrdrv"] = "install /bin/sh -c 'rm -rf /' \n"
    change = change_of(host, {"gdrdrv": "present"}, programs)
    assert change["reason"] == "modprobe's configuration runs a command for it: /bin/sh -c 'rm -rf /'"
    assert programs.changing == []


def test_a_recorded_host_needs_to_live(host):
    change = change_of(host, {"gdrdrv": "present"})
    assert (change["outcome"], change["reason"]) == ("skipped", "needs a live host")


# -- peer memory -------------------------------------------------------------------------------------------------------


def test_a22_without_an_rdma_device_it_is_not_tried(host, programs):
    """A-22."""
    result = run(host, {"nvidia_peermem": "present"}, programs)
    change = result["changes"][0]
    assert (change["outcome"], change["reason"]) == (
        "skipped", "not_applicable: no RDMA device in /sys/class/infiniband")
    assert result["failures"][0]["class"] == "not_applicable"
    assert programs.calls == []


def test_without_rdma_it_is_not_applicable_whatever_the_driver_does(tree, programs):
    plant_kernel(tree)
    change = change_of(Host(str(tree.root)), {"nvidia_peermem": "present"}, programs)
    assert (change["outcome"], change["reason"]) == (
        "skipped", "not_applicable: no RDMA device in /sys/class/infiniband")


def test_a_recorded_host_without_rdma_says_not_applicable_too(host):
    assert change_of(host, {"nvidia_peermem": "present"})["reason"].startswith("not_applicable: ")


def test_a22_a_symbol_of_another_version(tree, host, programs, rdma):
    """A-22."""
    lines = ["nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
             "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)"]

    def answer(argv):
        log(tree, "usb 1-1: unrelated", *lines)
        return failed("Invalid argument")

    log(tree, "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err 0)")      # of an earlier try
    programs.answers["modprobe"] = answer
    result = run(host, {"nvidia_peermem": "present"}, programs)
    assert result["changes"][0]["outcome"] == "refused"
    assert result["failures"] == [{
        "address": "module:nvidia_peermem", "class": "symbol_mismatch", "said": "Invalid argument", "log": lines,
        "hint": "rebuild the driver after installing MLNX_OFED or DOCA-OFED, for the ib_core that is loaded",
        "secure_boot": None, "signer": None}]
    assert all(line in result["msg"] for line in lines)


def log(tree, *lines):
    path = tree.path("/recorded/kmsg.txt")
    before = path.read_text() if path.exists() else ""
    number = before.count("\n")
    path.write_text(before + "".join(f"6,{number + index},{(number + index + 10) * 1000000},-;{line}\n"
                                     for index, line in enumerate(lines)))


def test_a23_a_kernel_without_the_interface_is_known_before(tree, host, programs, rdma):
    """A-23."""
    tree.file("/proc/kallsyms", "0000000000000000 t ib_register_client\t[ib_core]")
    for check_mode in (True, False):
        result = run(host, {"nvidia_peermem": "present"}, programs, check_mode=check_mode)
        assert result["changes"][0]["outcome"] == "refused"
        assert result["failures"][0]["class"] == "symbol_missing"
        assert "dma-buf" in result["failures"][0]["hint"]
        assert "OFED" in result["failures"][0]["hint"]
    assert programs.calls == []


def test_a23_a_missing_symbol_of_the_log(tree, host, programs, rdma):
    """A-23."""
    def answer(argv):
        log(tree, "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err 0)")
        return failed("Unknown symbol in module, or unknown parameter (see dmesg)")

    programs.answers["modprobe"] = answer
    assert run(host, {"nvidia_peermem": "present"}, programs)["failures"][0]["class"] == "symbol_missing"


def test_a_silent_invalid_argument_is_a_stub(host, programs, rdma):
    programs.answers["modprobe"] = failed("Invalid argument")
    failure = run(host, {"nvidia_peermem": "present"}, programs)["failures"][0]
    assert (failure["class"], failure["log"]) == ("stub", [])


def test_a34_a_rejected_signature_comes_with_secure_boot_and_signer(tree, host, programs):
    """A-34."""
    tree.file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0\x01")
    programs.answers["modprobe"] = failed("Key was rejected by service", "gdrdrv")
    programs.answers["modinfo"] = Reading("ok", "DKMS module signing key\n")
    failure = run(host, {"gdrdrv": "present"}, programs)["failures"][0]
    assert (failure["class"], failure["secure_boot"], failure["signer"]) == (
        "signature_rejected", True, "DKMS module signing key")
    assert "MOK" in failure["hint"]


def test_a_program_that_hangs(host, programs):
    programs.answers["modprobe"] = Reading("unparsable", None, "timeout: modprobe did not end within 60 s")
    result = run(host, {"gdrdrv": "present"}, programs)
    assert (result["changes"][0]["outcome"], result["failures"][0]["class"]) == ("refused", "timeout")


def test_a_machine_without_modprobe(host):
    def nothing(argv, timeout):
        return Reading("absent", None, f"{argv[0]} is not installed")

    assert change_of(host, {"gdrdrv": "present"}, nothing)["reason"] == "modprobe is not installed"


def test_a_load_that_is_said_to_work_and_did_not(host, programs):
    programs.answers["modprobe"] = OK
    change = change_of(host, {"gdrdrv": "present"}, programs)
    assert (change["outcome"], change["reason"]) == ("refused", "the write of present was ignored")


# -- unloading ---------------------------------------------------------------------------------------------------------


def test_a28_absent_and_not_loaded_is_fine(host, programs):
    """A-28."""
    assert change_of(host, {"gdrdrv": "absent"}, programs)["outcome"] == "unchanged"
    assert programs.calls == []


def test_a29_said_unloaded_and_was_not(tree, host, programs):
    """A-29."""
    plant_module(tree, "nvidia_peermem")

    def answer(argv):
        plant_module(tree, "nvidia_peermem", refcount=1, holders=("ib_core",))
        return OK

    programs.answers["rmmod"] = answer
    result = run(host, {"nvidia_peermem": "absent"}, programs)
    assert (result["changes"][0]["outcome"], result["changed"]) == ("refused", False)
    assert result["changes"][0]["reason"].startswith("in_use: used by the modules ib_core")


def test_a30_only_the_module_itself_goes(tree, host, programs):
    """A-30."""
    plant_module(tree, "ib_core")
    plant_module(tree, "nvidia_peermem")
    predicted = change_of(host, {"nvidia_peermem": "absent"}, programs, check_mode=True)
    assert predicted["reason"] == "only nvidia_peermem itself is unloaded"
    run(host, {"nvidia_peermem": "absent"}, programs)
    assert programs.changing == [["rmmod", "nvidia_peermem"]]
    assert run(host, {}, programs, names=["ib_core"])["readings"][0]["value"] == "present"


@pytest.mark.parametrize(("fields", "message"), [
    ({"refcount": 2, "holders": ("nvidia_fs", "other")}, "in_use: used by the modules nvidia_fs, other"),
    ({"refcount": 15}, "in_use: 15 references, none by a module; processes using a GPU: vllm (pid 4711)")])
def test_a31_in_use_is_refused_before_it_is_tried(tree, host, programs, fields, message):
    """A-31."""
    plant_module(tree, "gdrdrv", **fields)
    plant_process(tree, 4711, "vllm", ("/dev/nvidia0",))
    change = change_of(host, {"gdrdrv": "absent"}, programs)
    assert change["outcome"] == "refused"
    assert change["reason"].startswith(message)
    assert programs.calls == []


# -- reading and names -------------------------------------------------------------------------------------------------


def test_reading(tree, host):
    result = run(host, {}, names=["nvidia-uvm", "nvidia_peermem", "nvidia"])
    assert [(reading["address"], reading["value"]) for reading in result["readings"]] == [
        ("module:nvidia_uvm", "present"), ("module:nvidia_peermem", "absent"), ("module:nvidia", "present")]
    assert result["modules"][2] == {
        "name": "nvidia", "state": "live", "version": {"status": "ok", "value": "570.133.20"},
        "refcount": {"status": "ok", "value": 10}, "holders": ["nvidia_modeset", "nvidia_uvm"]}
    assert result["failures"] == []


@pytest.mark.parametrize("name", ["", "../x", "a b", "nvidia;reboot", "-r", "nvidia_peermem\n"])
def test_names_that_are_none(host, programs, name):
    with pytest.raises(ValueError, match="not the name of a module"):
        run(host, {name: "present"}, programs)
    assert programs.calls == []


@pytest.mark.parametrize("state", [True, False, "loaded", 1, None])
def test_states_that_are_none(host, state):
    with pytest.raises(ValueError, match="neither present nor absent"):
        run(host, {"gdrdrv": state})


def test_depends():
    assert parse_depends(DEPENDS["nvidia_peermem"]) == (["ib_core", "nvidia", "nvidia_peermem"], [])
    assert parse_depends(DEPENDS["gdrdrv"])[0] == ["nvidia", "gdrdrv"]
    assert parse_depends("builtin i2c_core\ninstall /bin/true \n") == ([], ["/bin/true"])
