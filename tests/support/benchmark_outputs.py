# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of the benchmarks of vLLM, SGLang and llama.cpp in their real formats; all figures are invented.

Formats: vllm/benchmarks/serve.py of vLLM, python/sglang/bench_serving.py of SGLang, tools/llama-bench of llama.cpp.
"""
from __future__ import annotations

import json


def _heading(text: str, sign: str) -> str:
    return f"{text:{sign}^50}"


def _row(label: str, value: object) -> str:
    return f"{label:<40} {value:<10}" if not isinstance(value, float) else f"{label:<40} {value:<10.2f}"


# -- vLLM --------------------------------------------------------------------------------------------------------------

VLLM = {
    "date": "20261130-010203", "endpoint_type": "openai", "backend": "openai", "label": None,
    "model_id": "Qwen/Qwen2.5-7B-Instruct", "tokenizer_id": "Qwen/Qwen2.5-7B-Instruct", "num_prompts": 200,
    "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "duration": 12.345678, "completed": 200,
    "failed": 0, "total_input_tokens": 204800, "total_output_tokens": 25600, "request_throughput": 16.2,
    "request_goodput": None, "output_throughput": 2073.6, "total_token_throughput": 18662.4,
    "max_output_tokens_per_s": 2420.0, "max_concurrent_requests": 40, "rtfx": 0.0,
    "mean_ttft_ms": 181.25, "median_ttft_ms": 176.5, "std_ttft_ms": 44.1, "p99_ttft_ms": 310.75,
    "mean_tpot_ms": 13.9, "median_tpot_ms": 13.75, "std_tpot_ms": 0.6, "p99_tpot_ms": 15.5,
    "mean_itl_ms": 13.8, "median_itl_ms": 12.9, "std_itl_ms": 5.2, "p99_itl_ms": 41.25,
}
# --save-result: the file has no trailing newline.
VLLM_FILE = json.dumps(VLLM)
VLLM_CONSOLE = "\n".join([
    "INFO 11-30 01:02:03 [__init__.py:216] Automatically detected platform cuda.",
    "Namespace(subparser='bench', bench_type='serve', backend='openai', num_prompts=200)",
    "Starting initial single prompt test run...", "Initial test run completed.", "Starting main benchmark run...",
    "Traffic request rate: inf", "Burstiness factor: 1.0 (Poisson process)", "Maximum request concurrency: 32",
    "tip: install termplotlib and gnuplot to plot the metrics",
    _heading(" Serving Benchmark Result ", "="), _row("Successful requests:", 200), _row("Failed requests:", 0),
    _row("Maximum request concurrency:", 32), _row("Benchmark duration (s):", 12.345678),
    _row("Total input tokens:", 204800), _row("Total generated tokens:", 25600),
    _row("Request throughput (req/s):", 16.2), _row("Output token throughput (tok/s):", 2073.6),
    _row("Peak output token throughput (tok/s):", 2420.0), _row("Peak concurrent requests:", 40.0),
    _row("Total token throughput (tok/s):", 18662.4),
    _heading("Time to First Token", "-"), _row("Mean TTFT (ms):", 181.25), _row("Median TTFT (ms):", 176.5),
    _row("P99 TTFT (ms):", 310.75),
    _heading("Time per Output Token (excl. 1st token)", "-"), _row("Mean TPOT (ms):", 13.9),
    _row("Median TPOT (ms):", 13.75), _row("P99 TPOT (ms):", 15.5),
    _heading("Inter-token Latency", "-"), _row("Mean ITL (ms):", 13.8), _row("Median ITL (ms):", 12.9),
    _row("P99 ITL (ms):", 41.25), "=" * 50, ""])
# All requests failed: every figure is zero, and so is the exit status.
VLLM_FAILED = json.dumps({**{key: 0.0 if isinstance(value, float) else value for key, value in VLLM.items()},
                          "completed": 0, "failed": 200, "total_output_tokens": 0})

# -- SGLang ------------------------------------------------------------------------------------------------------------

SGLANG = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 32,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 1.0,
    "server_info": {"version": "0.5.0", "model_path": "Qwen/Qwen2.5-7B-Instruct"},
    "duration": 11.5, "completed": 200, "total_input_tokens": 204800, "total_input_text_tokens": 204800,
    "total_input_vision_tokens": 0, "total_output_tokens": 25600, "total_output_tokens_retokenized": 25588,
    "request_throughput": 17.4, "input_throughput": 17817.6, "output_throughput": 2227.2,
    "total_throughput": 20044.8, "mean_e2e_latency_ms": 1790.0, "median_e2e_latency_ms": 1785.5,
    "std_e2e_latency_ms": 95.0, "p90_e2e_latency_ms": 1901.0, "p99_e2e_latency_ms": 1999.0, "mean_ttft_ms": 140.0,
    "median_ttft_ms": 133.25, "std_ttft_ms": 33.0, "p99_ttft_ms": 251.0, "mean_tpot_ms": 13.0,
    "median_tpot_ms": 12.875, "std_tpot_ms": 0.4, "p99_tpot_ms": 14.0, "mean_itl_ms": 12.9, "median_itl_ms": 12.0,
    "std_itl_ms": 4.0, "p95_itl_ms": 20.0, "p99_itl_ms": 33.0, "concurrency": 31.1, "accept_length": None,
    "max_output_tokens_per_s": 2500.0, "max_concurrent_requests": 39,
}
# --output-file: each run appends a line. json.dumps() writes an infinite rate as Infinity.
SGLANG_FILE = json.dumps({**SGLANG, "output_throughput": 1111.1}) + "\n" + json.dumps(SGLANG) + "\n"
SGLANG_CONSOLE = "\n".join([
    "benchmark_args=Namespace(backend='sglang', num_prompts=200)", "#Input tokens: 204800", "#Output tokens: 25600",
    "Starting warmup with 1 sequences...", "Warmup completed with 1 sequences. Starting main benchmark run...", "",
    _heading(" Serving Benchmark Result ", "="), _row("Backend:", "sglang"), _row("Traffic request rate:", "inf"),
    _row("Max request concurrency:", 32), _row("Successful requests:", 200), _row("Benchmark duration (s):", 11.5),
    _row("Total input tokens:", 204800), _row("Total input text tokens:", 204800),
    _row("Total generated tokens:", 25600), _row("Total generated tokens (retokenized):", 25588),
    _row("Request throughput (req/s):", 17.4), _row("Input token throughput (tok/s):", 17817.6),
    _row("Output token throughput (tok/s):", 2227.2), _row("Peak output token throughput (tok/s):", 2500.0),
    _row("Peak concurrent requests:", 39), _row("Total token throughput (tok/s):", 20044.8),
    _row("Concurrency:", 31.1),
    _heading("End-to-End Latency", "-"), _row("Mean E2E Latency (ms):", 1790.0),
    _row("Median E2E Latency (ms):", 1785.5), _row("P90 E2E Latency (ms):", 1901.0),
    _row("P99 E2E Latency (ms):", 1999.0),
    _heading("Time to First Token", "-"), _row("Mean TTFT (ms):", 140.0), _row("Median TTFT (ms):", 133.25),
    _row("P99 TTFT (ms):", 251.0),
    _heading("Time per Output Token (excl. 1st token)", "-"), _row("Mean TPOT (ms):", 13.0),
    _row("Median TPOT (ms):", 12.875), _row("P99 TPOT (ms):", 14.0),
    _heading("Inter-Token Latency", "-"), _row("Mean ITL (ms):", 12.9), _row("Median ITL (ms):", 12.0),
    _row("P95 ITL (ms):", 20.0), _row("P99 ITL (ms):", 33.0), _row("Max ITL (ms):", 80.0), "=" * 50, ""])

# -- llama.cpp ---------------------------------------------------------------------------------------------------------


def _llama_test(n_prompt: int, n_gen: int, speeds: list[float]) -> dict:
    tokens = n_prompt + n_gen
    return {
        "build_commit": "0123abcd", "build_number": 6000, "cpu_info": "AMD EPYC 9354 32-Core Processor",
        "gpu_info": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "backends": "CUDA",
        "model_filename": "/models/model.gguf", "model_type": "qwen2 7B Q4_K - Medium", "model_size": 4677120000,
        "model_n_params": 7615616512, "n_batch": 2048, "n_ubatch": 512, "n_threads": 32, "cpu_mask": "0x0",
        "cpu_strict": False, "poll": 50, "type_k": "f16", "type_v": "f16", "n_gpu_layers": 99, "n_cpu_moe": 0,
        "split_mode": "layer", "main_gpu": 0, "no_kv_offload": False, "flash_attn": False, "devices": "auto",
        "tensor_split": "0.00", "tensor_buft_overrides": "none", "use_mmap": True, "embeddings": False,
        "no_op_offload": 0, "n_prompt": n_prompt, "n_gen": n_gen, "n_depth": 0, "test_time": "2026-11-30T01:02:03Z",
        "avg_ns": round(tokens * 1e9 / speeds[0]), "stddev_ns": 100000, "avg_ts": speeds[0], "stddev_ts": 1.5,
        "samples_ns": [round(tokens * 1e9 / speed) for speed in speeds], "samples_ts": speeds,
    }


LLAMA = [_llama_test(512, 0, [11250.5, 11249.0, 11252.0]), _llama_test(0, 128, [141.25, 141.0, 141.5])]
LLAMA_JSON = json.dumps(LLAMA, indent=2) + "\n"
LLAMA_JSONL = "".join(json.dumps(test) + "\n" for test in LLAMA)
LLAMA_STDERR = """\
ggml_cuda_init: GGML_CUDA_FORCE_MMQ:    no
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA RTX PRO 6000 Blackwell Server Edition, compute capability 12.0, VMM: yes
"""
LLAMA_TABLE = """\
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| qwen2 7B Q4_K - Medium         |   4.36 GiB |     7.62 B | CUDA       |  99 |           pp512 |      11250.50 ± 1.50 |
| qwen2 7B Q4_K - Medium         |   4.36 GiB |     7.62 B | CUDA       |  99 |           tg128 |        141.25 ± 0.25 |

build: 0123abcd (6000)
"""
# Only one test finished: the list is never closed.
LLAMA_KILLED = LLAMA_JSON[:LLAMA_JSON.index('"n_gen": 128')]
