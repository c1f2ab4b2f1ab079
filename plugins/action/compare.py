# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import pathlib
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils._action.guarded import GuardedAction
from ..plugin_utils._ansible.variables import check_variables
from ..plugin_utils._checks import catalogue
from ..plugin_utils._compare.compare import compare
from ..plugin_utils._compare.render import headline, markdown, terminal
from ..plugin_utils._compare.sides import file_name, sides
from ..plugin_utils._expressions.errors import CatalogueError, MissingPackage
from ..plugin_utils._records.host_folder import RecordError, shown_path, write_json, write_text

ARGUMENTS = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "report_dir": {"type": "str", "default": "reports"},
    "checks": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(GuardedAction):
    """Compare two audits on the controller; no host is contacted."""

    READS = False
    _supports_check_mode = True
    _requires_connection = False

    def act(self, tmp: str | None, task_vars: dict[str, Any]) -> dict[str, Any]:
        result = self.begin(tmp, task_vars)
        _checked, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        report_dir = str(arguments["report_dir"])
        check_variables(task_vars, self._templar.template, "compare")
        try:
            first, second = sides(report_dir, [str(name) for name in arguments["hosts"]])
            document = compare(first.document, second.document, (first.name, second.name),
                               catalogue.load([str(path) for path in arguments["checks"]]))
            paths = self._write(report_dir, document)
        except (RecordError, CatalogueError, MissingPackage) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        except (KeyError, TypeError, AttributeError) as problem:
            raise AnsibleActionFail(
                "one of the two audits was recorded by another version of this collection and cannot be compared "
                f"({problem!r}): audit the host again") from problem
        self.console.show(terminal(document, [f"{name}: {path}" for name, path in paths.items()]))
        return {**result, "changed": False, "msg": headline(document), "different": bool(document["differences"]),
                "differences": document["differences"], **paths}

    def _write(self, report_dir: str, document: dict[str, Any]) -> dict[str, str]:
        folder = pathlib.Path(os.path.abspath(os.path.expanduser(report_dir)))
        name = file_name(*(host["name"] for host in document["hosts"]))
        report, record = folder / f"{name}.md", folder / f"{name}.json"
        write_text(report, markdown(document))
        write_json(record, document)
        return {"report": shown_path(report), "record": shown_path(record)}
