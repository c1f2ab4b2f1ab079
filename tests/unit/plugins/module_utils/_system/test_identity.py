# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._system import identity
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.identity import (
    find_hypervisor,
    parse_os_release,
    parse_package_version,
    read,
)

from hosts.cpu import EPYC_FLAGS, VM_FLAGS, plant_cpus
from hosts.kernel import plant_container, plant_distribution, plant_firmware, plant_kernel

ARM = "processor\t: 0\nFeatures\t: fp asimd\n\n"
DPKG = """\
Package: libproxmox-rs-perl
Status: install ok installed
Version: 0.3.5

Package: pve-manager
Status: install ok installed
Priority: optional
Architecture: all
Version: 8.4.1
Depends: apt, pve-cluster (>= 8.1.2)
Description: Proxmox Virtual Environment Management Tools
 Version: of a description is none

Package: pve-manager-doc
Status: install ok installed
Version: 1.0
"""


@pytest.fixture
def opened(monkeypatch):
    """Paths of the files that were read, in order."""
    paths = []
    read_bytes = Host.read_bytes

    def spy(self, path, *rest):
        paths.append(path)
        return read_bytes(self, path, *rest)

    monkeypatch.setattr(Host, "read_bytes", spy)
    return paths


@pytest.fixture
def server(tree):
    """A server on which nothing points to a container or a virtual machine."""
    plant_kernel(tree, hostname="pve1", boot_id="5f0c1d8e-7b1a-4d53-9b7e-0a4c2f9d6e11")
    plant_firmware(tree)
    plant_cpus(tree, sockets=1, cores=1, threads=1, flags=EPYC_FLAGS)
    return tree


def test_server(server, host):
    facts = read(host)
    assert facts["hostname"].value == "pve1"
    assert facts["boot_id"].value == "5f0c1d8e-7b1a-4d53-9b7e-0a4c2f9d6e11"
    assert (facts["kind"], facts["technology"]) == ("bare_metal", None)
    assert facts["evidence"] == "the CPUs do not have the flag hypervisor and the firmware reports none"


def test_leftover_dockerenv_proves_nothing(server, host):
    server.file("/.dockerenv")
    assert read(host)["kind"] == "bare_metal"


@pytest.mark.parametrize("technology", ["lxc", "docker", "podman", "systemd-nspawn"])
def test_container_by_what_its_manager_told_the_first_process(server, host, technology):
    plant_container(server, technology)
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("container", technology)
    assert facts["evidence"] == f"the first process was started with container={technology}"


def test_container_whose_first_process_may_not_be_looked_at(server, host):
    plant_container(server, "lxc")
    server.remove("/proc/1/environ")
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("container", "lxc")
    assert facts["evidence"] == "/run/systemd/container says lxc"


def test_container_by_its_pid_namespace_alone(server, host):
    server.link("/proc/self/ns/pid", "pid:[4026533124]")
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("container", None)
    assert facts["evidence"] == "its PID namespace is pid:[4026533124], the machine's own is pid:[4026531836]"


def test_container_variable_without_a_name(server, host):
    server.file("/proc/1/environ", b"TERM=linux\0container=\0")
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("container", None)


def test_variable_that_only_ends_like_it_is_no_container(server, host):
    server.file("/proc/1/environ", b"my_container=lxc\0HOME=/\0")
    assert read(host)["kind"] == "bare_metal"


def test_vm_by_the_flag_of_its_cpus(server, host):
    plant_cpus(server, sockets=1, cores=2, threads=1, flags=VM_FLAGS)
    plant_firmware(server, system_vendor="QEMU", product_name="Standard PC (Q35 + ICH9, 2009)")
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("vm", "qemu")
    assert facts["evidence"] == "the CPUs have the flag hypervisor and the firmware reports QEMU"


def test_vm_without_firmware_tables(tree, host):
    plant_cpus(tree, sockets=1, cores=2, threads=1, flags=VM_FLAGS)
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("vm", None)
    assert facts["evidence"] == "the CPUs have the flag hypervisor"


def test_vm_that_hides_the_flag(server, host):
    plant_firmware(server, system_vendor="QEMU", product_name="Standard PC (i440FX + PIIX, 1996)")
    facts = read(host)
    assert (facts["kind"], facts["technology"], facts["evidence"]) == ("vm", "qemu", "the firmware reports QEMU")


def test_vm_on_arm_has_no_such_flag(server, host):
    server.file("/proc/cpuinfo", ARM)
    plant_firmware(server, system_vendor="Amazon EC2", product_name="g5g.xlarge")
    assert (read(host)["kind"], read(host)["technology"]) == ("vm", "amazon")


def test_whole_machine_of_a_cloud_is_no_vm(server, host):
    plant_firmware(server, system_vendor="Amazon EC2", product_name="p5.metal")
    assert read(host)["kind"] == "bare_metal"


def test_arm_server_by_its_firmware(server, host):
    server.file("/proc/cpuinfo", ARM)
    plant_firmware(server, system_vendor="Supermicro", product_name="ARS-111GL-NHR")
    facts = read(host)
    assert facts["kind"] == "bare_metal"
    assert facts["evidence"] == "the firmware reports Supermicro ARS-111GL-NHR, which is not a hypervisor"


def test_xen_guest(server, host):
    server.file("/sys/hypervisor/type", "xen")
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("vm", "xen")
    assert facts["evidence"] == "/sys/hypervisor/type says xen"


@pytest.mark.parametrize("cpuinfo", ["processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\n",
                                     "vendor_id       : IBM/S390\nfeatures\t: esan3 zarch\n\n"])
def test_a_processor_that_has_no_such_flag_tells_nothing_by_its_absence(tree, host, cpuinfo):
    tree.file("/proc/cpuinfo", cpuinfo)
    assert read(host)["kind"] == "unknown"


def test_nothing_readable_is_unknown(host):
    facts = read(host)
    assert (facts["kind"], facts["technology"]) == ("unknown", None)
    assert facts["evidence"] == "neither the CPU flags nor the firmware tables could be read"
    assert facts["os"] == {"id": None, "version_id": None, "name": None}


@pytest.mark.parametrize(("names", "technology"), [
    ("QEMU Standard PC (Q35 + ICH9, 2009)", "qemu"),
    ("Red Hat KVM", "kvm"),
    ("VMware, Inc. VMware Virtual Platform", "vmware"),
    ("Microsoft Corporation Virtual Machine", "microsoft"),
    ("Microsoft Corporation Surface Laptop", None),
    ("innotek GmbH VirtualBox", "oracle"),
    ("Xen HVM domU", "xen"),
    ("XENON Systems Pty Ltd DEVCUBE", None),
    ("Xenon Systems Radon Duo", None),
    ("Google Google Compute Engine", "google"),
    ("ASUSTeK COMPUTER INC. ESC8000A-E13P", None),
    ("Supermicro SYS-420GP-TNR", None),
    ("", None),
])
def test_names_of_hypervisors(names, technology):
    assert find_hypervisor(names)[0] == technology


def test_distribution_through_its_link(server, host):
    plant_distribution(server)
    assert read(host)["os"] == {"id": "debian", "version_id": "12", "name": "Debian GNU/Linux 12 (bookworm)"}


def test_distribution_without_the_link(server, host):
    server.file("/usr/lib/os-release", "ID=arch\nNAME='Arch Linux'\n")
    assert read(host)["os"] == {"id": "arch", "version_id": None, "name": "Arch Linux"}


def test_quotes_and_backslashes_of_os_release():
    text = "# a comment\nID=debian\nNAME=\"A \\\"quoted\\\" \\$name\"\nVERSION_ID='12'  \nBROKEN LINE\nEMPTY=\n"
    assert parse_os_release(text) == {"ID": "debian", "NAME": 'A "quoted" $name', "VERSION_ID": "12", "EMPTY": ""}


def test_no_proxmox(server, host):
    server.file("/var/lib/dpkg/status", DPKG)
    proxmox = read(host)["proxmox"]
    assert proxmox["installed"] is False
    assert proxmox["version"].status == "absent"


def test_proxmox(server, host):
    server.file("/var/lib/dpkg/status", DPKG).file("/usr/bin/pveversion")
    assert read(host)["proxmox"] == {"installed": True, "version": ("ok", "8.4.1", None)}


def test_proxmox_without_a_package_list(server, host):
    server.folder("/etc/pve")
    proxmox = read(host)["proxmox"]
    assert (proxmox["installed"], proxmox["version"].status) == (True, "absent")


@pytest.mark.parametrize("status", ["deinstall ok config-files", "purge ok not-installed", "install ok half-installed"])
def test_proxmox_that_is_not_installed_whole(server, host, status):
    removed = DPKG.replace("install ok installed", status)
    server.folder("/etc/pve").file("/var/lib/dpkg/status", removed)
    version = read(host)["proxmox"]["version"]
    assert (version.status, version.detail) == ("absent", "dpkg does not list pve-manager as installed")


@pytest.mark.parametrize(("package", "version"), [
    ("pve-manager", "8.4.1"), ("libproxmox-rs-perl", "0.3.5"), ("pve-manager-doc", "1.0"), ("pve", None)])
def test_package_versions(package, version):
    assert parse_package_version(DPKG, package) == version


def test_what_was_read_before_is_not_read_again(server, host, opened):
    first = read(host)
    info, firmware = identity.read_cpuinfo(host), identity.firmware_module.read(host)
    opened.clear()
    assert read(host, info, firmware) == first
    assert not [path for path in opened if "cpuinfo" in path or "/dmi/" in path]
    assert len(opened) == len(set(opened))


def test_this_machine_is_of_some_kind():
    facts = read(Host())
    assert facts["kind"] in ("bare_metal", "vm", "container", "unknown")
    assert facts["evidence"]
    assert facts["hostname"].ok
