# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples find the figures in what vLLM, SGLang and llama.cpp print, and so do the patterns of the user guide."""
from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.definition import (
    load_benchmark,
    parse_benchmark,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._benchmark.metrics import MetricError

import benchmark_outputs as outputs
from checkout import REPOSITORY

FOLDER = REPOSITORY / "examples" / "benchmarks"
GUIDE = (REPOSITORY / "docs" / "evidence.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## Your own benchmark\n(.*?)^## ", GUIDE, re.MULTILINE | re.DOTALL)[1]
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)


def example(name):
    return load_benchmark(str(FOLDER / f"{name}.yml"))


def message(stdout="", file=None, stderr=""):
    return {"stdout": stdout, "stderr": stderr, "file": file, "cut": []}


def test_every_example_is_tested_here():
    assert sorted(path.name for path in FOLDER.iterdir()) == [
        "llama_bench.yml", "sglang_bench_serving.yml", "vllm_bench_serve.yml"]


def test_vllm():
    assert example("vllm_bench_serve").values(message(outputs.VLLM_CONSOLE, outputs.VLLM_FILE)) == {
        "output_tokens": 2073.6, "time_to_first_token": 176.5, "time_per_token": 13.75, "inter_token_p99": 41.25}


def test_requests_of_vllm_that_failed_are_no_speed():
    with pytest.raises(MetricError, match=r"^valid: wanted true by json 'completed == `200`' in "
                                          r"/tmp/gpuhost-vllm-bench-serve\.json, found false\."):
        example("vllm_bench_serve").values(message(outputs.VLLM_CONSOLE, outputs.VLLM_FAILED))


def test_sglang():
    benchmark = example("sglang_bench_serving")
    wanted = {"output_tokens": 2227.2, "time_to_first_token": 133.25, "time_per_token": 12.875, "end_to_end": 1785.5}
    assert benchmark.values(message(outputs.SGLANG_CONSOLE, outputs.SGLANG_FILE)) == wanted
    # Of a long file only the end is read, which may begin in the middle of a line.
    assert benchmark.values(message(file=outputs.SGLANG_FILE[100:])) == wanted


def test_llama():
    benchmark = example("llama_bench")
    wanted = {"prompt": 11250.5, "generated": 141.25}
    assert benchmark.values(message(outputs.LLAMA_JSON, stderr=outputs.LLAMA_STDERR)) == wanted
    # As `2>&1` would have it.
    assert benchmark.values(message(outputs.LLAMA_STDERR + outputs.LLAMA_JSON)) == wanted
    assert benchmark._replace(records="all").values(message(outputs.LLAMA_JSONL)) == wanted
    with pytest.raises(MetricError, match=r"found no JSON\. stdout begins '\[ \{ \"build_commit\": \"0123abcd\""):
        benchmark.values(message(outputs.LLAMA_KILLED))


def test_the_table_of_llama():
    pattern = r"\|\s+{}\s+\|\s+(?P<value>[\d.]+) ±"
    benchmark = parse_benchmark({"name": "x", "command": ["llama-bench"], "metrics": {
        "prompt": {"pattern": pattern.format("pp512"), "better": "higher"},
        "generated": {"pattern": pattern.format("tg128"), "better": "higher"}}})
    assert benchmark.values(message(outputs.LLAMA_TABLE)) == {"prompt": 11250.5, "generated": 141.25}


def test_the_guide_shows_benchmarks_that_can_be_used():
    assert len(BLOCKS) >= 3
    for block in BLOCKS:
        parse_benchmark(yaml.safe_load(block))


def test_the_patterns_of_the_guide_find_the_figures_in_the_tables():
    benchmark = next(parsed for parsed in map(parse_benchmark, map(yaml.safe_load, BLOCKS))
                     if any(metric.pattern for metric in parsed.metrics))
    assert benchmark.values(message(outputs.VLLM_CONSOLE)) == {"output_tokens": 2073.6, "time_to_first_token": 176.5}
    assert benchmark.values(message(outputs.SGLANG_CONSOLE)) == {"output_tokens": 2227.2, "time_to_first_token": 133.25}
