# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clone as a project of AWX: its requirements are installed, ansible-runner plays it in a private data folder, a
survey gives the variables, and only what lies on a volume is there the next time."""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from checkout import REPOSITORY, environment, files
from hosts.others import virtual_machine

# ansible-runner and ansible-navigator are in the development environment alone.
pytestmark = pytest.mark.once

URL = "https://github.com/gpuhost/tuning.git"
# What a survey hands over where its fields were left empty.
EMPTY = dict.fromkeys((f"gpuhost_{name}" for name in (
    "skip", "include", "checks", "waivers", "values", "fail_on", "profile", "sysroot", "dedicated", "allow_busy",
    "link_samples", "run_id", "hosts", "report_mode", "timeout", "csv", "serial", "soak_seconds", "recheck_max",
    "max_failed")), "")
ANSWERS = EMPTY | {"gpuhost_become": "false", "gpuhost_only": "thp_enabled\nkernel_release\n",
                   "gpuhost_overrides": "thp_enabled:\n  value: [never]\n"}


class Job:
    """What AWX makes for each job, and throws away behind it."""

    def __init__(self, folder: pathlib.Path, project: pathlib.Path, installed: pathlib.Path) -> None:
        self.folder, self.installed = folder, installed
        (folder / "inventory").mkdir(parents=True)
        (folder / "env").mkdir()
        shutil.copytree(project, folder / "project", symlinks=True, ignore=shutil.ignore_patterns(".git"))

    def run(self, playbook: str, inventory: dict, answers: dict) -> subprocess.CompletedProcess[str]:
        (self.folder / "inventory" / "hosts.json").write_text(json.dumps(inventory))
        (self.folder / "env" / "extravars").write_text(json.dumps(answers))
        (self.folder / "env" / "envvars").write_text(json.dumps({
            "ANSIBLE_COLLECTIONS_PATH": str(self.installed), "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_REMOTE_TEMP": str(self.folder / "tmp")}))
        runner = pathlib.Path(sys.executable).with_name("ansible-runner")
        return subprocess.run(
            [str(runner), "run", str(self.folder), "-p", playbook, "--ident", "job"], capture_output=True, text=True,
            env=environment(HOME=str(self.folder), PATH=f"{runner.parent}:/usr/bin:/bin"), stdin=subprocess.DEVNULL,
            check=False, timeout=300)

    def artifact(self) -> dict:
        """The statistics that a workflow gets."""
        events = [json.loads(path.read_text()) for path in self.folder.glob("artifacts/job/job_events/*.json")]
        [stats] = [event for event in events if event["event"] == "playbook_on_stats"]
        return stats["event_data"]["artifact_data"]["gpuhost_stats"]

    def written(self) -> set[str]:
        """What the job left in the project's folder."""
        project = self.folder / "project"
        found = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
        return {name for name in found if "__pycache__" not in name} - set(files())


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, check=True,
                   capture_output=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A clone of what this checkout has now, without anything that make sets up."""
    folder = tmp_path_factory.mktemp("awx") / "clone"
    for name in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "now")
    return folder


@pytest.fixture(scope="module")
def installed(project, tmp_path_factory):
    """collections/requirements.yml as AWX installs it, with this clone in the place of the public one."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "ansible", "galaxy", "collection", "install", "-r",
         str(project / "collections" / "requirements.yml"), "-p", str(home / "requirements_collections")], cwd=home,
        check=True, capture_output=True, env=environment(
            HOME=str(home), GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0=f"url.file://{project}.insteadOf",
            GIT_CONFIG_VALUE_0=URL))
    return home / "requirements_collections"


def test_the_second_job_knows_the_first_and_a_workflow_may_branch_on_it(project, installed, tmp_path, make_tree):
    guest = virtual_machine(make_tree("guest"))
    inventory = {"all": {"hosts": {"guest": {
        "ansible_connection": "local", "ansible_python_interpreter": sys.executable,
        "gpuhost_sysroot": str(guest.root)}}}}
    answers = {key: value for key, value in ANSWERS.items() if key != "gpuhost_sysroot"}
    answers["gpuhost_report_dir"] = str(tmp_path / "volume")
    first = Job(tmp_path / "job1", project, installed)
    done = first.run("playbooks/audit.yml", inventory, answers)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(first.folder)

    guest.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    second = Job(tmp_path / "job2", project, installed)
    done = second.run("playbooks/audit.yml", inventory, answers | {"gpuhost_fail_on": "P2"})
    assert done.returncode == 2, done.stdout + done.stderr
    history = json.loads((tmp_path / "volume" / "guest" / "history.json").read_text())
    assert len(history["audits"]) == 2
    assert [one["check"] for one in history["drift"]] == ["thp_enabled"]
    artifact = second.artifact()
    assert (artifact["playbook"], artifact["states"], artifact["attention"]) == ("audit", {"findings": 1}, ["guest"])
    assert "thp_enabled" in artifact["failing"]
    assert second.written() == set()


def test_an_empty_report_folder_is_the_default_and_a_tune_hands_on_its_run_id(project, installed, tmp_path, make_tree):
    guest = virtual_machine(make_tree("guest"))
    inventory = {"all": {"hosts": {"guest": {"ansible_connection": "local", "gpuhost_sysroot": str(guest.root),
                                             "ansible_python_interpreter": sys.executable}}}}
    answers = {key: value for key, value in ANSWERS.items() if key != "gpuhost_sysroot"}
    answers |= {"gpuhost_report_dir": "", "gpuhost_values": "sysctl:\n  vm.swappiness: 1\n"}
    job = Job(tmp_path / "job", project, installed)
    done = job.run("playbooks/tune_runtime.yml", inventory, answers)
    assert done.returncode == 0, done.stdout + done.stderr
    run_id = job.artifact()["run_id"]
    assert (job.folder / "project" / "reports" / "guest" / run_id / "after.json").is_file()
    assert {name.split("/")[0] for name in job.written()} == {"reports"}
    assert guest.path("/proc/sys/vm/swappiness").read_text().strip() == "1"
