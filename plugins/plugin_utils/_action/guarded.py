# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Base class of all action plugins that contact a host: time and memory limits, and text that is safe to show.

A host's output is untrusted: its control characters are escaped in results and errors.
"""
from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from .._ansible import survey
from .._ansible.console import Console
from .._ansible.untag import untag
from .._answers import bounds
from .._answers.limits import OutOfTime, time_limit
from .._records import modes
from .._render.text import clean

_MESSAGES = ("msg", "stderr", "stdout", "module_stderr", "module_stdout", "exception")


class GuardedAction(ActionBase):
    """Subclasses define `act()` instead of `run()` and print through `self.console`; `READS` is set if they change
    nothing and have a time limit."""

    READS = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        self.console = Console()
        self.seconds = _seconds(self._variable("gpuhost_timeout", task_vars))      # to read one host
        failure: AnsibleError = AnsibleActionFail("the task ended without a result")
        try:
            modes.choose(survey.or_default(self._variable("gpuhost_report_mode", task_vars), None))
            with time_limit(self.seconds if self.READS else 0):
                result = self.act(tmp, task_vars)
                return _safe({**result, **self.console.result()})
        except AnsibleConnectionFailure as lost:
            failure = AnsibleConnectionFailure(_shown(lost))
        except AnsibleActionFail as failed:
            failure = AnsibleActionFail(_shown(failed), result=_safe(failed.result or {}))
        except ValueError as bad:
            failure = AnsibleActionFail(_shown(bad))
        except OutOfTime:
            failure = AnsibleActionFail(
                f"the host did not respond within {self.seconds:g} s (gpuhost_timeout): something on it hangs, or it "
                "is very slow. Its data was not used")
        except MemoryError:
            failure = AnsibleActionFail(f"evaluating the host's data needs more than {bounds.MEMORY_BYTES >> 20} MiB "
                                        "of memory: its data was not used")
        # Outside the handlers: Ansible shows the causes of an exception, and they contain the host's raw text.
        raise failure

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    @staticmethod
    def collect_no_garbage() -> None:
        """For actions that make many objects. A worker is a fork that runs one task: collecting garbage would touch,
        and thereby copy, all memory of ansible-playbook, up to a third of an audit's time. What is left ends with the
        worker."""
        gc.freeze()
        gc.disable()

    def begin(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        """ActionBase.run(): the initial result."""
        return super().run(tmp, task_vars)

    def validate_argument_spec(self, argument_spec: dict[str, Any] | None = None, **more: Any) -> tuple[Any, Any]:
        """Like ActionBase's, after conversion of arguments that come from a survey."""
        self._task.args = survey.arguments(untag(self._task.args), argument_spec or {})
        return super().validate_argument_spec(argument_spec=argument_spec, **more)

    def _variable(self, name: str, task_vars: dict[str, Any] | None) -> Any:
        if not task_vars or name not in task_vars:
            return None
        try:
            return untag(self._templar.template(task_vars[name]))
        except AnsibleError as error:
            raise AnsibleActionFail(f"{name} is set, but its value cannot be resolved: {_shown(error)}") from None


def failure_of(answer: Mapping[str, Any], otherwise: str) -> dict[str, Any]:
    """The result of a module that failed: its messages, each at most a screen long."""
    kept = {name: str(answer[name])[:bounds.MESSAGE] for name in _MESSAGES if answer.get(name)}
    return {"rc": answer.get("rc"), **kept, "failed": True, "msg": kept.get("msg") or otherwise}


def _safe(thing: Any) -> Any:
    """A result with every string cleaned; Ansible's own objects are kept."""
    if isinstance(thing, str):
        return thing if thing.isprintable() else clean(thing, keep_tabs=True)
    if isinstance(thing, Mapping):
        return {_safe(key): _safe(value) for key, value in thing.items()}
    return [_safe(value) for value in thing] if isinstance(thing, (list, tuple)) else thing


def _shown(error: Exception) -> str:
    return clean(str(getattr(error, "message", None) or error))[:bounds.MESSAGE * 4]


def _seconds(given: Any) -> float:
    """The number of seconds; an invalid value fails the task with a clear message instead of a ValueError."""
    if survey.is_empty(given):
        return bounds.SECONDS
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise AnsibleActionFail(f"gpuhost_timeout: wanted seconds, 0 for no limit, found {given!r}")
    return seconds
