# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The alert rules and the dashboard of examples/monitoring ask for what is written, and Prometheus takes them."""
from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._report.prometheus import prometheus
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._watch.textfile import exposition

from audit_document import document, finding
from checkout import REPOSITORY
from requirement import need

FOLDER = REPOSITORY / "examples" / "monitoring"
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
RULES = [rule for group in yaml.safe_load((FOLDER / "gpuhost.rules.yml").read_text(encoding="utf-8"))["groups"]
         for rule in group["rules"]]


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    need(found, "promtool comes with the package prometheus of bindep.txt")
    return found


def written():
    text = prometheus(document([finding("swappiness", "fail")]), "20261129T183000Z-4f2a", 0.0) + exposition({}, {}, 0.0)
    return set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("expression", [*QUERIES, *(rule["expr"] for rule in RULES)])
def test_every_metric_that_is_asked_for_is_written(expression):
    asked = set(re.findall(r"\bgpuhost_\w+", expression))
    assert asked
    assert asked <= written()


def test_the_alerts_fire_and_do_not_fire(promtool):
    tests = REPOSITORY / "tests" / "monitoring" / "gpuhost.rules.test.yml"
    done = subprocess.run([promtool, "test", "rules", str(tests)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    named = set(re.findall(r"alertname: (\w+), exp_alerts: \[\]", tests.read_text(encoding="utf-8")))
    assert named == {rule["alert"] for rule in RULES}


def test_prometheus_parses_the_queries_of_the_dashboard(promtool, tmp_path):
    rules = [{"record": f"gpuhost:query:{number}", "expr": query.replace("$host", ".*")}
             for number, query in enumerate(QUERIES)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([promtool, "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_panels_have_their_own_ids_and_places():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in itertools.combinations([panel["gridPos"] for panel in panels], 2):
        apart = (one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
                 or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"])
        assert apart, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def test_the_dashboard_takes_any_data_source():
    used = {target["datasource"]["uid"] for panel in DASHBOARD["panels"] for target in panel["targets"]}
    assert used == {"${datasource}"}
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "host"}
