# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bug reports of six generations of the script, all of the same machine, and what must be known of it from each."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.bug_report import read_report, when_collected
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

from bug_report import (
    CMDLINE,
    GENERATIONS,
    GPU,
    HOSTNAME,
    KERNEL,
    PORT,
    bug_report,
    file,
    gpu_config,
    hexdump,
    port_config,
    section,
)

FOLDER = f"/sys/devices/pci0000:00/{PORT}/{GPU}"
WITH_PORTS = ("525", "535", "580")
every_generation = pytest.mark.parametrize("generation", GENERATIONS)


def read(text):
    return read_report(text.splitlines(), "test.log")


@every_generation
def test_the_machine(imported, generation):
    facts = imported(bug_report(generation))
    assert facts["identity"]["hostname"]["value"] == HOSTNAME
    assert (facts["identity"]["kind"], facts["identity"]["os"]["id"]) == ("bare_metal", "ubuntu")
    assert facts["identity"]["os"]["version_id"] == "22.04"
    assert facts["kernel"]["release"]["value"] == KERNEL
    assert facts["kernel"]["cmdline"]["value"] == CMDLINE
    assert facts["firmware"]["product_name"]["value"] == "Bench 9000"
    assert facts["firmware"]["bios_date"]["value"] == "01/02/2024"
    assert (facts["cpu"]["online"], facts["cpu"]["sockets"], facts["cpu"]["cores"]) == ("0-3", 1, 2)
    assert facts["cpu"]["smt"]["active"]["value"] == 1
    assert facts["memory"]["total_kib"]["value"] == 65536000
    assert facts["memory"]["swap"]["value"] == []


@every_generation
def test_the_gpu(imported, generation):
    facts = imported(bug_report(generation))
    [gpu] = facts["gpus"]
    assert (gpu["bdf"], gpu["vendor"], gpu["device"], gpu["class"]) == (GPU, "10de", "2684", "030000")
    assert (gpu["driver"], gpu["path"], gpu["subsystem"]) == ("nvidia", [PORT], "1043:889a")
    express = gpu["pcie"]["value"]
    assert (express["max_read_request"], express["max_payload"]) == (512, 256)
    link = express["link"]
    assert (link["speed_gts"], link["width"], link["max_speed_gts"], link["max_width"]) == (8.0, 8, 16.0, 16)
    assert gpu["largest_bar"] == 256 << 20
    assert gpu["iommu_group"]["value"] == 7
    assert gpu["bars"]["value"][1]["start"] == 0xE0000000


@every_generation
def test_the_driver(imported, generation):
    nvidia = imported(bug_report(generation))["nvidia"]
    assert nvidia["driver_version"]["value"] == GENERATIONS[generation][1]
    assert nvidia["module"]["state"] == "live"
    [gpu] = nvidia["proc_gpus"]["value"]
    assert (gpu["bdf"], gpu["model"]) == (GPU, "Test GPU")
    states = {one["name"]: one["state"] for one in nvidia["modules"]}
    assert (states["nvidia_uvm"], states["nvidia_peermem"]) == ("live", "absent")
    assert states["nouveau"]["status"] == "not_recorded"        # it may be built into the kernel
    assert [one for one in nvidia["parameters"]["value"] if one["name"] == "EnableMSI"] == [
        {"name": "EnableMSI", "value": "1"}]


@pytest.mark.parametrize("generation", WITH_PORTS)
def test_registers_of_a_port_also_where_only_256_bytes_were_dumped(imported, generation):
    """driver 525: the text of lspci has ACSCtl and the sizes of the BAR, the dump has not."""
    facts = imported(bug_report(generation))
    [port] = facts["ports"]
    assert port["bdf"] == PORT
    assert port["acs"]["value"]["request_redirect"] is True
    assert port["acs"]["value"]["translation_blocking"] is False
    [entry] = facts["gpus"][0]["resizable_bar"]["value"]
    assert (entry["bar"], entry["size"], entry["sizes"][-1]) == (1, 256 << 20, 32 << 30)


@pytest.mark.parametrize("generation", ["304", "352", "470"])
def test_an_extended_space_that_was_not_dumped_is_cut_and_not_absent(generation):
    host = read(bug_report(generation))
    assert host.answers()["cut"] == {f"{FOLDER}/config": "lspci dumped 256 bytes"}
    assert len(host.files[f"{FOLDER}/config"]) == 256


def test_what_the_report_has_whole_and_what_it_lacks():
    answers = read(bug_report("535")).answers()
    assert answers["open"] == "the bug report does not have it"
    assert {"/sys/bus/pci/devices", "/sys/kernel/iommu_groups"} <= set(answers["listed"])
    assert {"/proc/driver/nvidia/gpus", "/sys/module/nvidia_peermem", "/proc/pci", "/etc/pve"} <= set(answers["closed"])
    assert answers["links"]["/proc/self/ns/pid"] == "pid:[4026531836]"


def test_a_debian_host_may_be_a_proxmox_node_that_runs_another_kernel():
    text = bug_report("535").replace("Ubuntu 22.04.4 LTS", "Debian GNU/Linux 12")
    assert "/etc/pve" not in read(text).closed
    assert "/etc/pve" in read(text.replace("fpu vme tsc", "fpu vme tsc hypervisor")).closed


def test_without_a_trace_of_the_machine_itself_it_may_be_a_container():
    text = bug_report("535").replace("DMI type", "no type").replace("systemd[1]", "app[1]").replace(" kernel: ", " x: ")
    text = text.replace("/usr/sbin/dmidecode", "/usr/sbin/other")
    assert "/proc/self/ns/pid" not in read(text.replace("journalctl -b -0", "nothing")).outer_links


def test_safe_mode_leaves_out_what_opens_the_gpu():
    host = read(bug_report("535", safe_mode=True))
    left_out = {path for path, why in host.answers()["not_recorded"].items() if why == "left out by --safe-mode"}
    assert left_out == {"/proc/driver/nvidia/gpus", "/recorded/nvidia-smi.xml", "/recorded/nvidia-smi.txt"}


def test_a_program_that_is_not_installed_is_absent():
    assert read(bug_report("304")).failures["/recorded/nvidia-smi.xml"] == ["absent", "nvidia-smi is not installed"]


def test_a_gpu_that_has_fallen_off_keeps_its_name(imported):
    [gpu] = imported(bug_report("470", gone=True))["gpus"]
    assert (gpu["state"], gpu["vendor"], gpu["device"], gpu["class"]) == ("gone", "10de", "2684", "030000")


def test_files_that_are_missing_or_unreadable():
    text = bug_report("470").replace("/proc/pci does not exist", "/etc/modprobe.d/secret.conf is not readable")
    assert read(text).failures == {"/etc/modprobe.d/secret.conf": 13}


def test_a_driver_that_is_not_loaded():
    head, _name, rest = bug_report("470").partition("*** /proc/driver/nvidia/./version")
    host = read(f"{head}*** /proc/driver/nvidia/./version does not exist\n\n{rest[rest.index('_' * 44):]}")
    assert "/proc/driver/nvidia" in host.closed


def test_the_kernel_log_of_the_installer_is_not_this_boot(imported):
    facts = imported(bug_report("470"))
    assert facts["nvidia"]["xids"]["value"] == []
    assert facts["nvidia"]["mismatches"]["value"] == []


def test_each_xid_is_counted_once(imported):
    """It is in kern.log, in the journal and in dmesg."""
    xids = imported(bug_report("535", xids=(31, 31, 45)))["nvidia"]["xids"]["value"]
    assert [xid["xid"] for xid in xids] == [31, 31, 45]
    assert xids[0]["seconds"] == 100.0


def test_what_the_ring_has_lost_is_taken_from_the_journal(imported):
    facts = imported(bug_report("535", xids=(62, 45), ring="cut"))
    assert [(xid["xid"], xid["seconds"]) for xid in facts["nvidia"]["xids"]["value"]] == [(62, None), (45, None)]
    assert facts["kernel"]["log"]["value"]["first_seconds"] == 7000.000001


def test_earlier_boots_are_apart(imported):
    host = read(bug_report("535", xids=(31,), earlier_xids=(79, 13)))
    earlier = json.loads(host.text("/recorded/earlier_boots.json"))
    assert [one["boot"] for one in earlier] == [-1]
    assert earlier[0]["text"].count("Xid") == 2
    assert host.text("/recorded/kmsg.txt").count("Xid") == 1


def test_when_it_was_made_is_told_by_files_of_the_kernel():
    assert read(bug_report("470")).source["collected_at"] == "2024-05-06T05:08:10Z"
    assert when_collected([], "Mon May  6 07:08:09 2024") is None


def test_two_reports_in_one_file_are_refused_with_the_way_to_part_them():
    two = bug_report("470") + bug_report("535")
    second = two.splitlines().index("Start of NVIDIA bug report log file.  (made up for a test)", 10) + 1
    with pytest.raises(Refused, match=f"begin at the lines 3 and {second}"):
        read(two)
    half = two.splitlines()[second - 3:]
    assert read_report(half, "x").source["script"] == GENERATIONS["535"][0]


def test_paths_that_lead_elsewhere_are_not_taken():
    evil = file("/proc/../../../etc/passwd", "x") + file("/etc/../root/x", "x") + file("/home/me/.secret", "x")
    host = read(bug_report("470") + evil)
    assert not [path for path in host.files if ".." in path or "passwd" in path or "secret" in path]


def test_a_report_that_ends_in_the_middle(imported):
    text = bug_report("535")
    facts = imported(text[:text.index("*** /proc/cpuinfo")])
    assert facts["gpus"][0]["pcie"]["value"]["max_read_request"] == 512
    assert facts["cpu"]["online"]["status"] == "not_recorded"


def test_a_block_without_end_and_binary_blobs_do_no_harm():
    noise = section('base64 "nvidia-nvml-temp1.log"', "QUJD\n" * 1000) + section("", "")
    assert read(bug_report("470") + noise).source["script"] == "30800001"


def test_a_machine_without_lspci(imported):
    """The script dumps the files config then, under lines that are like those of lspci."""
    before, name, behind = bug_report("580").partition(f"{'_' * 44}\n\n/usr/bin/lspci -nntv")
    rest = behind[behind.index(f"{'_' * 44}\n\n*** /sys/kernel/mm"):]
    dump = "".join(f"\n{bdf} {class_}: Vendor {vendor} Device {device} (rev {revision})\n" + "".join(
        f"{line} \n" for line in hexdump(config).splitlines()) for bdf, class_, vendor, device, revision, config in (
            (PORT, "060400", "8086", "460d", "00", port_config(4096)),
            (GPU, "030000", "10de", "2684", "a1", gpu_config(4096))))
    assert name
    facts = imported(before + section("PCI devices configuration space dump using sysfs", dump) + rest)
    [gpu] = facts["gpus"]
    assert (gpu["vendor"], gpu["device"], gpu["class"], gpu["path"]) == ("10de", "2684", "030000", [PORT])
    assert gpu["pcie"]["value"]["max_read_request"] == 512
    assert gpu["driver"]["status"] == "not_recorded"
    assert facts["ports"][0]["acs"]["value"]["request_redirect"] is True


def test_headings_of_2009():
    heading = ("*** /proc/cmdline\n"
               "*** ls: -r--r--r-- 1 root root 0 2024-05-06 07:08:10.000000000 +0200 /proc/cmdline")
    text = bug_report("304").replace(heading, "/proc/cmdline").replace("*** /proc/pci", "/proc/pci")
    host = read(text)
    assert host.text("/proc/cmdline") == f"{CMDLINE}\n"
    assert "/proc/pci" in host.closed
