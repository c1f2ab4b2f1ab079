# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import ast
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import child as bandwidth_child
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import parent as bandwidth_parent
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.parent import (
    MeasuringChild,
    find_inner,
    source_of,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host

STAT = "{pid} (python3 (x)) {state} 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 {start} 1 1 1"
FOLDER = pathlib.Path(bandwidth_parent.__file__).parent


def plant(tree, pid, inner, start, *, container="101", state="S"):
    tree.files(f"/proc/{pid}", {
        "status": f"Name:\tpython3\nNSpid:\t{pid}\t{inner}\n", "stat": STAT.format(pid=pid, state=state, start=start),
        "cgroup": f"0::/lxc/{container}/ns\n", "comm": "python3"})


def test_a_process_of_a_container_by_the_number_that_it_has_there(tree, host):
    plant(tree, 5000, 77, 123456)
    plant(tree, 5001, 78, 123456)
    assert find_inner(host, "101", 77, 123456) == 5000
    assert find_inner(host, "101", 79, 123456) is None


@pytest.mark.parametrize("cgroup", ["system.slice/docker-{id}.scope", "docker/{id}",
                                    "machine.slice/libpod-{id}.scope/container"])
def test_a_process_of_a_container_of_docker_or_podman(tree, host, cgroup):
    plant(tree, 5000, 77, 123456)
    tree.file("/proc/5000/cgroup", f"0::/{cgroup.format(id='0123456789ab' + 'c' * 52)}\n")
    assert find_inner(host, "0123456789ab", 77, 123456) == 5000
    assert find_inner(host, "0123456789ac", 77, 123456) is None


@pytest.mark.parametrize("other", [{"start": 99}, {"container": "102"}, {"state": "Z"}])
def test_another_process_of_that_number_is_never_killed_for_it(tree, host, other):
    """Numbers are used again, every container has a 77, and a container may answer what it likes."""
    plant(tree, 5000, 77, **{"start": 123456, **other})
    assert find_inner(host, "101", 77, 123456) is None


def test_a_process_of_the_host_is_no_process_of_a_container(tree, host):
    plant(tree, 5000, 77, 123456)
    tree.file("/proc/5000/status", "Name:\tpython3\nNSpid:\t77\n")
    assert find_inner(host, "101", 77, 123456) is None


@pytest.mark.parametrize("pid, started", [(None, None), ("77", "123456"), ({}, [])])
def test_an_answer_of_any_kind(tree, host, pid, started):
    plant(tree, 5000, 77, 123456)
    assert find_inner(host, "101", pid, started) in (None, 5000)


def test_the_sources_also_come_out_of_an_archive(tmp_path):
    """Ansible sends modules as one."""
    package = "ansible_collections/gpuhost/tuning/plugins/module_utils"
    with zipfile.ZipFile(tmp_path / "module.zip", "w") as archive:
        for folder in ("", "/gpuhost", "/gpuhost/tuning", "/gpuhost/tuning/plugins"):
            archive.writestr(f"ansible_collections{folder}/__init__.py", "")
        archive.writestr(f"{package}/__init__.py", "")
        archive.writestr(f"{package}/__init__.py", "")
        for room in FOLDER.parent.glob("_*"):
            archive.writestr(f"{package}/{room.name}/__init__.py", "")
        for path in FOLDER.parent.glob("_*/*.py"):
            archive.write(path, f"{package}/{path.parent.name}/{path.name}")
    code = (f"import sys; sys.path.insert(0, {str(tmp_path / 'module.zip')!r})\n"
            f"from {package.replace('/', '.')}._bandwidth import child, parent\n"
            "print(parent.source_of(child), end='')")
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == pathlib.Path(bandwidth_child.__file__).read_text()


def test_the_child_imports_nothing_but_the_standard_library_and_itself():
    allowed = {"_kernel.cpulist", *(f"_bandwidth.{name}" for name in (
        "cuda_functions", "cuda_driver", "cuda_hold", "cuda_pattern", "cuda_place", "cuda_slots", "cuda_reading",
        "cuda_ways", "cuda_kernel", "cuda_copies", "child"))}
    assert set(bandwidth_child.SOURCES) == allowed
    for name in bandwidth_child.SOURCES:
        nodes = list(ast.walk(ast.parse(source_of(bandwidth_parent._MODULES[name]))))
        absolute = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        absolute |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        own = {node.module if "." in node.module else f"_bandwidth.{node.module}" for node in nodes
               if isinstance(node, ast.ImportFrom) and node.level}
        assert own <= set(bandwidth_child.SOURCES[:bandwidth_child.SOURCES.index(name)]), name
        assert {word.partition(".")[0] for word in absolute} <= sys.stdlib_module_names, name


def test_the_child_starts_on_its_own(tmp_path):
    """`python3 -I` without this collection, in an empty folder."""
    settings = '{"library": "libcuda-of-nobody.so.1", "visible": [], "limit": 20}'
    sources = json.dumps([[name, source_of(bandwidth_parent._MODULES[name])] for name in bandwidth_child.SOURCES])
    done = subprocess.run([sys.executable, "-I", "-c", bandwidth_child.START, settings], cwd=tmp_path, text=True,
                          input=f'{sources}\n{{"step": "init"}}\n', capture_output=True, check=True, env={})
    first, last = done.stdout.splitlines()
    assert json.loads(first) == {"at": "initialising the driver"}
    assert json.loads(last)["name"] == "NoDriver"


def child_settings(standin, **changed):
    return {"library": str(standin.path), "visible": [], "sizes": [4096], "warm_up": 0.0, "reading_ms": 0.01,
            "sys": "/sys", "limit": 60, **changed}


def wait_for_end(pid):
    """Whether a process ends; one that nobody collects counts as ended."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_the_child_ends_with_its_parent(standin):
    """Whoever started it may be killed in the middle of a step: nobody would end it then."""
    standin.gpus("0000:01:00.0").does("on cuMemcpyHtoDAsync_v2 1 deaf")
    readable, writable = os.pipe()
    parent = os.fork()
    if parent == 0:
        child = MeasuringChild(Host("/"), [], None, child_settings(standin))
        answer = child.ask({"step": "init"})
        os.write(writable, f"{answer.kind} {child._child.pid}".encode())
        child.ask({"step": "gpu", "bdf": "0000:01:00.0"})
        os._exit(1)
    kind, pid = os.read(readable, 100).decode().split()
    os.close(readable)
    os.close(writable)
    assert kind == "result"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert wait_for_end(int(pid))


def test_a_step_that_nobody_waits_for_any_more_ends_itself(standin, tmp_path):
    """15 seconds after the limit, so that its parent comes first."""
    standin.gpus("0000:01:00.0").does("on cuInit 1 hang")
    sources = json.dumps([[name, source_of(bandwidth_parent._MODULES[name])] for name in bandwidth_child.SOURCES])
    settings = json.dumps(child_settings(standin, limit=1 - 15))
    done = subprocess.run([sys.executable, "-I", "-c", bandwidth_child.START, settings], cwd=tmp_path, text=True,
                          input=f'{sources}\n{{"step": "init"}}\n', capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == -signal.SIGALRM
