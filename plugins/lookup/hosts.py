# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = """
name: hosts
short_description: A pattern of hosts that is known to match some
version_added: 1.0.0
author:
  - gpuhost.tuning contributors (@gpuhost)
description:
  - Returns its patterns, for C(hosts) of a play, if they match a host of the inventory and of C(--limit).
  - Otherwise the play fails with a message. Ansible itself skips a play without hosts and succeeds, even if the
    inventory file does not exist.
  - With C(--syntax-check) nothing is checked, as no inventory is needed for it.
options:
  _terms:
    description: Patterns of hosts.
    type: list
    elements: str
    required: true
seealso:
  - plugin: ansible.builtin.inventory_hostnames
    plugin_type: lookup
"""

EXAMPLES = """
- name: Audit the hosts of a group
  hosts: "{{ query('gpuhost.tuning.hosts', gpuhost_hosts | default('all')) }}"
  roles:
    - role: gpuhost.tuning.audit
"""

RETURN = """
_list:
  description: The patterns as they were given.
  type: list
  elements: str
"""

from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.plugins.loader import lookup_loader
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._ansible import survey
from ..plugin_utils._ansible.play_hosts import problem
from ..plugin_utils._ansible.untag import untag


class LookupModule(LookupBase):
    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **_options: Any) -> list[Any]:
        given = [one for term in untag(terms) for one in _patterns(survey.or_default(term, []))]
        if context.CLIARGS.get("syntax"):
            return given
        limit = untag((variables or {}).get("ansible_limit"))
        found = problem(given, limit, untag(context.CLIARGS.get("inventory") or ()),
                        len(untag((variables or {}).get("groups", {})).get("all", ())),
                        lambda patterns: self._matching(patterns, variables))
        if found:
            raise AnsibleLookupError(found)
        return given

    def _matching(self, patterns: list[str], variables: dict[str, Any] | None) -> list[str]:
        names = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar)
        return names.run(patterns, variables)


def _patterns(term: Any) -> list[Any]:
    return term if isinstance(term, list) else [term]
