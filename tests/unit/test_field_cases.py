# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What went wrong with other tools in the field, on whole planted hosts; docs/field-cases.md lists all."""
from __future__ import annotations

import copy
import functools
import os
import re
import stat

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._plan.plan import plan

from checkout import REPOSITORY
from hosts import boot, cpu, kernel, pci
from hosts.config_space import gpu_space, root_port_space
from hosts.modules import plant_module
from hosts.nvidia import Gpu, plant_libraries, plant_modprobe, smi_xml
from hosts.others import container
from hosts.proxmox import plant_proxmox
from hosts.reference import SWITCHES, reference
from hosts.setters import apply_values, restore_values
from hosts.story_before import ACS_REDIRECT, DRIVER, GPUS, other_read_request, root_port, story_before
from verdicts import judged, skipped

ALL = tuple(GPUS)
SIXTH = ALL[5]


def small_story(tree):
    story_before(tree, cores=1)


@functools.cache
def changed_by(*changes):
    """Plants the story with few processors, then those changes; one function for the same changes."""
    def plant(tree):
        small_story(tree)
        for change in changes:
            change(tree)
    return plant


def gpu_reasons(facts, check):
    """What one check says of each GPU: verdict and reason."""
    return {gpu: (finding["verdict"], finding["reason"]) for (name, gpu), finding in judged(facts).items()
            if name == check}


# -- sysctls ----------------------------------------------------------------------------------------------------------

def configuration(tree):
    """Files of an administrator, with what tools that rewrite them have damaged: doubles, indents, odd blanks."""
    tree.file("/etc/sysctl.conf", "vm.swappiness=60\n   # why it is so\n\tkernel.watchdog  = 1\nvm.swappiness = 60\n")
    tree.file("/etc/sysctl.d/80-own.conf", "-net.core.rmem_max=212992\n;old\n")
    tree.file("/etc/modprobe.d/own.conf", "options nvidia NVreg_DynamicPowerManagement=0x02\n")
    tree.file("/etc/modules-load.d/own.conf", "nvidia_uvm\n")
    tree.file("/etc/udev/rules.d/70-own.rules", "# empty\n")


def configuration_state(tree):
    """Bytes, times, owner and mode of everything below /etc; a file that was replaced has another number."""
    found = {}
    for path in sorted(tree.path("/etc").rglob("*")):
        seen = path.lstat()
        text = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[str(path)] = (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode, text)
    return found


def planned(facts):
    """`{kind: {name: value}}` of the default profile."""
    return plan(judged(facts).values(), None, facts).values


def test_a03_no_file_under_etc_is_opened_for_writing(tree, host, facts_of, monkeypatch):
    """A-03: a tune and its way back, watched at open() and by what a file system remembers of a write."""
    changed_by(configuration)(tree)
    values = planned(facts_of(changed_by(configuration)))
    before = configuration_state(tree)
    written, plain_open = set(), os.open

    def watched(path, flags, *rest, **named):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            written.add(str(path).removeprefix(str(tree.root)))
        return plain_open(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", watched)
    assert {change["outcome"] for change in apply_values(host, values)} == {"changed"}
    # The other face of each pair is given back along with it.
    assert {change["outcome"] for change in restore_values(host)} == {"changed", "unchanged"}
    assert {path for path in written if not path.startswith(("/proc/sys/", "/sys/"))} == {"lock", "journal.jsonl"}
    assert configuration_state(tree) == before


def swap_and_a_file_that_says_otherwise(tree):
    story_before(tree, cores=1, swap=True)
    tree.file("/etc/sysctl.d/99-own.conf", "vm.swappiness = 10\n")


def test_a04_the_running_value_counts_whatever_a_file_says(tree, host, facts_of):
    """A-04: the file has the wanted 10, the kernel still runs with 60."""
    finding = judged(facts_of(swap_and_a_file_that_says_otherwise))["swappiness", None]
    assert (finding["verdict"], finding["actual"], finding["fix"]["planned"]) == ("fail", "60", True)
    assert finding["fix"]["persist"] == (
        "# /etc/sysctl.d/99-own.conf, line 1, sets 10 and is read after /etc/sysctl.d/90-local.conf: change it "
        "there\n"
        "vm.swappiness = 10")
    at_boot = judged(facts_of(swap_and_a_file_that_says_otherwise))["sysctl_at_boot", "vm.swappiness"]
    assert (at_boot["verdict"], at_boot["reason"]) == (
        "fail", "/etc/sysctl.d/99-own.conf, line 1, sets 10 at boot; the running value is 60")
    swap_and_a_file_that_says_otherwise(tree)
    change, = apply_values(host, {"sysctl": {"vm.swappiness": 10}})
    assert (change["before"], change["after"], change["outcome"]) == ("60", "10", "changed")
    assert tree.path("/proc/sys/vm/swappiness").read_text() == "10\n"


def test_a17_a_container_has_no_socket_limits_and_that_is_no_error(tree, host, facts_of):
    """A-17: net.core is not there inside a container; each key says so, and every finding names the host."""
    found = judged(facts_of(container))
    assert {check: found[check, None]["verdict"] for check in ("rmem_max", "wmem_max")} == dict.fromkeys(
        ("rmem_max", "wmem_max"), "not_applicable")
    assert found["rmem_max", None]["reason"] == (
        "the target is a container (lxc): audit its host")
    assert [one for one in found.values() if one["fix"]["planned"]] == []
    container(tree)
    change, = apply_values(host, {"sysctl": {"net.core.rmem_max": 16777216}})
    assert (change["outcome"], change["before"], change["after"]) == ("refused", None, None)
    assert "ENOENT" not in change["reason"].split(":")[0]


# -- modules ----------------------------------------------------------------------------------------------------------

def newer_library(tree):
    tree.program("nvidia-smi.xml", "Failed to initialize NVML: Driver/library version mismatch\n"
                                   "NVML library version: 580.95\n")
    plant_libraries(tree, "580.95.05")


DIFFER = "the loaded driver is 570.133.20, libnvidia-ml.so is 580.95.05 and libcuda.so is 580.95.05"


def test_a32_with_a_library_of_another_version_gpus_are_judged_all_the_same(facts_of):
    """A-32: nvidia-smi is dead, the driver itself runs on; both versions are facts, no GPU is lost from the report."""
    facts = facts_of(changed_by(newer_library))
    assert (facts["nvidia"]["driver_version"]["value"], facts["nvidia"]["library_version"]["value"]) == (
        DRIVER, "580.95.05")
    assert facts["nvidia"]["smi"]["state"] == "failed"
    assert [gpu["minor"]["value"] for gpu in facts["gpus"]] == list(range(8))
    for check in ("pcie_maxreadreq", "pcie_link_width", "pcie_bar_size", "nvidia_flavour", "gpu_driver"):
        assert {verdict for verdict, _reason in gpu_reasons(facts, check).values()} <= {"pass", "fail"}
    assert {reason for _verdict, reason in gpu_reasons(facts, "pcie_link_speed").values()} == {
        "speed not evaluated: no load detected, perhaps idle (2.5 of 32 GT/s)"}


def without_libraries(tree):
    """They lie where nobody looks; nvidia-smi found them."""
    for library in ("libnvidia-ml.so", "libcuda.so"):
        tree.remove(f"/usr/lib/x86_64-linux-gnu/{library}.1")


@pytest.mark.parametrize("changes, message", [
    ((newer_library,), "the loaded driver is 570.133.20, libnvidia-ml is 580.95.05 and libcuda is 580.95.05"),
    ((newer_library, without_libraries), "the loaded driver is 570.133.20, nvidia-smi reports: no XML: Failed to "
                                         "initialize NVML: Driver/library version mismatch; NVML library version: "
                                         "580.95"),
])
def test_a32_both_versions_are_a_finding_and_nothing_of_a_gpu_is_planned(facts_of, changes, message):
    """A-32: critical with both versions; sysctls are still planned, registers of GPUs are not."""
    facts = facts_of(changed_by(*changes))
    finding = judged(facts)["nvidia_library", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P0")
    assert finding["reason"] == f"{message}: new processes cannot use a GPU"
    assert set(planned(facts)) == {"sysctl"}
    assert skipped(facts, judged(facts), "pcie_maxreadreq") == dict.fromkeys(
        ALL, f"{message}: reboot or reload the driver first")
    assert {judged(facts)["nvidia_container_library", name]["verdict"] for name in ("lxc:101", "lxc:102")} == {"pass"}


def test_a32_the_setter_refuses_registers_but_not_the_way_back(tree):
    """A-32: also where the user named the value; what was set before the upgrade can still be brought back."""
    small_story(tree)
    change, = apply_values(Host(str(tree.root)), {"pcie_maxreadreq": {SIXTH: 4096}})
    assert change["outcome"] == "changed"
    newer_library(tree)
    change, = apply_values(Host(str(tree.root)), {"pcie_maxreadreq": {ALL[0]: 4096}})
    assert (change["outcome"], change["reason"]) == ("refused", "driver/library version mismatch: " + DIFFER)
    change, = restore_values(Host(str(tree.root)))
    assert (change["outcome"], change["after"]) == ("changed", 512)


def nouveau_took_one(tree):
    plant_modprobe(tree, "blacklist nouveau\n", path="/etc/modprobe.d/no-nouveau.conf", time="2026-11-20T08:00:00Z")
    tree.remove("/etc/modprobe.d/nvidia.conf")
    plant_module(tree, "nouveau")
    pci.bind(tree, SIXTH, "nouveau")


def test_a36_a_stale_initramfs_is_told_with_both_times(facts_of):
    """A-36: nouveau is loaded although modprobe.d forbids it: the initramfs is older than the file."""
    facts = facts_of(changed_by(nouveau_took_one))
    finding = judged(facts)["nvidia_nouveau", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P0")
    assert finding["actual"] == [
        "nouveau is loaded although /etc/modprobe.d/no-nouveau.conf (2026-11-20T08:00:00Z) blocks it: "
        "/boot/initrd.img-6.8.12-9-pve (2026-11-01T06:00:00Z) is older and does not include it"]
    assert "update-initramfs" in finding["fix"]["how"]
    assert {gpu: line for gpu, line in gpu_reasons(facts, "gpu_driver").items() if line[0] == "fail"} == {
        SIXTH: ("fail", "bound to nouveau")}


def an_option_of_today(tree):
    plant_modprobe(tree, "options nvidia NVreg_EnableResizableBar=1\n", path="/etc/modprobe.d/rebar.conf",
                   time="2026-11-29T08:00:00Z")


def test_a36_an_option_that_the_initramfs_does_not_know_is_not_in_force(facts_of):
    """A-36: the same of an option: what runs is told, not what the file says."""
    finding = judged(facts_of(changed_by(an_option_of_today)))["nvidia_options", None]
    assert finding["actual"] == [
        "nvidia runs with NVreg_EnableResizableBar=0, /etc/modprobe.d/rebar.conf (2026-11-29T08:00:00Z) says 1: "
        "/boot/initrd.img-6.8.12-9-pve (2026-11-01T06:00:00Z) is older and does not include it"]


def no_answer(tree):
    tree.program("nvidia-smi.xml", "")


def test_a87_without_an_answer_of_nvidia_smi_the_rest_is_judged(facts_of):
    """A-87: what only nvidia-smi tells is unknown and says why; all else has the verdict that it had."""
    facts = facts_of(changed_by(no_answer))
    before, after = judged(facts_of(small_story)), judged(facts)
    unknown = {pair for pair, finding in after.items() if finding["verdict"] == "unknown"}
    assert {check for check, _gpu in unknown} == {
        "nvidia_persistence", "nvidia_power_limit", "nvidia_slowdown", "nvidia_memory_errors", "nvidia_pending_modes",
        "nvidia_compute_mode", "nvidia_recovery", "nvidia_gpu_count"}
    assert {pair: finding["verdict"] for pair, finding in after.items() if pair not in unknown} == {
        pair: finding["verdict"] for pair, finding in before.items() if pair not in unknown}
    assert {after[pair]["reason"] for pair in unknown} == {
        f"{fact} could not be read: nvidia-smi: no XML: no output" for fact in (
            "the answer of nvidia-smi -q", "the number of NVIDIA GPUs (lspci, /proc/driver/nvidia, nvidia-smi)")}


# -- PCI Express ------------------------------------------------------------------------------------------------------

def test_a42_ports_that_stay_at_128_are_no_finding(facts_of):
    """A-42: the switch ports of the public host are fixed at 128 bytes; only GPUs are judged and planned."""
    facts = facts_of(reference)
    assert {port["pcie"]["value"]["max_read_request"] for port in facts["ports"]} >= {128}
    assert set(gpu_reasons(facts, "pcie_maxreadreq")) == {gpu["bdf"] for gpu in facts["gpus"]}
    assert set(planned(facts)["pcie_maxreadreq"]) == {gpu["bdf"] for gpu in facts["gpus"]}


@pytest.mark.parametrize("speed", [None, 64.0])
def test_a48_speeds_without_a_number_or_above_the_rest(facts_of, speed):
    """A-48: a link that is down, and 64 GT/s, are read as what they are; 2.5 stays 2.5."""
    facts = facts_of(changed_by(_link_of(speed)))
    links = {gpu["bdf"]: gpu["pcie"]["value"]["link"] for gpu in facts["gpus"]}
    assert links[SIXTH]["speed_gts"] == speed
    assert {link["speed_gts"] for gpu, link in links.items() if gpu != SIXTH} == {2.5}
    assert gpu_reasons(facts, "pcie_link_speed")[SIXTH] == {
        None: ("not_applicable", "the link reports an unknown speed code"),
        64.0: ("pass", "64 GT/s, the maximum of both ends")}[speed]


@functools.cache
def _link_of(speed):
    def change(tree):
        most = 64.0 if speed == 64.0 else 32.0
        pci.write_config(tree, SIXTH, gpu_space(speed=speed, max_speed=most))
        pci.write_config(tree, root_port(SIXTH), root_port_space(acs=ACS_REDIRECT, speed=speed, max_speed=most))
    return change


def sixth_at_256(tree):
    other_read_request(tree, SIXTH)


def test_a49_eight_rows_and_one_outlier(facts_of):
    """A-49: all eight are looked at, and the sixth is the odd one."""
    facts = facts_of(changed_by(sixth_at_256))
    nvidia_displays = [gpu for gpu in facts["gpus"] if gpu["class"].startswith("03") and gpu["vendor"] == "10de"]
    rows = gpu_reasons(facts, "pcie_maxreadreq")
    assert len(rows) == len(nvidia_displays) == 8
    assert [reason for _verdict, reason in rows.values()] == ["512 bytes"] * 5 + ["256 bytes"] + ["512 bytes"] * 2
    odd = {gpu for gpu, (verdict, _reason) in gpu_reasons(facts, "gpu_consistency").items() if verdict == "fail"}
    assert odd == {SIXTH}
    assert len(gpu_reasons(facts, "gpu_consistency")) == 8


def busy(tree):
    tree.program("nvidia-smi.xml", smi_xml([Gpu(bdf, minor, pstate="P0", utilization=97)
                                            for bdf, minor in GPUS.items()], DRIVER))


def narrow_at_rest(tree):
    pci.write_config(tree, SIXTH, gpu_space(width=8))
    pci.write_config(tree, root_port(SIXTH), root_port_space(acs=ACS_REDIRECT, width=8))


@pytest.mark.parametrize("changes, speed, width", [
    ((), "pass", "pass"), ((busy,), "fail", "pass"), ((narrow_at_rest,), "pass", "fail")])
def test_a50_slow_at_rest_is_normal_slow_under_load_and_narrow_are_not(facts_of, changes, speed, width):
    """A-50: 2.5 of 32 GT/s at P8, the same with 97 % used, and eight of sixteen lanes at rest."""
    facts = facts_of(changed_by(*changes))
    assert gpu_reasons(facts, "pcie_link_speed")[SIXTH][0] == speed
    assert gpu_reasons(facts, "pcie_link_width")[SIXTH][0] == width


def held_at_gen2(tree):
    pci.write_config(tree, SIXTH, gpu_space(speed=5.0, autonomous_speed_disabled=True))


def test_a52_a_speed_that_is_held_down_is_a_finding_at_rest_too(facts_of):
    """A-52: Hardware Autonomous Speed Disable is set, 5 of 32 GT/s."""
    message = gpu_reasons(facts_of(changed_by(held_at_gen2)), "pcie_link_speed")
    assert {gpu: line for gpu, line in message.items() if line[0] != "pass"} == {
        SIXTH: ("fail", "5.0 of 32.0 GT/s, locked: Hardware Autonomous Speed Disable is set (LnkCtl2)")}


def test_a52_a_gpu_that_looks_healthy_at_one_moment(facts_of):
    """A-52: full speed at the first look, Gen1 at another one under load; lanes that were missing for a moment."""
    def judged_with(low, width):
        facts = copy.deepcopy(facts_of(changed_by(busy, all_at_full_speed)))
        sixth = next(gpu for gpu in facts["gpus"] if gpu["bdf"] == SIXTH)
        sixth["link_samples"] = {"looks": 20, "changes": 12, "min_speed_gts": low, "max_speed_gts": 32.0,
                                 "min_width": width, "max_width": 16}
        return gpu_reasons(facts, "pcie_link_speed")[SIXTH], gpu_reasons(facts, "pcie_link_width")[SIXTH][0]

    looks = "32 GT/s in 20 samples, with 12 changes"
    assert judged_with(32.0, 16) == (("pass", f"32 GT/s, the maximum of both ends; 32 to {looks}"), "pass")
    assert judged_with(2.5, 16) == (("fail", f"2.5 of 32.0 GT/s, under load: P0, 97 % used; 2.5 to {looks}"), "pass")
    assert judged_with(32.0, 8)[1] == "fail"


def all_at_full_speed(tree):
    for gpu in GPUS:
        pci.write_config(tree, gpu, gpu_space(speed=32.0))


def a_network_card_and_a_disk(tree):
    pci.plant_device(tree, "0000:c1:00.0", vendor=0x15B3, device=0x1021, class_=0x020000, driver="mlx5_core")
    pci.plant_device(tree, "0000:c2:00.0", vendor=0x144D, device=0xA824, class_=0x010802, driver="nvme")


def test_a58_the_plan_has_gpus_and_nothing_else(facts_of):
    """A-58: a network card and a disk beside them are not in it."""
    assert list(planned(facts_of(changed_by(a_network_card_and_a_disk)))["pcie_maxreadreq"]) == list(ALL)


# -- between GPUs -----------------------------------------------------------------------------------------------------

def test_a61_redirection_and_translation_together_are_named(facts_of):
    """A-61: with the ports that redirect; the instruction is shown and no register of a port is in the plan."""
    facts = facts_of(small_story)
    finding = judged(facts)["iommu_acs", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P0")
    assert all(root_port(gpu) in finding["reason"] for gpu in ALL)
    assert finding["fix"]["change"] is None


def test_a62_source_validation_alone_is_no_alarm(facts_of):
    """A-62: every port of the public host has SrcValid and UpstreamFwd."""
    facts = facts_of(reference)
    assert {port["acs"]["value"]["source_validation"] for port in facts["ports"] if port["acs"]["value"]} == {True}
    assert judged(facts)["iommu_acs", None]["verdict"] == "pass"


def test_a61_where_a_vm_relies_on_redirection_nobody_is_told_to_clear_it(facts_of):
    """A-61: the way out for one host breaks another's isolation; the VM is named, the register is not."""
    def plant(tree):
        reference(tree)
        for switch in SWITCHES:
            for slot in switch[3]:
                pci.write_config(tree, f"{switch[2]}:{slot:02x}.0", pci.switch_port_space(acs=ACS_REDIRECT))
        plant_proxmox(tree, vms={"200": "hostpci0: 0000:c1:00.0\n"})

    how = judged(facts_of(plant))["iommu_acs", None]["fix"]["how"]
    assert "VM 200" in how
    assert "setpci" not in how


def test_a63_an_audit_moves_no_data_between_gpus():
    """A-63: an audit that tries a transfer hangs where transfers hang; only gpu_bandwidth makes one, by a child process
    with a time limit, and what an audit and a tune are made of knows nothing of it."""
    programs = re.compile(r"p2pBandwidthLatencyTest|nvbandwidth|simpleP2P|(all_reduce|sendrecv)_perf|rocm_bandwidth")
    files = [*REPOSITORY.glob("plugins/module*/**/*.py"), *REPOSITORY.glob("plugins/action/*.py"),
             *REPOSITORY.glob("roles/*/tasks/*.yml"), *REPOSITORY.glob("playbooks/*.yml")]
    assert len(files) > 50
    moving = {path.stem for path in files if programs.search(path.read_text(encoding="utf-8"))}
    # The action and its documentation hand the choice of a tool on to the module.
    assert moving == {"nvbandwidth", "module", "gpu_bandwidth", "bandwidth"}
    imports = re.compile(r"^from \.\.(module_utils\.)?_bandwidth", re.M)
    users = {path.stem for path in files if imports.search(path.read_text(encoding="utf-8"))}
    assert users == {"gpu_bandwidth"}


def test_a65_a_parameter_that_this_kernel_ignores_is_named(facts_of):
    """A-65: pcie_acs_override without its patch; what the public host's kernel calls unknown has effect and is none."""
    found = judged(facts_of(changed_by(without_the_patch)))["cmdline_ignored", None]
    assert (found["verdict"], found["reason"]) == (
        "fail", "pcie_acs_override=downstream: this kernel does not have the patch for it")
    assert judged(facts_of(reference))["cmdline_ignored", None]["verdict"] == "pass"


def without_the_patch(tree):
    line = f"{kernel.CMDLINE} pcie_acs_override=downstream"
    tree.file("/proc/cmdline", line)
    ignored = 'Unknown kernel command line parameters "pcie_acs_override=downstream", will be passed to user space.'
    kernel.plant_log(tree, (0.0, "Linux version 6.8.12-9-pve"), (0.7, ignored))


def test_a67_nodes_and_cpus_come_from_the_kernel(facts_of):
    """A-67: the CPUs beside a GPU are those of sysfs, offline ones left out, not a column that was cut."""
    gpus = {gpu["bdf"]: gpu for gpu in facts_of(reference)["gpus"]}
    last = gpus[max(gpus)]
    assert (last["numa_node"]["value"], last["local_cpus"]["value"]) == (1, "64-127,192-238,240-255")


# -- guests and processors --------------------------------------------------------------------------------------------

def tasks(thing):
    """Every task of a playbook or a task list, blocks and handlers included."""
    for entry in thing if isinstance(thing, list) else []:
        yield entry
        for part in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from tasks(entry.get(part))


def test_a77_no_task_restarts_or_reloads_anything():
    """A-77: neither a service module nor a command is in any role or playbook."""
    files = [*REPOSITORY.glob("playbooks/*.yml"), *REPOSITORY.glob("roles/*/tasks/*.yml"),
             *REPOSITORY.glob("roles/*/handlers/*.yml")]
    used = {key for path in files for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8"))) for key in task}
    assert "gpuhost.tuning.sysctl_snapshot" in used
    assert {name for name in used if re.search(r"service|systemd|command|shell|script|raw|expect", name)} == set()


def without_cppc(tree):
    for folder in tree.path(cpu.CPU).glob("cpu*/acpi_cppc"):
        folder.rmdir()


def without_the_driver(tree):
    kernel.plant_kernel_config(tree, amd_pstate=False)


def told_not_to(tree):
    tree.file("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda2 ro amd_pstate=disable")


@pytest.mark.parametrize("change, says", [
    (without_cppc, "enable CPPC in the BIOS"), (without_the_driver, "CONFIG_X86_AMD_PSTATE"),
    (told_not_to, "amd_pstate=disable"), (lambda tree: None, "amd_pstate=active on the kernel command line loads it")])
def test_a79_each_cause_has_its_own_remedy(facts_of, change, says):
    """A-79: no CPPC, not compiled in, switched off, not asked for; each one warns of majors that move."""
    fix = judged(facts_of(changed_by(change)))["cpu_scaling_driver", None]["fix"]
    assert says in fix["how"]
    assert (fix["class"], "device majors" in fix["risk"]) == ("reboot", True)


def one_more_kernel(tree):
    boot.plant_installed_kernel(tree, "6.17.13-2-pve", ("r8168",))


def test_a85_the_kernel_that_starts_next_has_no_module(facts_of):
    """A-85: the running kernel is fine, the newest one that is installed has no nvidia.ko."""
    found = judged(facts_of(changed_by(one_more_kernel)))
    assert found["nvidia_module", None]["verdict"] == "pass"
    finding = found["next_kernel_nvidia", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", "P1")
    assert finding["reason"] == ("kernel 6.17.13-2-pve starts next (the newest installed) and has no "
                                 "nvidia.ko; built for 6.8.12-9-pve")
    assert "dkms autoinstall -k 6.17.13-2-pve" in finding["fix"]["how"]
    assert "proxmox-boot-tool kernel pin 6.8.12-9-pve" in finding["fix"]["how"]


def pinned_to_the_running_one(tree):
    tree.file(boot.PINNED, kernel.RELEASE)


def test_a85_a_pin_decides_which_kernel_is_looked_at(facts_of):
    """A-85."""
    finding = judged(facts_of(changed_by(one_more_kernel, pinned_to_the_running_one)))["next_kernel_nvidia", None]
    assert (finding["verdict"], finding["reason"]) == (
        "pass", "built for 6.8.12-9-pve, which starts next (pinned by proxmox-boot-tool; the newest installed is "
                "6.17.13-2-pve)")


def three_slow_cpus(tree):
    story_before(tree, cores=2)
    for number in (1, 3, 6):
        tree.file(cpu.policy_path(number, "scaling_governor"), "powersave")


def test_a81_cpus_that_differ_are_named(facts_of):
    """A-81: three of eight CPUs have another governor; the other five are fine."""
    found = {subject: finding["verdict"] for (check, subject), finding in judged(facts_of(three_slow_cpus)).items()
             if check == "cpu_governor"}
    assert {policy for policy, verdict in found.items() if verdict == "fail"} == {"policy1", "policy3", "policy6"}
    assert len(found) == 8


def test_a82_an_offline_cpu_is_a_finding_and_no_error(facts_of):
    """A-82: CPU 239 has no frequency policy; the other 255 are judged."""
    found = judged(facts_of(reference))
    assert found["cpus_offline", None]["reason"] == "1 of 256 CPUs are offline: 239"
    assert len([1 for check, _subject in found if check == "cpu_epp"]) == 255
