# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""host_info as one script on the standard input of the host's Python, for audits of a fleet.

An Ansible module is three times the size, and most of an audit's time on a host passes before its first line runs.
ansible-core discovers a host's Python in the same way (ansible.executor.interpreter_discovery).
"""
from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import signal
import zlib
from collections.abc import Mapping
from typing import Any

from ...module_utils._one_file.sources import gather

SOURCES = pathlib.Path(__file__).parents[2] / "module_utils"
_ENTRY = (("_facts", "collect"), ("_host", "host"), ("_facts", "packing"))
_QUOTES, _DOCSTRING, _STRING = '"""', "docstring", "string"
_TAIL = 4096            # characters at the end of the output that are searched for a reason
_ANSWER, _REFUSAL = "gpuhost-facts ", "gpuhost-error "
# For Python 3.8 and newer, standard library only, like the code it runs. The answer is one line of ASCII.
_START = f"""\
import base64, json, re, signal, sys, zlib
from importlib.machinery import ModuleSpec

# By itself the signal ends a process, also one that waits for a file system that never answers.
signal.setitimer(signal.ITIMER_REAL, OPTIONS.get("timeout") or 0)

# Without the base classes of importlib.abc, which import a dozen other modules.
class Sources:
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            return ModuleSpec(name, self, origin=name, is_package=name.count(".") < 2)
    def create_module(self, spec):
        pass
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], module.__name__, "exec", dont_inherit=True), module.__dict__)
    def get_source(self, name):
        return SOURCES[name]

# Of the two hundred patterns, reading a host needs some fifty; compiling all takes a tenth of its time.
class Pattern:
    def __init__(self, *given):
        self.given = given
    def __getattr__(self, name):
        found = getattr(compile_now(*self.given), name)
        setattr(self, name, found)
        return found

SOURCES = json.loads(zlib.decompress(base64.b64decode(PACKED)))
sys.meta_path.insert(0, Sources())
compile_now, re.compile = re.compile, Pattern
from gpuhost._facts.collect import collect
from gpuhost._facts.packing import pack
from gpuhost._host.host import Host
re.compile = compile_now
try:
    answer = "{_ANSWER}" + pack(collect(Host(OPTIONS["sysroot"]), OPTIONS["tunables"], OPTIONS["link_samples"]))
except ValueError as error:
    answer = "{_REFUSAL}" + json.dumps(str(error))
print(answer)
"""


def script(options: Mapping[str, Any]) -> str:
    """The program that reads a host with these host_info options: sysroot, tunables, link_samples and timeout."""
    return f"OPTIONS = {dict(options)!a}\nPACKED = {PACKED!r}\n{_START}"


def answer(status: int, output: str, errors: str) -> dict[str, Any]:
    """What host_info would have returned: `facts_packed`, or `failed` and `msg`."""
    # Anything before the answer was printed by the host's shell or its profile.
    start = 0 if output.startswith(_ANSWER) else output.find(f"\n{_ANSWER}") + 1
    if start or output.startswith(_ANSWER):
        end = output.find("\n", start)
        return {"facts_packed": output[start + len(_ANSWER):end if end >= 0 else None].rstrip("\r")}
    refused = _refusal(output[-_TAIL:])
    if refused is not None:
        return {"failed": True, "msg": refused}
    if status == 128 + signal.SIGALRM:
        return {"failed": True, "msg": "the host did not respond in time (gpuhost_timeout): something hangs"}
    message = (errors or output)[-_TAIL:].strip().splitlines()[-3:]
    return {"failed": True, "stderr": errors[-_TAIL:],
            "msg": f"the host could not be read, its Python ended with status {status}: "
                   f"{' / '.join(message) or 'no output'}"}


def _refusal(output: str) -> str | None:
    for line in output.splitlines():
        if line.startswith(_REFUSAL):
            with contextlib.suppress(ValueError, RecursionError):
                return str(json.loads(line[len(_REFUSAL):]))
    return None


def _pack() -> str:
    """The sources that collect() needs, compressed, as Base64."""
    sources = gather(_ENTRY, lambda room, file: (SOURCES / room / f"{file}.py").read_text(encoding="utf-8"), bare)
    return base64.b64encode(zlib.compress(json.dumps(sources).encode("ascii"), 9)).decode("ascii")


def bare(text: str) -> str:
    """A source without docstrings and comments, a third of it; line numbers stay the same for tracebacks.

    For sources in which a line that begins with triple quotes begins a docstring, or ends a string.
    """
    kept, inside = [], ""       # the string of several lines that a line begins in
    for line in text.split("\n"):
        begin = line.lstrip()
        described = inside == _DOCSTRING or (not inside and begin.startswith(_QUOTES))
        if not inside and described:
            indent = line[:-len(begin)]
            kept.append(f"{indent}pass" if indent else "")      # it may be all there is of a class
        else:
            kept.append("" if described or (not inside and begin.startswith("#")) else line)
        if line.count(_QUOTES) % 2:
            inside = "" if inside else _DOCSTRING if described else _STRING
    return "\n".join(kept)


# Made once, when the plugin is imported: Ansible's workers are forks.
PACKED = _pack()
