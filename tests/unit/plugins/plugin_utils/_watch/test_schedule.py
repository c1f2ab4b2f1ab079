# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import configparser

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import RecordError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch import schedule

COMMAND = ["/opt/a b/ansible-playbook", "-i", "/srv/h.yml", "/srv/watch.yml", "-e", '{"gpuhost_only": "50%$x"}']


def parsed(text):
    parser = configparser.RawConfigParser()
    parser.optionxform = str
    parser.read_string(text)
    return parser


def test_units_that_systemd_reads():
    texts = schedule.units(COMMAND, "/srv/work", 30)
    service, timer = parsed(texts["gpuhost-watch.service"]), parsed(texts["gpuhost-watch.timer"])
    assert service["Service"]["ExecStart"] == (
        '"/opt/a b/ansible-playbook" -i /srv/h.yml /srv/watch.yml -e "{\\"gpuhost_only\\": \\"50%%$$x\\"}"')
    assert service["Service"]["WorkingDirectory"] == "/srv/work"
    assert (timer["Timer"]["OnUnitActiveSec"], timer["Install"]["WantedBy"]) == ("30min", "timers.target")


def test_they_lie_in_the_users_own_folder(tmp_path):
    folder = schedule.write_units({"a.timer": "x"}, {"HOME": str(tmp_path)})
    assert folder == tmp_path.resolve() / ".config" / "systemd" / "user"
    assert (folder / "a.timer").read_text() == "x"
    other = schedule.write_units({"a.timer": "x"}, {"HOME": "/nothing", "XDG_CONFIG_HOME": str(tmp_path / "xdg")})
    assert other == tmp_path.resolve() / "xdg" / "systemd" / "user"


@pytest.mark.parametrize("environment", [{"HOME": "/"}, {"HOME": "/etc"}, {"HOME": "/", "XDG_CONFIG_HOME": "/etc"},
                                         {"HOME": "/home/x", "XDG_CONFIG_HOME": "/usr/lib"}])
def test_never_in_the_systems(environment):
    with pytest.raises(RecordError, match="is no folder of a user"):
        schedule.write_units({"a.timer": "x"}, environment)


def test_a_link_to_the_systems_folder_is_seen(tmp_path):
    (tmp_path / ".config").symlink_to("/etc")
    with pytest.raises(RecordError, match="is no folder of a user"):
        schedule.write_units({"a.timer": "x"}, {"HOME": str(tmp_path)})


@pytest.mark.parametrize("minutes, when", [(1, "* * * * *"), (5, "*/5 * * * *"), (30, "*/30 * * * *"),
                                           (60, "17 * * * *"), (360, "17 */6 * * *"), (1440, "17 4 * * *")])
def test_lines_for_cron(minutes, when):
    line = schedule.cron_line(COMMAND, "/srv/my work", minutes)
    assert line == (f"{when} cd '/srv/my work' && '/opt/a b/ansible-playbook' -i /srv/h.yml /srv/watch.yml -e "
                    "'{\"gpuhost_only\": \"50\\%$x\"}'")


@pytest.mark.parametrize("minutes", [7, 45, 90, 300])
def test_intervals_that_cron_does_not_have(minutes):
    with pytest.raises(ValueError, match=f"cron has no interval of {minutes} minutes"):
        schedule.cron_line(COMMAND, "/", minutes)


def test_a_schedule_of_awx():
    assert schedule.awx_schedule(120).endswith("RRULE:FREQ=HOURLY;INTERVAL=2")
    assert schedule.awx_schedule(45).endswith("RRULE:FREQ=MINUTELY;INTERVAL=45")


def test_the_command_has_what_says_which_hosts():
    found = schedule.words("/bin/ansible-playbook", {"inventory": ("hosts.yml", "a,b"), "subset": "pve*",
                                                     "remote_user": "root"}, "watch.yml", {"gpuhost_only": ["x"]})
    assert found[1:3][1].endswith("/hosts.yml") and found[2].startswith("/")
    assert found[3:] == ["-i", "a,b", "--limit", "pve*", "--user", "root", "watch.yml", "-e", '{"gpuhost_only": ["x"]}']
