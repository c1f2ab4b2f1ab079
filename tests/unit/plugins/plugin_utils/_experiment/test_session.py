# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole experiment within this process: real setters on a planted host, and a benchmark that is a real program."""
from __future__ import annotations

import json
import sys

import jsonschema
import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment import report
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.machine import Machine
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.prepare import prepare, schedule_lines
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.record import cut_short
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.session import Session, summary_line
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.settings import ExperimentError
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._records.host_folder import (
    HostFolder,
    RecordError,
    write_json,
)

from checkout import REPOSITORY
from hosts.tree import Tree
from made_up_benchmark import PROGRAM
from planted_setters import RUN_ID, PlantedSetters

SWAPPINESS, LAPTOP = "sysctl:vm.swappiness", "sysctl:vm.laptop_mode"
BOOT = "0b54b1f2-6c5a-4b52-9d3c-1a6f0c9e7d21"


class Story:
    """An experiment about two sysctls of a planted host, one of which the benchmark feels."""

    def __init__(self, folder, misdeed="none", bench=None, **arguments):
        self.tree = Tree(folder / "hosts" / "pve1").sysctl("vm.swappiness", 60).sysctl("vm.laptop_mode", 0)
        self.tree.sysctl("kernel.random.boot_id", BOOT)
        program = folder / "benchmark.py"
        program.write_text(PROGRAM)
        self.folder = HostFolder(str(folder / "reports"), "pve1")
        write_json(self.folder.run(RUN_ID) / "before.json", {"boot_id": BOOT, "guard": {"paths": {"0000:01:00.0": []}}})
        self.ask = PlantedSetters(self.tree)
        self.machine = Machine(self.ask, RUN_ID, False)
        self.message = []
        self.arguments = {
            "changes": [self.change(SWAPPINESS, "60", "10", "swappiness"), self.change(LAPTOP, "0", "5", None)],
            "left_alone": [], "only": [], "mode": "one_at_a_time", "blocks": 9, "seed": 7, "budget_minutes": None,
            "matters": 2.0, "end": "before", "pause_seconds": 0, "overrides": {},
            "benchmark": {"name": "made up", "where": "controller", "starts_workload": True, "timeout": 5,
                          "command": [sys.executable, "-S", "-E", str(program), str(self.tree.root), misdeed],
                          "metrics": {"rate": {"json": "rate", "better": "higher"}}, **(bench or {})}, **arguments}

    @staticmethod
    def change(address, before, wanted, check):
        return {"address": address, "before": before, "wanted": wanted, "check": check, "subject": None,
                "takes_effect": None, "outcome": "would_change"}

    def prepared(self):
        return prepare(self.folder, RUN_ID, self.arguments)

    def carry_out(self):
        self.session = Session(self.folder, self.machine, self.prepared(), self.arguments, self.message.append, True)
        return self.session.carry_out()

    def sysctl(self, key):
        return self.tree.path("/proc/sys/vm/" + key).read_text().strip()

    def record(self, name):
        return json.loads((self.folder.path / name).read_text())


@pytest.fixture
def story(tmp_path):
    return lambda *misdeed, **arguments: Story(tmp_path, *misdeed, **arguments)


def test_a_known_effect_is_found_and_a_placebo_is_not(story):
    told = story(overrides={"nmi_watchdog": {"plan": False}})
    document = told.carry_out()
    assert document == told.record("experiment.json") == told.record(f"{RUN_ID}/experiment.json")
    real, placebo = (arm["metrics"]["rate"] for arm in document["arms"])
    assert real["verdict"] == "helps"
    assert 9 < real["percent"] < 11     # 10 of 100, with a noise of 0.4
    assert placebo["verdict"] == "no measurable effect"
    assert (document["ended"], document["end_state"], document["discarded"]) == ("finished", "before", 0)
    assert len(document["runs"]) == 37  # 2 arms, 9 blocks of 2, and one to warm up
    assert document["state"] == {SWAPPINESS: "60", LAPTOP: "0"}
    assert (told.sysctl("swappiness"), told.sysctl("laptop_mode")) == ("60", "0")
    assert told.machine.left_behind(RUN_ID) == {}
    assert {change["outcome"] for change in told.session.changes} == {"reverted"}
    assert summary_line("pve1", document, told.session.changes) == (
        "pve1: experiment finished after 37 runs: all settings are restored")


def test_what_it_leaves_for_others(story):
    told = story(overrides={"nmi_watchdog": {"plan": False}})
    document = told.carry_out()
    raw = json.loads((told.folder.path / RUN_ID / "raw" / "037.stdout").read_text())
    assert raw["rate"] == document["runs"][36]["values"]["rate"]
    (entry,) = told.record("measured.json")["findings"]
    assert (entry["check"], entry["kind"], entry["verdict"], entry["boot_id"]) == (
        "swappiness", "experiment", "helps", BOOT)
    written = yaml.safe_load((told.folder.path / RUN_ID / "overrides.yml").read_text())
    assert written == {"gpuhost_overrides": {"nmi_watchdog": {"plan": False}}}
    assert told.message[0] == "pve1: Ctrl-C ends it: all changes are restored before ansible-playbook exits"
    assert told.message[1].startswith("pve1: run 1: warm-up: rate ")
    assert len(told.message) == 39
    # The state without a change has run four times then; nothing is compared yet.
    (told_of_noise,) = [line for line in told.message if "the noise of a run" in line]
    assert "(of 4 first runs), an effect of about " in told_of_noise


@pytest.mark.parametrize(("end", "mode", "left"), [
    ("best", "one_at_a_time", ("10", "0")), ("best", "leave_one_out", ("10", "0")), ("best", "plan", ("10", "5")),
    ("after", "one_at_a_time", ("10", "5")), ("before", "plan", ("60", "0"))])
def test_the_end_that_the_user_chose(story, end, mode, left):
    told = story(end=end, mode=mode)
    document = told.carry_out()
    assert (told.sysctl("swappiness"), told.sysctl("laptop_mode")) == left
    assert document["state"] == dict(zip((SWAPPINESS, LAPTOP), left))
    assert document["end_state"] == end
    changed = {change["address"] for change in told.session.changes if change["outcome"] == "changed"}
    assert changed == {address for address, value in document["state"].items() if value in ("10", "5")}
    assert {f"{kind}:{name}" for kind, named in told.machine.left_behind(RUN_ID).items() for name in named} == changed


def test_nothing_is_kept_without_proof(story):
    told = story(end="best", only=[LAPTOP], blocks=8)
    document = told.carry_out()
    assert (told.sysctl("laptop_mode"), document["end_state"]) == ("0", "before")
    assert [arm["metrics"]["rate"]["verdict"] for arm in document["arms"]] == ["no measurable effect"]


@pytest.mark.parametrize(("misdeed", "message"), [
    ("hang", "did not end within 1 s"),
    ("die", "SIGKILL"),
    ("babble", "metric rate: wanted a number by json 'rate' in stdout, found no JSON"),
    ("rename", "metric rate: wanted a number by json 'rate' in stdout, found nothing (null)"),
    ("zero", "run 3: metric rate is 0, and only positive values can be compared in percent"),
    ("meddle", "is left alone: sysctl:vm.swappiness: set to "),
    ("reboot", "the host was rebooted during the run"),
])
def test_one_clear_error_and_the_host_as_it_was(story, misdeed, message):
    told = story(misdeed, mode="plan", end="after", bench={"timeout": 1} if misdeed == "hang" else None)
    document = told.carry_out()
    assert document["ended"].startswith("failed: ")
    assert message in document["ended"]
    assert document["ended"].count("\n") == 0
    assert document["end_state"] == "before"
    # What somebody else set is somebody else's, and said.
    assert told.sysctl("swappiness") == ("35" if misdeed == "meddle" else "60")
    assert ("Not brought back: sysctl:vm.swappiness: " in document["ended"]) == (
        misdeed == "meddle" and document["runs"][2]["state"] == "B")
    assert told.sysctl("laptop_mode") == "0"
    assert [change["outcome"] for change in told.session.changes] == [
        "refused" if misdeed == "meddle" else "reverted", "reverted"]
    assert document["runs"][2]["discarded"] or misdeed == "zero"
    assert not (told.folder.path / "measured.json").exists()
    assert not told.session.complete


def test_what_is_refused_is_refused_before_anything_is_written(story):
    told = story(changes=[Story.change(SWAPPINESS, "60", "900", None)])
    with pytest.raises(ExperimentError, match=r"sysctl:vm.swappiness: refused: wanted 900, found 60: EINVAL"):
        told.carry_out()
    assert not told.tree.path("/run/gpuhost").exists()
    assert not (told.folder.path / "experiment.json").exists()


@pytest.mark.parametrize(("arguments", "message"), [
    ({"left_alone": ["the cluster has no quorum"]}, "not started: the cluster has no quorum"),
    ({"benchmark": {}}, "gpuhost_benchmark is not set"),
    ({"blocks": 0}, "gpuhost_experiment_blocks is 0: at least 1 is required, 8 for a verdict"),
    ({"blocks": 8}, "gpuhost_experiment_blocks is 8, and with 2 comparisons, corrected together, no difference could "
                    "be significant, however large: the smallest p-value that 8 blocks can give is 0.029, and 0.025 or "
                    "less is needed. Use gpuhost_experiment_blocks: 9"),
    ({"blocks": 7, "only": ["swappiness"]}, "and with 1 comparison no difference .*_blocks: 8$"),
    ({"budget_minutes": 4}, "not started: 36 runs and 1 for warm-up, at most 4.9 minutes, .* allows 4. Take fewer"),
    ({"only": ["thp"]}, "lists thp, which is not planned on this host. Planned: swappiness, sysctl:vm.laptop_mode"),
    ({"changes": []}, "nothing to compare"),
])
def test_what_is_not_begun(story, arguments, message):
    with pytest.raises(ValueError, match=message):
        Story.prepared(story(**arguments))


def test_a_load_generator_needs_a_restart_for_what_only_a_new_process_feels(story):
    with pytest.raises(ValueError, match=r"sysctl:vm.laptop_mode: cannot be compared fairly"):
        story(bench={"starts_workload": False}).prepared()
    restart = {"restart": {"command": ["/bin/true"], "where": "controller"}, "starts_workload": False}
    told = story(bench=restart, only=[LAPTOP], blocks=8)
    prepared = told.prepared()
    assert prepared.budget["restarts"] >= 3
    document = told.carry_out()
    assert document["ended"] == "finished"
    # Each restart is followed by a run to warm up.
    assert sum(run["warm_up"] for run in document["runs"]) == prepared.budget["restarts"] == prepared.budget["warm_up"]


def test_what_would_be_done_is_told(story):
    told = story()
    lines = schedule_lines("pve1", RUN_ID, told.prepared())
    assert lines[0] == (f"pve1: experiment {RUN_ID} with 'made up': 36 runs and 1 for warm-up, at most 4.9 minutes, "
                        "with a timeout of 5 s per run; 1 GPU that nothing else may use meanwhile")
    assert lines[1:3] == ["  swappiness: sysctl:vm.swappiness 60 -> 10",
                          "  sysctl:vm.laptop_mode: sysctl:vm.laptop_mode 0 -> 5"]
    assert lines[3].startswith("  18 blocks of 2 runs by seed 7: ")
    # Of 9 blocks 4 or 5 run A first: 2 of 126 ways to choose them are 0.016.
    assert lines[4] == ("  2 comparisons, corrected together: the smallest p-value that 9 blocks can give is 0.016, "
                        "and 0.025 or less is significant")
    assert lines[5].startswith("  the smallest detectable effect is not known, ")


def test_what_would_be_seen_is_told_from_earlier_runs(story):
    told = story()
    argv = told.arguments["benchmark"]["command"]
    runs = [{"values": {"rate": rate}, "seconds": 1.0, "discarded": None, "warm_up": False} for rate in (
        100.0, 102.0, 98.0, 104.0, 96.0)]
    runs.append({"values": {"rate": 20.0}, "seconds": 1.0, "discarded": None, "warm_up": True})
    write_json(told.folder.path / "benchmark.json", {"name": "made up", "argv": argv, "runs": runs})
    line = schedule_lines("pve1", RUN_ID, told.prepared())[5]
    # The logarithms of 0.96, 0.98, 1, 1.02 and 1.04 have a standard deviation of 0.0317.
    assert line.startswith("  rate: the noise of a run is about 3.2 % (of 5 earlier runs), an effect of about ")
    assert line.endswith(" blocks") and "; one of 2 % takes about " in line


def test_an_experiment_over_what_a_tune_set_comes_back_to_that(story):
    told = story(changes=[Story.change(SWAPPINESS, "40", "10", "swappiness")], blocks=8)
    earlier = "20261128T000000Z-0000"
    told.ask("gpuhost.tuning.sysctl_snapshot", {"values": {"vm.swappiness": "40"}, "run_id": earlier}, False)
    document = told.carry_out()
    assert f"sysctl:vm.swappiness was set by run {earlier} before" in told.message[0]
    assert (told.sysctl("swappiness"), document["ended"]) == ("40", "finished")
    assert cut_short(told.folder, BOOT, told.machine.left_behind) is None


def test_a_host_that_cannot_be_brought_back_is_said(story, monkeypatch):
    told = story("zero", mode="plan")
    monkeypatch.setattr(told.machine, "left_behind", lambda run_id: 1 / 0)
    document = told.carry_out()
    assert document["ended"].endswith("Not restored: the restore failed: division by zero. Run "
                                      f"playbooks/restore.yml with -e gpuhost_run_id={RUN_ID}")
    assert told.message[-1] == f"pve1: {document['ended']}"


def test_a_lost_connection_is_put_down_and_goes_on_to_ansible(story):
    told = story(mode="plan")
    answers = told.ask

    def lose(module, arguments, check):
        if (module == "gpuhost.tuning.workload" and told.sysctl("swappiness") == "10") or told.message[-1:] == ["lost"]:
            told.message.append("lost")
            raise ConnectionError("no route to host")
        return answers(module, arguments, check)

    told.machine.ask = lose
    with pytest.raises(ConnectionError):
        told.carry_out()
    ended = told.record("experiment.json")["ended"]
    assert ended == ("failed: ConnectionError: no route to host. Not restored: the restore failed: no route to "
                     f"host. Run playbooks/restore.yml with -e gpuhost_run_id={RUN_ID}")
    assert told.sysctl("swappiness") == "10"
    assert set(Machine(answers, RUN_ID, False).left_behind(RUN_ID)["sysctl"]) == {
        "vm.swappiness", "vm.laptop_mode"}


def test_one_that_was_cut_short_is_told_until_its_values_are_back(story):
    told = story()
    settings = told.machine.learn(told.prepared().toggles)
    told.session = Session(told.folder, told.machine, told.prepared(), told.arguments, told.message.append, True)
    write_json(told.folder.path / "experiment.json", told.session.document)
    assert cut_short(told.folder, BOOT, told.machine.left_behind) is None
    told.machine.bring_about(settings, frozenset(("swappiness",)))
    message = cut_short(told.folder, BOOT, told.machine.left_behind)
    assert message.startswith(f"experiment {RUN_ID} of ")
    assert message.endswith(
        "it had set sysctl:vm.swappiness. Bring that back: ansible-playbook playbooks/restore.yml -e "
        f"gpuhost_run_id={RUN_ID}")
    assert cut_short(told.folder, "another boot", told.machine.left_behind) is None
    told.machine.way_back(settings)
    assert cut_short(told.folder, BOOT, told.machine.left_behind) is None
    (told.folder.path / "experiment.json").write_text("[]")
    with pytest.raises(RecordError, match="is not the record of an experiment"):
        cut_short(told.folder, BOOT, told.machine.left_behind)


def test_the_record_is_what_its_schema_says_and_what_reports_show(story):
    document = story().carry_out()
    schema = json.loads((REPOSITORY / "plugins" / "plugin_utils" / "schemas" / "experiment.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    section = report.section(document)
    assert [row[2] for row in section.tables[0].rows] == ["helps", "no measurable effect"]
    assert "36 runs in blocks of two" in section.notes[0]
    assert "made up" in section.drawings["effects.svg"].title
