# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
import os
import platform

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout import rollout
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._rollout.alone import alone

FIRST, SECOND = "20261201T100000Z-0001", "20261201T100500Z-0002"


@pytest.fixture
def reports(tmp_path):
    return str(tmp_path)


def begun(reports, hosts, **changes):
    """A rollout by the parent of this process, which lives."""
    found = rollout.start(reports, FIRST, hosts, check=False)
    found.document.update(changes)
    found.save()
    return found


def start(reports, hosts, minutes=1):
    with alone(reports, hosts, datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)):
        rollout.start(reports, SECOND, hosts, check=False)


ELSEWHERE = {"node": "another", "id": 77, "born": 5}


@pytest.mark.parametrize("hosts", [["a", "b"], ["b"], ["c", "d"]])
def test_a_second_rollout_stops(reports, hosts):
    begun(reports, ["a", "b"])
    with pytest.raises(RecordError, match=f"nothing was changed: the rollout {FIRST} over 2 hosts is under way, begun "
                                          f".* on {platform.node()} .*slice count is 1"):
        start(reports, hosts)
    assert not (rollout.folder_of(reports, SECOND)).exists()


def test_one_host_beside_a_rollout_that_does_not_have_it(reports):
    begun(reports, ["a", "b"])
    start(reports, ["c"])


@pytest.mark.parametrize("changes", [
    {"ended_at": "2026-12-01T10:04:00Z"}, {"stopped": "two hosts failed", "ended_at": "2026-12-01T10:04:00Z"},
    {"check": True}, {"process": {"node": platform.node(), "id": os.getpid(), "born": 1}}])
def test_one_that_ended_was_a_check_or_was_killed_is_no_obstacle(reports, changes):
    begun(reports, ["a", "b"], **changes)
    start(reports, ["a", "b"])


def test_of_another_machine_the_last_word_counts(reports):
    begun(reports, ["a", "b"], process=ELSEWHERE)
    with pytest.raises(RecordError, match=r"on another \(process 77\)"):
        start(reports, ["a"], minutes=29)
    start(reports, ["a"], minutes=31)


def test_one_of_another_machine_that_soaks_is_not_silent(reports):
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    begun(reports, ["a", "b"], process=ELSEWHERE, soaks_until=now + 3600)
    with pytest.raises(RecordError, match="is under way"):
        start(reports, ["a"], minutes=80)
    start(reports, ["a"], minutes=91)


def test_a_record_that_is_broken_is_no_obstacle(reports, tmp_path):
    begun(reports, ["a", "b"])
    (rollout.folder_of(reports, FIRST) / "rollout.json").write_text(json.dumps({"hosts": ["a"]}))
    start(reports, ["a", "b"])
