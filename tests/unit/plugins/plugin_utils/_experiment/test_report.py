# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import jsonschema
import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment import effects_plot
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._experiment.report import section
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics import effect
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import Block

from checkout import REPOSITORY
from experiment_document import FEW, HELPS, NOTHING, RUN, arm, experiment, found, run

SCHEMA = json.loads((REPOSITORY / "plugins" / "plugin_utils" / "schemas" / "experiment.json").read_text())


def check(document):
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def notes(**more):
    return section(check(experiment(**more))).notes


def test_a_row_for_each_change_and_metric():
    table, = section(check(experiment())).tables
    assert [row[:6] for row in table.rows] == [
        ["thp_enabled", "tokens_per_second", "helps", "+12.4 % (+10.9 to +13.8)", "10", "0.008"],
        ["thp_enabled", "ttft_ms", "helps", "-8.2 % (-9.9 to -6.4)", "10", "0.008"],
        ["swappiness", "tokens_per_second", "no measurable effect", "+0.2 % (-0.9 to +1.3)", "10", "0.690"],
        ["swappiness", "ttft_ms", "inconclusive", "+1.4 % (-1.5 to +4.2)", "10", "0.310"],
        ["numa_balancing", "tokens_per_second", "hurts", "-4.0 % (-6.1 to -1.8)", "10", "0.032"],
        ["numa_balancing", "ttft_ms", "inconclusive", "-", "3", "-"]]
    assert all(len(row) == len(table.head) for row in table.rows)
    assert [row[6] for row in table.rows] == [
        "-", "-", "an effect beyond 1.3 % would have been detected", "needs 26 more runs, 23 blocks in all",
        "one of several comparisons: may be chance, repeat it separately", "needs 10 more runs, 8 blocks in all"]


def test_what_no_ratio_could_be_made_of_says_so():
    none = found("inconclusive", "0 is not a positive number", blocks=0)
    table, = section(check(experiment(arms=[arm("one", "one", "sysctl:a.b", "1", tokens_per_second=none)]))).tables
    assert table.rows == [["one", "tokens_per_second", "inconclusive", "-", "0", "-", "0 is not a positive number"]]


def test_what_was_run_under_which_conditions_and_what_does_not_count():
    assert notes() == [
        f"Run {RUN} of 2026-11-30T01:00:00Z: each change alone; 3 runs in blocks of two, one before and one after the "
        "change, in random order.",
        "All blocks were measured. The host was left with its original settings.",
        "1 run discarded: 1 x 0000:01:00.0 is 91 °C, the limit is 85.",
        "During the runs: GPUs 61 to 74 °C; SM clock 2370 MHz; power 412.5 W; load 1.5.",
        "5 comparisons: without any effect, about 0.25 of them would be significant by chance. Judged "
        "together (Holm), 2 of 3 remain significant: test the others in separate experiments.",
        "Not compared: module:nvidia_peermem: modules are compared as a whole"]


def test_an_experiment_that_was_killed_says_so():
    assert "It has not finished: it is still running, or was killed. These are the measurements so far." in notes(
        ended=None)


def test_others_on_the_gpus_throttling_and_drift_are_said():
    busy = run(2, "A", 100.0, users=[{"pid": 7, "command": "python3", "container": "101"}])
    busy["conditions"]["after"]["gpus"][0]["throttle"] = ["sw_power_cap"]
    drift = [{"address": "sysctl:vm.swappiness", "before": "60", "after": "1"}]
    found_notes = notes(runs=[busy], discarded=0, drift=drift)
    assert "No run was discarded." in found_notes
    assert any(note.endswith("throttled: sw_power_cap; others that used a GPU: python3.") for note in found_notes)
    assert "Different from before: sysctl:vm.swappiness: 60 -> 1" in found_notes


def test_what_nobody_could_read_is_not_mentioned():
    nothing = {"load1": None, "gpus": None, "users": None}
    unread = run(2, "A", 100.0) | {"conditions": {"before": nothing, "after": None}}
    for one in (unread, unread | {"conditions": None}):
        assert not any(note.startswith("While it ran") for note in notes(runs=[one]))


@pytest.mark.parametrize("arms, message", [
    ([arm("one", "one", "sysctl:a.b", "1", speed=HELPS)], None),
    ([arm("one", "one", "sysctl:a.b", "1", speed=NOTHING, more=NOTHING)],
     "2 comparisons: without any effect, about 0.1 of them would be significant by chance."),
    ([arm("one", "one", "sysctl:a.b", "1", speed=NOTHING, more=HELPS)],
     "2 comparisons: without any effect, about 0.1 of them would be significant by chance. After Holm's correction "
     "all of them remain significant."),
    ([arm("one", "one", "sysctl:a.b", "1", speed=NOTHING, more=HELPS | {"chance": 0.04})],
     "2 comparisons: without any effect, about 0.1 of them would be significant by chance. Judged together "
     "(Holm), none of 1 remain significant: test the others in separate experiments."),
])
def test_several_comparisons_have_several_chances_to_be_wrong(arms, message):
    metrics = [{"name": name, "better": "higher", "unit": None} for name in ("speed", "more")]
    assert next((note for note in notes(arms=arms, metrics=metrics) if "comparisons" in note), None) == message


def test_an_experiment_without_a_complete_block_has_a_table_and_no_plot():
    metrics = [{"name": "speed", "better": "higher", "unit": None}]
    made = section(check(experiment(arms=[arm("one", "one", "sysctl:a.b", "1", speed=FEW)], metrics=metrics)))
    assert made.drawings == {} and len(made.tables[0].rows) == 1
    assert section(check(experiment(arms=[]))).tables == []


def test_what_effect_returns_is_what_the_schema_wants():
    for pairs in ([], [Block(1, 2, "A"), Block(1, 2, "B")] * 4, [Block(1, 1, "A"), Block(1, 1, "B")] * 4):
        made = effect.effect(pairs, "higher")
        check(experiment(arms=[arm("one", "one", "sysctl:a.b", "1", tokens_per_second=made)]))


# -- the plot ----------------------------------------------------------------------------------------------------------


def test_the_plot_says_in_words_what_it_shows():
    drawing = effects_plot.effects_drawing(experiment())
    assert drawing.title == "Effects of the changes on vllm serving"
    assert drawing.description.startswith(f"Run {RUN}. thp_enabled, tokens_per_second: helps: +12.4 % (+10.9 % to ")
    assert drawing.description.count(": ") >= 6


def test_points_stand_on_one_scale_with_a_line_at_zero():
    shapes = effects_plot.effects_drawing(experiment()).shapes
    zero, = (float(shape.attributes["x1"]) for shape in shapes if shape.name == "line" and shape.look == "strong")
    better, = (float(shape.attributes["cx"]) for shape in shapes if shape.name == "circle" and shape.look == "good"
               and float(shape.attributes["cx"]) > zero)
    lower, = (float(shape.attributes["cx"]) for shape in shapes if shape.name == "circle" and shape.look == "good"
              and float(shape.attributes["cx"]) < zero)
    assert (better - zero) / 12.4 == pytest.approx((zero - lower) / 8.2, rel=0.001)
    worse, = (shape for shape in shapes if shape.name == "rect")
    assert (zero - float(worse.attributes["x"]) - 4) / 4.0 == pytest.approx((better - zero) / 12.4, rel=0.002)


def test_what_is_not_decided_differs_in_shape_and_what_was_not_measured_has_none():
    shapes = effects_plot.effects_drawing(experiment()).shapes
    assert [shape.look for shape in shapes if shape.name == "circle"] == ["good", "good", "mild", "hollow"]
    assert [shape.words for shape in shapes if shape.words.startswith("needs ")] == ["needs 10 more runs"]


@pytest.mark.parametrize("low, high, ticks", [
    (-0.4, 0.3, ["-0.4 %", "-0.2 %", "0", "+0.2 %"]), (0, 95, ["0", "+20 %", "+40 %", "+60 %", "+80 %"]),
    (-30, 120, ["0", "+50 %", "+100 %"]), (0, 0, ["-0.04 %", "-0.02 %", "0", "+0.02 %", "+0.04 %"])])
def test_the_scale_has_round_numbers(low, high, ticks):
    made = found("helps", "", 0, low, high)
    document = experiment(arms=[arm("one", "one", "sysctl:a.b", "1", tokens_per_second=made)])
    shapes = effects_plot.effects_drawing(document).shapes
    assert [shape.words for shape in shapes if shape.attributes.get("text-anchor") == "middle"] == ticks


def test_a_long_name_is_cut_in_the_plot_and_whole_in_words():
    long = "x" * 300
    document = experiment(arms=[arm(long, "one", "sysctl:a.b", "1", tokens_per_second=HELPS)])
    drawing = effects_plot.effects_drawing(document)
    assert max(len(shape.words) for shape in drawing.shapes) == 60
    assert long in drawing.description


def test_a_long_metric_is_cut_before_what_is_better():
    metrics = [{"name": "m" * 300, "better": "lower", "unit": None}]
    document = experiment(arms=[arm("one", "one", "sysctl:a.b", "1", **{"m" * 300: HELPS})], metrics=metrics)
    label, = (shape for shape in effects_plot.effects_drawing(document).shapes if shape.look == "label")
    assert label.words == "m" * 19 + "... (lower is better)"
