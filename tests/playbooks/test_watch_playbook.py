# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet that is watched: the first look, an idle one, and one after something happened."""
from __future__ import annotations

import json

from hosts.others import virtual_machine

LOST = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
ONLY = {"gpuhost_only": ["thp_enabled", "kernel_release"]}


def test_a_timer_and_what_its_runs_say(controller, make_tree):
    guest = virtual_machine(make_tree("guest"))
    first = controller.play("watch.yml", {"guest": guest}, HOME=str(controller.folder), variables=ONLY | {
        "gpuhost_watch_schedule": "timer", "gpuhost_watch_minutes": 30}).succeeded()
    units = controller.folder / ".config" / "systemd" / "user"
    assert "OnUnitActiveSec=30min" in (units / "gpuhost-watch.timer").read_text()
    service = (units / "gpuhost-watch.service").read_text()
    assert f"{controller.folder}/inventory.json" in service and "gpuhost_watch" not in service
    assert "systemctl --user enable --now gpuhost-watch.timer" in first.stdout

    idle = controller.play("watch.yml", {"guest": guest}, HOME=str(controller.folder), variables=ONLY).succeeded()
    assert "nothing changed on 1 host" in idle.stdout
    assert idle.one("guest", action="watch")["different"] is False

    guest.file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
    run = controller.play("watch.yml", {"guest": guest, "lost": LOST}, HOME=str(controller.folder),
                          variables=ONLY | {"gpuhost_watch_fail_on_change": True}).failed()
    assert "lost: not audited now (unreachable)" in run.stdout
    last = json.loads((controller.reports / "last-watch.json").read_text())
    assert [one["check"] for one in last["hosts"]["guest"]["changes"]] == ["thp_enabled"]
    assert last["missing"] == {"lost": "unreachable"}
    text = (controller.reports / "prometheus" / "gpuhost-watch.prom").read_text()
    assert 'gpuhost_watch_audited{host="lost"} 0' in text
    assert (controller.reports / "prometheus" / "gpuhost-host-guest.prom").stat().st_mode & 0o444 == 0o444
