# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._checks import catalogue as checks_catalogue
from ..plugin_utils._checks import judge as checks_judge
from ..plugin_utils._expressions.errors import MissingPackage


def judge(facts: Mapping[str, Any], profile: str = "inference", checks: list[str] | None = None,
          today: str | None = None, **choices: Any) -> list[dict[str, Any]]:
    """The findings of saved facts, or of the facts in a saved audit.json; `choices` as in _checks.judge()."""
    try:
        document = untag(facts)
        catalogue = checks_catalogue.load(untag(checks or []))
        chosen = checks_catalogue.load_profile(untag(profile), catalogue)
        day = datetime.date.fromisoformat(untag(today)) if today else None
        return checks_judge.judge(document.get("facts", document), catalogue, chosen, today=day, **untag(choices))
    except (ValueError, MissingPackage) as error:
        raise AnsibleFilterError(f"gpuhost.tuning.judge: {error}") from error


class FilterModule:
    """The filter gpuhost.tuning.judge."""

    def filters(self):
        return {"judge": judge}
