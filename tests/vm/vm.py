# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test guests with real kernels: check, build, up, down, status, ssh, reboot, link, inventory."""
from __future__ import annotations

import argparse
import os
import sys

from testbed import fleet
from testbed.releases import RELEASES
from testbed.settings import Unusable, require_programs


def main(argv: list[str]) -> int:
    options = _parser().parse_args(argv)
    try:
        return options.run(options) or 0
    except Unusable as why:
        print(why, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="whether guests can be booted here; says what is missing")
    check.add_argument("release", nargs="*")
    check.set_defaults(run=lambda options: fleet.require_images(options.release))

    build = commands.add_parser("build", help="build the images that are not in the cache")
    build.add_argument("release", nargs="*", help=f"{', '.join(RELEASES)}; all without one")
    build.add_argument("--missing", action="store_true", help="leave those built from these scripts")
    build.set_defaults(run=_build)

    up = commands.add_parser("up", help="boot guests and wait until they can be reached")
    up.add_argument("release", nargs="*", help="a release, or RELEASE:COUNT for several; one of each without one")
    up.add_argument("--append", default="", help="more words for the kernel command line")
    up.add_argument("--virtual", action="store_true", help="let the guests know that they are virtual machines")
    up.add_argument("--systemd", action="store_true", help="start systemd instead of a script")
    up.set_defaults(run=_up)

    down = commands.add_parser("down", help="stop guests that this checkout started")
    down.add_argument("name", nargs="*", help="all without one")
    down.set_defaults(run=lambda options: fleet.down(options.name))

    ssh = commands.add_parser("ssh", help="a shell in a guest, or one command")
    ssh.add_argument("name")
    ssh.add_argument("remote", nargs=argparse.REMAINDER)
    ssh.set_defaults(run=_ssh)

    reboot = commands.add_parser("reboot", help="press the reset button and wait")
    reboot.add_argument("name")
    reboot.set_defaults(run=lambda options: fleet.running(options.name).reboot())

    link = commands.add_parser("link", help="pull a guest's network cable, or plug it in again")
    link.add_argument("name")
    link.add_argument("state", choices=("up", "down"))
    link.set_defaults(run=_link)

    commands.add_parser("status", help="which guests run").set_defaults(run=_status)
    commands.add_parser("inventory", help="an Ansible inventory of the running guests").set_defaults(
        run=lambda options: print(fleet.inventory()))
    return parser


def _build(options: argparse.Namespace) -> None:
    require_programs()
    images = fleet.images(options.release or list(RELEASES)) if options.missing else fleet.build(options.release)
    for name, folder in images.items():
        print(f"{name}: {folder}")


def _up(options: argparse.Namespace) -> None:
    require_programs()
    guests = fleet.up(options.release, options.append, options.virtual, options.systemd)
    for guest in guests:
        record = guest.record
        print(f"{guest.name}: kernel {guest.kernel()}, {record['accelerator']}, ssh on port {record['port']}")
    print(f"inventory: {os.path.relpath(fleet.INVENTORY)}")


def _ssh(options: argparse.Namespace) -> None:
    command = fleet.running(options.name).ssh_command(*options.remote)
    os.execvp(command[0], command)


def _link(options: argparse.Namespace) -> None:
    fleet.running(options.name).monitor("set_link", name="net0", up=options.state == "up")


def _status(_options: argparse.Namespace) -> None:
    for guest in fleet.guests():
        record = guest.record
        print(f"{guest.name}: {'runs' if guest.running else 'has ended'}, process {record['pid']}, "
              f"{record['accelerator']}, ssh on port {record['port']}, boots: {guest.boots()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
