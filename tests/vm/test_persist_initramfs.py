# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisted MaxReadReq of GPUs whose driver was bound in the initramfs, before systemd and its udev rules were there.

The initramfs is made by Debian's initramfs-tools. A part of make soak (GPUHOST_VM_FULL=1).
"""
from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.vm, pytest.mark.skipif(
    os.environ.get("GPUHOST_VM_FULL") != "1", reason="a part of make soak: GPUHOST_VM_FULL=1 asks for it")]
SYSTEMD = INITRAMFS = True
GPUS = [f"{domain}:{bus}:00.0" for domain in ("0001", "0002") for bus in ("01", "04", "05", "06")]
WANTED = {"sysctl": {"vm.swappiness": 10}, "module": {"gdrdrv": "present"},
          "pcie_maxreadreq": dict.fromkeys(GPUS, 4096)}
# The rest of the test hardware, and the device nodes, which nvidia-modprobe makes on a real host.
PLANT = """
systemctl --no-reload enable testhw.service
testhw healthy
sync
"""
MAXREADREQ = f"for gpu in {' '.join(GPUS)}; do setpci -s $gpu CAP_EXP+8.w; done"
BOOTED = f"""
for second in $(seq 120); do
    [ -s /run/gpuhost/boot.json ] && ! pgrep -f '[g]puhost-boot.pyz' > /dev/null && break
    sleep 1
done
cat /run/bound-in-initramfs
{MAXREADREQ}
"""


@pytest.fixture(scope="module")
def story(play, reboot, in_every_guest):
    told = SimpleNamespace()
    in_every_guest(PLANT)
    told.before = in_every_guest(MAXREADREQ)
    told.persisted = play("persist.yml", gpuhost_values=WANTED)
    reboot()
    told.booted = in_every_guest(BOOTED)
    told.verified = play("verify.yml")
    return told


def test_the_driver_was_bound_before_the_root_was_mounted(story, release):
    assert story.booted[release].split()[:len(GPUS)] == GPUS


def test_maxreadreq_is_set_nevertheless(story, release):
    story.persisted.succeeded()
    assert story.before[release].split() == ["293f"] * len(GPUS)
    assert story.booted[release].split()[len(GPUS):] == ["593f"] * len(GPUS)


def test_verify_finds_all_of_it_in_effect(story, release):
    story.verified.succeeded()
    found = story.verified.one(release, action="verify")["persisted"]
    assert {line["address"]: line["state"] for line in found} == dict.fromkeys(
        ["sysctl:vm.swappiness", "module:gdrdrv", *(f"pcie_maxreadreq:{gpu}" for gpu in GPUS)], "applied")
