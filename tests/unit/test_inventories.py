# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventories in examples/: what they yield, and which hosts a playbook takes from them.

What Proxmox VE answers (tests/inventories/proxmox_api.json) and what the plugin makes of it (proxmox_nodes.json) are
written by hand, after the API viewer of Proxmox VE and the plugin's documentation. Where the plugin is found, its own
answer is held against the second; the Python package `ansible` has it, and so has .venv-bench.
"""
from __future__ import annotations

import http.server
import json
import pathlib
import sys
import threading

import pytest

from ansible_run import Controller
from checkout import REPOSITORY

ANSWERS = REPOSITORY / "tests" / "inventories"


@pytest.fixture
def controller(tmp_path):
    return Controller(tmp_path)


def answer(controller, *words, **variables):
    done = controller.ansible(*words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inventory(controller, source, **variables):
    found = json.loads(answer(controller, "inventory", "-i", str(source), "--list", **variables))
    for host, known in found["_meta"]["hostvars"].items():
        # Text that came from outside is marked as never to be a template; ansible_local is of ansible-core itself.
        found["_meta"]["hostvars"][host] = {
            name: value.get("__ansible_unsafe", value) if isinstance(value, dict) else value
            for name, value in known.items() if name != "ansible_local"}
    return {"_meta": {"hostvars": found.pop("_meta")["hostvars"]}, **found}


def listed(text):
    return [line.strip() for line in text.partition("hosts (")[2].splitlines()[1:] if line.strip()]


def test_the_fleet_that_is_written_down(controller):
    found = inventory(controller, REPOSITORY / "examples" / "inventory.yml")
    hosts = found["_meta"]["hostvars"]
    assert len(hosts) == 11
    assert {name: hosts[name].get("gpuhost_profile") for name in ("gpu-test-1", "gpu-rack1-04", "gpu-rack2-01",
                                                                  "gpu-train-2")} == {
        "gpu-test-1": None, "gpu-rack1-04": None, "gpu-rack2-01": "conservative", "gpu-train-2": "training_rdma"}
    assert hosts["gpu-train-1"]["ansible_user"] == "root"
    assert hosts["gpu-rack1-01"]["ansible_user"] == "ops"
    # The canary is the first batch.
    order = listed(answer(controller, "adhoc", "all", "-i", str(REPOSITORY / "examples" / "inventory.yml"),
                          "--list-hosts"))
    assert order[:2] == ["gpu-test-1", "gpu-rack1-01"]


def test_a_playbook_takes_the_nodes_of_a_cluster(controller):
    source = controller.folder / "nodes.py"
    source.write_text(f"#!{sys.executable}\nprint(open({str(ANSWERS / 'proxmox_nodes.json')!r}).read())\n")
    source.chmod(0o755)
    chosen = answer(controller, "playbook", str(REPOSITORY / "playbooks" / "audit.yml"), "-i", str(source),
                    "--list-hosts", "-e", "gpuhost_hosts=proxmox_nodes")
    assert sorted(listed(chosen)) == ["pve1", "pve2", "pve3"]


class Api(http.server.BaseHTTPRequestHandler):
    """Answers as Proxmox VE would, to whoever has the token."""

    answers = json.loads((ANSWERS / "proxmox_api.json").read_text())

    def do_GET(self):
        allowed = self.headers["Authorization"] == "PVEAPIToken=ansible@pve!inventory=secret"
        known = allowed and self.path in self.answers
        self.send_response(200 if known else 404 if allowed else 401)
        self.end_headers()
        if known:
            self.wfile.write(json.dumps({"data": self.answers[self.path]}).encode())

    def log_message(self, *_words):
        pass


@pytest.fixture
def api():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def collections():
    """A folder with ansible_collections/community/proxmox in it; a skipped test where there is none."""
    folders = [*map(pathlib.Path, sys.path), *REPOSITORY.glob(".venv-bench/lib/python*/site-packages")]
    found = [folder for folder in folders if (folder / "ansible_collections" / "community" / "proxmox").is_dir()]
    if not found:
        pytest.skip("community.proxmox is not installed: make bench has it")
    pytest.importorskip("requests")
    return found[0]


def test_the_plugin_answers_as_is_written_down(controller, api):
    known = f"{controller.folder}/collections:{collections()}"
    source = controller.folder / "cluster.proxmox.yml"
    source.write_text((REPOSITORY / "examples" / "cluster.proxmox.yml").read_text().replace(
        "https://pve1.example.org:8006", api))
    found = inventory(controller, source, ANSIBLE_COLLECTIONS_PATH=known, PROXMOX_TOKEN_SECRET="secret")
    assert found == json.loads((ANSWERS / "proxmox_nodes.json").read_text())
