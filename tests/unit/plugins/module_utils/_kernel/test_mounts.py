# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ABSENT
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.mounts import parse_mounts, read

# As an unprivileged LXC container shows it: /proc/sys is read-only, /proc/sys/net is not.
CONTAINER = """\
/dev/loop0 / ext4 rw,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
proc /proc/sys/net proc rw,nosuid,nodev,noexec,relatime 0 0
proc /proc/sys proc ro,relatime 0 0
sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0
tmpfs /srv/with\\040blank tmpfs ro 0 0
"""


def test_mounts_of_a_container():
    assert parse_mounts(CONTAINER) == [
        {"path": "/proc", "read_only": False}, {"path": "/proc/sys", "read_only": True},
        {"path": "/proc/sys/net", "read_only": False}, {"path": "/sys", "read_only": True}]


@pytest.mark.parametrize("text, found", [
    ("", []),
    ("broken line\n", []),
    ("sysfs /sys sysfs rw 0 0\ntmpfs /sysroot tmpfs ro 0 0\n", [{"path": "/sys", "read_only": False}]),
    # errors=remount-ro is not ro; the last mount on a path is the visible one.
    ("sysfs /sys sysfs rw,errors=remount-ro 0 0\n", [{"path": "/sys", "read_only": False}]),
    ("sysfs /sys sysfs rw 0 0\nsysfs /sys sysfs ro 0 0\n", [{"path": "/sys", "read_only": True}]),
    ("x /sys/a\\040b x ro 0 0\n", [{"path": "/sys/a b", "read_only": True}]),
])
def test_odd_lines(text, found):
    assert parse_mounts(text) == found


def test_it_is_read_from_proc_mounts(tree, host):
    assert read(host).status == ABSENT
    tree.file("/proc/mounts", CONTAINER)
    assert [one["path"] for one in read(host).value] == ["/proc", "/proc/sys", "/proc/sys/net", "/sys"]
