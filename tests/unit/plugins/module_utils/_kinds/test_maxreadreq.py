# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._change import baseline
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import read_journal
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.setter import set_values
from ansible_collections.gpuhost.tuning.plugins.module_utils._kinds.maxreadreq import (
    MaxReadRequestKind,
    parse_identity,
    select,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._tunables.maxreadreq import parse_size

from hosts.config_space import ConfigSpace, all_ones, gpu_space
from hosts.faulty import FaultyHost
from hosts.kernel import plant_kernel
from hosts.nvidia import plant_hung, plant_nvidia
from hosts.pci import DEVICES, bind, device_path, plant_device, plant_gpu, plant_root_port, suspend, write_config
from hosts.processes import plant_container_process, plant_persistenced, plant_process
from hosts.proxmox import plant_proxmox

GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x01, 0x21, 0x41, 0x61, 0x81, 0xA1, 0xC1, 0xE1)]
GPU = GPUS[0]
BLACKWELL = "10de:2bb5 10de:204e a1"


def plant_eight(tree, **fields):
    """Eight GPUs, each behind a root port of its own, bound to nvidia."""
    for number, gpu in enumerate(GPUS):
        port = plant_root_port(tree, f"0000:{number:02x}:01.1")
        plant_gpu(tree, gpu, parent=port, **fields)
    plant_kernel(tree)
    plant_nvidia(tree, gpus=[(gpu, number) for number, gpu in enumerate(GPUS)])


@pytest.fixture
def host(tree):
    return FaultyHost(str(tree.root))


def run(host, values, allow_busy=False, **options):
    return set_values(MaxReadRequestKind(host, allow_busy), host, values, options.pop("names", []), **options)


def restore(host):
    plan = baseline.plan_back(baseline.pair_lines(read_journal(host).value), host.read(
        "/proc/sys/kernel/random/boot_id").value)
    return run(host, plan.restore.get("pcie_maxreadreq", {}))


def config_of(tree, bdf=GPU):
    return tree.path(f"{device_path(tree, bdf)}/config").read_bytes()


def refusal(host, bdf=GPU, **options):
    """Why 4096 is refused, in check mode and without, which must be the same; nothing may have been written."""
    reasons = []
    for check_mode in (True, False):
        result = run(host, {bdf: 4096}, check_mode=check_mode, **options)
        assert [change["outcome"] for change in result["changes"]] == ["refused"], result["msg"]
        reasons.append(result["changes"][0]["reason"])
    assert reasons[0] == reasons[1]
    assert host.writes == []
    return reasons[0]


# -- the register ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "control"), [(128, 0x0937), (256, 0x1937), (512, 0x2937), (1024, 0x3937),
                                                 (2048, 0x4937), (4096, 0x5937)])
@pytest.mark.parametrize("offset", [0x60, 0x68, 0x78, 0x80])
def test_a39_a40_only_bits_14_to_12_move_wherever_the_capability_lies(tree, host, offset, wanted, control):
    """A-39, A-40: all 4096 bytes are compared, those of MSI at 0x68 and of Device Status behind the register too."""
    space = ConfigSpace().power_management(0x40)
    if offset in (0x78, 0x80):
        space.msi(0x68)
    space.express(offset, max_read_request=128 if wanted == 512 else 512).msix(0xB0).aer()
    before = space.bytes()
    plant_root_port(tree, "0000:00:01.1")
    plant_gpu(tree, GPU, parent="0000:00:01.1", config=space)
    result = run(host, {GPU: wanted})
    assert result["changes"][0]["outcome"] == "changed"
    after = config_of(tree)
    register = offset + 8
    assert after[register:register + 2] == control.to_bytes(2, "little")
    assert after[:register] == before[:register]
    assert after[register + 2:] == before[register + 2:]
    assert [len(data) for _path, data in host.writes] == [2]
    restore(host)
    assert config_of(tree) == before


def test_a40_other_bits_of_the_word_survive(tree, host):
    """A-40."""
    plant_eight(tree, express={"relaxed_ordering": False, "error_reporting": 0xF, "extended_tags": False})
    before = config_of(tree)
    run(host, {GPU: 4096})
    changed = [index for index, pair in enumerate(zip(before, config_of(tree))) if pair[0] != pair[1]]
    assert changed == [0x69]
    assert before[0x69] ^ config_of(tree)[0x69] == 0x70


@pytest.mark.parametrize("size", [128, 256, 512, 1024, 2048, 4096, "4096"])
def test_sizes(size):
    assert parse_size(size) == int(size)


@pytest.mark.parametrize("size", [0, 100, 8192, 64, 4095, -4096, "4k", "0x1000", "", True, False, None, 4096.0, [4096]])
def test_wrong_sizes_are_rejected_before_anything_is_touched(tree, host, size):
    plant_eight(tree)
    with pytest.raises(ValueError, match=r"128, 256|boolean|neither|empty"):
        run(host, {GPU: 4096, GPUS[1]: size})
    assert (host.writes, tree.path("/run/gpuhost").exists()) == ([], False)


def test_at_least_is_not_for_devices(tree, host):
    plant_eight(tree)
    with pytest.raises(ValueError, match="at_least is for sysctls"):
        run(host, {GPU: {"at_least": 4096}})


def test_a_write_over_a_reserved_code_is_refused(tree, host):
    plant_eight(tree)
    write_config(tree, GPU, gpu_space().max_read_request_code(6))
    assert refusal(host) == "unparsable: MaxReadReq has a reserved code"


def test_the_bit_that_resets_a_device_is_never_written(tree, host):
    plant_eight(tree)
    space = gpu_space()
    space.put(0x68, 0xA937, 2)
    write_config(tree, GPU, space)
    result = run(host, {GPU: 4096})
    assert "Device Control reads 0xa937" in result["changes"][0]["reason"]
    assert host.writes == []


# -- eight devices -----------------------------------------------------------------------------------------------------


def test_seven_at_512_and_one_at_256_come_back_so_in_one_call(tree, host):
    plant_eight(tree)
    write_config(tree, GPUS[5], gpu_space(max_read_request=256))
    done = run(host, dict.fromkeys(GPUS, 4096))
    assert [change["outcome"] for change in done["changes"]] == ["changed"] * 8
    assert done["snapshot"] == {**dict.fromkeys(GPUS, 512), GPUS[5]: 256}
    back = restore(host)
    assert {change["address"]: change["after"] for change in back["changes"]} == {
        f"pcie_maxreadreq:{gpu}": 256 if gpu == GPUS[5] else 512 for gpu in GPUS}
    assert run(host, {}, names=GPUS)["snapshot"] == done["snapshot"]


def test_a_second_run_writes_nothing(tree, host):
    plant_eight(tree)
    run(host, dict.fromkeys(GPUS, 4096))
    host.writes.clear()
    assert run(host, dict.fromkeys(GPUS, 4096))["changed"] is False
    assert host.writes == []


def test_a_gpu_that_is_out_of_reach_holds_back_no_other(tree, host):
    """Passed through, asleep, gone, busy: four refused with four reasons, four done."""
    plant_eight(tree)
    bind(tree, GPUS[0], "vfio-pci")
    suspend(tree, GPUS[1])
    write_config(tree, GPUS[2], all_ones())
    plant_process(tree, 4711, "vllm", ("/dev/nvidia3",))
    result = run(host, dict.fromkeys(GPUS, 4096))
    reasons = [change["reason"] for change in result["changes"]]
    assert [change["outcome"] for change in result["changes"]] == ["refused"] * 4 + ["changed"] * 4
    assert reasons[0] == "passed_through: it is bound to vfio-pci"
    assert reasons[1] == f"asleep: {GPUS[1]} is suspended and was not woken"
    assert reasons[2].startswith("gone: its config space reads all ones")
    assert reasons[3] == "busy: in use by vllm (pid 4711)"
    assert len(host.writes) == 4


def test_the_snapshot_can_be_given_back(tree, host):
    plant_eight(tree)
    before = config_of(tree)
    run(host, run(host, {GPU: 4096})["snapshot"])
    assert config_of(tree) == before


# -- every refusal -----------------------------------------------------------------------------------------------------


def test_a38_bound_to_vfio_is_the_vms(tree, host):
    """A-38."""
    plant_eight(tree)
    bind(tree, GPU, "vfio-pci")
    before = config_of(tree)
    assert refusal(host) == "passed_through: it is bound to vfio-pci"
    assert config_of(tree) == before
    assert run(host, {}, names=[GPU])["readings"][0]["value"] == 512


@pytest.mark.parametrize("driver", ["vfio-pci", "nvgrace_gpu_vfio_pci", "vfio", "pci-stub", "pciback", "xen-pciback"])
def test_other_drivers_that_hold_it_for_somebody(tree, host, driver):
    plant_eight(tree)
    bind(tree, GPU, driver)
    assert refusal(host) == f"passed_through: it is bound to {driver}"


@pytest.mark.parametrize("value", ["0000:01:00.0", "0000:01:00", "01:00.0,pcie=1", "01:00", "0000:01:00.0;0000:21:00.0",
                                   "host=0000:01:00,x-vga=1", "mapping=blackwell"])
@pytest.mark.parametrize("running", [True, False])
def test_named_by_a_vm(tree, host, value, running):
    plant_eight(tree)
    plant_proxmox(tree, vms={"200": f"name: guest\nhostpci0: {value}\n"}, running=("200",) if running else (),
                  mapping="blackwell\n\tmap id=10de:2bb5,node=pve1,path=0000:01:00.0\n")
    assert refusal(host) == f"passed_through: VM 200 has it in its configuration (hostpci0: {value})"
    assert run(host, {GPUS[2]: 4096})["changes"][0]["outcome"] == "changed"


def test_named_by_another_nodes_vm_is_ours(tree, host):
    plant_eight(tree)
    plant_proxmox(tree)
    tree.file("/etc/pve/nodes/pve2/qemu-server/200.conf", "hostpci0: 0000:01:00.0")
    assert run(host, {GPU: 4096})["changes"][0]["outcome"] == "changed"


def test_an_empty_etc_pve_hides_claims(tree, host):
    plant_eight(tree)
    tree.folder("/etc/pve")
    assert refusal(host).startswith("whether it is assigned to a VM is unknown: ")


def test_a_vm_that_cannot_be_understood_hides_claims(tree, host):
    plant_eight(tree)
    plant_proxmox(tree, vms={"200": "hostpci0: something=new\n"})
    assert "whether it is assigned to a VM is unknown: VM 200" in refusal(host)


def test_a_virtual_function(tree, host):
    plant_eight(tree, virtual_functions=1)
    plant_gpu(tree, "0000:01:00.4", parent="0000:00:01.1", physical_function=GPU)
    plant_gpu(tree, "0000:02:00.0", parent="0000:00:01.1", physical_function=GPU)
    assert refusal(host, "0000:01:00.4") == "not function 0 of its device"
    assert refusal(host, "0000:02:00.0").startswith(f"a virtual function of {GPU}")


@pytest.mark.parametrize(("driver", "claimed"), [("vfio-pci", False), ("nvidia-vgpu-vfio", False), (None, True)])
def test_the_parent_of_a_virtual_function_with_a_guest(tree, host, driver, claimed):
    plant_eight(tree)
    tree.file(f"{device_path(tree, GPU)}/sriov_numvfs", 1)
    plant_gpu(tree, "0000:01:00.4", parent="0000:00:01.1", physical_function=GPU, driver=driver)
    plant_proxmox(tree, vms={"200": "hostpci0: 0000:01:00.4\n"} if claimed else {})
    assert refusal(host).startswith("its virtual function 0000:01:00.4 is used by a guest")


def test_virtual_functions_that_nobody_uses(tree, host):
    plant_eight(tree)
    tree.file(f"{device_path(tree, GPU)}/sriov_numvfs", 1)
    plant_gpu(tree, "0000:01:00.4", parent="0000:00:01.1", physical_function=GPU, driver=None)
    assert run(host, {GPU: 4096})["changes"][0]["outcome"] == "changed"
    tree.file(f"{device_path(tree, GPUS[1])}/sriov_numvfs", 2)
    assert refusal_of(run(host, {GPUS[1]: 4096})) == "it has 2 virtual functions, of which 2 are not visible"


def refusal_of(result):
    assert result["changes"][0]["outcome"] == "refused"
    return result["changes"][0]["reason"]


def test_mediated_devices_are_guests_too(tree, host):
    plant_eight(tree)
    tree.folder(f"{device_path(tree, GPU)}/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001")
    assert "mediated devices" in refusal(host)


def test_a_gpu_that_hung_while_it_was_measured_is_left_alone_until_the_next_boot(tree, host):
    plant_eight(tree)
    tree.sysctl("kernel.random.boot_id", "boot-1")
    plant_hung(tree, GPU)
    assert refusal(host).startswith("0000:01:00.0 hung at 2026-11-30T03:00:00Z during a measurement (run r9")
    assert run(host, {GPUS[1]: 4096})["changes"][0]["outcome"] == "changed"
    tree.sysctl("kernel.random.boot_id", "boot-2")
    assert run(host, {GPU: 4096})["changes"][0]["outcome"] == "changed"


def test_asleep_is_not_woken(tree, host):
    plant_eight(tree)
    suspend(tree, GPU)
    opened = []
    real = host.read_at
    host.read_at = lambda path, offset, size: opened.append(path) or real(path, offset, size)
    assert refusal(host) == f"asleep: {GPU} is suspended and was not woken"
    assert opened == []


def test_a_sleeping_port_above_it_is_not_woken_either(tree, host):
    plant_eight(tree)
    suspend(tree, "0000:00:01.1")
    assert refusal(host) == "asleep: 0000:00:01.1 is suspended and was not woken"


def test_a55_fallen_off_the_bus(tree, host):
    """A-55."""
    plant_eight(tree)
    write_config(tree, GPU, all_ones())
    assert refusal(host).startswith("gone: ")
    reading = run(host, {}, names=[GPU])["readings"][0]
    assert (reading["status"], reading["value"]) == ("gone", None)
    assert config_of(tree) == all_ones()


@pytest.mark.parametrize("class_", [0x020000, 0x010802, 0x060400, 0x040300, 0x0C0330])
def test_a58_only_gpus_are_written(tree, host, class_):
    """A-58."""
    plant_eight(tree)
    plant_device(tree, "0000:05:00.0", parent="0000:00:01.1", class_=class_, config=ConfigSpace().express(0x60))
    assert refusal(host, "0000:05:00.0") == f"class {class_:06x}: only GPUs are written to (classes 03xx and 1200)"
    assert run(host, {}, names=["0000:05:00.0"])["readings"][0]["value"] == 512


@pytest.mark.parametrize("class_", [0x030000, 0x030200, 0x038000, 0x120000])
def test_every_class_of_gpu(tree, host, class_):
    plant_kernel(tree)
    plant_root_port(tree, "0000:00:01.1")
    plant_gpu(tree, GPU, parent="0000:00:01.1", class_=class_)
    assert run(host, {GPU: 4096})["changes"][0]["outcome"] == "changed"


def test_the_audio_function_of_a_gpu(tree, host):
    plant_eight(tree)
    plant_gpu(tree, "0000:01:00.1", parent="0000:00:01.1")
    assert refusal(host, "0000:01:00.1") == "not function 0 of its device"


def test_a_device_that_is_not_there(tree, host):
    plant_eight(tree)
    assert refusal(host, "0000:99:00.0").startswith("absent: ")


def test_a_conventional_device(tree, host):
    plant_eight(tree)
    plant_device(tree, "0000:05:00.0", parent="0000:00:01.1", class_=0x030000, config=ConfigSpace(size=256).msi())
    assert refusal(host, "0000:05:00.0") == "unparsable: no PCI Express capability in its list"


def test_a_capability_list_that_loops(tree, host):
    plant_eight(tree)
    write_config(tree, GPU, ConfigSpace().power_management(0x40).msi(0x48).put(0x49, 0x40, 1))
    assert refusal(host) == "unparsable: no PCI Express capability in its list"


def test_64_bytes_are_not_enough(tree, host):
    plant_eight(tree)
    write_config(tree, GPU, gpu_space().bytes(64))
    assert "needs root" in refusal(host)


@pytest.mark.parametrize("mode", ["integrity", "confidentiality"])
def test_lockdown(tree, host, mode):
    plant_eight(tree)
    plant_kernel(tree, lockdown=mode)
    assert refusal(host) == f"EPERM (Operation not permitted): the kernel is locked down ({mode})"


def test_a_kernel_that_refuses_at_the_write(tree, host):
    plant_eight(tree)
    host.faults[f"{DEVICES}/{GPU}/config"] = errno.EPERM
    change = run(host, {GPU: 4096})["changes"][0]
    assert (change["outcome"], change["error"], change["after"]) == ("refused", "EPERM (Operation not permitted)", 512)


def test_a42_a_register_that_ignores_writes(tree, host):
    """A-42."""
    plant_eight(tree)
    host.ignore(f"{DEVICES}/{GPU}/config")
    result = run(host, {GPU: 4096})
    assert (result["changes"][0]["outcome"], result["changed"]) == ("refused", False)
    assert result["changes"][0]["reason"] == "the write of 4096 was ignored"
    assert len(host.writes) == 1


def test_busy_and_allowed_to_be(tree, host):
    plant_eight(tree)
    plant_process(tree, 4711, "vllm", ("/dev/nvidia0", "/dev/nvidiactl"))
    assert refusal(host) == "busy: in use by vllm (pid 4711)"
    change = run(host, {GPU: 4096}, allow_busy=True)["changes"][0]
    assert (change["outcome"], change["reason"]) == ("changed", "in use by vllm (pid 4711)")


def test_persistenced_is_no_use(tree, host):
    plant_eight(tree)
    plant_persistenced(tree, 900, tuple(f"/dev/nvidia{number}" for number in range(8)))
    assert run(host, {GPU: 4096})["changes"][0]["outcome"] == "changed"


def test_busy_where_the_driver_does_not_say_which_node_is_whose(tree, host):
    plant_eight(tree)
    tree.path(f"/proc/driver/nvidia/gpus/{GPU}/information").unlink()
    plant_process(tree, 4711, "vllm", ("/dev/nvidia5",))
    assert refusal(host) == "busy: in use by vllm (pid 4711)"


def test_a_containers_gpu_stays_the_hosts_and_the_container_is_named(tree, host):
    plant_eight(tree)
    plant_proxmox(tree, containers={"101": "dev0: /dev/nvidia0\n", "102": "dev0: /dev/nvidia7\n"}, running=("101",))
    for check_mode, outcome in ((True, "would_change"), (False, "changed")):
        change = run(host, {GPU: 4096}, check_mode=check_mode)["changes"][0]
        assert (change["outcome"], change["reason"]) == (outcome, "containers 101 have this GPU")


def test_busy_inside_a_container(tree, host):
    plant_eight(tree)
    plant_proxmox(tree, containers={"101": "dev0: /dev/nvidia0\n"}, running=("101",))
    plant_container_process(tree, 4711, "python3", "101", ("/dev/nvidia0",))
    assert refusal(host) == "busy: in use by python3 (pid 4711, container 101)"


# -- what changes between the look and the write -----------------------------------------------------------------------


def between(host, monkeypatch, happen):
    """`happen` runs after the last look, when the journal has its start line."""
    from ansible_collections.gpuhost.tuning.plugins.module_utils._change.journal import Journal

    real = Journal.start

    def start(journal, lines):
        real(journal, lines)
        happen()

    monkeypatch.setattr(Journal, "start", start)
    result = run(host, {GPU: 4096})
    assert host.writes == []
    return refusal_of(result)


def test_a_driver_that_changed_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    assert "bound to vfio-pci" in between(host, monkeypatch, lambda: bind(tree, GPU, "vfio-pci"))


def test_a_vm_that_came_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    plant_proxmox(tree)
    assert "VM 200 has it" in between(host, monkeypatch, lambda: tree.file(
        "/etc/pve/nodes/pve1/qemu-server/200.conf", "hostpci0: 0000:01:00"))


def test_a_gpu_that_fell_asleep_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    assert "asleep" in between(host, monkeypatch, lambda: suspend(tree, GPU))


def test_a_gpu_that_fell_off_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    assert "gone" in between(host, monkeypatch, lambda: write_config(tree, GPU, all_ones()))


def test_another_gpu_at_the_address_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    other = ConfigSpace(device=0x2684, subsystem=(0x10DE, 0x16A1)).express(0x78)
    reason = between(host, monkeypatch, lambda: write_config(tree, GPU, other))
    assert reason == f"another device: found 10de:2684 10de:16a1 a1, a moment ago {BLACKWELL}"


def test_a_process_that_came_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    assert "busy" in between(host, monkeypatch, lambda: plant_process(tree, 4711, "vllm", ("/dev/nvidia0",)))


def test_a_kernel_that_was_locked_down_meanwhile(tree, host, monkeypatch):
    plant_eight(tree)
    assert "locked down" in between(host, monkeypatch, lambda: plant_kernel(tree, lockdown="integrity"))


# -- identity ----------------------------------------------------------------------------------------------------------


def test_identity():
    assert parse_identity(gpu_space().bytes()) == BLACKWELL
    with pytest.raises(ValueError, match="all ones"):
        parse_identity(all_ones())


def test_the_journal_knows_the_device(tree, host):
    plant_eight(tree)
    run(host, {GPU: 4096})
    assert read_journal(host).value[0]["identity"] == BLACKWELL


def test_restore_leaves_another_device_alone(tree, host):
    plant_eight(tree)
    run(host, {GPU: 4096})
    write_config(tree, GPU, ConfigSpace(device=0x2684, subsystem=(0x10DE, 0x16A1)).express(0x78, max_read_request=4096))
    host.writes.clear()
    assert refusal_of(restore(host)) == f"another device: found 10de:2684 10de:16a1 a1, expected {BLACKWELL}"
    assert host.writes == []


def test_after_a_reset_there_is_nothing_to_restore(tree, host):
    plant_eight(tree)
    run(host, {GPU: 4096})
    write_config(tree, GPU, gpu_space(max_read_request=512))
    host.writes.clear()
    assert restore(host)["changes"][0]["outcome"] == "unchanged"
    assert host.writes == []


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "message"), [
    ("2460.0", "quote it in YAML"), ("60", "quote it in YAML"), ("gpu0", "is not a PCI address"),
    ("0000:01:00", "is not a PCI address"), ("01:00.0", "give the domain too"), ("", "is not a PCI address"),
    ("0000:01:00.8", "is not a PCI address"), ("../0000:01:00.0", "is not a PCI address")])
def test_addresses_that_are_none(tree, host, name, message):
    plant_eight(tree)
    with pytest.raises(ValueError, match=r".") as caught:
        run(host, {GPUS[1]: 4096, name: 4096})
    assert message in str(caught.value)
    assert host.writes == []


def test_a47_a_short_address_lists_what_it_fits(tree, host):
    """A-47."""
    plant_eight(tree)
    plant_root_port(tree, "0001:00:01.1")
    plant_gpu(tree, "0001:01:00.0", parent="0001:00:01.1")
    with pytest.raises(ValueError, match=r"0000:01:00\.0, 0001:01:00\.0"):
        run(host, {"01:00.0": 4096})
    with pytest.raises(ValueError, match=r"0000:01:00\.0, 0001:01:00\.0"):
        run(host, {}, names=["01:00.0"])
    assert run(host, {}, names=["21:00.0"])["readings"][0]["address"] == "pcie_maxreadreq:0000:21:00.0"


@pytest.mark.parametrize(("asked", "bdf"), [
    ("00000000:E1:00.0", "0000:e1:00.0"), ("0000:E1:00.0", "0000:e1:00.0"), ("10000:01:00.0", "10000:01:00.0"),
    ("00010000:01:00.0", "10000:01:00.0")])
def test_a47_longer_domains_and_upper_case_are_the_same_device(tree, host, asked, bdf):
    """A-47."""
    plant_eight(tree)
    plant_root_port(tree, "10000:00:01.1")
    plant_gpu(tree, "10000:01:00.0", parent="10000:00:01.1")
    assert run(host, {asked: 4096})["changes"][0]["address"] == f"pcie_maxreadreq:{bdf}"


def test_selectors(tree, host):
    plant_eight(tree)
    bind(tree, GPUS[7], "vfio-pci")
    plant_gpu(tree, "0000:01:00.1", parent="0000:00:01.1", class_=0x040300, driver="snd_hda_intel")
    plant_device(tree, "0000:05:00.0", parent="0000:00:01.1", vendor=0x15B3, class_=0x020000, driver="mlx5_core")
    assert select(host) == GPUS
    assert select(host, vendor="10de") == GPUS
    assert select(host, driver="nvidia") == GPUS[:7]
    assert select(host, vendor="1002") == []
    assert select(host, class_="02") == ["0000:05:00.0"]
    assert select(host, class_="0403", vendor="10de") == ["0000:01:00.1"]


@pytest.mark.parametrize("on_refusal", ["keep", "report"])
def test_a_gpu_that_is_lost_by_its_write_stops_the_others(tree, host, on_refusal):
    plant_eight(tree)
    host.effects[f"{DEVICES}/{GPUS[2]}/config"] = lambda data: write_config(tree, GPUS[2], all_ones())
    done = run(host, dict.fromkeys(GPUS, 4096), on_refusal=on_refusal)
    seen = {change["address"].partition(":")[2]: change["outcome"] for change in done["changes"]}
    assert [seen[gpu] for gpu in GPUS] == ["changed", "changed", "refused"] + ["skipped"] * 5
    assert len(host.writes) == 3 + sum("/run/gpuhost/" in path for path, _data in host.writes)
    reason = next(change["reason"] for change in done["changes"] if change["outcome"] == "skipped")
    assert reason == f"not attempted: pcie_maxreadreq:{GPUS[2]} does not respond since its write"
