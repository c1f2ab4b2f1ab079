# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One audit of one host on the controller: from facts to findings, plan, records and reports."""
from __future__ import annotations

import datetime
from typing import Any

from .._checks import catalogue, user_yaml
from .._checks import judge as checks_judge
from .._checks.findings import value
from .._expressions.errors import MissingPackage
from .._fleet import spreadsheet
from .._placement import document as placement
from .._placement import report as placement_report
from .._plan import health, pve_busy, reboot
from .._plan import plan as plan_module
from .._plan.kept import kept_changes
from .._records import host_folder, measured
from .._render.changes import change_lines
from .._report import evidence, measured_here, short
from .._report.groups import Groups
from .._report.markdown import markdown_report
from .._report.source import source_of
from .._rollout import rollout
from . import limit, outputs, peers

# User errors and errors of the file system; any other exception is a bug and keeps its traceback.
PROBLEMS = (MissingPackage, host_folder.RecordError, ValueError)


class Audit:
    """`arguments` are those of the audit action; all of them are validated here."""

    def __init__(self, host: str, arguments: dict[str, Any]) -> None:
        self.host = host
        self.arguments = arguments
        self.folder = host_folder.HostFolder(arguments["report_dir"], host)
        self.run_id = host_folder.check_run_id(arguments["run_id"]) if arguments["run_id"] else host_folder.new_run_id()
        self.values = plan_module.desired_values(user_yaml.read_variable(arguments["values"], "gpuhost_values", {}))
        self.waivers = user_yaml.read_variable(arguments["waivers"], "gpuhost_waivers", [])
        self.catalogue = catalogue.load(arguments["checks"])
        self.profile = catalogue.load_profile(arguments["profile"], self.catalogue)
        choices = {name: arguments[name] for name in ("overrides", "only", "skip", "include")}
        self.checks, self.accepted = checks_judge.resolve(self.catalogue, self.profile, waivers=self.waivers, **choices)
        self.origins = {one.check.id: one.origin for one in self.checks}
        self.measured = measured.read_measured(self.folder.path)
        self.document: dict[str, Any] = {}
        self.groups = Groups([])
        self.remarks: list[str] = []        # further lines for the terminal

    def named_tunables(self) -> list[str]:
        """Addresses named by the user or by user-defined checks, so that the host's facts include them."""
        return sorted({*plan_module.addresses(self.values), *catalogue.asked_tunables(self.catalogue)})

    def judge(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Evaluate `facts`, write the files of this stage, and return what the task registers."""
        self._judge(facts)
        outcome = {"run_id": self.run_id, "summary": self.document["summary"], **self.paths(), **self._stage()}
        return outcome | self._verdict()

    def _judge(self, facts: dict[str, Any]) -> None:
        findings = checks_judge.judge_effective(
            facts, self.checks, self.accepted, host=self.host, today=datetime.date.today(),
            dedicated=self.arguments["dedicated"], allow_busy=self.arguments["allow_busy"],
            include=self.arguments["include"], peers=peers.read_peers(self.folder, facts))
        boot_id = value(facts["identity"]["boot_id"])
        measured_here.attach(findings, self.measured, boot_id)
        self.document = {
            "schema": host_folder.SCHEMA_AUDIT, "host": self.host, "profile": self.profile.name,
            "collected_at": facts["collected_at"], "boot_id": boot_id, "facts": facts,
            "summary": checks_judge.summary(findings, self.waivers, host=self.host), "findings": findings,
        }
        self.groups = Groups(findings)

    def _stage(self) -> dict[str, Any]:
        stage = self.arguments["stage"]
        if stage == "before":
            _refuse_container(self.document["facts"]["identity"])
            outcome = self._write_plan()
            self._write_reports(None)
            return outcome
        if stage == "after":
            return self._write_after()
        self._write_reports(None)
        plan = self._plan()
        return {"plan": plan.values, "planned": plan.changes,
                "driver_mismatch": self._driver_mismatch()} if stage == "compare" else {}

    def _driver_mismatch(self) -> str | None:
        """The reason for which a verify fails even if no change is planned."""
        return next((finding["reason"] for finding in self.document["findings"]
                     if finding["check"] == "nvidia_library" and finding["verdict"] == "fail"), None)

    def paths(self) -> dict[str, str]:
        """The paths of the records, as the user would open them."""
        files = {"report": "system-improve.md", "record": "audit.json"}
        if self.document and source_of(self.document):
            files["short"] = short.FILE
        return {name: host_folder.shown_path(self.folder.path / file) for name, file in files.items()}

    def _plan(self) -> plan_module.Plan:
        given = self.arguments["values"]
        return plan_module.plan(self.document["findings"], self.values, self.document["facts"], self.origins,
                                f"gpuhost_values ({given})" if isinstance(given, str) else "gpuhost_values",
                                {*self.arguments["include"], *self.profile.plan})

    def _write_plan(self) -> dict[str, Any]:
        plan = self._plan()
        # A host with nothing to change is not touched, whatever it is doing.
        reasons = pve_busy.reasons(self.document["facts"]) if plan.planned else []
        if reasons:
            plan = plan.refused(pve_busy.REASON)
        head = {"schema": host_folder.SCHEMA_VALUES, "host": self.host, "run_id": self.run_id,
                "boot_id": self.document["boot_id"], "created_at": self.document["collected_at"]}
        run = self.folder.run(self.run_id)
        host_folder.write_json(run / "before.json", {**head, "values": plan.baseline, "changes": plan.changes,
                                                     "guard": health.observe(self.document["facts"])})
        host_folder.write_json(run / "plan.json", {**head, "values": plan.values, "changes": plan.changes})
        self._note_plan(plan, reasons)
        return {"plan": plan.values, "planned": plan.changes, "left_alone": reasons}

    def _note_plan(self, plan: plan_module.Plan, reasons: list[str]) -> None:
        state = rollout.UNCHANGED
        if reasons:
            state = rollout.REFUSED
        elif plan.planned:
            state = rollout.WOULD_CHANGE if self.arguments["check"] else rollout.CHANGING
        self.note(state, reasons=reasons, sysroot=self.arguments["sysroot"])

    def note(self, state: str, **more: Any) -> None:
        """Record the outcome of the host if the run is part of a rollout."""
        rollout.note(self.arguments["report_dir"], self.run_id, self.host, state, **more)

    def _write_after(self) -> dict[str, Any]:
        run = self.folder.run(self.run_id)
        before = host_folder.read_json(run / "before.json")
        seen = health.observe(self.document["facts"])
        harm, notes = health.triggers(before["guard"], seen), health.notes(before["guard"], seen)
        host_folder.write_audit(run / "after.json", self.document)
        outcome = {"run_id": self.run_id, "time": self.document["collected_at"], "planned": before["changes"],
                   "changes": self.arguments["changes"], "harm": harm, "notes": notes,
                   "kept": kept_changes(self.document["facts"]["persisted"], self.arguments["changes"])}
        outputs.write_outcome(self.folder, outcome)
        self._write_reports(outcome)
        self._note_changes(harm)
        refused = [change for change in self.arguments["changes"] if change["outcome"] == "refused"]
        return {"harm": harm, "notes": notes, "refused": change_lines(refused)}

    def _note_changes(self, harm: list[dict[str, Any]]) -> None:
        by_outcome: dict[str, list[dict[str, Any]]] = {}
        for change in self.arguments["changes"]:
            by_outcome.setdefault(change["outcome"], []).append(change)
        changed, refused = by_outcome.get("changed", []), by_outcome.get("refused", [])
        more: dict[str, Any] = {"reasons": []}
        state = rollout.CHANGED if changed else rollout.UNCHANGED
        if harm:
            state, more = rollout.HARMED, {"reasons": [f"{entry['device']}: {entry['what']}" for entry in harm]}
        elif refused:
            # The reason for skipping a node was recorded before.
            alone = all(change["reason"] == pve_busy.REASON for change in refused)
            state, more = rollout.REFUSED, {} if alone else {"reasons": change_lines(refused)}
        self.note(state, changed={change["address"]: change["after"] for change in changed}, **more)

    def _write_reports(self, run: dict[str, Any] | None) -> None:
        reboot.keep_previous(self.folder, self.document["boot_id"])
        host_folder.write_audit(self.folder.path / reboot.LATEST, self.document)
        peers.note_peer(self.folder, self.document["facts"])
        self._write_placement()
        shown = evidence.sections(self.folder.path, self.document["facts"])
        evidence.write_drawings(self.folder.path, shown)
        host_folder.write_text(self.folder.path / "system-improve.md",
                               markdown_report(self.document, run, shown, self.groups))
        short_text = short.short_report(self.document, self.groups)
        if short_text is not None:
            host_folder.write_text(self.folder.path / short.FILE, short_text)
        outputs.write_for_machines(self.folder, self.document, self.run_id, self.arguments["stage"], shown,
                                   self.groups)
        if self.arguments["csv"]:
            spreadsheet.write_tables(self.folder.path, self.document)

    def _write_placement(self) -> None:
        proposed = placement.placement(self.host, self.document)
        host_folder.write_json(self.folder.path / placement.FILE, proposed)
        line = placement_report.summary(proposed)
        self.remarks = [line] if line else []

    def _verdict(self) -> dict[str, Any]:
        gate = limit.gate(self.document["findings"], self.arguments["fail_on"])
        if not gate["exceeded"]:
            return {"gate": gate}
        return {"gate": gate, "failed": True,
                "msg": limit.message(gate, self.arguments["named"].get("fail_on", "fail_on"), self.paths()["report"])}


def _refuse_container(identity: dict[str, Any]) -> None:
    if identity["kind"] == "container":
        raise ValueError(f"the target is a container ({identity['evidence']}): these settings belong to its host, run "
                         "this on the host")
