# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Measure with NVIDIA's nvbandwidth, if the host or container has it, instead of the driver's library.

Its JSON (json_output.cpp of github.com/NVIDIA/nvbandwidth): `nvbandwidth.testcases[]` with `name`, `status` (Passed,
Waived, Error, Not Found) and `bandwidth_matrix`, rows of strings, N/A if not measured. A row is the GPU that makes the
copy. nvbandwidth verifies its data itself and ends at the first wrong word.
"""
from __future__ import annotations

import json
import shutil
from typing import Any

from .._host.program import PATH, ProgramResult, run_program
from .._pve.exec import container_prefix
from .gpus import NotMeasurable
from .measurement import Measurement
from .parent import HUNG, Answer
from .result import HANG, HEALTHY, INCONCLUSIVE, UNSUPPORTED, WRONG_DATA, empty_pair, judged

PROGRAM = "nvbandwidth"
OF_GPU = {"host_to_device_memcpy_ce": "h2d", "device_to_host_memcpy_ce": "d2h", "device_local_copy": "d2d"}
LATENCY = "device_to_device_latency_sm"         # nanoseconds of a read
OF_PAIR = {"device_to_device_memcpy_read_ce": "read", "device_to_device_memcpy_write_ce": "write", LATENCY: "latency"}

_MIB = 1 << 20
_SHARE = 40                 # two buffers of one part in 40 each are 5%
_UNKNOWN_MEMORY_MIB = 640   # assumed if a GPU does not report it: a buffer of 16 MiB
_MARGIN = 5                 # seconds that `timeout` itself may need
_KILLED = (137, -9)
_NOT_FOUND = 127            # env(1)
_NO_LATENCY = f"{PROGRAM} does not measure the latency of copies, but of a load (load_latency_us)"
_WRONG = "Invalid value when checking the pattern"


class CaseError(ValueError):
    """A test case has no result; the message says why."""


class Nvbandwidth(Measurement):
    """Runs the test cases one after the other, each for all chosen GPUs."""

    tool = PROGRAM

    def run(self) -> None:
        """Run all test cases. Raises NotMeasurable if the program is missing."""
        prefix = self._prefix()
        memory = min(gpu["memory_mib"] or _UNKNOWN_MEMORY_MIB for gpu in self.chosen)
        buffer = max(1, min(max(self.options.sizes) // _MIB, memory // _SHARE))
        self.options = self.options._replace(sizes=[buffer * _MIB])
        if any(gpu["uuid"] is None for gpu in self.gpus.values()):
            raise NotMeasurable("the driver does not report the UUID of every GPU yet: run nvidia-smi once, or use "
                                "tool: driver")
        visible = ",".join(gpu["uuid"] for gpu in self.gpus.values())
        cases = [*OF_GPU, *(OF_PAIR if self.options.pairs and len(self.bdfs) > 1 else {})]
        if self.options.concurrent:
            self.not_measured.append({"subject": "concurrent copies", "reason": f"{PROGRAM} is not used for these: "
                                                                                "tool: driver measures them"})
        for case in cases:
            self.stop(self.watch.trouble() if self.stopped is None else None)
            if self.stopped:
                self.not_measured.append({"subject": case, "reason": self.stopped})
                continue
            argv = [*prefix, "timeout", "-s", "KILL", str(self.options.timeout), "env",
                    f"CUDA_VISIBLE_DEVICES={visible}", PROGRAM, "-j", "-b", str(buffer), "-t", case]
            self._take_case(case, run_program(argv, self.options.timeout + _MARGIN))
        if not self.hung:
            self.stop(self.watch.trouble())
        self._judge()

    def _prefix(self) -> list[str]:
        if self.options.container:
            try:
                return container_prefix(self.host, self.options.container)
            except ValueError as error:
                raise NotMeasurable(str(error)) from None
        if shutil.which(PROGRAM, path=PATH) is None:
            raise NotMeasurable(self._missing())
        return []

    def _missing(self) -> str:
        return f"{PROGRAM} is not installed {self.options.place} (in {PATH}): install it, or use tool: driver"

    def _take_case(self, case: str, result: ProgramResult | None) -> None:
        if result is None:
            raise NotMeasurable(f"no measurement {self.options.place}: the program timeout is not installed")
        problem = result.problem or ""
        if result.returncode in _KILLED or problem.startswith("timeout: "):
            self._case_hung(case, problem)
        elif result.returncode == _NOT_FOUND:
            raise NotMeasurable(self._missing())
        elif _WRONG in result.stdout + result.stderr:
            for record in self._of_case(case):
                record.update(verdict=WRONG_DATA,
                              message=f"{case}: {_WRONG.lower()}; {PROGRAM} does not report which GPU")
            self.stop(f"wrong data in {case}")
        else:
            try:
                self._put(case, read_case(result.stdout, case, len(self.bdfs)))
            except CaseError as error:
                status = f"; it ended with status {result.returncode}" if problem else ""
                self.not_measured.append({"subject": case, "reason": f"{error}{status}"})

    def _case_hung(self, case: str, problem: str) -> None:
        message = f"{PROGRAM} did not answer within {self.options.timeout} s at {case}"
        if "abandoned" in problem:
            message += "; it could not be killed and was abandoned"
        for record in self._of_case(case):
            record.update(verdict=HANG, message=message)
        self.hang(tuple(self.bdfs), Answer(HUNG, None, message))

    def _of_case(self, case: str) -> list[dict[str, Any]]:
        return list(self.gpus.values()) if case in OF_GPU else self._pairs()

    def _pairs(self) -> list[dict[str, Any]]:
        for one in self.bdfs:
            for other in self.bdfs:
                if one != other:
                    self.pairs.setdefault((one, other), empty_pair(one, other))
        return list(self.pairs.values())

    def _put(self, case: str, matrix: list[list[float | None]] | None) -> None:
        """Store the values of one case; the matrix is None if it was waived."""
        size = self.options.sizes[0]
        if case in OF_GPU:
            for place, bdf in enumerate(self.bdfs):
                self.gpus[bdf][OF_GPU[case]] = _direction(size, matrix[0][place] if matrix else None)
            return
        self._pairs()
        for (one, other), pair in self.pairs.items():
            value = matrix[self.bdfs.index(one)][self.bdfs.index(other)] if matrix else None
            if case == LATENCY:
                if pair["read"] and value is not None:
                    pair["read"]["load_latency_us"] = round(value / 1000, 2)
                continue
            direction = _direction(size, value)
            pair[OF_PAIR[case]] = direction and {**direction, "latency_us": None, "latency_why": _NO_LATENCY}
            pair["can_access"] = pair["enabled"] = value is not None

    def _judge(self) -> None:
        self.gpus = {bdf: self._judged(gpu, ("h2d", "d2h")) for bdf, gpu in self.gpus.items()}
        self.pairs = {key: self._judged(pair, ("read", "write")) for key, pair in self.pairs.items()}

    @staticmethod
    def _judged(record: dict[str, Any], wanted: tuple[str, str]) -> dict[str, Any]:
        if record["verdict"] is not None:
            return record
        if record.get("can_access") is False:
            return judged(record, UNSUPPORTED, f"{PROGRAM} measured nothing between the two: no peer access")
        missing = [name for name in wanted if record[name] is None]
        if missing:
            return judged(record, INCONCLUSIVE, f"{PROGRAM} gave no {' and no '.join(missing)}")
        rates = ", ".join(f"{name} {record[name]['gb_s']:g}" for name in wanted)
        return judged(record, HEALTHY, f"{rates} GB/s, and {PROGRAM} found no data errors")


def _direction(size: int, value: float | None) -> dict[str, Any] | None:
    return None if value is None else {
        "gb_s": value, "settled": True, "by_size": [{"bytes": size, "gb_s": value, "settled": True}]}


def read_case(text: str, case: str, gpus: int) -> list[list[float | None]] | None:
    """The matrix of one test case, rows of GB/s (latency: ns); None if it was waived. Raises CaseError."""
    try:
        document = json.loads(text[text.index("{"):])[PROGRAM]
        found = next((one for one in document.get("testcases", []) if one["name"] == case), None)
        if found is None or found["status"] != "Passed":
            if found is not None and found["status"] == "Waived":
                return None
            message = (found or {}).get("error") or document.get("error")
            raise CaseError(f"{PROGRAM} says: {found['status'] if found else 'no such test case'}"
                            f"{': ' + str(message)[:300] if message else ''}")
        matrix = [[None if cell == "N/A" else float(cell) for cell in row] for row in found["bandwidth_matrix"]]
    except CaseError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CaseError(f"the output of {PROGRAM} is not the JSON expected from its option -j") from None
    rows = 1 if case in OF_GPU else gpus
    if len(matrix) != rows or any(len(row) != gpus for row in matrix):
        raise CaseError(f"{PROGRAM} reports another number of GPUs than the {gpus} requested: list in devices only "
                        "those that it can see")
    return matrix
