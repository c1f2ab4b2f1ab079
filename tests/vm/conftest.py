# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests for the tests on real kernels: one a release, booted together, fresh for every file of tests."""
from __future__ import annotations

import concurrent.futures
import os
import pathlib
import sys

import pytest

from requirement import need

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))    # for `from testbed import fleet`

RELEASES = (os.environ.get("GPUHOST_VM_RELEASES") or "debian12 debian13").split()
MODULE_SECONDS = 900    # gpuhost_timeout: an emulated guest on a busy machine takes minutes to read itself
PLAYBOOKS = pathlib.Path(__file__).resolve().parent / "playbooks"


KERNELS = pytest.StashKey[set]()


def pytest_configure(config):
    config.addinivalue_line("markers", "vm: boots guests with real kernels; only where GPUHOST_VM is 1")
    config.stash[KERNELS] = set()


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):     # in a worker of pytest-xdist: its parent prints them
        session.config.workeroutput["kernels"] = sorted(session.config.stash[KERNELS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    node.config.stash[KERNELS].update(getattr(node, "workeroutput", {}).get("kernels", []))


def pytest_terminal_summary(terminalreporter, config):
    for line in sorted(config.stash[KERNELS]):
        terminalreporter.write_line(line)


@pytest.fixture(params=RELEASES)
def release(request):
    """Each release in turn."""
    if request.param not in RELEASES:
        pytest.skip(f"GPUHOST_VM_RELEASES leaves out {request.param}")
    return request.param


@pytest.fixture(scope="module")
def guests(request):
    """`{release: its Guest}`, of all, or of those in the test file's GUESTS. The summary names their kernels."""
    need(os.environ.get("GPUHOST_VM") == "1", "VM tests skipped: GPUHOST_VM=1 asks for them, as make test-vm does")
    from testbed import fleet
    from testbed.settings import require_programs

    require_programs()
    wanted = [name for name in getattr(request.module, "GUESTS", RELEASES) if name in RELEASES]
    names = {f"test-{os.getpid()}-{name}": name for name in wanted}
    try:
        booted = fleet.boot(names, append=getattr(request.module, "COMMAND_LINE", "nosuchparameter=1"),
                            virtual=getattr(request.module, "VIRTUAL", False),
                            systemd=getattr(request.module, "SYSTEMD", False),
                            initramfs=getattr(request.module, "INITRAMFS", False))
        for guest in booted:
            request.config.stash[KERNELS].add(
                f"{guest.record['release']}: kernel {guest.kernel()}, {guest.record['accelerator']}")
        yield {guest.record["release"]: guest for guest in booted}
    finally:
        for name in names:
            _note_crash(fleet.Guest(name))
            fleet.Guest(name).remove()


def _note_crash(guest):
    """For tools/vm-tests.sh: what failed in a guest whose kernel crashed says nothing about the collection."""
    from testbed.settings import CRASHED

    if guest.record and guest.crashes():
        CRASHED.touch()


@pytest.fixture(scope="module")
def in_every_guest(guests):
    """Runs a shell script in all guests at once and returns what each printed."""
    def run(script, timeout=300):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return dict(zip(guests, pool.map(lambda guest: guest.run(script, timeout=timeout), guests.values())))
    return run


@pytest.fixture(scope="module")
def reboot(request, guests):
    """Reboots all guests at once: as their systemd does it, or as the reset button where they have none."""
    by_itself = getattr(request.module, "SYSTEMD", False)

    def run():
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda guest: guest.reboot_by_itself() if by_itself else guest.reboot(), guests.values()))
    return run


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    from ansible_run import Controller

    return Controller(tmp_path_factory.mktemp("controller"))


@pytest.fixture(scope="module")
def hosts(guests):
    """The guests as an inventory has them, under the names of their releases."""
    from testbed.fleet import variables

    return {release: variables(guest) for release, guest in guests.items()}


@pytest.fixture(scope="module")
def play(controller, hosts):
    """Runs one playbook of this folder, or of the collection, over all guests."""
    def run(playbook, *words, **given):
        path = PLAYBOOKS / playbook
        return controller.play(str(path) if path.exists() else playbook, hosts, *words, timeout=1200,
                               variables={"gpuhost_timeout": MODULE_SECONDS, **given})
    return run
