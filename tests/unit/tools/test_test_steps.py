# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/test-steps.sh: every step of `make test` is run, whatever others end with; guests have the machine alone."""
from __future__ import annotations

import shutil

import pytest

FIRST = ["begin dev-environment", "end dev-environment"]
LINTERS = ("lint", "docs", "integration", "sanity")
STEPS = {"pytest", "newest", "molecule", *LINTERS, "vm"}
PREPARED = {"newest-environment", "vm-images"}      # not by make


@pytest.fixture
def source(checkout):
    """Each step says in `calls` when it begins and ends; the step named in `failing` fails."""
    for name in ("bash", "awk", "date", "grep", "mktemp", "nproc", "rm", "sleep"):
        (checkout.bin / name).symlink_to(shutil.which(name))
    end = f"""sleep 0.1
        echo "end $step" >>"{checkout.folder}/calls"
        ! grep -qsx "$step" "{checkout.folder}/failing\""""
    checkout.program("bin/make", f'step=$2; echo "output of $step"\n{end}')
    for script, step in (("newest.sh", "newest-environment"), ("vm-tests.sh", "vm-images")):
        checkout.program(f"tools/{script}", f"step={step}\n{end}")
    checkout.program("tools/system-packages.sh")
    return checkout


def order(source):
    """`begin STEP` and `end STEP`, as they came."""
    begins = {"make": "", "newest.sh": "newest-environment", "vm-tests.sh": "vm-images"}
    for line in (source.folder / "calls").read_text().splitlines():
        program, *words = line.split()
        if program == "end":
            yield line
        elif program in begins:
            yield f"begin {begins[program] or words[-1].strip('[]')}"


def test_all_steps_are_run_and_their_output_is_shown(source):
    done = source.run("test-steps.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    events = list(order(source))
    assert events[:2] == FIRST
    assert sorted(events[2:]) == sorted(f"{event} {step}" for event in ("begin", "end") for step in STEPS | PREPARED)
    for step in STEPS:
        assert f"=== make {step}\noutput of {step}\n" in done.stdout
        assert f"\n  {step}: " in done.stdout
    assert "failed" not in done.stdout


def test_linters_run_beside_pytest_and_one_after_the_other(source):
    source.run("test-steps.sh")
    events = [event for event in order(source) if event.split()[1] in {"pytest", *LINTERS}]
    assert events.index("begin lint") < events.index("end pytest")
    assert [event for event in events if not event.endswith(" pytest")] == [
        f"{event} {step}" for step in LINTERS for event in ("begin", "end")]


def test_nothing_runs_beside_the_guests_nor_before_what_it_needs(source):
    source.run("test-steps.sh")
    events = list(order(source))
    assert events[-2:] == ["begin vm", "end vm"]
    assert events.index("end newest-environment") < events.index("begin newest")


@pytest.mark.parametrize("step", ["pytest", "docs", "vm-images", "vm"])
def test_a_step_that_fails_is_named_and_stops_no_other(source, step):
    source.file("failing", f"{step}\n")
    done = source.run("test-steps.sh")
    assert done.returncode == 1
    assert done.stdout.endswith(f"failed: {step}\n")
    assert f"\n  {step}: " in done.stdout
    assert "FAILED" in done.stdout.partition(f"\n  {step}: ")[2].partition("\n")[0]
    assert {event for event in order(source) if event.startswith("end ")} == {
        f"end {step}" for step in STEPS | PREPARED | {"dev-environment"}}


def test_without_an_environment_nothing_is_begun(source):
    source.file("failing", "dev-environment\n")
    assert source.run("test-steps.sh").returncode == 1
    assert list(order(source)) == FIRST


def test_the_cpu_time_of_a_step_is_that_of_all_its_processes(source):
    busy = """for process in 1 2; do awk 'BEGIN {while (number < 4e7) number++}' & done; wait"""
    source.program("bin/make", f'[ "$2" != vm ] || {{ {busy}; }}')
    table = source.run("test-steps.sh").stdout.partition("steps of make test")[2]
    used = {line.split(":")[0].strip(): int(line.split(", ")[1].split()[0]) for line in table.splitlines()
            if line.endswith("CPU time")}
    assert used["vm"] > used["docs"]
