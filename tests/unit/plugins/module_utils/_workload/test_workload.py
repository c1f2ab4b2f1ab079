# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of a user's that end well, badly or not at all. They are real ones, on this machine."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import exec as pve_exec
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.exec import container_prefix
from ansible_collections.gpuhost.tuning.plugins.module_utils._workload import output_file, workload
from ansible_collections.gpuhost.tuning.plugins.module_utils._workload.process_tree import parse_stat, still_alive
from ansible_collections.gpuhost.tuning.plugins.module_utils._workload.workload import run_workload

from checkout import REPOSITORY

HERE = Host("/")


class Node(Host):
    """This machine, as if it were a node on which container 101 runs."""

    def read(self, path, *limit):
        if path == "/proc/net/unix":
            return ok("0: 2 @/var/lib/lxc/101/command\n")
        return super().read(path, *limit)


def shell(text, **more):
    """Run some lines of a shell's; the shell is the user's program here."""
    return run_workload(HERE, ["sh", "-c", text], **more)


def alive(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat")
    return stat.exists() and parse_stat(stat.read_text()).alive


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def quick(monkeypatch):
    """No more than moments of patience."""
    monkeypatch.setattr(workload, "TERM_GRACE", 2.0)
    monkeypatch.setattr(workload, "KILL_GRACE", 0.5)
    monkeypatch.setattr(workload, "PIPE_GRACE", 0.2)


# -- ends that can be used ---------------------------------------------------------------------------------------------

def test_a_program_that_ends_well():
    found = shell("echo figures; echo notes >&2; sleep 0.2")
    assert (found["rc"], found["stdout"], found["stderr"], found["problem"]) == (0, "figures\n", "notes\n", None)
    assert (found["timed_out"], found["abandoned"], found["left_running"], found["cut"]) == (False, [], [], [])
    assert 0.2 <= found["seconds"] < 30
    assert time.strptime(found["started"], "%Y-%m-%dT%H:%M:%SZ")


def test_where_it_starts_and_what_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_OUTSIDE", "kept")
    found = run_workload(HERE, [sys.executable, "-c", "import os, sys; print(os.getcwd(), os.environ['FROM_OUTSIDE'], "
                                                      "os.environ['THREADS'], repr(sys.stdin.read()))"],
                         chdir=str(tmp_path), environment={"THREADS": "8"})
    assert found["stdout"] == f"{tmp_path} kept 8 ''\n"


def test_nothing_is_a_shell():
    assert run_workload(HERE, ["echo", "$HOME; `id` | cat"])["stdout"] == "$HOME; `id` | cat\n"


def test_secrets_do_not_come_back(tmp_path):
    result = tmp_path / "result"
    found = shell("echo token $TOKEN 8; echo $TOKEN >&2; echo $TOKEN > $FILE",
                  environment={"TOKEN": "hf_aBcDeFgH", "THREADS": "8", "FILE": str(result)}, output_file=str(result))
    assert (found["stdout"], found["stderr"], found["file"]) == ("token ******** 8\n", "********\n", "********\n")
    assert "hf_aBcDeFgH" not in shell("echo $TOKEN; exit 3", environment={"TOKEN": "hf_aBcDeFgH"})["problem"]


def test_only_start_and_end_of_a_long_output_are_kept():
    found = shell("seq 1 100000", output_limit=1000)
    assert found["cut"] == ["stdout"]
    assert found["stdout"].startswith("1\n2\n3\n")
    assert found["stdout"].endswith("\n100000\n")
    assert "bytes left out" in found["stdout"]
    assert len(found["stdout"]) < 1100


def test_a_child_in_the_background_holds_nobody(quick):
    found = shell("sleep 30 & echo $!; echo done")
    pid = int(found["stdout"].split()[0])
    try:
        assert (found["problem"], found["left_running"]) == (None, [{"pid": pid, "command": "sleep"}])
        assert found["seconds"] < 25
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


# -- ends that cannot --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "message"), [
    ("echo one >&2; echo two >&2; echo three >&2; exit 3", "sh ended with status 3: two; three"),
    ("echo out; exit 1", "sh ended with status 1: out"),
    ("exit 2", "sh ended with status 2: no output"),
    ("kill -KILL $$", "sh was killed by SIGKILL: no output"),
    ("sh -c 'kill -KILL $$'; exit $?", "sh ended with status 137, as after SIGKILL: "),
])
def test_a_program_that_fails_or_is_killed(text, message):
    assert shell(text)["problem"].startswith(message)


def test_a_program_that_hangs_is_ended_with_all_it_started(quick):
    # One child ignores SIGTERM in a session of its own.
    found = shell("trap '' TERM; setsid sh -c 'echo $$; sleep 60; true' & echo $$; sleep 60; true", timeout=3)
    assert found["problem"] == "timeout: sh did not end within 3 s and was ended"
    assert (found["timed_out"], found["abandoned"], found["seconds"], found["left_running"]) == (True, [], 3, [])
    assert found["rc"] == -signal.SIGKILL
    pids = [int(pid) for pid in found["stdout"].split()]
    assert len(pids) == 2
    assert not any(map(alive, pids))


def test_a_program_may_end_itself_in_good_order(quick):
    found = shell("trap 'echo cleaned up; exit 0' TERM; sleep 60 & wait", timeout=3)
    assert found["stdout"] == "cleaned up\n"
    assert found["timed_out"]


def test_nobody_is_told_twice(quick, monkeypatch):
    """The process group is told as a whole; one by one are those outside of it."""
    one_by_one, send = [], workload.send

    def send_noted(host, processes, number):
        one_by_one.extend((process.command, process.group) for process in processes)
        send(host, processes, number)

    monkeypatch.setattr(workload, "send", send_noted)
    leader = int(shell("setsid sleep 60 & echo $$; sleep 60; true", timeout=2)["stdout"])
    assert {command for command, _group in one_by_one} == {"sleep"}
    assert leader not in {group for _command, group in one_by_one}


def test_a_child_that_ignores_death_is_abandoned(quick, monkeypatch):
    monkeypatch.setattr(workload, "send", lambda *_arguments: None)
    monkeypatch.setattr(workload.os, "killpg", lambda *_arguments: None)
    begin = time.monotonic()
    found = run_workload(HERE, ["sleep", "60"], timeout=0.3)
    assert time.monotonic() - begin < 30
    (child,) = found["abandoned"]
    monkeypatch.undo()
    os.kill(child["pid"], signal.SIGKILL)
    assert child["command"] == "sleep"
    assert (found["rc"], found["timed_out"]) == (None, True)
    assert found["problem"] == ("timeout: sleep did not end within 0.3 s and could not be killed; it was abandoned: "
                                f"sleep (pid {child['pid']})")


@pytest.mark.parametrize(("argv", "more", "message"), [
    (["no-such-program"], {}, "no-such-program was not found, neither as a path nor in PATH ("),
    ([str(REPOSITORY / "LICENSE")], {}, f"{REPOSITORY / 'LICENSE'} could not be started: Permission denied"),
    (["true"], {"chdir": "/no/such/folder"}, "true was not started: chdir /no/such/folder is not a directory"),
])
def test_what_cannot_be_started_is_said(argv, more, message):
    with pytest.raises(ValueError, match=r"\S") as raised:
        run_workload(HERE, argv, **more)
    assert str(raised.value).startswith(message)


def test_a_script_without_its_interpreter(tmp_path):
    script = tmp_path / "bench"
    script.write_text("#!/no/such/python\n")
    script.chmod(0o755)
    with pytest.raises(ValueError, match=r"bench could not be started: the interpreter of its first line is missing"):
        run_workload(HERE, [str(script)])


AT_THE_WORST_MOMENT = """
import os, signal
start = workload._start
def start_and_be_told_to_end(*arguments):
    child = start(*arguments)
    os.kill(os.getpid(), signal.SIGTERM)
    return child
workload._start = start_and_be_told_to_end
"""


@pytest.mark.parametrize(("numbers", "before"), [
    ([signal.SIGTERM], ""), ([signal.SIGINT], ""), ([signal.SIGTERM], AT_THE_WORST_MOMENT),
    ([signal.SIGINT, signal.SIGTERM], "")])     # what ends a session may send one right behind the other
def test_it_ends_with_whoever_runs_it(tmp_path, numbers, before):
    pidfile = tmp_path / "pid"
    code = ("from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host\n"
            "from ansible_collections.gpuhost.tuning.plugins.module_utils._workload import workload\n"
            f"{before}\nworkload.run_workload(Host('/'), ['sh', '-c', 'echo $$ > {pidfile}; sleep 60; true'])\n")
    collections = tmp_path / "ansible_collections" / "gpuhost"
    collections.mkdir(parents=True)
    (collections / "tuning").symlink_to(REPOSITORY)
    runner = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                              stderr=subprocess.DEVNULL)
    if not before:
        wait_until(lambda: pidfile.exists() and pidfile.read_text().strip())
        for number in numbers:
            runner.send_signal(number)
    # It ends by the signal or, where another thread took that, with the status that stands for it.
    assert runner.wait(30) in [status for number in numbers for status in (-number, 128 + number)]
    # A shell that was ended before it wrote is gone as well.
    time.sleep(0.2)
    assert not pidfile.exists() or not pidfile.read_text().strip() or not alive(int(pidfile.read_text()))


# -- a file with the figures -------------------------------------------------------------------------------------------

def test_the_file_that_it_wrote(tmp_path):
    result = tmp_path / "result.json"
    for figure in ("1", "2"):       # the second run writes the same bytes at another time
        found = shell(f"echo '{{\"speed\": {figure}}}' > {result}", output_file=str(result))
        assert (found["file"], found["problem"], found["cut"]) == (f'{{"speed": {figure}}}\n', None, [])
    found = shell(f"seq 1 1000 >> {result}", output_file=str(result), output_limit=10)
    assert (found["file"], found["cut"]) == ("\n999\n1000\n", ["file"])


@pytest.mark.parametrize(("before", "text", "message"), [
    (None, "true", "sh ended, but it did not write "), ("old", "true", "sh ended, but it did not write "),
    (None, "mkdir result", "sh ended, but "), (None, "mkfifo result", "sh ended, but ")])
def test_a_file_that_it_did_not_write(tmp_path, before, text, message):
    if before:
        (tmp_path / "result").write_text(before)
    found = shell(text, chdir=str(tmp_path), output_file=str(tmp_path / "result"))
    assert found["problem"].startswith(message)
    assert found["file"] is None


# -- in a container ----------------------------------------------------------------------------------------------------

@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Makes stand-ins of the programs that enter a container: they say how they were called, and run the rest."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(workload, "PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(pve_exec, "PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("ansible_collections.gpuhost.tuning.plugins.module_utils._host.program.PATH",
                        f"{folder}:/usr/bin:/bin")

    def make(name):
        path = folder / name
        path.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do called="$called $1"; shift; done; shift\n'
                        f'case $1 in stat|tail) ;; *) echo "{name}$called" >&2;; esac\nexec "$@"\n')
        path.chmod(0o755)

    return make


def test_a_container_is_entered_by_pct_or_by_lxc_attach(programs, tmp_path):
    programs("lxc-attach")
    found = run_workload(Node("/"), ["pwd"], container="101", chdir=str(tmp_path))
    assert (found["stdout"], found["stderr"]) == (f"{tmp_path}\n", "lxc-attach -n 101\n")
    programs("pct")
    found = run_workload(Node("/"), ["sh", "-c", "exit 5"], container="101")
    assert (found["problem"], found["stderr"]) == ("sh ended with status 5: pct exec 101", "pct exec 101\n")
    found = run_workload(Node("/"), ["sh", "-c", "echo $A $PATH"], container="101",
                         environment={"A": "given", "PATH": "/bin"})
    assert (found["stdout"], found["stderr"]) == ("given /bin\n", "lxc-attach -n 101 --keep-env\n")


def test_a_file_in_a_container(programs, tmp_path):
    programs("pct")
    result = tmp_path / "result"
    found = run_workload(Node("/"), ["sh", "-c", f"seq 1 5 > {result}"], container="101", output_file=str(result))
    assert (found["file"], found["problem"]) == ("1\n2\n3\n4\n5\n", None)
    found = run_workload(Node("/"), ["true"], container="101", output_file=str(result))
    assert found["problem"].startswith("true ended, but it did not write ")
    found = run_workload(Node("/"), ["true"], container="101", output_file=str(tmp_path / "other"))
    assert found["problem"].startswith("true ended, but it did not write ")


def test_a_container_that_hangs_gives_up_its_file(programs, tmp_path, monkeypatch):
    programs("pct")
    monkeypatch.setattr(output_file, "_SECONDS", 3.0)
    (tmp_path / "bin" / "tail").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin" / "tail").chmod(0o755)
    found = run_workload(Node("/"), ["sh", "-c", f"echo 1 > {tmp_path}/result"], container="101",
                         output_file=f"{tmp_path}/result")
    assert "result cannot be read: timeout: " in found["problem"]
    assert found["problem"].endswith("bin/pct did not end within 3 s")


def test_a_container_that_does_not_run_is_one_error(programs):
    programs("pct")
    with pytest.raises(ValueError, match=r"^container 102 is not running: start it, or choose another one \(running: "
                                         r"101\)$"):
        run_workload(Node("/"), ["true"], container="102")


def test_a_host_that_cannot_enter_containers(programs):
    with pytest.raises(ValueError, match=r"^container 101 cannot be entered: neither pct nor lxc-attach is installed"):
        container_prefix(Node("/"), "101")


# -- whose process it is -----------------------------------------------------------------------------------------------

def test_a_process_with_an_odd_name():
    stat = "4711 (a) b (c)) S 1 4711 4700 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2 18446744073709551615 1"
    process = parse_stat(stat)
    assert tuple(process) == (4711, "a) b (c)", "S", 1, 4711, 4700, 987654)
    assert not process._replace(state="Z").alive
    with pytest.raises(ValueError, match=r"not the status of a process"):
        parse_stat("nonsense")


def test_another_process_by_the_same_number_is_not_meant():
    me = parse_stat(pathlib.Path("/proc/self/stat").read_text())
    assert still_alive(HERE, [me]) == [me]
    assert still_alive(HERE, [me._replace(started=me.started - 1)]) == []
