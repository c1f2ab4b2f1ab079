# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

VALUES = {"vm:200": {"set": {"affinity": "0-7"}}}


@pytest.mark.parametrize("check", [True, False])
def test_a_planted_host_is_skipped(call, tree, check):
    tree.file("/etc/pve/qemu-server/200.conf", "cores: 4\n")
    result = call("guest_placement", {"values": VALUES, "sysroot": str(tree.root)}, check=check)
    assert (result["changed"], result["msg"], result["snapshot"]) == (False, "vm:200: skipped: needs a live host", {})


def test_what_is_no_placement_fails(call, tree):
    result = call("guest_placement", {"values": {"vm:200": {"set": {"cores": "4"}}}, "sysroot": str(tree.root)})
    assert result["failed"] and "'cores' is not set here" in result["msg"]


def test_a_vm_that_is_not_there_is_refused(call):
    result = call("guest_placement", {"values": {"vm:999999999": VALUES["vm:200"]}})
    assert result["failed"] and not result["changed"]
    assert result["msg"].startswith("vm:999999999: refused: /etc/pve/qemu-server/999999999.conf: ")
    assert not call("guest_placement", {"values": {"vm:999999999": VALUES["vm:200"]}}, check=True).get("failed")
