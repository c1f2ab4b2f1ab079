# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that stands for NVIDIA's nvbandwidth: it prints the documents that a test gives it, in the real form."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import module as bandwidth_module
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth import nvbandwidth
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.gpus import NotMeasurable
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.nvbandwidth import CaseError, read_case
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import program as host_program
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import exec as pve_exec

from hosts.kernel import plant_kernel
from hosts.nvidia import plant_nvidia
from hosts.pci import plant_gpu, plant_root_port

A, B = "0000:01:00.0", "0000:21:00.0"
H2D, D2H, D2D = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "device_local_copy"
READ, WRITE = "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce"
LATENCY = "device_to_device_latency_sm"

# As nvbandwidth 0.8 prints them, cut to what is read.
MATRICES = {H2D: [["55.12", "27.5"]], D2H: [["56.03", "28.01"]], D2D: [["1312.7", "1300"]],
            READ: [["N/A", "41.2"], ["42.9", "N/A"]], WRITE: [["N/A", "44.4"], ["45.1", "N/A"]],
            LATENCY: [["N/A", "1534.27"], ["1540.1", "N/A"]]}


def document(case, matrix, status="Passed"):
    testcase = {"name": case, "status": status}
    if matrix is not None:
        testcase.update(bandwidth_description="memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", sum=82.62,
                        bandwidth_matrix=matrix)
    return json.dumps({"nvbandwidth": {
        "CUDA Runtime Version": 12080, "Driver Version": "570.133.20", "git_version": "v0.8", "version": "v0.8",
        "GPU Device list": ["0: NVIDIA RTX PRO 6000: (00000000:01:00)", "1: NVIDIA RTX PRO 6000: (00000000:21:00)"],
        "testcases": [testcase]}}, indent=3)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """nvbandwidth, whose answers lie in files by the name of the test case; what it was called with is in `calls`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for module in (host_program, nvbandwidth, pve_exec):
        monkeypatch.setattr(module, "PATH", f"{folder}:/usr/bin:/bin")
    script = folder / "nvbandwidth"
    script.write_text(f'#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES $*" >>{folder}/calls\n. {folder}/"$5"\n')
    script.chmod(0o755)
    for case, matrix in MATRICES.items():
        (folder / case).write_text(f"cat <<'END'\n{document(case, matrix)}\nEND\n")
    return folder


@pytest.fixture
def measure(tree, host, monkeypatch):
    for number, gpu in enumerate((A, B)):
        plant_gpu(tree, gpu, parent=plant_root_port(tree, f"0000:{number:02x}:01.1"))
    plant_kernel(tree, boot_id="boot-1")
    plant_nvidia(tree, gpus=[(A, 0), (B, 1)])
    tree.kernel_log("[    1.000000] Linux version 6.8.12-9-pve\n")
    monkeypatch.setattr(bandwidth_module, "TIMEOUTS", range(1, 100))

    def run(**arguments):
        return bandwidth_module.measure(host, {
            "devices": [], "pairs": True, "sizes": [64 << 20], "tool": "nvbandwidth", "container": None, "timeout": 20,
            "allow_busy": False, "run_id": "r1", "library": "libcuda.so.1", **arguments}, check_mode=False)
    return run


def test_the_same_shape_as_with_the_driver(measure, program):
    result = measure()
    assert [(gpu["verdict"], gpu["h2d"]["gb_s"], gpu["d2h"]["gb_s"], gpu["d2d"]["gb_s"]) for gpu in result["gpus"]] == [
        ("healthy", 55.12, 56.03, 1312.7), ("healthy", 27.5, 28.01, 1300.0)]
    assert {(pair["from"], pair["to"]): (pair["verdict"], pair["read"]["gb_s"], pair["write"]["gb_s"],
                                         pair["read"]["load_latency_us"]) for pair in result["pairs"]} == {
        (A, B): ("healthy", 41.2, 44.4, 1.53), (B, A): ("healthy", 42.9, 45.1, 1.54)}
    # A load by a kernel is not the copy of a few bytes that the driver's library is timed with.
    assert {pair[way]["latency_us"] for pair in result["pairs"] for way in ("read", "write")} == {None}
    assert (result["tool"], result["sizes"], result["stopped"], result["not_measured"]) == (
        "nvbandwidth", [64 << 20], None, [])


def test_only_the_chosen_gpus_are_visible_to_it_and_the_buffer_is_small(measure, program):
    measure(devices=[B], pairs=True, sizes=[4096, 1 << 30])
    calls = (program / "calls").read_text().splitlines()
    # 97887 MiB, of which two buffers may take a twentieth.
    assert calls == [f"GPU-00000000-0000-4000-8000-000000000001 -j -b 1024 -t {case}" for case in (H2D, D2H, D2D)]


def test_pairs_without_peer_access(measure, program):
    for case in (READ, WRITE, LATENCY):
        (program / case).write_text(f"cat <<'END'\n{document(case, None, 'Waived')}\nEND\n")
    assert {pair["verdict"] for pair in measure()["pairs"]} == {"unsupported"}


def test_a_version_that_lacks_a_test_case(measure, program):
    (program / LATENCY).write_text(f"cat <<'END'\n{document(LATENCY, None, 'Not Found')}\nEND\nexit 1\n")
    result = measure()
    assert {pair["verdict"] for pair in result["pairs"]} == {"healthy"}
    assert result["not_measured"][0]["subject"] == LATENCY
    assert result["not_measured"][0]["reason"] == "nvbandwidth says: Not Found; it ended with status 1"


def test_wrong_data_ends_everything(measure, program):
    (program / READ).write_text("echo ' Invalid value when checking the pattern at 0x735f80000000'; exit 134")
    result = measure()
    assert {pair["verdict"] for pair in result["pairs"]} == {"wrong_data"}
    assert {gpu["verdict"] for gpu in result["gpus"]} == {"healthy"}
    assert result["stopped"] == f"wrong data in {READ}"
    assert [entry["subject"] for entry in result["not_measured"]] == [WRITE, LATENCY]


def test_a_hang_marks_the_gpus(measure, program, tree):
    (program / WRITE).write_text("exec sleep 60")
    result = measure(timeout=2)
    assert result["hung"] == [A, B]
    assert {pair["verdict"] for pair in result["pairs"]} == {"hang"}
    assert result["stopped"].endswith(f"nvbandwidth did not answer within 2 s at {WRITE}")
    assert sorted(json.loads(tree.path("/run/gpuhost/hung.json").read_text())) == [A, B]


def test_an_xid_between_two_test_cases_ends_everything(measure, program, tree):
    log = tree.path("/recorded/kmsg.txt")
    with (program / D2H).open("a") as file:
        file.write(f"echo '[  200.000000] NVRM: Xid (PCI:0000:21:00): 79, pid=1' >>{log}\n")
    result = measure()
    assert result["stopped"].startswith("the driver reported Xid 79 on 0000:21:00")
    assert result["pairs"] == []


def test_a_program_that_is_not_there(measure, program):
    (program / "nvbandwidth").unlink()
    with pytest.raises(NotMeasurable, match=r"^nvbandwidth is not installed on the host .*: install it, or use tool"):
        measure()


def test_in_a_container(measure, program):
    (program / "pct").write_text('#!/bin/sh\nshift 3; exec "$@"\n')
    (program / "pct").chmod(0o755)
    assert measure(container="101")["where"] == "lxc:101"
    (program / "nvbandwidth").unlink()
    with pytest.raises(NotMeasurable, match=r"^nvbandwidth is not installed in container 101 "):
        measure(container="101")


@pytest.mark.parametrize("text, words", [
    ("", "is not the JSON expected from its option -j"),
    ("{", "is not the JSON"),
    ('{"other": 1}', "is not the JSON"),
    ('{"nvbandwidth": {"error": "CUDA_ERROR_UNKNOWN: at cuInit"}}', "no such test case: CUDA_ERROR_UNKNOWN: at cuInit"),
    (document(H2D, [["1", "2"]], "Error"), "nvbandwidth says: Error"),
    (document(H2D, [["1", "2", "3"]]), "reports another number of GPUs than the 2 requested: list in devices"),
    (document(H2D, [["1", "x"]]), "is not the JSON"),
    (document(H2D, None), "is not the JSON"),
])
def test_output_of_another_form_is_one_message(text, words):
    with pytest.raises(CaseError, match=words):
        read_case(text, H2D, 2)


def test_text_before_the_document_is_passed_over():
    assert read_case("nvbandwidth Version: v0.8\n" + document(H2D, [["1.5", "N/A"]]), H2D, 2) == [[1.5, None]]
