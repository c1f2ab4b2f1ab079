# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet on one machine: hosts that ssh reaches on loopback, each with a planted tree of its own.

    fleet = Fleet(folder, {"h001": tree, ...})
    fleet.start(dead={"h003"}, slow={"h004": 2.0}, dying={"h005"})
    controller.play("tune_runtime.yml", fleet.inventory())
    fleet.stop()
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping

from hosts.tree import Tree

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
PORT = 20000 + os.getpid() % 10000     # so that two test runs on one machine do not meet
INETD = pathlib.Path(__file__).resolve().parent / "inetd.py"
_CONFIG = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
PasswordAuthentication no
LogLevel ERROR
PrintMotd no
PrintLastLog no
MaxSessions 100
PidFile none
"""


class Fleet:
    def __init__(self, folder: pathlib.Path, trees: Mapping[str, Tree],
                 key_exchange: str | None = "curve25519-sha256") -> None:
        """`key_exchange` is what ssh is told to use, None for its own choice, which may cost it more."""
        self.folder, self.trees = folder, dict(trees)
        self._key_exchange = f" -o KexAlgorithms={key_exchange}" if key_exchange else ""
        self._inetd: subprocess.Popen | None = None
        folder.mkdir()
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / name], check=True)
        (folder / "sshd_config").write_text(_CONFIG.format(folder=folder))
        # The path of a socket has at most 108 bytes, which the folder of a test would take up.
        self.sockets = pathlib.Path(os.environ.get("XDG_RUNTIME_DIR") or "/dev/shm", f"gpuhost-fleet-{os.getpid()}")
        self.sockets.mkdir(mode=0o700)

    @property
    def process(self) -> int:
        """The process behind the hosts, whose children are their sessions."""
        return self._inetd.pid

    @staticmethod
    def address(number: int) -> str:
        return f"127.77.{number // 250}.{number % 250 + 1}"

    def start(self, *, dead: Collection[str] = (), slow: Mapping[str, float] | None = None,
              dying: Collection[str] = (), mute: Collection[str] = ()) -> None:
        """Let the hosts answer: but the `dead`; the `slow` after seconds; the `dying` until their first change. The
        `mute` take a connection and say nothing."""
        hosts = []
        for number, (name, tree) in enumerate(self.trees.items()):
            home = self.folder / "homes" / name
            home.mkdir(parents=True, exist_ok=True)
            if name not in dead:
                hosts.append({"address": self.address(number), "tree": str(tree.root), "home": str(home),
                              "slow": None if name in mute else (slow or {}).get(name, 0), "dies": name in dying})
        spec = self.folder / "fleet.json"
        spec.write_text(json.dumps({
            "port": PORT, "sshd": SSHD, "config": f"{self.folder}/sshd_config", "hosts": hosts}))
        self._inetd = subprocess.Popen([sys.executable, str(INETD), str(spec)], stdout=subprocess.PIPE,
                                       stderr=(self.folder / "inetd.log").open("a"), start_new_session=True)
        assert self._inetd.stdout.readline() == b"ready\n", (self.folder / "inetd.log").read_text()

    def inventory(self) -> dict[str, dict]:
        return {name: {
            "ansible_connection": "ssh", "ansible_host": self.address(number), "ansible_port": PORT,
            "ansible_user": "root", "ansible_ssh_private_key_file": f"{self.folder}/key",
            "ansible_python_interpreter": "/usr/bin/python3", "gpuhost_sysroot": "/mnt",
            "ansible_ssh_common_args": "-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                                       f"-o LogLevel=ERROR{self._key_exchange}",
        } for number, name in enumerate(self.trees)}

    def environment(self) -> dict[str, str]:
        return {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.sockets), "ANSIBLE_FORKS": "10", "ANSIBLE_TIMEOUT": "30"}

    def wait_until_idle(self, seconds: float = 60) -> None:
        """Until no module runs on any host: what was started goes on when its controller is gone."""
        deadline = time.monotonic() + seconds
        while any("python" in _command(process) for process in _descendants(self._inetd.pid)):
            assert time.monotonic() < deadline, "a module does not end"
            time.sleep(0.1)

    def stop(self) -> None:
        """End every connection and the process behind the hosts; what they have on disk stays."""
        for socket in list(self.sockets.iterdir()):
            subprocess.run(["ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={socket}", "host"], check=False,
                           capture_output=True)
            socket.unlink(missing_ok=True)
        if self._inetd is not None:
            self._inetd.send_signal(signal.SIGTERM)
            self._inetd.wait(timeout=30)
            self._inetd.stdout.close()
            self._inetd = None

    def close(self) -> None:
        self.stop()
        self.sockets.rmdir()


def _descendants(root: int) -> list[int]:
    parents = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            parents[int(name)] = int(pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, new = [], [root]
    while new:
        new = [process for process, parent in parents.items() if parent in new]
        found += new
    return found


def _command(process: int) -> str:
    try:
        words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    # A session is a child of inetd.py, and looks like it, until it has become its sshd.
    return "" if any(word.endswith(b"inetd.py") for word in words) else words[0].decode()
