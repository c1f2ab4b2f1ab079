# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import as_facts
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.boot_loader import (
    parse_settings,
    read,
    read_secure_boot,
)
from hypothesis import given
from hypothesis import strategies as st

from facts_schema import problems
from hosts.boot import BOOT_TOOL, PINNED, PINNED_ONCE, plant_grub, plant_systemd_boot

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def test_nothing_is_written_down(host):
    facts = read(host)
    assert (facts["firmware"], facts["proxmox_boot_tool"], facts["grub"]["file"]) == ("bios", False, None)
    assert {facts[name].status for name in ("secure_boot", "pinned", "pinned_once", "cmdline_file")} == {"absent"}
    assert {facts["grub"][name].status for name in ("default", "cmdline", "entry")} == {"absent"}
    assert problems("boot", as_facts(facts)) == []


def test_grub_of_debian(tree, host):
    plant_grub(tree, always="console=ttyS0", normally="quiet iommu=pt", entry="gnulinux-simple")
    grub = read(host)["grub"]
    assert (grub["default"].value, grub["cmdline"].value) == ("0", "console=ttyS0 quiet iommu=pt")
    assert (grub["file"], grub["entry"].value) == ("/etc/default/grub", "gnulinux-simple")
    assert problems("boot", as_facts(read(host))) == []


def test_the_last_drop_in_wins_and_may_add_to_what_was(tree, host):
    plant_grub(tree, normally="quiet")
    tree.file("/etc/default/grub.d/50-cloudimg-settings.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty1"')
    tree.file("/etc/default/grub.d/90-own.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"')
    tree.file("/etc/default/grub.d/95-kernel.cfg", "GRUB_DEFAULT='1>2'\n")
    tree.file("/etc/default/grub.d/99.bak", 'GRUB_CMDLINE_LINUX="no"')
    grub = read(host)["grub"]
    assert (grub["cmdline"].value, grub["default"].value) == ("console=tty1 iommu=pt", "1>2")
    assert grub["file"] == "/etc/default/grub.d/90-own.cfg"


def test_which_kernel_comes_first_in_the_menu(tree, host):
    plant_grub(tree)
    assert (read(host)["grub"]["flavours"], read(host)["grub"]["top_level"]) == ([], None)
    tree.file("/etc/default/grub.d/kernel.cfg",
              'GRUB_FLAVOUR_ORDER="nvidia generic"\nGRUB_TOP_LEVEL=/boot/vmlinuz-6.8.0')
    grub = read(host)["grub"]
    assert (grub["flavours"], grub["top_level"]) == (["nvidia", "generic"], "/boot/vmlinuz-6.8.0")


@pytest.mark.parametrize(("text", "found"), [
    ("GRUB_DEFAULT=saved # the last one\n", "saved"), ("GRUB_DEFAULT='a b'", "a b"), ("  export GRUB_DEFAULT=2", "2"),
    ('GRUB_DEFAULT="${GRUB_X}y"', "xy"), ("GRUB_DEFAULT='$GRUB_X'", "$GRUB_X"), ('GRUB_DEFAULT+=" z"', "w z"),
    ("GRUB_DEFAULT=", ""), ("#GRUB_DEFAULT=1", None), ("X_GRUB_DEFAULT=1", None), ("GRUB_DEFAULT=1;true", "1")])
def test_assignments(text, found):
    assert parse_settings(text, {"GRUB_X": "x", "GRUB_DEFAULT": "w"}).get("GRUB_DEFAULT") == found


@given(st.text(alphabet="GRUB_DEFAULT=$\"'\\ {}\n+;#", max_size=80))
def test_no_text_raises(text):
    assert all(isinstance(value, str) for value in parse_settings(text, {}).values())


def test_the_entry_for_one_boot_comes_before_the_saved_one(tree, host):
    tree.file("/boot/grub2/grubenv", "# GRUB Environment Block\nsaved_entry=old\nnext_entry=new\n####")
    assert read(host)["grub"]["entry"].value == "new"
    tree.file("/boot/grub/grubenv", "# GRUB Environment Block\nnext_entry=\n####")
    assert read(host)["grub"]["entry"].status == "absent"


def test_proxmox_with_systemd_boot(tree, host):
    plant_systemd_boot(tree, "6.14.11-4-pve", line="root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt\n# old: quiet")
    tree.file(PINNED, "6.8.12-9-pve").file(PINNED_ONCE, "\n6.14.11-4-pve\n")
    facts = read(host)
    assert (facts["firmware"], facts["proxmox_boot_tool"]) == ("uefi", True)
    assert (facts["pinned"].value, facts["pinned_once"].value) == ("6.8.12-9-pve", "6.14.11-4-pve")
    assert facts["cmdline_file"].value == "root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt"


def test_an_empty_pin_is_none_that_anybody_can_follow(tree, host):
    tree.file(BOOT_TOOL, "5A1B-22C0").file(PINNED, "")
    assert read(host)["pinned"].status == "unparsable"


@pytest.mark.parametrize(("data", "status", "value"), [
    (b"\x06\0\0\0\x00", "ok", False), (b"\x06\0\0\0\x01", "ok", True), (b"", "unparsable", None)])
def test_secure_boot(tree, host, data, status, value):
    tree.file(SECURE_BOOT, data)
    assert (read_secure_boot(host).status, read_secure_boot(host).value) == (status, value)
