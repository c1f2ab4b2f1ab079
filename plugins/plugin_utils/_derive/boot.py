# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The next boot: the host's boot loader, where its kernel command line is configured, and which kernel starts."""
from __future__ import annotations

import re
from typing import Any

from .cmdline import configured, ignored_parameters
from .reading import known, lost, value

# Fedora and derivatives keep one file per kernel and edit them with grubby(8).
_GRUBBY = ("fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn")
# Distributions whose files of the boot loader are written anew from elsewhere: how each changes the command line.
_IMAGES = {
    "nixos": "edit boot.kernelParams in the configuration of NixOS (/etc/nixos/configuration.nix, or a flake), then "
             "run nixos-rebuild boot",
    "talos": "edit machine.install.extraKernelArgs in the machine configuration of Talos, then upgrade the node",
    "flatcar": 'edit set linux_append="..." in grub.cfg of the OEM partition (/oem/grub.cfg, formerly '
               "/usr/share/oem/grub.cfg)",
}
_OSTREE = ("run rpm-ostree kargs with --append-if-missing=PARAMETER to add one, with --delete-if-present=PARAMETER to "
           "remove one")
_DEBIAN = ("debian", "ubuntu")
_SUSE = ("sles", "sled", "sle_hpc", "opensuse")         # `opensuse-leap`, `opensuse-tumbleweed`
_RELEASE_OF_ENTRY = re.compile(r"(?:Linux |gnulinux-)(\d+\.\d+[\w.+-]*?)(?:-(?:advanced|recovery)\b|[ >)]|$)")
_MAJORS = ("A reboot reassigns the device majors of nvidia-uvm and nvidia-caps: containers that allow them by number "
           "lose CUDA although nvidia-smi works, so use devN for their device nodes first.")


def boot(facts: dict[str, Any]) -> dict[str, Any]:
    """`derived.boot`: the loader, how to change its kernel command line, the kernel that starts next and why.

    The running command line identifies the loader: GRUB prepends BOOT_IMAGE= (grub-core/loader/i386/linux.c),
    systemd-boot passes initrd= as a path on the EFI partition (src/boot/efi/boot.c).
    """
    loader = _loader(facts["kernel"]["parameters"]) if facts["kernel"]["cmdline"]["status"] == "ok" else None
    release, because = next_kernel(facts)
    gone = gone_kernel(facts)
    built = next((kernel["built"] for kernel in facts["nvidia"]["kernels"] if kernel["release"] == value(release)),
                 lost(release["status"], release.get("why")) if release["status"] != "ok" else lost("absent"))
    return {"loader": loader, **_place(facts, loader), "initramfs": _make_initramfs(facts),
            "risk": _risk(facts, release), "next": release,
            "because": because, "gone": gone, "next_has_nvidia": built, "configured": configured(facts, loader),
            "ignored": ignored_parameters(facts)}


def _loader(parameters: list[dict[str, Any]]) -> str | None:
    names = {entry["name"]: entry["value"] or "" for entry in parameters}
    if "BOOT_IMAGE" in names:
        return "GRUB"
    return "systemd-boot" if names.get("initrd", "").startswith("\\") else None


def _place(facts: dict[str, Any], loader: str | None) -> dict[str, str | None]:
    """The file that the command line is generated from, and a sentence that says how to change it."""
    tool, distribution = facts["boot"]["proxmox_boot_tool"], facts["identity"]["os"]["id"]
    if distribution in _IMAGES:
        return {"file": None, "edit": _IMAGES[distribution]}
    if _is_ostree(facts):
        return {"file": None, "edit": _OSTREE}
    if loader == "systemd-boot":
        apply = "proxmox-boot-tool refresh" if tool else "kernel-install add RELEASE IMAGE for each kernel"
        return {"file": "/etc/kernel/cmdline", "edit": f"edit the one line of /etc/kernel/cmdline, then run {apply}"}
    if loader == "GRUB" and distribution in _GRUBBY:
        return {"file": None, "edit": "run grubby --update-kernel=ALL with --args=PARAMETER to add one, with "
                                      "--remove-args=PARAMETER to remove one"}
    if loader == "GRUB":
        file = facts["boot"]["grub"]["file"] or "/etc/default/grub"
        apply = "proxmox-boot-tool refresh" if tool else _make_grub_config(distribution)
        return {"file": file, "edit": f"edit GRUB_CMDLINE_LINUX_DEFAULT in {file}, then run {apply}"}
    return {"file": None, "edit": "edit it in the configuration of this host's boot loader (the running command line "
                                  "does not show which one is used)"}


def _is_ostree(facts: dict[str, Any]) -> bool:
    return any(entry["name"] == "ostree" for entry in facts["kernel"]["parameters"])


def _make_initramfs(facts: dict[str, Any]) -> str:
    """How the initramfs is built anew on this host: the end of a sentence."""
    distribution = facts["identity"]["os"]["id"] or ""
    if distribution in _IMAGES or _is_ostree(facts):
        return "as this distribution builds its images"
    if distribution in _DEBIAN:
        tool = facts["boot"]["proxmox_boot_tool"]
        return "update-initramfs -u -k all" + (", then proxmox-boot-tool refresh" if tool else "")
    if distribution in _GRUBBY or distribution.startswith(_SUSE):
        return "dracut -f --regenerate-all"
    return "update-initramfs -u -k all, dracut -f --regenerate-all or mkinitcpio -P, whichever this distribution has"


def _make_grub_config(distribution: str | None) -> str:
    """The command that writes GRUB's configuration anew; Red Hat and SUSE call the program grub2-mkconfig."""
    if distribution in _DEBIAN:
        return "update-grub"
    if (distribution or "").startswith(_SUSE):
        return "grub2-mkconfig -o /boot/grub2/grub.cfg"
    return "grub-mkconfig -o /boot/grub/grub.cfg"


def _risk(facts: dict[str, Any], release: dict[str, Any]) -> str:
    running, coming = value(facts["kernel"]["release"]), value(release)
    other = running is not None and coming is not None and coming != running
    return f"{_MAJORS} Kernel {coming} boots then, not {running}." if other else _MAJORS


def next_kernel(facts: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The release that starts next as a reading, and why; unparsable if a menu entry names no installed kernel."""
    boot_facts = facts["boot"]
    installed = [kernel["release"] for kernel in facts["nvidia"]["kernels"] if kernel["bootable"]]
    bootable = installed
    if boot_facts["proxmox_boot_tool"]:
        # It copies only Proxmox kernels to the EFI partitions (boot_kernel_list()).
        bootable = [release for release in installed if release.endswith("-pve")] or installed
    for pin, why in (("pinned_once", "pinned for the next boot"), ("pinned", "pinned")):
        release = value(boot_facts[pin])
        if release is not None and release not in installed:
            reason = f"{release} is {why} by proxmox-boot-tool but not installed{_newest(bootable)}"
            return lost("unparsable", reason), reason
        if boot_facts[pin]["status"] != "absent":
            return boot_facts[pin], f"{why} by proxmox-boot-tool{_newest(bootable, release)}"
    grub = boot_facts["grub"]
    if grub["default"]["status"] not in ("ok", "absent"):
        return lost(grub["default"]["status"]), "the default entry of GRUB could not be read"
    chosen = value(grub["default"]) or "0"
    remembered = value(grub["entry"])
    if chosen == "saved" and remembered is None and grub["entry"]["status"] != "absent":
        return lost(grub["entry"]["status"]), "the saved entry of GRUB could not be read"
    if chosen == "saved":
        chosen = remembered or "0"
    if chosen == "0" and grub["top_level"]:
        chosen = grub["top_level"]
    preferred = [[release for release in bootable if release.endswith(f"-{flavour}")] for flavour in grub["flavours"]]
    return _of_entry(chosen, next(filter(None, preferred), bootable) if chosen == "0" else bootable)


def _of_entry(entry: str, bootable: list[str]) -> tuple[dict[str, Any], str]:
    """The kernel of a menu entry: the release in its title or id; the first entry is the newest kernel."""
    if not bootable:
        return lost("absent"), "no kernel is installed here (/lib/modules with /boot/vmlinuz)"
    if entry == "0":
        return known(max(bootable, key=version_key)), "the newest installed"
    named = [release for release in bootable if re.search(rf"(?<![\w.]){re.escape(release)}(?![\w.+])", entry)]
    if named:
        chosen = max(named, key=len)
        return known(chosen), f"the default entry of the boot loader ({entry}){_newest(bootable, chosen)}"
    reason = f"the default entry of the boot loader, {entry}, does not refer to an installed kernel{_newest(bootable)}"
    return lost("unparsable", reason), reason


def _newest(bootable: list[str], chosen: str | None = None) -> str:
    """`; the newest that is installed is 6.17.13-2-pve` if another one was chosen."""
    newest = max(bootable, key=version_key, default=None)
    return f"; the newest installed is {newest}" if newest not in (None, chosen) else ""


def gone_kernel(facts: dict[str, Any]) -> str | None:
    """The kernel that was chosen for the next boot but is no longer installed; None if there is none.

    A GRUB menu entry has the release in its id or title, as written by 10_linux.
    """
    bootable = [kernel["release"] for kernel in facts["nvidia"]["kernels"] if kernel["bootable"]]
    if not bootable:
        return None
    for pin in ("pinned_once", "pinned"):
        release = value(facts["boot"][pin])
        if release is not None:
            return None if release in bootable else release
    grub = facts["boot"]["grub"]
    chosen = value(grub["default"]) or "0"
    entry = value(grub["entry"]) or "0" if chosen == "saved" else chosen
    named = _RELEASE_OF_ENTRY.search(entry)
    return named[1] if named and not any(release in entry for release in bootable) else None


def version_key(release: str) -> list[tuple[int, str]]:
    """A sort key in the order of `sort -V`, by which update-grub and proxmox-boot-tool pick the newest release."""
    return [(int(digits or -1), text) for digits, text in re.findall(r"(\d+)|(\D+)", release)]
