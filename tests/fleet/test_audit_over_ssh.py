# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ssh connections that playbooks leave open on the controller."""
from __future__ import annotations

SETTINGS = {"gpuhost_only": ["kernel_release"], "gpuhost_soak_seconds": 0,
            "gpuhost_values": {"sysctl": {"vm.laptop_mode": "1"}}}


def play(controller, fleet, playbook):
    return controller.play(playbook, fleet.inventory(), variables=SETTINGS, **fleet.environment()).succeeded()


def test_an_audit_leaves_no_connection_open_and_a_tune_does(make_fleet, controller):
    fleet = make_fleet(2)
    fleet.start()
    play(controller, fleet, "audit.yml")
    assert list(fleet.sockets.iterdir()) == []
    play(controller, fleet, "tune_runtime.yml")
    assert len(list(fleet.sockets.iterdir())) == 2


def test_an_audit_uses_a_connection_that_is_open(make_fleet, controller):
    fleet = make_fleet(1)
    fleet.start()
    play(controller, fleet, "tune_runtime.yml")
    (fleet.folder / "key").unlink()         # no new connection can be made
    play(controller, fleet, "audit.yml")
