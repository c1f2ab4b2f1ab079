# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit and a recording change nothing on the host they read: every system call of their processes is looked at."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from checkout import REPOSITORY
from hosts.tree import Tree
from requirement import need
from system_calls import OPENS, OWN, STARTS, TALKS, calls, parse, traced_interpreter, why_strace_cannot_run


@pytest.fixture(scope="module")
def traced(controller):
    """The interpreter that traces, and its trace."""
    missing = why_strace_cannot_run()
    need(missing is None, missing)
    return traced_interpreter(controller.folder, controller.temporary)


def module_calls(controller, traced, sysroot, module="host_info"):
    """The system calls of the processes of one run of a module."""
    interpreter, trace = traced
    trace.unlink(missing_ok=True)
    inventory = controller.inventory({"here": {"ansible_python_interpreter": str(interpreter)}})
    done = controller.ansible(
        "adhoc", "-i", str(inventory), "here", "-m", f"gpuhost.tuning.{module}", "-a", json.dumps({"sysroot": sysroot}))
    assert done.returncode == 0, done.stdout + done.stderr
    return calls(trace)


@pytest.fixture(scope="module")
def this_machine(controller, traced):
    """The system calls of an audit of this machine."""
    return module_calls(controller, traced, "/")


# The system's log, where every module says that it was called, and the cache of user names.
SERVICES = {"/dev/log", "/run/systemd/journal/dev-log", "/var/run/nscd/socket"}


def changes(found, controller):
    """The calls that could change something other than Ansible's temporary files, /dev/null, terminals, /dev/shm."""
    return [call.line for call in found
            if not call.only_looks and call.name not in OWN | STARTS and not stays_inside(call)
            and call.path not in {"/dev/null", "/dev/tty"} and not is_harmless(call.path or "", controller)]


def is_harmless(path, controller):
    """The folder of the test may lie in /dev/shm itself: of that only Ansible's part is harmless."""
    if path.startswith(f"{controller.folder}/"):
        return path.startswith(f"{controller.temporary}/")
    return path.startswith(("/dev/pts/", "/dev/shm/"))


def stays_inside(call):
    """An ioctl that reaches no device; words to the log, or over a connection that was looked at when it was made."""
    if call.name == "ioctl":
        return not (call.path or "").startswith("/dev/")
    return call.name in TALKS and (call.path in SERVICES or (call.path is None and call.name != "connect"))


def test_the_parser_tells_reading_from_changing():
    reading = parse('12 openat(AT_FDCWD</root>, "/proc/cmdline", O_RDONLY|O_CLOEXEC) = 3</proc/cmdline>')
    assert (reading.path, reading.only_looks) == ("/proc/cmdline", True)
    writing = parse('12 openat(7</proc/sys/vm>, "swappiness", O_WRONLY|O_CLOEXEC <unfinished ...>')
    assert (writing.path, writing.opens_for_writing) == ("/proc/sys/vm/swappiness", True)
    assert parse('12 creat("/etc/x", 0644) = 3</etc/x>').opens_for_writing
    assert not parse('12 rename("/a", "/b") = 0').only_looks
    assert parse("12 ioctl(3</dev/nvidiactl>, _IOC(_IOC_READ, 0x46, 0xc8, 0x8)) = 0").path == "/dev/nvidiactl"
    assert parse('12 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0').path == "/run/x"
    assert parse("12 +++ exited with 0 +++") is None
    assert parse("12 <... openat resumed>) = 3") is None


def test_a_write_is_seen(traced, controller):
    interpreter, trace = traced
    outside = str(controller.folder / "outside")
    assert subprocess.run([interpreter, "-c", f"open({outside!r}, 'w').write('x')"], check=True)
    assert any(outside in line for line in changes(calls(trace), controller))


def test_this_machine_is_only_read(this_machine, controller):
    assert {"/proc/sys/vm/swappiness", "/proc/sys/kernel/osrelease"} <= {call.path for call in this_machine}
    assert changes(this_machine, controller) == []


def test_no_program_is_started_but_python_and_nvidia_smi(this_machine):
    started = {call.path for call in this_machine if call.name in STARTS and call.line.rstrip().endswith("= 0")}
    assert {os.path.basename(path) for path in started} <= {os.path.basename(sys.executable), "nvidia-smi"}


def test_a_recorded_host_is_not_mixed_with_this_machine(controller, traced):
    tree = Tree(controller.folder / "host").sysctl("vm.swappiness", 60)
    found = module_calls(controller, traced, str(tree.root))
    assert str(tree.path("/proc/sys/vm/swappiness")) in {call.path for call in found}
    assert changes(found, controller) == []
    kernel = ("/sys/", "/proc/sys/", "/etc/pve", "/proc/driver", "/dev/nvidia")
    # libselinux, which Ansible loads, looks there for itself.
    own = {call.path for call in found if (call.path or "").startswith(kernel)} - {"/sys/fs/selinux"}
    assert own == set()


def opened_of_the_host(found, controller):
    """Files of the kernel and of the configuration that were opened; a process is one whatever its number."""
    paths = (call.path or "" for call in found if call.name in OPENS)
    return {re.sub(r"^/proc/\d+", "/proc/PID", path) for path in paths
            if path.startswith(("/proc/", "/sys/", "/dev/", "/boot/", "/etc/", "/run/"))
            and not path.startswith(str(controller.folder))}


def test_a_recording_opens_what_an_audit_opens_and_changes_nothing(controller, traced, this_machine):
    found = module_calls(controller, traced, "/", "host_record")
    assert changes(found, controller) == []
    opened = opened_of_the_host(found, controller)
    assert "/proc/sys/vm/swappiness" in opened
    assert opened - opened_of_the_host(this_machine, controller) == set()


def test_the_record_tool_opens_what_an_audit_opens_and_changes_nothing(controller, traced, this_machine):
    """Without Ansible around it: what it has to write goes to a pipe, and no program but nvidia-smi is started."""
    interpreter, trace = traced
    tool = pathlib.Path(controller.temporary) / "gpuhost-record.pyz"
    subprocess.run([sys.executable, "-B", REPOSITORY / "tools" / "record_tool.py", tool],
                   check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY / "plugins")})
    trace.unlink(missing_ok=True)
    done = subprocess.run([interpreter, tool], check=True, capture_output=True)
    assert done.stdout.startswith(b"\x1f\x8b")      # gzip (RFC 1952)
    found = calls(trace)
    assert changes(found, controller) == []
    opened = opened_of_the_host(found, controller)
    assert "/proc/sys/vm/swappiness" in opened
    assert opened - opened_of_the_host(this_machine, controller) == set()
    started = {os.path.basename(call.path) for call in found
               if call.name in STARTS and call.line.rstrip().endswith("= 0")}
    assert started <= {os.path.basename(sys.executable), "nvidia-smi"}
    assert not any(call.name == "connect" for call in found)
