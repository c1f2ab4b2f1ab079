# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers that are not a Linux machine with a known user: macOS, simulated, and a container with any uid."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

from checkout import REPOSITORY
from hosts.others import virtual_machine
from requirement import need

DARWIN = REPOSITORY / "tests" / "support" / "darwin"
ONLY = {"gpuhost_only": ["thp_enabled", "kernel_release"]}
NOBODY = 1000650000     # as OpenShift chooses them: in no passwd file, of group 0


def test_on_a_simulated_mac_every_plugin_is_imported():
    """With the names of Linux's own modules and functions gone."""
    names = [path.relative_to(REPOSITORY).with_suffix("").as_posix().replace("/", ".")
             for folder in ("action", "callback", "filter", "lookup", "plugin_utils")
             for path in sorted((REPOSITORY / "plugins" / folder).rglob("*.py"))]
    code = ("import importlib, sys; assert sys.platform == 'darwin'\n"
            f"for name in {names!r}: importlib.import_module('ansible_collections.gpuhost.tuning.' + name)")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{DARWIN}:{REPOSITORY / '.ansible' / 'collections'}"})
    assert done.returncode == 0, done.stderr


def test_on_a_simulated_mac_a_host_is_audited_and_watched(controller, make_tree):
    hosts = {"guest": virtual_machine(make_tree("guest"))}
    run = controller.play("watch.yml", hosts, variables=ONLY | {"gpuhost_watch_schedule": "cron"},
                          PYTHONPATH=str(DARWIN)).succeeded()
    assert "crontab -e" in run.stdout
    assert json.loads((controller.reports / "last-run.json").read_text())["hosts"] == {"guest": "ok"}


def test_an_unknown_uid_without_a_home_audits_and_gets_a_clear_word_about_a_timer(controller, make_tree):
    """Its uid stands in no passwd file; seen from outside of its namespace it is the user of the tests."""
    unshare = ["unshare", "--user", f"--map-user={NOBODY}", "--map-group=0"]
    need(shutil.which("unshare") and subprocess.run([*unshare, "true"], check=False).returncode == 0,
         "user namespaces may be made")
    inventory = controller.inventory({"guest": virtual_machine(make_tree("guest"))})
    variables = ONLY | {"gpuhost_become": False, "gpuhost_report_dir": str(controller.reports)}
    nameless = {name: text for name, text in controller.environment().items()
                if name not in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "XDG_CONFIG_HOME")}

    def play(**more):
        return subprocess.run(
            [*unshare, sys.executable, "-m", "ansible", "playbook", str(REPOSITORY / "playbooks" / "watch.yml"), "-i",
             str(inventory), "-e", json.dumps(variables | more)], cwd=controller.folder, env=nameless,
            capture_output=True, text=True, check=False, timeout=300)

    done = play()
    assert done.returncode == 0, done.stdout + done.stderr
    assert (controller.reports / "guest" / "audit.json").is_file()
    timer = play(gpuhost_watch_schedule="timer")
    assert timer.returncode == 2
    assert "the user has no home for units" in timer.stdout + timer.stderr
