# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Schedule a watch: a systemd user timer, a crontab line, or an AWX schedule."""
from __future__ import annotations

import json
import os
import pathlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from .._records import host_folder

TIMER, CRON, AWX = "timer", "cron", "awx"
NAME = "gpuhost-watch"
DAY = 1440      # minutes
_NEVER = ("/etc", "/usr", "/lib")


def units(command: Sequence[str], folder: str, minutes: int) -> dict[str, str]:
    """The texts of the service and of its timer, by file name."""
    service = (
        "[Unit]\nDescription=Audit GPU hosts and report changes (gpuhost.tuning)\nWants=network-online.target\n"
        "After=network-online.target\n\n[Service]\nType=oneshot\n"
        f"WorkingDirectory={_escaped(folder)}\nExecStart={' '.join(map(_quoted, command))}\n"
        # A host that was not reached makes a watch exit with 2; the next one is due all the same.
        "Nice=10\n")
    timer = ("[Unit]\nDescription=Audit GPU hosts regularly (gpuhost.tuning)\n\n[Timer]\nOnStartupSec=5min\n"
             f"OnUnitActiveSec={minutes}min\nRandomizedDelaySec=1min\n\n[Install]\nWantedBy=timers.target\n")
    return {f"{NAME}.service": service, f"{NAME}.timer": timer}


def write_units(texts: Mapping[str, str], environment: Mapping[str, str]) -> pathlib.Path:
    """Write them to the user's unit folder, never to the system's; return that folder."""
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME") or "~", ".config")
    base = os.path.expanduser(base)         # keeps the ~ of an unknown user
    folder = pathlib.Path(os.path.realpath(base)) / "systemd" / "user"
    if not os.path.isabs(base) or str(folder).startswith("/.config") or \
            any(str(folder).startswith(f"{never}/") for never in _NEVER):
        raise host_folder.RecordError(f"the user has no home for units: {folder} is no folder of a user. Set HOME, or "
                                      "use gpuhost_watch_schedule=cron")
    for name, text in texts.items():
        host_folder.write_text(folder / name, text)
    return folder


def enable_commands(user: str) -> list[str]:
    return ["systemctl --user daemon-reload", f"systemctl --user enable --now {NAME}.timer",
            f"loginctl enable-linger {shlex.quote(user)}     # so that it also runs while nobody is logged in"]


def cron_line(command: Sequence[str], folder: str, minutes: int) -> str:
    """A line for `crontab -e`. ValueError: cron cannot express that interval."""
    if minutes < 60 and 60 % minutes == 0:
        when = f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    elif minutes == DAY:
        when = "17 4 * * *"
    elif minutes % 60 == 0 and DAY % minutes == 0:
        when = f"17 */{minutes // 60} * * *" if minutes > 60 else "17 * * * *"
    else:
        raise ValueError(f"gpuhost_watch_minutes: cron has no interval of {minutes} minutes; take one that divides an "
                         "hour, or hours that divide a day")
    line = f"cd {shlex.quote(folder)} && {shlex.join(command)}"
    return f"{when} {line}".replace("%", r"\%")       # an unescaped % would end the command


def awx_schedule(minutes: int) -> str:
    """The rrule for the schedule of a job template."""
    frequency = f"FREQ=HOURLY;INTERVAL={minutes // 60}" if minutes % 60 == 0 else f"FREQ=MINUTELY;INTERVAL={minutes}"
    return f"DTSTART:20260101T000000Z RRULE:{frequency}"


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """A word of ExecStart, see systemd.service(5) and systemd.syntax(7)."""
    text = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("\n", "\\n")
    return text if text and all(letter.isalnum() or letter in "/._-=:,+@" for letter in text) else f'"{text}"'


def words(program: str, options: Mapping[str, Any], playbook: str, variables: Mapping[str, Any]) -> list[str]:
    """The command of a watch: `options` are those of the running ansible-playbook."""
    found = [program]
    for inventory in options.get("inventory") or ():
        found += ["-i", os.path.abspath(inventory) if "," not in inventory else inventory]
    for name, option in (("subset", "--limit"), ("remote_user", "--user")):
        if options.get(name):
            found += [option, str(options[name])]
    found.append(playbook)
    return [*found, "-e", json.dumps(variables, sort_keys=True)] if variables else found
