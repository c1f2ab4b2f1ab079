# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import time
from xml.etree import ElementTree

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host import program as host_program
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import smi
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.nvidia import GEFORCE, Gpu, smi_xml

ODD = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <timestamp>Sun Nov 29 18:30:00 2026</timestamp>
  <driver_version>575.57.08</driver_version>
  <gpu id="00000000:F4:00.0">
    <minor_number>N/A</minor_number>
    <persistence_mode>[N/A]</persistence_mode>
    <fb_memory_usage><total>Insufficient Permissions</total></fb_memory_usage>
    <performance_state>Unknown Error</performance_state>
    <utilization><gpu_util>[Not Supported]</gpu_util></utilization>
    <processes>N/A</processes>
  </gpu>
  <gpu id="00010000:01:00.0"><fb_memory_usage><total> 81559 MiB </total></fb_memory_usage></gpu>
  <gpu id="no address"><pci><pci_bus_id>00000000:0A:00.0</pci_bus_id></pci></gpu>
  <gpu id="no address at all"/>
</nvidia_smi_log>
"""
NOTHING = {"minor": None, "memory_mib": None, "bar1_mib": None, "bar1_used_mib": None, "pstate": None,
           "persistence": None, "display": None, "display_server": None, "vbios": None, "device_max_gen": None,
           "utilization": None, "processes": None, "trouble": None,
           "compute_mode": None, "mig": None, "mig_pending": None, "ecc": None, "ecc_pending": None,
           "recovery_action": None, "power_draw_w": None, "power_limit_w": None, "power_default_w": None,
           "clock_reasons": None, "ecc_errors": None, "ecc_errors_ever": None, "pages_pending": None,
           "rows_pending": None, "rows_failed": None, "repairs_pending": [], "fabric_state": None,
           "fabric_status": None, "fabric_health": None}


def only_gpu(text):
    parsed = smi.parse(text)
    assert parsed["state"] == "ok"
    gpu, = parsed["gpus"]
    return gpu


def message(version, **otherwise):
    """One GPU whose nvidia-smi of that version says this."""
    return only_gpu(smi_xml([Gpu("0000:01:00.0", 0, smi=otherwise)], version))


def test_gpus_under_the_kernels_addresses():
    parsed = smi.parse(smi_xml([Gpu("0000:f4:00.0", 4, utilization=37, processes=2, pstate="P0")], "570.133.20"))
    assert parsed == {
        "state": "ok", "reason": None, "driver_version": "570.133.20",
        "gpus": [{"bdf": "0000:f4:00.0", "minor": 4, "memory_mib": 97887, "bar1_mib": 131072, "bar1_used_mib": 1,
                  "pstate": "P0", "persistence": "Enabled", "display": "Disabled", "utilization": 37, "processes": 2,
                  "display_server": None, "vbios": "98.02.67.00.0A", "device_max_gen": None,
                  "trouble": None, "compute_mode": "Default", "mig": "Disabled", "mig_pending": "Disabled",
                  "ecc": "Enabled", "ecc_pending": "Enabled", "recovery_action": "None", "power_draw_w": 39.17,
                  "power_limit_w": 600.0, "power_default_w": 600.0, "clock_reasons": [], "ecc_errors": 0,
                  "ecc_errors_ever": 0, "pages_pending": None, "rows_pending": False, "rows_failed": False,
                  "repairs_pending": [], "fabric_state": None, "fabric_status": None, "fabric_health": None}]}


@pytest.mark.parametrize("version", ["525.147.05", "535.54.03", "550.163.01", "570.133.20", "595.58.03"])
def test_the_names_of_every_driver(version):
    """535 renamed throttle reasons and power readings, 545 split the SRAM errors, 560 has a recovery action."""
    gpu = message(version, reasons=("gpu_idle", "hw_thermal_slowdown"), power_limit=450, default_power_limit=600,
                  sram_uncorrectable=2, dram_uncorrectable=3, remapped_row_pending="Yes", recovery="Reset",
                  pending_mig="Enabled", pending_ecc="Disabled", compute_mode="Exclusive_Process")
    assert gpu["clock_reasons"] == ["gpu_idle", "hw_thermal_slowdown"]
    assert (gpu["power_draw_w"], gpu["power_limit_w"], gpu["power_default_w"]) == (39.17, 450.0, 600.0)
    assert (gpu["ecc_errors"], gpu["ecc_errors_ever"]) == (5, 5)
    assert (gpu["rows_pending"], gpu["rows_failed"], gpu["recovery_action"]) == (True, False, "Reset")
    assert (gpu["mig"], gpu["mig_pending"], gpu["ecc"], gpu["ecc_pending"]) == (
        "Disabled", "Enabled", "Enabled", "Disabled")
    assert gpu["compute_mode"] == "Exclusive_Process"


def test_drain_before_there_was_a_recovery_action():
    assert message("550.163.01", recovery="Drain and Reset")["recovery_action"] == "Drain and Reset"
    assert message("550.163.01")["recovery_action"] == "None"


def test_repairs_that_wait():
    assert message("595.58.03", channel_repair_pending="Yes")["repairs_pending"] == ["channel"]
    assert message("550.163.01", channel_repair_pending="Yes")["repairs_pending"] == []    # it does not tell


def test_a_card_without_ecc():
    gpu = message("570.153.02", **GEFORCE)
    assert {gpu[key] for key in ("mig", "mig_pending", "ecc", "ecc_pending", "ecc_errors", "ecc_errors_ever",
                                 "rows_pending", "rows_failed", "pages_pending")} == {None}
    assert (gpu["display"], gpu["power_limit_w"]) == ("Enabled", 450.0)


@pytest.mark.parametrize("process, server", [
    ("<type>G</type><process_name>/usr/lib/xorg/Xorg</process_name>", "Xorg"),
    ("<type>C+G</type><process_name>/usr/bin/gnome-shell</process_name>", "gnome-shell"),
    ("<type>G</type><process_name>/usr/lib/xorg/Xorg vt2 -displayfd 3</process_name>", "Xorg"),
    ("<type>G</type><process_name>/usr/bin/blender</process_name>", None),      # ends with its user's work
    ("<type>C</type><process_name>/home/x/Xorg</process_name>", None),
    ("<type>G</type><process_name></process_name>", None), ("<pid>7</pid>", None),
])
def test_a_display_server_that_has_the_gpu_open(process, server):
    gpu = only_gpu('<nvidia_smi_log><gpu id="00000000:01:00.0"><processes><process_info><pid>1</pid></process_info>'
                   f"<process_info>{process}</process_info></processes></gpu></nvidia_smi_log>")
    assert (gpu["display_server"], gpu["processes"]) == (server, 2)


VOLTA = """<nvidia_smi_log><gpu id="00000000:3B:00.0">
  <ecc_errors>
    <volatile>
      <single_bit><total>7</total></single_bit>
      <double_bit><device_memory>1</device_memory><total>1</total></double_bit>
    </volatile>
    <aggregate><single_bit><total>9</total></single_bit><double_bit><total>4</total></double_bit></aggregate>
  </ecc_errors>
  <retired_pages><pending_blacklist>Yes</pending_blacklist></retired_pages>
  <power_readings>
    <power_state>P0</power_state><power_draw>N/A</power_draw><power_limit>250.00 W</power_limit>
    <default_power_limit>[Not Supported]</default_power_limit>
  </power_readings>
  <clocks_throttle_reasons>N/A</clocks_throttle_reasons>
</gpu></nvidia_smi_log>"""


def test_errors_and_pages_before_turing():
    gpu = only_gpu(VOLTA)
    assert (gpu["ecc_errors"], gpu["ecc_errors_ever"], gpu["pages_pending"]) == (1, 4, True)
    assert (gpu["power_draw_w"], gpu["power_limit_w"], gpu["power_default_w"]) == (None, 250.0, None)
    assert gpu["clock_reasons"] is None


@pytest.mark.parametrize("text, word", [("GPU is lost", "GPU is lost"), ("[GPU requires reset]", "GPU requires reset")])
def test_a_gpu_that_no_longer_answers(text, word):
    gpu = only_gpu(f"<nvidia_smi_log><gpu id='00000000:3B:00.0'><fan_speed>{text}</fan_speed>"
                   f"<compute_mode>{text}</compute_mode></gpu></nvidia_smi_log>")
    assert (gpu["trouble"], gpu["compute_mode"]) == (word, None)


VALUES = st.one_of(st.text(max_size=20), st.sampled_from([
    "Yes", "No", "Active", "N/A", "[GPU is lost]", "600.00 W", "97887MiB", "9" * 5000, "1" * 400 + " MiB", "-1",
    "\u0663", "1e9 W"]))


@settings(max_examples=100, deadline=None)
@given(values=st.lists(VALUES, min_size=26, max_size=26))
def test_any_text_in_any_field_is_a_plain_value(values):
    """Every element of the XML that is read gets another text; none is taken for more than it can be."""
    root = ElementTree.fromstring(smi_xml([Gpu("0000:01:00.0", 0)], "595.58.03"))
    for number, leaf in enumerate(element for element in root.iter() if not len(element)):
        leaf.text = "".join(sign for sign in values[number % len(values)] if sign.isprintable())
    gpu = only_gpu(ElementTree.tostring(root, encoding="unicode"))
    json.dumps(gpu, allow_nan=False)
    for name in ("minor", "memory_mib", "bar1_mib", "bar1_used_mib", "utilization", "power_limit_w", "ecc_errors"):
        assert gpu[name] is None or 0 <= gpu[name] < 10 ** 16
    for name in ("rows_pending", "rows_failed", "pages_pending"):
        assert gpu[name] in (None, True, False)


def test_what_has_been_deprecated_is_no_value():
    gpu = only_gpu("<nvidia_smi_log><gpu id='00000000:3B:00.0'><gpu_power_readings><instant_power_draw>Requested "
                   "functionality has been deprecated</instant_power_draw><average_power_draw>61.50 W"
                   "</average_power_draw></gpu_power_readings><compute_mode>Requested functionality has been deprecated"
                   "</compute_mode></gpu></nvidia_smi_log>")
    assert (gpu["power_draw_w"], gpu["power_limit_w"], gpu["compute_mode"]) == (61.5, None, None)


def test_fields_that_are_missing_or_say_nothing():
    parsed = smi.parse(ODD)
    assert parsed["driver_version"] == "575.57.08"
    assert parsed["gpus"] == [
        {"bdf": "0000:f4:00.0", **NOTHING},
        {"bdf": "10000:01:00.0", **NOTHING, "memory_mib": 81559},
        {"bdf": "0000:0a:00.0", **NOTHING}]


@pytest.mark.parametrize("text", [
    "", "No devices were found", "<nvidia_smi_log><gpu id='1'>", "<other/>", "\0\0",
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>'])
def test_what_is_no_such_xml(text):
    assert smi.parse(text) is None


SAFE = {"state": "live", "control_node": True, "missing_nodes": [], "gone": [], "asleep": [], "hung": []}


@pytest.mark.parametrize(("change", "words"), [
    ({"state": "absent"}, "the nvidia module is absent"),
    ({"state": "coming"}, "the nvidia module is coming"),
    ({"control_node": False}, "/dev/nvidiactl is missing"),
    ({"hung": ["0000:41:00.0"]}, "0000:41:00.0 hung during a measurement"),
    ({"gone": ["0000:41:00.0"]}, "0000:41:00.0 reads all ones"),
    ({"asleep": ["0000:01:00.0"]}, "0000:01:00.0 is suspended"),
    ({"missing_nodes": ["/dev/nvidia3"]}, "/dev/nvidia3 is missing"),
])
def test_when_it_must_not_run(change, words):
    assert smi.reason_not_to_run(**SAFE) is None
    assert words in smi.reason_not_to_run(**{**SAFE, **change})


def test_a_reason_keeps_it_from_running(tree, host):
    tree.program("nvidia-smi.xml", smi_xml([Gpu("0000:01:00.0", 0)], "570.133.20"))
    assert smi.read(host, None)["state"] == "ok"
    assert smi.read(host, "because") == {"state": "not_run", "reason": "because", "driver_version": None, "gpus": []}


def test_nothing_recorded_is_absent(host):
    assert smi.read(host, None)["state"] == "absent"


def test_recorded_complaint(tree, host):
    tree.program("nvidia-smi.xml", "Failed to initialize NVML: Unknown Error\n")
    fact = smi.read(host, None)
    assert (fact["state"], fact["reason"]) == ("failed", "no XML: Failed to initialize NVML: Unknown Error")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a script in the place of nvidia-smi; the real one, if there is one, is out of reach."""
    def put(script):
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(host_program, "PATH", str(program.parent))
        return program
    return put


def test_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(host_program, "PATH", str(tmp_path))
    assert smi.read(Host(), None)["state"] == "absent"


def test_arguments_and_output(stand_in):
    stand_in('test "$*" = "-q -x" || exit 3\n'
             'echo "<nvidia_smi_log><driver_version>1.2</driver_version></nvidia_smi_log>"')
    assert smi.read(Host(), None) == {"state": "ok", "reason": None, "driver_version": "1.2", "gpus": []}


def test_library_of_another_version(stand_in):
    """A-32: both lines of the complaint are kept, the second one names the library."""
    stand_in('echo "Failed to initialize NVML: Driver/library version mismatch"\n'
             'echo "NVML library version: 575.57"\nexit 18')
    fact = smi.read(Host(), None)
    assert fact["state"] == "failed"
    assert "Driver/library version mismatch" in fact["reason"]
    assert "NVML library version: 575.57" in fact["reason"]


@pytest.mark.parametrize("name", ["\x01\x02", "\x1b[31mred", "a<b", "&nope;", "&#1;", "<!ENTITY x 'y'>", "\ufffe",
                                  "</process_name><gpu id='00000000:AA:00.0'/>", "<process_name>", "x" * 5000])
def test_b15_a_process_may_call_itself_anything(name):
    """B-15: what it calls itself is dropped, and nothing else of the answer."""
    gpus = [Gpu("0000:06:00.0", 0, processes=1, smi={"recovery": "Reset"}), Gpu("0000:07:00.0", 1)]
    text = smi_xml(gpus, "580.95.05")
    parsed = smi.parse(text.replace("<pid>1</pid>", f"<pid>1</pid><process_name>{name}</process_name>"))
    assert [(gpu["bdf"], gpu["recovery_action"], gpu["processes"]) for gpu in parsed["gpus"]] == [
        ("0000:06:00.0", "Reset", 1), ("0000:07:00.0", "None", 0)]


def test_control_characters_elsewhere_and_warnings_around_it_cost_no_answer():
    text = smi_xml([Gpu("0000:06:00.0", 0)], "580.95.05").replace("NVIDIA RTX", "NVIDIA\x07 RTX")
    parsed = smi.parse(f"Warning: persistence mode is off\n{text}WARNING: infoROM is corrupted at gpu 0000:06:00.0\n")
    assert [gpu["bdf"] for gpu in parsed["gpus"]] == ["0000:06:00.0"]


@pytest.mark.parametrize("text, reason", [
    ("<?xml version='1.0'?>\n<nvidia_smi_log><gpu id='00000000:06:00.0'>" + "x" * 300,
     "its XML cannot be read: no element found: line 2, column 343"),
    ("<html>504 Gateway</html>", "its XML has the root 'html', not 'nvidia_smi_log'"),
])
def test_a_reason_shows_no_piece_of_the_xml(tree, host, text, reason):
    tree.program("nvidia-smi.xml", text)
    fact = smi.read(host, None)
    assert (fact["state"], fact["reason"]) == ("failed", reason)


def test_an_answer_that_is_whole_counts_whatever_the_status(stand_in):
    """Status 14: the infoROM of one GPU is corrupted."""
    stand_in('echo "<nvidia_smi_log><driver_version>1.2</driver_version></nvidia_smi_log>"\n'
             'echo "WARNING: infoROM is corrupted at gpu 0000:5E:00.0"\nexit 14')
    assert smi.read(Host(), None)["driver_version"] == "1.2"


def test_an_answer_that_breaks_off_does_not_count(stand_in):
    stand_in('echo "<nvidia_smi_log><driver_version>1.2</driver_version>"\nexit 15')
    fact = smi.read(Host(), None)
    assert (fact["state"], fact["reason"].partition(":")[0]) == ("failed", "nvidia-smi ended with status 15")


def test_no_devices_is_kept_in_its_own_words(stand_in):
    stand_in('echo "No devices were found"\nexit 6')
    assert smi.read(Host(), None)["reason"] == "nvidia-smi ended with status 6: No devices were found"


def test_it_never_returns_and_its_child_holds_the_pipe(stand_in, monkeypatch):
    """A-87: ended at the limit, with its children, and told apart from a failure."""
    monkeypatch.setattr(smi, "TIME_LIMIT", 0.4)
    stand_in("sleep 300 &\nsleep 300")
    started = time.monotonic()
    fact = smi.read(Host(), None)
    assert time.monotonic() - started < 15
    assert (fact["state"], fact["gpus"]) == ("timeout", [])
    assert "0.4 s" in fact["reason"]


def test_child_outside_its_group_keeps_the_pipe_open(stand_in, monkeypatch):
    """A-87: killing the group does not reach it, so the pipe stays open; we go on all the same."""
    monkeypatch.setattr(host_program, "GRACE", 0.3)
    stand_in("setsid sleep 60 &\necho '<nvidia_smi_log/>'")
    started = time.monotonic()
    assert smi.read(Host(), None)["state"] == "ok"
    assert time.monotonic() - started < 30


# -- NVSwitches ---------------------------------------------------------------------------------------------------

def fabric(text):
    parsed = smi.parse(f'<nvidia_smi_log><gpu id="00000000:F4:00.0">{text}</gpu></nvidia_smi_log>')["gpus"][0]
    return parsed["fabric_state"], parsed["fabric_status"], parsed["fabric_health"]


def test_a_gpu_that_is_registered_with_its_switches():
    assert fabric("<fabric><state>Completed</state><status>Success</status><cliqueId>0</cliqueId><health>"
                  "<summary>Healthy</summary><bandwidth>Full</bandwidth><route_unhealthy>False</route_unhealthy>"
                  "<incorrect_configuration>None</incorrect_configuration><partition_assigned>True</partition_assigned>"
                  "<access_timeout_recovery>N/A</access_timeout_recovery></health></fabric>") == (
        "Completed", "Success", [])


def test_a_gpu_that_waits_and_one_that_has_no_fabric():
    assert fabric("<fabric><state>In Progress</state><status>N/A</status></fabric>") == ("In Progress", None, None)
    assert fabric("<fabric><state>N/A</state><status>N/A</status><health><bandwidth>N/A</bandwidth></health></fabric>"
                  ) == (None, None, [])
    assert fabric("") == (None, None, None)


def test_what_is_not_healthy_is_named():
    assert fabric("<fabric><state>Completed</state><status>Success</status><health><summary>Unhealthy</summary>"
                  "<bandwidth>Degraded</bandwidth><route_recovery_in_progress>True</route_recovery_in_progress>"
                  "<incorrect_configuration>Insufficient Nvlinks</incorrect_configuration></health></fabric>")[2] == [
        "summary: Unhealthy", "bandwidth: Degraded", "route recovery in progress: True",
        "incorrect configuration: Insufficient Nvlinks"]


@pytest.mark.parametrize("text, generation", [("5", 5), ("N/A", None), ("", None)])
def test_the_generation_that_the_device_can_do(text, generation):
    """Not max_link_gen, which is that of the device and the system together."""
    gens = f"<max_link_gen>4</max_link_gen><max_device_link_gen>{text}</max_device_link_gen>"
    parsed = smi.parse(f'<nvidia_smi_log><gpu id="00000000:F4:00.0"><pci><pci_gpu_link_info><pcie_gen>{gens}</pcie_gen>'
                       '</pci_gpu_link_info></pci></gpu></nvidia_smi_log>')
    assert parsed["gpus"][0]["device_max_gen"] == generation
