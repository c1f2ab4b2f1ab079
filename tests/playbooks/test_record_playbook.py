# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host is recorded, unpacked and audited in its own place, as a user does it."""
from __future__ import annotations

import json
import subprocess
import sys
import tarfile

import pytest

from checkout import REPOSITORY
from hosts.story_before import story_before

IDENTIFIERS = {
    "host": "bigiron", "guest": "renderfarm", "container": "chatbot", "uuid": "4c4c4544-0051-3610-8052-b4c04f4d4d32",
    "boot": "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21", "mac": "bc:24:11:aa:bb:cc", "serial": "S5XXNG0N",
    "address": "10.20.30.40", "log": "J2XK4Z3", "secret": "hunter2", "note": "Bob's",
}


@pytest.fixture
def host(make_tree):
    tree = story_before(make_tree("bigiron"), cores=1, vms={"200": (
        "# Bob's machine\nname: renderfarm\nnet0: virtio=BC:24:11:AA:BB:CC,bridge=vmbr0\ncipassword: hunter2\n"
        "smbios1: uuid=4c4c4544-0051-3610-8052-b4c04f4d4d32\nscsi1: /dev/disk/by-id/ata-SSD_S5XXNG0N,size=1G\n"
        "hostpci0: 0000:41:00.0\n")})
    nodes = tree.path("/etc/pve/nodes")
    (nodes / "pve1").rename(nodes / "bigiron")
    for name in ("local", "lxc", "qemu-server"):
        tree.link(f"/etc/pve/{name}", "nodes/bigiron" + ("" if name == "local" else f"/{name}"))
    tree.file("/proc/sys/kernel/hostname", "bigiron").file("/etc/pve/.members", '{"nodename": "bigiron"}')
    config = tree.path("/etc/pve/nodes/bigiron/lxc/101.conf")
    config.write_text(config.read_text().replace("vllm-a", "chatbot"))
    return tree.kernel_log(
        "[    1.000000] systemd[1]: Hostname set to <bigiron>.\n[    2.000000] usb 1-1: SerialNumber: J2XK4Z3\n"
        "[    3.000000] IP-Config: Complete: device=eth0, hwaddr=bc:24:11:aa:bb:cc, ipaddr=10.20.30.40\n")


def unpack(controller, name):
    archive, folder = controller.reports / name / "recording.tar.gz", controller.folder / "unpacked" / name
    done = subprocess.run([sys.executable, str(REPOSITORY / "tools" / "unpack.py"), str(archive), str(folder)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def findings(controller, name):
    document = json.loads((controller.reports / name / "audit.json").read_text())
    return {(one["check"], one["subject"]): (one["verdict"], one["priority"], one["actual"])
            for one in document["findings"]}


def contents(archive):
    """Every name, link and byte of an archive, as text in small letters."""
    with tarfile.open(archive) as tar:
        parts = [part for member in tar for part in (
            member.name.encode(), member.linkname.encode(), tar.extractfile(member).read() if member.isreg() else b"")]
    return b"\n".join(parts).decode("utf-8", "replace").lower()


def test_a_recording_is_audited_in_the_hosts_place(controller, host):
    run = controller.play("record.yml", {"bigiron": host}).succeeded()
    assert run.changed("bigiron") == 0
    assert run.one("bigiron", action="record")["recording"] == "reports/bigiron/recording.tar.gz"
    assert "archive" not in run.one("bigiron", action="record")
    folder = unpack(controller, "bigiron")
    controller.play("audit.yml", {"bigiron": host, "again": folder}).succeeded()
    first = findings(controller, "bigiron")
    assert first == findings(controller, "again")
    assert first["pcie_maxreadreq", "0000:01:00.0"] == ("fail", "info", 512)
    assert first["pcie_maxreadreq", "0000:41:00.0"][0] == "not_applicable"
    found = contents(controller.reports / "bigiron" / "recording.tar.gz")
    # The identifier of a VM is the value of a key that no fact needs: such values are masked.
    assert {kind for kind, text in IDENTIFIERS.items() if text.lower() not in found} == {"secret", "note", "uuid"}


@pytest.mark.one_core
def test_no_identifier_is_left(controller, host):
    anonymous = {"gpuhost_record_anonymise": True}
    controller.play("record.yml", {"bigiron": host}, "--check", variables=anonymous).succeeded()
    found = contents(controller.reports / "bigiron" / "recording.tar.gz")
    assert {kind for kind, text in IDENTIFIERS.items() if text.lower() in found} == set()
    assert "anonymous-host1" in found
    controller.play("audit.yml", {"bigiron": host, "again": unpack(controller, "bigiron")}).succeeded()
    assert findings(controller, "bigiron") == findings(controller, "again")


@pytest.mark.one_core
def test_a_recording_is_not_written_to_unless_it_was_asked_for(controller, host):
    controller.play("record.yml", {"bigiron": host}).succeeded()
    run = controller.play("tune_runtime.yml", {"again": unpack(controller, "bigiron")}).failed()
    assert "a directory without it is never written" in run.output
    controller.play("record.yml", {"writable": host}, variables={"gpuhost_record_writable": True}).succeeded()
    controller.play("tune_runtime.yml", {"again": unpack(controller, "writable")}).succeeded()


@pytest.mark.one_core
def test_this_machine_is_recorded(controller, machine_at_rest):
    run = controller.play("record.yml", {"here": None}).succeeded()
    assert run.one("here", action="record")["files"] > 50
    controller.play("audit.yml", {"here": None, "again": unpack(controller, "here")}).succeeded()
    assert findings(controller, "here") == findings(controller, "again")


@pytest.mark.one_core
def test_too_much_is_said(controller, host):
    run = controller.play("record.yml", {"bigiron": host}, variables={"gpuhost_record_max_bytes": 1000}).failed()
    assert "bytes were read, 1000 are allowed; the largest files are" in run.one("bigiron", action="record")["msg"]
    assert not (controller.reports / "bigiron" / "recording.tar.gz").exists()
