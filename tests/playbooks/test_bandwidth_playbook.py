# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bandwidth of planted hosts: what cannot be measured is skipped or refused in one sentence, and the audit behind
it shows what was measured before."""
from __future__ import annotations

import json

import pytest

from bandwidth_document import RUN, gpu_answer, record
from hosts.nvidia import Gpu
from hosts.story_before import BOOT_ID, GPUS, story_before

FIRST, SECOND = sorted(GPUS)[:2]


@pytest.fixture
def measured(controller):
    """Records of a host as an earlier measurement leaves them."""
    def measured(name):
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.record import entries
        from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.measured import add_measured

        made = record([gpu_answer(FIRST, "slow", "to the host 13.0 of 57.6 GB/s expected", d2h=13.0), SECOND],
                      host=name, boot_id=BOOT_ID, not_measured=[
                          {"subject": gpu, "reason": "not in the list of devices"} for gpu in GPUS
                          if gpu not in (FIRST, SECOND)])
        for gpu in made["gpus"]:
            gpu["uuid"] = Gpu(gpu["bdf"], GPUS[gpu["bdf"]]).uuid
        folder = controller.reports / name
        for path in (folder / RUN / "bandwidth.json", folder / "bandwidth.json"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(made))
        add_measured(folder, "bandwidth", RUN, made["measured_at"], made["boot_id"], entries(made))
    return measured


def test_a_folder_is_not_measured_and_a_host_that_is_kept_is_refused(controller, make_tree, measured):
    measured("idle")
    idle, kept = story_before(make_tree("idle"), cores=1), story_before(make_tree("kept"), cores=1)
    kept.file("/etc/pve/ha/resources.cfg", "ct: 101\n\tstate started\n")
    run = controller.play("benchmark.yml", {"idle": idle, "kept": kept}).failed()

    skipped = run.of("idle", action="bandwidth")
    assert [one.outcome for one in skipped] == ["skipped"]
    assert "live host" in skipped[0].result["msg"]
    assert f"idle: bandwidth was not measured: {skipped[0].result['msg']}" in run.stdout
    assert (run.stats["idle"]["failures"], run.stats["kept"]["failures"]) == (0, 1)

    message = run.one("kept", action="bandwidth")["msg"]
    assert message == ("Proxmox VE HA manages 1 guest of this node (lxc:101): if a GPU hangs the host, the cluster "
                       "fences it. To measure anyway: gpuhost_bandwidth_override: [ha]; to skip it: "
                       "gpuhost_bandwidth: false")
    assert not (controller.reports / "kept" / "bandwidth.json").exists()

    # Both were audited at the end, and what was measured before is in the report of the one and on the page.
    assert (controller.reports / "kept" / "system-improve.md").exists()
    report = (controller.reports / "idle" / "system-improve.md").read_text()
    assert f"- {FIRST}: slow: to the host 13.0 of 57.6 GB/s expected" in report
    assert f"| {FIRST} | NVIDIA RTX PRO 6000 | 0 | 55.3 of 57.6 | 13.0 of 57.6 |" in report
    assert "since" not in report[report.index("## Bandwidth"):report.index("![Bandwidth of idle](bandwidth.svg)")]
    assert "<svg" in (controller.reports / "idle" / "bandwidth.svg").read_text()
    assert "Copies of each GPU, GB/s" in (controller.reports / "index.html").read_text()
    findings = json.loads((controller.reports / "idle" / "audit.json").read_text())["findings"]
    at_widths = {one["subject"]: one["measured_here"] for one in findings if one["check"] == "pcie_link_width"}
    assert at_widths[FIRST][0]["verdict"] == "slow"
    assert at_widths[SECOND][0]["verdict"] == "healthy"
    assert at_widths[max(GPUS)] == []
