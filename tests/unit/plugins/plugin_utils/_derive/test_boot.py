# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next boot: loader and the place to edit, the kernel that starts, what of the command line has no effect."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.release import parse_cmdline
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.boot import boot, version_key

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok
from verdicts import judged

GRUB_LINE = "BOOT_IMAGE=/boot/vmlinuz ro"
EFI_LINE = r"initrd=\EFI\proxmox\6.14.11-4-pve\initrd.img-6.14.11-4-pve root=ZFS=rpool/ROOT/pve-1 boot=zfs"


def derived(line=GRUB_LINE, os="debian", kernels=(), unknown=(), vendor="AuthenticAMD", **of_boot):
    facts = merge(neutral.epyc(), {
        "kernel": {"cmdline": ok(line), "release": ok("6.8.12-9-pve"), "unknown_parameters": ok(list(unknown))},
        "identity": {"os": {"id": os}}, "cpu": {"vendor": vendor}, "boot": of_boot})
    facts["kernel"]["parameters"] = parse_cmdline(line)
    facts["nvidia"]["kernels"] = [{"release": release, "bootable": True, "built": ok(True)} for release in kernels]
    return boot(facts)


@pytest.mark.parametrize("os, tool, initramfs", [
    ("debian", False, "update-initramfs -u -k all"),
    ("debian", True, "update-initramfs -u -k all, then proxmox-boot-tool refresh"),
    ("rhel", False, "dracut -f --regenerate-all"), ("opensuse-tumbleweed", False, "dracut -f --regenerate-all"),
    ("nixos", False, "as this distribution builds its images"),
    ("arch", False, "update-initramfs -u -k all, dracut -f --regenerate-all or mkinitcpio -P, whichever this "
                    "distribution has")])
def test_each_distribution_builds_its_initramfs_in_its_own_way(os, tool, initramfs):
    assert derived(GRUB_LINE, os, proxmox_boot_tool=tool)["initramfs"] == initramfs


@pytest.mark.parametrize("line, os, says", [
    (GRUB_LINE, "amzn", "run grubby --update-kernel=ALL"), (EFI_LINE, "nixos", "edit boot.kernelParams"),
    (GRUB_LINE, "flatcar", "linux_append"), (GRUB_LINE, "talos", "machine.install.extraKernelArgs"),
    (f"{GRUB_LINE} ostree=/ostree/boot.1/fedora-coreos/0", "fedora", "run rpm-ostree kargs with --append-if-missing="),
])
def test_where_files_are_made_anew_they_are_not_edited(line, os, says):
    found = derived(line, os)
    assert (found["file"], says in found["edit"]) == (None, True)


@pytest.mark.parametrize("line, os, tool, file, edit", [
    (GRUB_LINE, "debian", False, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run update-grub"),
    (GRUB_LINE, "ubuntu", False, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run update-grub"),
    (GRUB_LINE, "debian", True, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run proxmox-boot-tool refresh"),
    (GRUB_LINE, "rocky", False, None, "run grubby --update-kernel=ALL with --args=PARAMETER to add one, with "
                                      "--remove-args=PARAMETER to remove one"),
    (GRUB_LINE, "arch", False, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub-mkconfig -o /boot/grub/grub.cfg"),
    (GRUB_LINE, "opensuse-leap", False, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub2-mkconfig -o /boot/grub2/grub.cfg"),
    (GRUB_LINE, "sles", False, "/etc/default/grub",
     "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub2-mkconfig -o /boot/grub2/grub.cfg"),
    (EFI_LINE, "debian", True, "/etc/kernel/cmdline",
     "edit the one line of /etc/kernel/cmdline, then run proxmox-boot-tool refresh"),
    (EFI_LINE, "debian", False, "/etc/kernel/cmdline",
     "edit the one line of /etc/kernel/cmdline, then run kernel-install add RELEASE IMAGE for each kernel"),
    ("console=ttyS0 initrd=/boot/initrd", "debian", False, None,
     "edit it in the configuration of this host's boot loader (the running command line does not show which one is "
     "used)"),
])
def test_each_boot_loader_has_a_place_of_its_own(line, os, tool, file, edit):
    found = derived(line, os, proxmox_boot_tool=tool)
    assert (found["file"], found["edit"]) == (file, edit)


def test_the_drop_in_that_wins_is_the_one_to_edit():
    found = derived(grub={"file": "/etc/default/grub.d/50-cloudimg-settings.cfg"})
    assert found["edit"].startswith("edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub.d/50-cloudimg-settings.cfg,")


OLD, NEW, DEBIAN = "6.8.12-9-pve", "6.14.11-4-pve", "6.16.12+deb13-amd64"
ENTRY = "gnulinux-advanced-0-1>gnulinux-6.8.12-9-pve-advanced-0-1"
GONE = "gnulinux-advanced-0-1>gnulinux-6.5.13-1-pve-advanced-0-1"
NEWEST = "; the newest installed is"


@pytest.mark.parametrize("of_boot, release, because", [
    ({}, DEBIAN, "the newest installed"),
    ({"proxmox_boot_tool": True}, NEW, "the newest installed"),
    ({"pinned": ok(OLD)}, OLD, f"pinned by proxmox-boot-tool{NEWEST} {DEBIAN}"),
    ({"pinned": ok(OLD), "proxmox_boot_tool": True}, OLD, f"pinned by proxmox-boot-tool{NEWEST} {NEW}"),
    ({"pinned": ok(OLD), "pinned_once": ok(NEW), "proxmox_boot_tool": True}, NEW,
     "pinned for the next boot by proxmox-boot-tool"),
    ({"grub": {"default": ok(ENTRY)}}, OLD, f"the default entry of the boot loader ({ENTRY}){NEWEST} {DEBIAN}"),
    ({"grub": {"default": ok("saved"), "entry": ok(f"0123456789abcdef-{NEW}")}}, NEW,
     f"the default entry of the boot loader (0123456789abcdef-{NEW}){NEWEST} {DEBIAN}"),
    ({"grub": {"default": ok("saved")}}, DEBIAN, "the newest installed"),
    ({"grub": {"default": ABSENT}}, DEBIAN, "the newest installed"),
    ({"grub": {"flavours": ["nvidia", "pve"]}}, NEW, "the newest installed"),
    ({"grub": {"flavours": ["nvidia"]}}, DEBIAN, "the newest installed"),
    ({"grub": {"top_level": "/boot/vmlinuz-6.8.12-9-pve"}}, OLD,
     f"the default entry of the boot loader (/boot/vmlinuz-6.8.12-9-pve){NEWEST} {DEBIAN}"),
    ({"grub": {"default": ok("saved"), "entry": ok(NEW), "top_level": "/boot/vmlinuz-6.8.12-9-pve"}}, NEW,
     f"the default entry of the boot loader ({NEW}){NEWEST} {DEBIAN}"),
])
def test_the_kernel_that_starts_next(of_boot, release, because):
    found = derived(kernels=(NEW, OLD, DEBIAN), **of_boot)
    assert (found["next"], found["because"], found["next_has_nvidia"]) == (ok(release), because, ok(True))


@pytest.mark.parametrize("kernels, of_boot, status", [
    ((), {}, "absent"), ((OLD,), {"pinned": lacking("denied")}, "denied"),
    ((OLD,), {"pinned": ok("5.15.108-1-pve")}, "unparsable"),
    ((OLD,), {"grub": {"default": lacking("denied")}}, "denied"),
    ((OLD,), {"grub": {"default": ok("saved"), "entry": lacking("denied")}}, "denied"),
    ((OLD,), {"grub": {"default": ok("1>2")}}, "unparsable"),
    ((OLD,), {"grub": {"default": ok("Windows Boot Manager")}}, "unparsable"),
    ((OLD,), {"grub": {"default": ok("with Linux 6.8.12-9-pve.1")}}, "unparsable"),
    ((OLD,), {"grub": {"default": ok("with Linux 16.8.12-9-pve")}}, "unparsable"),
])
def test_nobody_knows_which_kernel_starts_next(kernels, of_boot, status):
    found = derived(kernels=kernels, **of_boot)
    assert (found["next"]["status"], found["next_has_nvidia"]["status"]) == (status, status)


@pytest.mark.parametrize("of_boot, gone, because", [
    ({"pinned": ok("5.15.108-1-pve")}, "5.15.108-1-pve",
     f"5.15.108-1-pve is pinned by proxmox-boot-tool but not installed{NEWEST} {NEW}"),
    ({"grub": {"default": ok("saved"), "entry": ok(GONE)}}, "6.5.13-1-pve",
     f"the default entry of the boot loader, {GONE}, does not refer to an installed kernel{NEWEST} {NEW}"),
    ({"grub": {"default": ok("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-37-amd64")}},
     "6.1.0-37-amd64", None),
    ({"pinned": ok(OLD)}, None, None), ({"grub": {"default": ok(ENTRY)}}, None, None), ({}, None, None),
    ({"grub": {"default": ok("Windows Boot Manager")}}, None, None), ({"grub": {"default": ok("1>2")}}, None, None),
])
def test_a_kernel_that_was_chosen_and_is_gone(of_boot, gone, because):
    found = derived(kernels=(NEW, OLD), **of_boot)
    assert found["gone"] == gone
    assert because in (None, found["because"])
    if because:
        assert found["next"] == {"status": "unparsable", "value": None, "why": because}


def test_a_pin_to_a_kernel_that_is_gone_says_so():
    facts = merge(neutral.epyc(), {"boot": {"pinned": ok("5.15.108-1-pve")},
                                   "nvidia": {"kernels": [{"release": OLD}, {"release": NEW}]}})
    found = judged(facts)
    kernel, module = found["next_kernel", None], found["next_kernel_nvidia", None]
    said = f"5.15.108-1-pve is pinned by proxmox-boot-tool but not installed{NEWEST} {NEW}"
    assert (kernel["verdict"], kernel["priority"], kernel["reason"]) == (
        "fail", "P2", f"{said}; 6.17.13-2-pve runs")
    assert (module["verdict"], module["reason"]) == ("unknown", said)


@pytest.mark.parametrize("older, newer", [
    ("6.8.12-9-pve", "6.8.12-10-pve"), ("6.9.1", "6.11.0"), ("6.17.0-8-generic", "7.0.0-1-generic"),
    ("6.1.0-37-amd64", "6.12.48+deb13-amd64"), ("6.8.12-9-pve", "6.14.11-4-pve")])
def test_releases_in_their_order(older, newer):
    assert version_key(older) < version_key(newer)


def test_a_host_of_proxmox_boot_tool_without_a_kernel_of_proxmox():
    assert derived(kernels=(DEBIAN,), proxmox_boot_tool=True)["next"] == ok(DEBIAN)


def test_the_risk_of_a_reboot_names_the_other_kernel_and_the_majors():
    assert "device majors of nvidia-uvm" in derived(kernels=(OLD,))["risk"]
    assert "starts then" not in derived(kernels=(OLD,))["risk"]
    assert derived(kernels=(OLD, NEW))["risk"].endswith(f"Kernel {NEW} boots then, not {OLD}.")


# -- the command line -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, vendor, ignored", [
    ("iommu=pt amd_pstate=active mitigations=off", "AuthenticAMD", {}),
    ("intel_iommu=on,sm_on iommu=pt", "GenuineIntel", {}),
    ("amd_iommu=on iommu=pt", "AuthenticAMD", {"amd_iommu=on": "the IOMMU of AMD processors is on"}),
    ("amd_iommu=pt", "AuthenticAMD", {"amd_iommu=pt": "passthrough mode use iommu=pt"}),
    ("amd_iommu=fullflush,on", "AuthenticAMD", {"amd_iommu=fullflush,on": "not an option of it"}),
    ("intel_iommu=on intel_idle.max_cstate=1", "AuthenticAMD",
     {"intel_iommu=on": "another vendor", "intel_idle.max_cstate=1": "another vendor"}),
    ("amd_iommu=on amd-pstate=active", "GenuineIntel",
     {"amd_iommu=on": "another vendor", "amd-pstate=active": "another vendor"}),
    ("intel_idle.max_cstate=0", "GenuineIntel", {"intel_idle.max_cstate=0": "acpi_idle then uses those"}),
    ("pci=noacs,realloc", "AuthenticAMD", {"pci=noacs,realloc": "pci=config_acs="}),
    ("numa_balancing=0 transparent_hugepage=off amd_pstate=on", "AuthenticAMD",
     {"numa_balancing=0": "it only accepts enable, disable", "transparent_hugepage=off": "always, madvise, never",
      "amd_pstate=on": "disable, passive, active, guided"}),
    ("elevator=none", "AuthenticAMD", {"elevator=none": "since Linux 5.4"}),
    ("mitigations=off mitigations=auto", "AuthenticAMD", {"mitigations=off": "mitigations=auto overrides it"}),
    ("hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=8 console=tty0 console=ttyS0", "AuthenticAMD", {}),
    ("amd_iommu=off iommu=pt", "AuthenticAMD", {"iommu=pt": "needs an IOMMU, which is disabled by amd_iommu=off"}),
    ("iommu=pt -- amd_iommu=on", "AuthenticAMD", {}),
    # A processor without a vendor in /proc/cpuinfo is none of x86.
    ("iommu=pt iommu.passthrough=1", None, {"iommu=pt": "x86 only: here it is iommu.passthrough=1"}),
    ("iommu=off", None, {"iommu=off": "a parameter for x86 only"}), ("iommu.passthrough=0", None, {}),
])
def test_parameters_without_effect(words, vendor, ignored):
    message = derived(f"{GRUB_LINE} {words}", vendor=vendor)["ignored"]["value"]
    found = {entry["parameter"]: entry["why"] for entry in message}
    assert set(found) == set(ignored)
    assert all(ignored[parameter] in why for parameter, why in found.items())


@pytest.mark.parametrize("words, priority, harmless", [
    ("amd_iommu=on iommu=on", "info", [True, True]),
    ("intel_iommu=on iommu=pt", "info", [True]),                # meant for another vendor
    ("amd_iommu=pt", "P2", [False]),                            # something is meant that is not so
    ("amd_iommu=on amd_iommu=pt", "P2", [True, False]),
])
def test_what_asks_for_an_iommu_that_is_on_is_information(words, priority, harmless):
    facts = merge(neutral.epyc(), {"kernel": {"cmdline": ok(words), "parameters": parse_cmdline(words)}})
    finding = judged(facts)["cmdline_ignored", None]
    assert (finding["verdict"], finding["priority"]) == ("fail", priority)
    assert [entry["harmless"] for entry in derived(f"{GRUB_LINE} {words}")["ignored"]["value"]] == harmless


@pytest.mark.parametrize("unknown, why", [
    ("pcie_acs_override=downstream", "this kernel does not have the patch for it"),
    ("amd_iommu=fullfush", "the kernel reports an unknown option"),
    ("pci=noresacs", "the kernel reports an unknown option"),
    ("hugepage=16", "not a kernel parameter; did you mean hugepages?"),
    ("transparent-hugepages=never", "not a kernel parameter; did you mean transparent_hugepage?"),
])
def test_a65_what_the_kernel_does_not_know_is_named(unknown, why):
    """A-65: present on the command line, ignored by this kernel."""
    assert derived(f"{GRUB_LINE} {unknown}", unknown=[unknown])["ignored"] == ok(
        [{"parameter": unknown, "why": why, "harmless": False}])


@pytest.mark.parametrize("unknown", [
    "spectre_v2=off", "spec_store_bypass_disable=off", "splash", "boot=zfs", "BOOT_IMAGE=/vmlinuz", "nomodeset=1"])
def test_a65_what_user_space_takes_or_the_kernel_finds_early_is_no_mistake(unknown):
    """A-65: the kernel lists these as unknown on the public host, and most of them have effect."""
    assert derived(f"{GRUB_LINE} {unknown}", unknown=[unknown])["ignored"] == ok([])


def test_a_log_that_is_denied_leaves_the_question_open_and_one_that_wrapped_does_not():
    facts = merge(neutral.epyc(), {"kernel": {"parameters": [{"name": "amd_iommu", "value": "on"}]}})
    for status, known in (("denied", None), ("absent", ["amd_iommu=on"])):
        facts["kernel"]["unknown_parameters"] = lacking(status)
        ignored = boot(facts)["ignored"]
        assert (ignored["status"], ignored["value"] and [entry["parameter"] for entry in ignored["value"]]) == (
            "ok" if known else status, known)


def test_words_of_the_file_that_wait_for_a_reboot():
    found = derived(f"{GRUB_LINE} mem-encrypt=off", grub={"cmdline": ok(
        "root=/dev/sda2 quiet mem_encrypt=off iommu=pt crashkernel=$SIZE iommu=pt")})["configured"]["value"]
    assert found == {"waiting": ["iommu=pt"], "elsewhere": [],
                     "says": "iommu=pt in /etc/default/grub takes effect at the next boot"}


def test_words_in_the_file_of_another_boot_loader():
    found = derived(EFI_LINE, proxmox_boot_tool=True, cmdline_file=ok("root=ZFS=rpool/ROOT/pve-1 boot=zfs"),
                    grub={"cmdline": ok("quiet amd_pstate=active")})["configured"]["value"]
    assert found == {"waiting": [], "elsewhere": ["amd_pstate=active"],
                     "says": "amd_pstate=active in /etc/default/grub is never used"}


def test_a_file_that_is_denied_leaves_it_open():
    assert derived(grub={"cmdline": lacking("denied")})["configured"] == lacking("denied")
