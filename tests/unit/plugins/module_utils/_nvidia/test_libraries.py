# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import signal
import time

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import libraries

from hosts.nvidia import plant_libraries, plant_nvidia
from hosts.processes import plant_container_init, plant_process

FOLDER = "/usr/lib/x86_64-linux-gnu"
ML = libraries.MANAGEMENT


def version(host):
    return libraries.read_library_version(host, ML)


def container(number, running=True, gpus=("/dev/nvidia0",)):
    return {"id": number, "running": running, "gpu_devices": list(gpus)}


def guests(*containers):
    return {"containers": ok(list(containers))}


def versions(host, **processes):
    found = libraries.read_containers(host, ok({name.replace("_", ":"): pid for name, pid in processes.items()}))[
        "container_libraries"]
    return {one["name"]: one["versions"] for one in found.value}


# -- the host ---------------------------------------------------------------------------------------------------------

def test_the_file_behind_the_link_says_its_version(tree, host):
    plant_libraries(tree, "570.133.20")
    assert version(host) == ok("570.133.20")
    assert libraries.read_library_version(host, libraries.CUDA) == ok("570.133.20")


def test_a_link_through_the_alternatives_of_debian(tree, host):
    """Debian's packages: the link in the usual folder names no version."""
    tree.file(f"{FOLDER}/nvidia/current/libnvidia-ml.so.535.247.01", b"")
    tree.link(f"{FOLDER}/nvidia/current/libnvidia-ml.so.1", "libnvidia-ml.so.535.247.01")
    tree.link("/etc/alternatives/nvidia--libnvidia-ml.so.1-x86_64-linux-gnu",
              f"{FOLDER}/nvidia/current/libnvidia-ml.so.1")
    tree.link(f"{FOLDER}/libnvidia-ml.so.1", "/etc/alternatives/nvidia--libnvidia-ml.so.1-x86_64-linux-gnu")
    assert version(host) == ok("535.247.01")


def test_red_hats_folder(tree, host):
    tree.file("/usr/lib64/libnvidia-ml.so.580.95.05", b"")
    tree.link("/usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.580.95.05")
    assert version(host) == ok("580.95.05")


@pytest.mark.parametrize("target", [
    "libnvidia-ml.so.570.1.2",              # dangling
    "libcuda.so.570.1.2", "libnvidia-ml.so.1.old", "../../../bin/true", "libnvidia-ml.so.570.1.2/x"])
def test_a_link_to_something_else_has_no_version(tree, host, target):
    tree.file(f"{FOLDER}/libcuda.so.570.1.2").file(f"{FOLDER}/libnvidia-ml.so.1.old").file("/usr/bin/true")
    tree.link(f"{FOLDER}/libnvidia-ml.so.1", target)
    assert version(host).status == "absent"


def test_no_library_at_all(host):
    assert version(host).status == "absent"


def test_driver_and_libraries_that_differ_are_named(tree, host):
    assert libraries.read_mismatch(host) is None            # no driver
    plant_nvidia(tree, "570.133.20", gpus=[])
    assert libraries.read_mismatch(host) is None
    plant_libraries(tree, "580.95.05")
    assert libraries.read_mismatch(Host(str(tree.root))) == (
        "the loaded driver is 570.133.20, libnvidia-ml.so is 580.95.05 and libcuda.so is 580.95.05")


# -- which process shows a container ----------------------------------------------------------------------------------

def test_the_first_process_of_a_container_that_is_given_a_gpu(tree, host):
    plant_container_init(tree, 5101, "101")
    plant_container_init(tree, 5102, "102")
    plant_container_init(tree, 5103, "103")
    tree.file("/sys/fs/cgroup/lxc/104/ns/cgroup.procs", "5104\n5105\n")        # no systemd in it
    users = ok([{"pid": 6101, "command": "vllm", "container": "101", "nodes": []},
                {"pid": 7000, "command": "python3", "container": "0123456789ab", "nodes": []},
                {"pid": 8000, "command": "Xorg", "container": None, "nodes": []}])
    found = libraries.find_processes(host, guests(container("101"), container("102", running=False),
                                                  container("103", gpus=()), container("104")), users)
    assert found == ok({"lxc:101": 5101, "lxc:104": 5104, "container:0123456789ab": 7000})


def test_what_cannot_be_told_is_not_taken_for_nothing(host):
    denied = Reading("denied", None, "needs root")
    assert libraries.find_processes(host, guests(), denied).status == "denied"
    assert libraries.find_processes(host, {"containers": Reading("unparsable")}, ok([])).status == "unparsable"
    assert {answer.status for answer in libraries.read_containers(host, denied).values()} == {"denied"}


# -- inside -----------------------------------------------------------------------------------------------------------

def test_versions_inside(tree, host):
    plant_libraries(tree, "570.133.20", plant_container_init(tree, 5101, "101"))
    root = plant_container_init(tree, 5102, "102")
    plant_libraries(tree, "570.133.20", root)
    tree.file(f"{root}{FOLDER}/libcuda.so.565.57.01", b"").link(f"{root}{FOLDER}/libcuda.so.1", "libcuda.so.565.57.01")
    tree.folder(plant_container_init(tree, 5103, "103"))
    assert versions(host, lxc_101=5101, lxc_102=5102, lxc_103=5103) == {
        "lxc:101": ok(["570.133.20"]), "lxc:102": ok(["565.57.01", "570.133.20"]), "lxc:103": ok([])}


def test_a_number_that_belongs_to_another_process_by_now(tree, host):
    plant_libraries(tree, "570.133.20")
    plant_process(tree, 5101, "bash")
    tree.link("/proc/5101/root", "/")
    assert versions(host, lxc_101=5101)["lxc:101"].status == "absent"
    assert versions(host, lxc_101=5999)["lxc:101"].status == "absent"


def hostile(tree):
    """A container's root folder, with a secret of the host beside it."""
    plant_libraries(tree, "999.99.99")          # of the host
    return plant_container_init(tree, 5101, "101")


@pytest.mark.parametrize("target", [
    "../../../../../../../../usr/lib/x86_64-linux-gnu/libnvidia-ml.so.999.99.99",     # climbs out
    "libnvidia-ml.so.1",                                                              # itself
    "a/" * 1900 + "b",                                                                # deeper than any stack
])
def test_links_that_lead_nowhere_good_are_no_version(tree, host, target):
    root = hostile(tree)
    tree.link(f"{root}{FOLDER}/libnvidia-ml.so.1", target)
    found = versions(host, lxc_101=5101)["lxc:101"]
    assert (found.status, found.value) in (("unparsable", None), ("ok", []))


def test_an_absolute_link_starts_at_the_containers_own_root(tree, host):
    root = hostile(tree)
    tree.link(f"{root}{FOLDER}", "/opt/own")
    plant_libraries(tree, "1.2.3", f"{root}/opt/elsewhere")
    tree.link(f"{root}/opt/own", f"/opt/elsewhere{FOLDER}")
    assert versions(host, lxc_101=5101)["lxc:101"] == ok(["1.2.3"])


def test_only_regular_files_count(tree, host):
    root = hostile(tree)
    tree.folder(f"{root}{FOLDER}/libcuda.so.1.2.3").link(f"{root}{FOLDER}/libcuda.so.1", "libcuda.so.1.2.3")
    os.mkfifo(tree.path(f"{root}{FOLDER}/libnvidia-ml.so.1.2.3"))
    tree.link(f"{root}{FOLDER}/libnvidia-ml.so.1", "libnvidia-ml.so.1.2.3")
    assert versions(host, lxc_101=5101)["lxc:101"] == ok([])


@pytest.mark.parametrize("name", ["libcuda.so.1.2.3\n4.5", "libcuda.so.1.2.3;x", "libcuda.so." + "9" * 40 + ".1",
                                  "libcuda.so.\u0661.2.3"])
def test_names_that_are_no_version(tree, host, name):
    root = hostile(tree)
    tree.file(f"{root}{FOLDER}/{name}", b"").link(f"{root}{FOLDER}/libcuda.so.1", name)
    assert versions(host, lxc_101=5101)["lxc:101"] == ok([])


def test_nothing_inside_is_opened(tree, host):
    """A file that nobody can read, and one that would be endless, are named all the same."""
    root = hostile(tree)
    plant_libraries(tree, "570.133.20", root)
    for library in ("libcuda.so", "libnvidia-ml.so"):
        path = tree.path(f"{root}{FOLDER}/{library}.570.133.20")
        path.chmod(0)
        os.truncate(path, 1 << 40)
    assert versions(host, lxc_101=5101)["lxc:101"] == ok(["570.133.20"])


def test_file_systems_that_never_answer_keep_nobody(tree, host, monkeypatch):
    """Those that answer are told; after three that hang no further one is asked."""
    inside = libraries._look_inside

    def look(host, name, pid):
        if pid in (2, 4, 5):
            time.sleep(60)
        return inside(host, name, pid)

    for number in range(1, 8):
        plant_libraries(tree, f"570.{number}.1", plant_container_init(tree, number, str(number)))
    monkeypatch.setattr(libraries, "TIME_LIMIT", 0.4)
    monkeypatch.setattr(libraries, "_look_inside", look)
    started = time.monotonic()
    found = versions(host, **{f"lxc_{number}": number for number in range(1, 8)})
    assert time.monotonic() - started < 30
    assert {name: reading.value for name, reading in found.items()} == {
        "lxc:1": ["570.1.1"], "lxc:2": None, "lxc:3": ["570.3.1"], "lxc:4": None, "lxc:5": None, "lxc:6": None,
        "lxc:7": None}
    assert found["lxc:2"].detail == "its file system did not respond within 0.4 s"
    assert found["lxc:6"].detail == "not read: too many others did not respond"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)          # no child is left


def test_a_child_that_dies_says_nothing(tree, host, monkeypatch):
    plant_libraries(tree, "570.133.20", plant_container_init(tree, 5101, "101"))
    monkeypatch.setattr(libraries, "_look_inside", lambda host, name, pid: os._exit(1))
    assert versions(host, lxc_101=5101)["lxc:101"].status == "unparsable"


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot(2) needs root")
def test_a_real_process_with_a_root_of_its_own(tree, monkeypatch):
    """The kernel's own /proc/<pid>/root: an absolute link inside leads to the container's file, not to the host's."""
    plant_libraries(tree, "1.2.3", "/opt")
    tree.link(f"{FOLDER}/libcuda.so.1", f"/opt{FOLDER}/libcuda.so.1.2.3")
    tree.link(f"{FOLDER}/libnvidia-ml.so.1", f"{tree.root}/opt{FOLDER}/libnvidia-ml.so.1.2.3")
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.chroot(tree.root)
        os.write(go, b"x")
        time.sleep(60)
        os._exit(0)
    try:
        os.read(ready, 1)
        monkeypatch.setattr(libraries, "parse_container", lambda text: "101")
        assert libraries.read_containers(Host(), ok({"lxc:101": child}))["container_libraries"].value == [
            {"name": "lxc:101", "versions": ok(["1.2.3"])}]
    finally:
        os.close(ready)
        os.close(go)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_this_machine(capfd):
    """The process that runs the tests stands for a container: its root folder is that of the host."""
    host = Host()
    name = libraries.container_name("")
    versions_here, nodes_here = libraries._look_inside(host, name, os.getpid())
    assert versions_here.status in ("ok", "absent")
    assert nodes_here.status == "ok"
    assert capfd.readouterr().out == ""
