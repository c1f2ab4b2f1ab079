# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instruction that takes redirection off ports: whole, for the kernel and the boot loader of the host, or none."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.paths.acs_parameter import clear_redirection

TWO = ["0000:02:00.0", "0000:02:01.0"]
GRUB = "edit GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run update-grub"
BOOTCTL = "edit the one line of /etc/kernel/cmdline, then run proxmox-boot-tool refresh"


@pytest.mark.parametrize("release, parameter", [
    ("5.15.0-119-generic", "pci=disable_acs_redir=0000:02:00.0;0000:02:01.0"),
    ("6.8.12-9-pve", "pci=disable_acs_redir=0000:02:00.0;0000:02:01.0"),
    ("6.12.23", "pci=config_acs=00xx@0000:02:00.0;00xx@0000:02:01.0"),
    ("6.14.11-2-pve", "pci=config_acs=00xx@0000:02:00.0;00xx@0000:02:01.0"),
    ("6.17.13-2-pve", "pci=config_acs=00xx@0000:02:00.0;00xx@0000:02:01.0"),
])
def test_the_parameter_is_whole_and_quoted_where_grub_reads_it(release, parameter):
    assert clear_redirection(TWO, release, "systemd-boot", BOOTCTL).endswith(
        f"Permanently: {parameter} on the kernel command line: {BOOTCTL}.")
    assert f'Permanently: \\"{parameter}\\" with these backslashes' in clear_redirection(TWO, release, "GRUB", GRUB)


@pytest.mark.parametrize("release", ["6.11.11-2-pve", "6.12.22", "6.13.10", "6.14.0-33-generic", "6.14.1"])
def test_kernels_that_misread_it_get_none(release):
    text = clear_redirection(TWO, release, "systemd-boot", BOOTCTL)
    assert "pci=" not in text
    assert f"kernel {release} misparses the parameters" in text


@pytest.mark.parametrize("release, loader, edit", [
    ("4.18.0", "GRUB", GRUB), (None, "GRUB", GRUB), ("6.8.12", None, "edit it where the boot loader has it"),
    ("6.8.12", "GRUB", "run grubby --update-kernel=ALL with --args=PARAMETER to add one"),
])
def test_where_it_is_not_known_how_there_is_no_parameter_either(release, loader, edit):
    assert "pci=" not in clear_redirection(TWO, release, loader, edit)


def test_one_port_needs_no_quotes():
    text = clear_redirection(TWO[:1], "6.8.12-9-pve", "GRUB", GRUB)
    assert text == ("For this boot: setpci -s 0000:02:00.0 ECAP_ACS+6.w=0000:000c (a reset of a port sets it again). "
                    f"Permanently: pci=disable_acs_redir=0000:02:00.0 on the kernel command line: {GRUB}.")


def test_no_port_no_instruction():
    assert clear_redirection([], "6.8.12", "GRUB", GRUB) is None
