# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is fed: each target takes dice and damages one input. It may refuse it with a clear message, nothing else."""
from __future__ import annotations

import copy
import gzip
import io
import json
import pathlib
import random
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ansible_collections.gpuhost.tuning.plugins.module_utils._change import hung_gpus, journal_lines
from ansible_collections.gpuhost.tuning.plugins.module_utils._change.baseline import (
    list_baselines,
    pair_lines,
    plan_back,
    summarize_runs,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.collect import collect
from ansible_collections.gpuhost.tuning.plugins.module_utils._facts.packing import pack
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.cpulist import parse_cpulist
from ansible_collections.gpuhost.tuning.plugins.module_utils._redaction.files import redact_file
from ansible_collections.gpuhost.tuning.plugins.module_utils._redaction.text import redact
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible import piped_reader
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.facts import take, take_packed
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._answers.modules import take_answer
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._audit.audit import Audit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._fleet.files import write_fleet
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.importing import import_files
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused as ImportRefused

from bug_report import GENERATIONS, bug_report
from hosts.secretive import secretive
from hosts.story_before import story_before
from hosts.tree import Tree

from .damage import damage_bytes, damage_document

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from unpack import Refused, unpack  # noqa: E402

ARGUMENTS = {
    "sysroot": "/", "profile": "full", "checks": [], "waivers": [], "overrides": {}, "values": {}, "only": [],
    "skip": [], "include": [], "dedicated": False, "allow_busy": False, "link_samples": 0, "fail_on": "",
    "stage": "audit", "run_id": None, "changes": [], "variables": {}, "check": False, "named": {}}
NOTHING_PERSISTED = {"ledger": {"status": "absent", "value": None}, "files": [],
                     "boot": {"status": "absent", "value": None},
                     "this_boot": False, "rebooted": None, "values": []}
MUST_BE_READ = {"schema", "collected_at", "gpus", "nvidia", "guests"}


class Target(NamedTuple):
    name: str
    weight: int         # inputs in a round
    feed: Callable[[random.Random], None]


class Seeds:
    """Planted hosts, and all that is made of them, in a folder of their own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.roots = []
        for number, plant in enumerate((lambda tree: story_before(tree, cores=1), secretive)):
            tree = Tree(folder / f"host{number}")
            plant(tree)
            self.roots.append(tree.root)
        self.files = [[path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()
                       and path.name != ".gpuhost-sysroot"] for root in self.roots]
        self.facts = [collect(Host(str(root)), []) for root in self.roots]
        self.texts = [path.read_bytes() for files in self.files for path in files if path.stat().st_size < 20_000]
        self.journal = b"".join(json.dumps(line).encode() + b"\n" for line in _journal())
        self.archive = self._archive()
        self.posted = [bug_report(generation, xids=(31, 79), earlier_xids=(13,)).encode() for generation in GENERATIONS]
        self.posted.append(self.posted[-1].replace(b"Start of NVIDIA bug report log file", b"Something else"))
        self.audits = 0

    def _archive(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            for path in self.files[0][:60]:
                archive.add(path, path.relative_to(self.roots[0]).as_posix())
        return buffer.getvalue()

    def targets(self) -> list[Target]:
        return [
            Target("readers", 2, self.readers), Target("judging", 2, self.judging), Target("facts", 30, self.document),
            Target("journals", 300, self.journals), Target("texts", 300, self.some_text),
            Target("answers", 200, self.answers), Target("archives", 10, self.archives),
            Target("imports", 10, self.imports),
        ]

    def readers(self, dice: random.Random) -> None:
        """Some files of a host are damaged: its facts are there all the same, and of the promised shape."""
        host = dice.randrange(len(self.roots))
        chosen = dice.sample(self.files[host], dice.randint(1, 4))
        kept = {path: path.read_bytes() for path in chosen}
        try:
            for path, data in kept.items():
                mode = path.stat().st_mode
                path.chmod(0o600)
                path.write_bytes(damage_bytes(dice, data))
                path.chmod(mode)
            try:
                reader = Host(str(self.roots[host]))
            except ValueError:
                return          # the file of answers itself
            facts = take_packed(pack(collect(reader, [])))
            assert set(facts) >= MUST_BE_READ
            if dice.random() < 0.2:
                self._audit(facts)
        finally:
            for path, data in kept.items():
                path.chmod(0o600)
                path.write_bytes(data)

    def judging(self, dice: random.Random) -> None:
        """Facts of another shape are refused; those that fit are judged, planned, reported and drawn."""
        facts = copy.deepcopy(dice.choice(self.facts))
        damage_document(dice, facts)
        try:
            facts = take(facts)
        except ValueError:
            return
        self._audit(facts)

    def _audit(self, facts: dict[str, Any]) -> None:
        reports = self.folder / "reports"
        try:
            audit = Audit("pve1", {**ARGUMENTS, "report_dir": str(reports)})
            audit.judge(facts)
        except ValueError as problem:
            assert str(problem).strip(), "an error without a message"
            return
        self.audits += 1
        if self.audits % 20 == 1:
            write_fleet(str(reports))

    def document(self, dice: random.Random) -> None:
        facts = copy.deepcopy(dice.choice(self.facts))
        damage_document(dice, facts)
        _refused(lambda: take(facts))

    def journals(self, dice: random.Random) -> None:
        records, unusable = journal_lines.parse_lines(damage_bytes(dice, self.journal))
        writes = pair_lines(records)
        for boot, run in (("boot-1", None), (None, "run-1")):
            plan = plan_back(writes, boot, run)
            take_answer("journal", {
                "status": "ok", "detail": None, "boot_id": boot, "runs": summarize_runs(writes, boot),
                "restore_values": plan.restore, "expected_values": plan.expected, "left_alone": plan.left_alone,
                "expired": [],
                "driver_mismatch": None, "unusable": unusable, "baselines": list_baselines(writes, boot),
                "persisted": NOTHING_PERSISTED})

    def some_text(self, dice: random.Random) -> None:
        data = damage_bytes(dice, dice.choice(self.texts))
        text = data.decode("utf-8", "replace")
        redact(text)
        redact_file(dice.choice(("/proc/1/environ", "/etc/pve/lxc/101.conf", "/etc/pve/x.cfg", "/etc/x")), data)
        for parse in (parse_cpulist, lambda given: hung_gpus.parse_marks(given, "boot-1")):
            _refused(lambda parse=parse: parse(text), RecursionError)

    def answers(self, dice: random.Random) -> None:
        said = damage_bytes(dice, b"Welcome\ngpuhost-facts eJw=\ngpuhost-error \"no\"\n").decode("utf-8", "replace")
        answer = piped_reader.answer(dice.choice((0, 1, 127, 142, -9)), said, said[::-1])
        if "facts_packed" in answer:
            _refused(lambda: take_packed(answer["facts_packed"]))
        else:
            assert len(answer["msg"]) < 20_000

    def archives(self, dice: random.Random) -> None:
        path, out = self.folder / "damaged.tar.gz", self.folder / "out" / "host"
        path.write_bytes(damage_bytes(dice, self.archive))
        _refused(lambda: unpack(path, out), Refused, OSError)
        shutil.rmtree(out, ignore_errors=True)
        assert sorted(entry.name for entry in self.folder.iterdir()) == sorted(self._expected()), "something got out"

    def imports(self, dice: random.Random) -> None:
        """A report that somebody posted is damaged: a host that can be read comes of it, or a message."""
        path, reports = self.folder / "posted", self.folder / "imports"
        data = damage_bytes(dice, dice.choice(self.posted))
        path.write_bytes(gzip.compress(data, 1) if dice.random() < 0.3 else data)
        try:
            [host] = import_files([str(path)], "posted", str(reports))
            take(collect(Host(host["sysroot"]), []))
        except ImportRefused as problem:
            assert str(problem).strip(), "an error without a message"
        finally:
            shutil.rmtree(reports, ignore_errors=True)
            path.unlink()

    def _expected(self) -> Iterator[str]:
        yield from ("host0", "host1", "damaged.tar.gz", "out")
        if (self.folder / "reports").exists():
            yield "reports"


def _refused(call: Callable[[], Any], *errors: type[BaseException]) -> None:
    try:
        call()
    except (ValueError, *errors) as problem:
        assert str(problem).strip(), "an error without a message"


def _journal() -> Iterator[dict[str, Any]]:
    stamp = {"at": "2026-11-29T18:30:00Z", "run": "run-1", "boot": "boot-1", "pid": 7}
    for address, before, wanted in (
            ("sysctl:vm.swappiness", "60", "10"),
            ("sysfs:/sys/kernel/mm/transparent_hugepage/enabled", "always", "madvise"),
            ("pcie_maxreadreq:0000:41:00.0", 512, 4096), ("module:nvidia_peermem", "absent", "present")):
        yield {**stamp, "event": "start", "address": address, "before": before, "wanted": wanted, "identity": None,
               "restores": False, "together": []}
        yield {**stamp, "event": "end", "address": address, "after": wanted, "outcome": "changed"}
