# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section about bandwidth, as it is read."""
from __future__ import annotations

import json

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._bandwidth.report import read
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report import evidence

import neutral_facts as neutral
from bandwidth_document import LATER, RUN, gpu_answer, pair_answer, record
from fleet_documents import HOSTILE
from neutral_facts import merge, ok

NEAR, BESIDE_IT = "0000:03:00.0", "0000:04:00.0"


def facts_of(*bdfs, **changes):
    facts = neutral.epyc()
    facts["gpus"] = [merge(gpu, {"uuid": ok(f"GPU-{gpu['bdf']}")}) for gpu in facts["gpus"] if gpu["bdf"] in bdfs]
    return {**facts, **changes}


@pytest.fixture
def put(tmp_path):
    """Puts records into the folder of a host, each as of its run; the last one is the newest."""
    def put(*records):
        for one in records:
            for path in (tmp_path / one["run_id"] / "bandwidth.json", tmp_path / "bandwidth.json"):
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(one))
        return tmp_path
    return put


WHOLE = """\
## Bandwidth

- Measured 2026-11-29T18:31:00Z on the host in run 20261129T183000Z-4f2a with the driver library, driver 595.58.03, \
copies of 1 MiB to 256 MiB, data compared.
- 2 GPUs and 2 ordered pairs: 1 wrong data, 1 slow, 2 healthy.
- 0000:04:00.0 -\\> 0000:03:00.0: wrong data: 3 words differ
- 0000:03:00.0: slow: to the host 13.0 of 57.6 GB/s expected
- The measurement stopped: wrong data
- Not measured: 0000:c1:00.0: the GPU belongs to VM 200 (hostpci0)
- Expected values are the maximum of the narrowest link on the path, by its speed, lanes and MaxPayload; \
results below 80 % of it are slow.

![Bandwidth of pve1](bandwidth.svg)

Copies of each GPU, GB/s (of expected):

| GPU | model | NUMA node | from host | to host | within | link under load | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- |
| 0000:03:00.0 | NVIDIA RTX PRO 6000 | 0 | 55.3 of 57.6 | 13.0 of 57.6 | 1512.4 | 32 GT/s x16 | slow |
| 0000:04:00.0 | NVIDIA RTX PRO 6000 | 0 | 55.3 of 57.6 | 52.9 of 57.6 | 1512.4 | 32 GT/s x16 | healthy |

Transfers between GPUs by their path, GB/s:

| path | pairs | expected | writes | reads | latency, us |
| --- | --- | --- | --- | --- | --- |
| same switch | 2 | 57.6 | 51.2 to 53.0 | 48.7 | 1.4 to 1.9 |

Writes from row to column, GB/s:

|  | 0000:03:00.0 | 0000:04:00.0 |
| --- | --- | --- |
| 0000:03:00.0 |  | 53.0 |
| 0000:04:00.0 | 51.2 wrong data |  |

Reads by row from column, GB/s:

|  | 0000:03:00.0 | 0000:04:00.0 |
| --- | --- | --- |
| 0000:03:00.0 |  | 48.7 |
| 0000:04:00.0 | 48.7 wrong data |  |
"""


def test_the_whole_section(put):
    folder = put(record(
        [gpu_answer(NEAR, "slow", "to the host 13.0 of 57.6 GB/s expected", d2h=13.0), BESIDE_IT],
        [pair_answer(BESIDE_IT, NEAR, "wrong_data", "3 words differ"), pair_answer(NEAR, BESIDE_IT, write=53.0)],
        stopped="wrong data", not_measured=[{"subject": "0000:c1:00.0",
                                             "reason": "the GPU belongs to VM 200 (hostpci0)"}]))
    text = "\n".join(evidence.markdown([read(folder, facts_of(NEAR, BESIDE_IT))]))
    assert text == WHOLE


def test_a_host_that_was_never_measured(tmp_path):
    assert read(tmp_path, facts_of(NEAR)) is None


def test_in_a_container_without_pairs_and_without_expectation(put):
    inside = record([NEAR], expected=None, where="lxc:101", tool="nvbandwidth", driver_version=None,
                    sizes=[256 << 20])
    section = read(put(inside), facts_of(NEAR))
    assert section.notes[:2] == [
        "Measured 2026-11-29T18:31:00Z in container 101 in run 20261129T183000Z-4f2a with nvbandwidth, driver unknown, "
        "copies of 256 MiB, data compared.", "1 GPU: 1 healthy."]
    assert section.tables[0].rows == [[NEAR, "NVIDIA RTX PRO 6000", "0", "55.3", "52.9", "1512.4", "32 GT/s x16",
                                       "healthy"]]
    assert len(section.tables) == 1


def test_nothing_is_expected_across_sockets_and_the_table_says_why(put):
    made = record([NEAR, BESIDE_IT], expected=None)
    for pair in made["pairs"]:
        pair |= {"path": "across sockets", "expected_why": "nothing on the host tells"}
    section = read(put(made), facts_of(NEAR, BESIDE_IT))
    assert section.tables[1].rows == [["across sockets", "2", "nothing: nothing on the host tells", "51.2", "48.7",
                                       "1.4 to 1.9"]]


def test_of_many_that_are_slow_the_first_are_named_and_the_tables_mark_each(put):
    names = [f"0000:{bus:02x}:00.0" for bus in range(1, 5)]
    pairs = [pair_answer(one, other, "slow", "write 9.0 of 57.6 GB/s expected", write=9.0)
             for one in names for other in names if one != other]
    section = read(put(record(names, pairs)), facts_of())
    assert [note for note in section.notes if ": slow: " in note] == [
        f"{pair['from']} -> {pair['to']}: slow: write 9.0 of 57.6 GB/s expected" for pair in pairs[:8]]
    assert "4 more are slow, see the tables." in section.notes
    assert section.tables[2].rows[0] == [names[0], "", "9.0 slow", "9.0 slow", "9.0 slow"]
    assert section.tables[3].rows[0] == [names[0], "", "48.7", "48.7", "48.7"]


def test_the_record_before_is_shown_beside_if_it_is_of_the_same_place(put):
    before, other = record([NEAR]), record([NEAR], run_id="20261129T190000Z-0001", where="lxc:101")
    section = read(put(before, other, record([NEAR], run_id=LATER)), facts_of(NEAR))
    message = f"Before and after: run {RUN} of 2026-11-29T18:31:00Z beside this one."
    assert message in section.notes
    drawn = [shape.words for shape in section.drawings["bandwidth.svg"].shapes if shape.look == "heading"]
    assert len(drawn) == 2
    assert message not in read(put(before), facts_of(NEAR)).notes


def test_an_older_record_that_is_broken_does_not_hide_the_newest(put):
    folder = put(record([NEAR]), record([NEAR], run_id=LATER))
    (folder / RUN / "bandwidth.json").write_text("{")
    section = read(folder, facts_of(NEAR))
    assert section.notes[1] == "1 GPU: 1 healthy."
    assert not any("Before and after" in note for note in section.notes)


AGAIN = "The host was rebooted since: measure again."


@pytest.mark.parametrize("facts, message", [
    (facts_of(NEAR), []), (merge(facts_of(NEAR), {"identity": {"boot_id": ok("another")}}), [AGAIN]),
    (facts_of(NEAR, BESIDE_IT), [f"The hardware has changed since: {BESIDE_IT} is new. Measure again."]),
    (facts_of(), [f"The hardware has changed since: {NEAR} is gone. Measure again."]),
    (merge(facts_of(NEAR), {"gpus": [{"uuid": ok("GPU-other")}]}),
     [f"The hardware has changed since: {NEAR} is another card. Measure again."]),
    (merge(facts_of(NEAR), {"gpus": [{"uuid": neutral.lacking("denied")}]}), [])])
def test_figures_of_another_boot_or_other_hardware_are_said_to_be_old(put, facts, message):
    notes = read(put(record([NEAR])), facts).notes
    assert notes[3:] == message


def test_a_name_that_is_hostile_stays_a_text(put):
    folder = put(record([gpu_answer(NEAR, "hang", HOSTILE, name=HOSTILE)], not_measured=[
        {"subject": HOSTILE, "reason": HOSTILE}], stopped=HOSTILE, host=HOSTILE))
    shown = evidence.sections(folder, facts_of(NEAR))
    text = "\n".join(evidence.markdown(shown))
    assert "<script" not in text.replace("\\<script", "") and "\x1b" not in text
    assert text.count("window.hacked=1\\</script") == 6
    evidence.write_drawings(folder, shown)
    assert "<script" not in (folder / "bandwidth.svg").read_text()


@pytest.mark.parametrize("text, message", [
    ("{", "is not JSON"),
    ('{"schema": "gpuhost.audit/1"}', "has the schema 'gpuhost.audit/1', wanted 'gpuhost.bandwidth/1': measure again"),
    ('{"schema": "gpuhost.bandwidth/1"}', "was not written by this collection (KeyError: 'gpus'): measure again")])
def test_a_broken_record_is_said(tmp_path, text, message):
    (tmp_path / "bandwidth.json").write_text(text)
    (section,) = evidence.sections(tmp_path, facts_of(NEAR))
    assert section.heading == "Bandwidth"
    assert message in section.notes[0]


def test_copies_at_once_have_a_table(put):
    flows = [{"from": "host", "to": NEAR, "gb_s": 40.0, "expected_gb_s": 58.4},
             {"from": NEAR, "to": "host", "gb_s": 10.0, "expected_gb_s": 57.6}]
    group = {"kind": "host_both_ways", "name": f"host <-> {NEAR}", "gpus": [NEAR], "flows": flows, "gb_s": 20.0,
             "expected_gb_s": 116.0, "verdict": "slow", "said": "half", "checks": []}
    hung = {**group, "name": "shift by 1", "flows": [{**flow, "gb_s": None} for flow in flows], "gb_s": None,
            "verdict": "hang", "said": "no answer"}
    section = read(put(record([NEAR], concurrent=[group, hung])), facts_of(NEAR))
    assert section.tables[-1].rows == [
        [f"host <-> {NEAR}", "20.0 of 116.0", f"{NEAR} -> host: 10.0 of 57.6", "slow"],
        ["shift by 1", "-", "-", "hang"]]
    assert "1 GPU and 2 groups: 1 hang, 1 slow, 1 healthy." in section.notes
    assert "shift by 1: hang: no answer" in section.notes
    assert f"host <-> {NEAR}: slow: half" in section.notes
