# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of programs one after the other in a text, as people paste them into a thread."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.pasted_text import read_text
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused

from bug_report import CMDLINE, DMIDECODE, GPU, NUMACTL, PORT, smi_text

LSPCI = """\
0000:00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Device 14d8
\tSubsystem: Some Maker Device 0001
0000:00:01.0 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14db (prog-if 00 [Normal decode])
\tIOMMU group: 3
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\t\tExtTag+ RBE+
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <32us
\t\tLnkSta:\tSpeed 16GT/s, Width x16
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport
0000:01:00.0 3D controller: NVIDIA Corporation Device 26b9 (rev a1)
\tSubsystem: NVIDIA Corporation Device 1851
\tNUMA node: 0
\tIOMMU group: 17
\tRegion 1: Memory at 20000000000 (64-bit, prefetchable) [size=64G]
\tCapabilities: [78] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0, Latency L0s unlimited, L1 <64us
\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 0W
\t\tDevCtl:\tCorrErr- NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop- FLReset-
\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, LnkDisable- CommClk+
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)
\t\tDevCap2: Completion Timeout: Range AB, TimeoutDis+ NROPrPrP- LTR-
\t\t\t 10BitTagComp+ 10BitTagReq+ OBFF Via message, ExtFmt- EETLPPrefix-
\t\tDevCtl2: Completion Timeout: 65ms to 210ms, TimeoutDis- LTR- 10BitTagReq+ OBFF Disabled,
\t\tLnkCtl2: Target Link Speed: 16GT/s, EnterCompliance- SpeedDis-
\tCapabilities: [100 v1] Virtual Channel
\tCapabilities: [bb0 v1] Physical Resizable BAR
\t\tBAR 1: current size: 64GB, supported: 64GB
\tKernel driver in use: nvidia
"""
LOG = f"[    0.000000] Linux version 6.8.12-4-pve (build@x)\n[    0.000000] Command line: {CMDLINE}\n[    1.0] x\n"
LSMOD = "Module                  Size  Used by\nnvidia_uvm           1000  0\nnvidia   9000  12 nvidia_uvm\n"


def test_registers_out_of_words(pasted):
    facts = pasted(f"$ sudo lspci -D -vvv\n{LSPCI}\n$ dmesg\n{LOG}")
    [gpu] = facts["gpus"]
    assert (gpu["bdf"], gpu["vendor"], gpu["class"], gpu["driver"]) == (GPU, "10de", "030200", "nvidia")
    assert (gpu["numa_node"]["value"], gpu["iommu_group"]["value"], gpu["path"]) == (0, 17, [PORT])
    express = gpu["pcie"]["value"]
    assert {name: express[name] for name in ("max_read_request", "max_payload", "max_payload_supported",
                                             "relaxed_ordering", "no_snoop", "extended_tags", "ten_bit_tags",
                                             "ten_bit_tags_supported", "completion_timeout")} == {
        "max_read_request": 4096, "max_payload": 256, "max_payload_supported": 256, "relaxed_ordering": False,
        "no_snoop": False, "extended_tags": True, "ten_bit_tags": True, "ten_bit_tags_supported": True,
        "completion_timeout": "65ms-210ms"}
    link = express["link"]
    assert (link["speed_gts"], link["width"], link["max_speed_gts"], link["max_width"]) == (8.0, 8, 16.0, 16)
    assert (link["target_speed_gts"], link["aspm"]) == (16.0, "l1")
    assert gpu["resizable_bar"]["value"] == [{"bar": 1, "size": 64 << 30, "sizes": [64 << 30]}]
    assert gpu["largest_bar"] == 64 << 30


def test_a_port_without_the_second_set_of_registers_says_nothing_of_it(pasted):
    [port] = pasted(LSPCI)["ports"]
    express = port["pcie"]["value"]
    assert (express["max_payload"], express["max_payload_supported"]) == (256, 512)
    assert (express["ten_bit_tags"], express["completion_timeout"]) == (None, None)
    assert port["acs"]["value"] == {
        "source_validation": True, "translation_blocking": False, "request_redirect": False,
        "completion_redirect": False, "upstream_forwarding": True, "egress_control": False, "direct_translated": False}


def test_all_that_may_stand_beside_it(pasted):
    facts = pasted("\n".join((
        "Hi all, this is my host:", "Linux gpu7 6.8.12-4-pve #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux", LSPCI, LOG,
        LSMOD, NUMACTL, DMIDECODE, smi_text("535", "535.9"),
        "crw-rw-rw- 1 root root 195,   0 Nov 29 18:30 /dev/nvidia0",
        "crw-rw-rw- 1 root root 195, 255 Nov 29 18:30 /dev/nvidiactl")))
    assert facts["identity"]["hostname"]["value"] == "gpu7"
    assert facts["kernel"]["release"]["value"] == "6.8.12-4-pve"
    assert facts["kernel"]["cmdline"]["value"] == CMDLINE
    assert facts["firmware"]["product_name"]["value"] == "Bench 9000"
    assert facts["nvidia"]["smi"]["driver_version"] == "535.9"
    assert [node["cpus"] for node in facts["numa"]["nodes"]] == ["0-3"]
    states = {one["name"]: one["state"] for one in facts["nvidia"]["modules"]}
    assert (states["nvidia"], states["nvidia_uvm"], states["nvidia_fs"]) == ("live", "live", "absent")
    assert facts["nvidia"]["nodes"]["value"] == [
        {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0, "mode": "0666"},
        {"path": "/dev/nvidiactl", "type": "c", "major": 195, "minor": 255, "mode": "0666"}]


def test_a_single_device_is_not_the_whole_bus():
    host = read_text(LSPCI[LSPCI.index("0000:01:00.0"):].splitlines(), "x")
    assert "/sys/bus/pci/devices" not in host.listed
    assert "/sys/bus/pci/devices" in read_text(LSPCI.splitlines(), "x").listed


def test_capabilities_that_were_denied_stay_so():
    text = "01:00.0 3D controller: NVIDIA Corporation X\n\tCapabilities: <access denied>\n"
    host = read_text(text.splitlines(), "x")
    assert not [path for path in host.files if path.endswith("/config")]


def test_64_bytes_of_an_ordinary_user_are_denied_and_those_of_root_are_cut():
    dump = "".join(f"{at:02x}: {'de 10 b9 26 ' * 4}".rstrip() + "\n" for at in range(0, 64, 16))
    head = "01:00.0 3D controller: NVIDIA Corporation X\n"
    denied = read_text(f"{head}\tCapabilities: <access denied>\n{dump}".splitlines(), "x")
    assert denied.cut == {}
    short = read_text(f"{head}\tFlags: fast\n{dump}".splitlines(), "x")
    assert list(short.cut.values()) == ["lspci dumped 64 bytes"]


def test_a_journal_in_the_place_of_dmesg():
    lines = ["Nov 29 18:30:00 gpu7 kernel: Linux version 6.8.0 (x)",
             "Nov 29 18:31:00 gpu7 kernel: NVRM: Xid (PCI:0000:01:00): 79, x", "Nov 29 18:31:00 gpu7 sshd[1]: hello"]
    assert read_text(lines, "x").text("/recorded/kmsg.txt").splitlines() == [
        "Linux version 6.8.0 (x)", "NVRM: Xid (PCI:0000:01:00): 79, x"]


def test_settings_and_files_that_are_named_in_each_line():
    host = read_text((
        "vm.swappiness = 60", "net.ipv4.conf.eth0/1.mtu = 5", "/sys/kernel/mm/ksm/run:0",
        "/sys/bus/pci/devices/0000:01:00.0/numa_node:-1", "/etc/modprobe.d/x.conf:options nvidia a=1",
        "/etc/modprobe.d/x.conf:options nvidia b=2:3"), "x")
    assert host.text("/proc/sys/vm/swappiness") == "60\n"
    assert host.text("/proc/sys/net/ipv4/conf/eth0.1/mtu") == "5\n"
    assert host.text("/sys/kernel/mm/ksm/run") == "0\n"
    assert host.text("/sys/bus/pci/devices/0000:01:00.0/numa_node") == "-1\n"
    assert host.text("/etc/modprobe.d/x.conf") == "options nvidia a=1\noptions nvidia b=2:3\n"


def test_a_folder_is_whole_only_where_the_command_is_there_that_went_through_it():
    lines = ["/sys/kernel/mm/ksm/run:0", "grep: /sys/kernel/mm/ksm/secret: Permission denied",
             "grep: /sys/kernel/mm/hugepages: No such file or directory"]
    alone = read_text(lines, "x")
    assert "/sys/kernel/mm/ksm" not in alone.closed
    host = read_text(["+ grep -rH . /sys/kernel/mm/ksm /sys/kernel/mm/hugepages", *lines], "x")
    assert {"/sys/kernel/mm/ksm", "/sys/kernel/mm/hugepages"} <= set(host.closed)
    assert host.failures == {"/sys/kernel/mm/ksm/secret": 13}


def test_all_settings_of_a_kernel():
    some = [f"net.made_up_{number} = 1" for number in range(600)]
    assert "/proc/sys" not in read_text(some, "x").closed
    assert "/proc/sys" in read_text(["+ sysctl -a", *some], "x").closed
    assert "/proc/sys" not in read_text(["+ sysctl -a", *some[:20]], "x").closed


def test_a_letter_is_no_report():
    with pytest.raises(Refused, match="no line of it is one of lspci, dmesg"):
        read_text(["Dear all", "my GPU is slow"], "x")


def test_what_was_pasted_is_written_down():
    host = read_text(f"{LSPCI}{LOG}".splitlines(), "paste.txt")
    assert json.loads(json.dumps(host.source)) == {"kind": "lspci", "name": "paste.txt", "collected_at": None,
                                                   "script": None}


def test_the_further_lines_of_a_message_of_the_driver(pasted):
    """dmesg and journalctl indent them below the first one."""
    message = ["NVRM: API mismatch: the client has the version 535.113.01, but",
               "NVRM: this kernel module has the version 535.104.05.  Please"]
    for stamp in ("[   12.345678] ", "Oct 16 15:07:21 host kernel: "):
        facts = pasted(f"{stamp}{message[0]}\n{' ' * len(stamp)}{message[1]}\n")
        assert [(entry["client_version"], entry["module_version"])
                for entry in facts["nvidia"]["mismatches"]["value"]] == [("535.113.01", "535.104.05")]


def test_a_journal_alone(pasted):
    """journalctl -k: the last boot is this one, and its first lines tell what dmesg would."""
    def lines(day, *texts):
        return "".join(f"{day} 09:00:0{at} host kernel: {text}\n" for at, text in enumerate(texts))

    facts = pasted(lines("Nov 28", "Linux version 6.8.0-90-generic (b@x)", "NVRM: Xid (PCI:0000:01:00): 79, GPU has")
                   + lines("Nov 29", "Linux version 6.8.0-91-generic (b@x)", f"Command line: {CMDLINE}",
                           "DMI: A B, BIOS 1.0 01/02/2023", "Booting paravirtualized kernel on bare hardware"))
    assert facts["kernel"]["release"]["value"] == "6.8.0-91-generic"
    assert facts["kernel"]["cmdline"]["value"] == CMDLINE
    assert facts["identity"]["kind"] == "bare_metal"
    assert facts["nvidia"]["xids"]["value"] == []
    [earlier] = facts["kernel"]["earlier_boots"]["value"]
    assert (earlier["boot"], earlier["xids"]) == (-1, [{"bdf": "0000:01:00", "xid": 79, "count": 1}])
