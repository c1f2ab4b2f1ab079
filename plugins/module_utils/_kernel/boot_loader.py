# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Configuration of the next boot: boot loader, kernel command line and pinned kernels.

Only files of the running system are read. An EFI system partition that is not mounted is not examined.
"""
from __future__ import annotations

import re

from .._host.host import Host
from .._host.reading import ABSENT, NOT_RECORDED, Reading, known, ok

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
GRUB = "/etc/default/grub"
_ENVIRONMENTS = ("/boot/grub/grubenv", "/boot/grub2/grubenv")
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(GRUB_\w+)(\+?=)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#;]*)""", re.MULTILINE)
_USE = re.compile(r"\$\{?(GRUB_\w+)\}?")


def read(host: Host) -> dict:
    """Read the facts' section `boot`.

    The files of proxmox-boot-tool are those named in its scripts (proxmox-kernel-helper, functions):
    proxmox-boot-uuids exists if the tool manages the EFI system partitions; each pin file holds one release.
    """
    return {
        "firmware": known(lambda: "uefi" if host.is_dir("/sys/firmware/efi") else "bios"),
        "secure_boot": read_secure_boot(host),
        "proxmox_boot_tool": known(lambda: host.exists("/etc/kernel/proxmox-boot-uuids")),
        "pinned": host.read("/etc/kernel/proxmox-boot-pin").map(first_line),
        "pinned_once": host.read("/etc/kernel/next-boot-pin").map(first_line),
        "cmdline_file": host.read("/etc/kernel/cmdline").map(first_line),
        "grub": read_grub(host),
    }


def read_secure_boot(host: Host) -> Reading:
    """Read the EFI variable SecureBoot: four bytes of attributes, one byte of value. Absent without EFI."""
    return host.read(SECURE_BOOT, 16).map(lambda text: text[4] == "\x01")


def read_grub(host: Host) -> dict:
    """Read the settings of grub-mkconfig(8), /etc/default/grub and its drop-ins, and GRUB's environment block.

    `cmdline` is the command line of every normal entry: GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT; `file` is
    the last file that set either. `entry` is the menu entry saved for the next boot. `flavours` and `top_level` decide
    on Debian and Ubuntu which kernel is the first entry (10_linux).
    """
    found = known(lambda: _read_settings(host))
    entry = read_entry(host)
    if isinstance(found, Reading):
        return {**dict.fromkeys(("default", "flavours", "top_level", "cmdline", "file"), found), "entry": entry}
    main, settings, file = found
    words = [settings.get(name, "") for name in ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")]
    return {
        "default": main.map(lambda _text: settings.get("GRUB_DEFAULT", "0")),
        "flavours": settings.get("GRUB_FLAVOUR_ORDER", "").split(),
        "top_level": settings.get("GRUB_TOP_LEVEL") or None,
        "cmdline": main.map(lambda _text: " ".join(" ".join(words).split())),
        "file": file,
        "entry": entry,
    }


def _read_settings(host: Host) -> tuple[Reading, dict[str, str], str | None]:
    """Return the main file, all settings, and the last file that set the command line. Raises NotRecorded."""
    main = host.read(GRUB).told()
    settings: dict[str, str] = {}
    file = None
    for path in (GRUB, *host.glob(f"{GRUB}.d/*.cfg")) if main.ok else ():
        found = parse_settings(host.read(path).value or "", settings)
        if any(name.startswith("GRUB_CMDLINE_LINUX") for name in found):
            file = path
        settings.update(found)
    return main, settings, file


def parse_settings(text: str, known: dict[str, str]) -> dict[str, str]:
    """Parse the assignments of a shell file; `$GRUB_X` expands to an earlier value, from `known` or a line above.

    Only plain assignments are evaluated; other shell syntax is kept verbatim.
    """
    found: dict[str, str] = {}
    so_far = dict(known)
    for name, sign, value in _ASSIGNMENT.findall(text):
        bare = value[1:-1] if value[:1] in ("'", '"') else value
        if not value.startswith("'"):
            bare = _USE.sub(lambda use: so_far.get(use[1], ""), bare)
        found[name] = so_far[name] = so_far.get(name, "") + bare if sign == "+=" else bare
    return found


def read_entry(host: Host) -> Reading:
    """Read the menu entry in GRUB's environment block: next_entry (grub-reboot(8), for one boot), else saved_entry."""
    for path in _ENVIRONMENTS:
        block = host.read(path)
        if block.status == NOT_RECORDED:
            return block
        if block.ok:
            values = dict(line.partition("=")[::2] for line in block.value.splitlines() if "=" in line)
            entry = values.get("next_entry") or values.get("saved_entry")
            return ok(entry) if entry else Reading(ABSENT, None, f"{path} has no saved entry")
    return Reading(ABSENT, None, "GRUB has no environment block")


def first_line(text: str) -> str:
    """Return the first line that is not empty. Raises ValueError if there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), None)
    if line is None:
        raise ValueError("it is empty")
    return line
