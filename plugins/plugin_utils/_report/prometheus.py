# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""gpuhost.prom: the findings of one host for the textfile collector of Prometheus' node_exporter."""
from __future__ import annotations

import functools
from typing import Any

from .._checks.findings import PRIORITIES
from .._render.text import one_line

# name, help: the text format has them before the samples.
_FINDING = ("gpuhost_finding", "1 for a finding to act on, 0 for any other; see the label verdict")
_THINGS = ("gpuhost_things", "Things to do on the host by priority; findings fixed by one action count as one thing")
_PLACES = ("gpuhost_places", "Number of places where these things have to be done")
_TIME = ("gpuhost_audit_timestamp_seconds", "Time of the audit, by the controller's clock")
_INFO = ("gpuhost_audit_info", "The audit of the findings")


def prometheus(document: dict[str, Any], run_id: str, written_at: float) -> str:
    """The text format, version 0.0.4. Every sample has the host as a label, so that a collector can read many files."""
    host = document["host"]
    lines = head(*_FINDING)
    label = _label(host)
    for finding in document["findings"]:
        to_improve = finding["verdict"] == "fail" and not finding["waived"]
        # One f-string instead of a call of sample(): there are hundreds of them.
        lines.append(f'{_FINDING[0]}{{host="{label}",check="{_label(finding["check"])}",'
                     f'subject="{_label(finding["subject"] or "")}",priority="{_label(finding["priority"])}",'
                     f'verdict="{_label(finding["verdict"])}",waived="{"yes" if finding["waived"] else "no"}"}} '
                     f'{int(to_improve)}')
    for (name, what), key in ((_THINGS, "things"), (_PLACES, "places")):
        lines += [*head(name, what), *(sample(name, document["summary"][key][priority], host=host, priority=priority)
                                       for priority in PRIORITIES)]
    lines += [*head(*_TIME), sample(_TIME[0], f"{written_at:.3f}", host=host)]
    lines += [*head(*_INFO), sample(_INFO[0], 1, host=host, profile=document["profile"], run_id=run_id)]
    return "\n".join(lines) + "\n"


def head(name: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} gauge"]


def sample(name: str, value: object, **labels: str) -> str:
    pairs = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
    return f"{name}{{{pairs}}} {value}"


# The same few texts occur hundreds of times in one file.
@functools.lru_cache(maxsize=1024)
def _label(text: str) -> str:
    return _encodable(one_line(text)).replace("\\", "\\\\").replace('"', '\\"')


def _encodable(text: str) -> str:
    # A name in an invalid encoding arrives with surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "replace").decode("utf-8")
