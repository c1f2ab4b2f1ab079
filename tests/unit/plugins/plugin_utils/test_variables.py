# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._variables import options

from checkout import REPOSITORY


def taken(raw, **variables):
    """The value of the option `one`, whose variable is `raw`; a text that was rendered is marked."""
    return options("role", ["one"], {"role_one": raw, **variables}, lambda text: ("rendered", text))["one"]


@pytest.mark.parametrize("raw, variables, value", [
    ("{{ gpuhost_one | default('inference') }}", {}, "inference"),
    ("{{ gpuhost_one | default('') }}", {}, ""),
    ("{{ gpuhost_one | default([]) }}", {}, []),
    ("{{ gpuhost_one | default({}) }}", {}, {}),
    ("{{ gpuhost_one | default(false) }}", {}, False),
    ("{{ gpuhost_one | default(true) }}", {}, True),
    ("{{ gpuhost_one | default(30) }}", {}, 30),
    ("{{ gpuhost_one | default('x') }}", {"gpuhost_one": "full"}, "full"),
    ("{{ gpuhost_one | default(0) }}", {"gpuhost_one": 5}, 5),
    ("{{ gpuhost_one | default(true) }}", {"gpuhost_one": False}, False),
    ("{{ gpuhost_one | default('x') }}", {"gpuhost_one": None}, None),
    ("mine", {"gpuhost_one": "theirs"}, "mine"),
    (7, {}, 7),
])
def test_what_needs_no_template(raw, variables, value):
    found = taken(raw, **variables)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("raw, variables", [
    ("{{ gpuhost_one | default('x') }}", {"gpuhost_one": "{{ elsewhere }}"}),
    ("{{ gpuhost_one | default('x') }}", {"gpuhost_one": ["{{ elsewhere }}"]}),
    ("{{ gpuhost_one | default([]) }}", {"gpuhost_one": ["plain"]}),
    ("{{ gpuhost_one | default(other) }}", {}),
    ("{{ gpuhost_one | default('x', true) }}", {"gpuhost_one": "{% raw %}"}),
    ("{{ gpuhost_one | default('x') | upper }}", {}),
    ("{{ other_one | default('x') }}", {}),
    (["{{ gpuhost_one }}"], {}),
    ({"a": "b"}, {}),
])
def test_all_else_is_ansibles_to_render(raw, variables):
    assert taken(raw, **variables) == ("rendered", raw)


def test_an_option_without_a_variable_is_left_to_its_default():
    assert options("role", ["one", "two"], {"role_two": 2, "other_one": 1}, repr) == {"two": 2}


@pytest.mark.parametrize("role", ["audit", "tune_runtime"])
def test_the_defaults_of_these_roles_need_no_template(role):
    defaults = yaml.safe_load((REPOSITORY / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    names = [name.removeprefix(f"{role}_") for name in defaults]
    rendered = []
    assert set(options(role, names, defaults, rendered.append)) == set(names)
    assert rendered == []
