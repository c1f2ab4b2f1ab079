# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex
import subprocess

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.shell_loops import fold
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

POLICY = "/sys/devices/system/cpu/cpufreq/policy"


def governors(value, numbers):
    return [f"echo {value} > {POLICY}{number}/scaling_governor" for number in numbers]


@pytest.mark.parametrize(("lines", "folded"), [
    ([], []),
    (["sysctl -w vm.swappiness=10"], ["sysctl -w vm.swappiness=10"]),
    (["modprobe nvidia_peermem"] * 2, ["modprobe nvidia_peermem"]),
    (governors("performance", range(256)),
     [f'for n in $(seq 0 255); do echo performance > "{POLICY}$n/scaling_governor"; done']),
    (governors("powersave", [0, 1, 2, 7]) + governors("schedutil", [3, 5]),
     [f'for n in $(seq 0 2) 7; do echo powersave > "{POLICY}$n/scaling_governor"; done',
      f'for n in 3 5; do echo schedutil > "{POLICY}$n/scaling_governor"; done']),
    (["setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000", "setpci -s 0000:c1:00.0 CAP_EXP+8.w=5000:7000"],
     ['for device in 0000:01:00.0 0000:c1:00.0; do setpci -s "$device" CAP_EXP+8.w=5000:7000; done']),
    # The place stands twice in a line, once as a number of its own.
    (["echo 1 > /sys/a1/b1_x", "echo 1 > /sys/a2/b2_x"], ['for n in 1 2; do echo 1 > "/sys/a$n/b${n}_x"; done']),
    # A glob and a variable of the commands' own stay what they are.
    ([f'for file in /sys/cpu*/state{n}/disable; do echo 1 > "$file"; done' for n in (2, 3)],
     ['for n in 2 3; do for file in /sys/cpu*"/state$n/disable"; do echo 1 > "$file"; done; done']),
    # Nothing is expanded within single quotes; another program is another command.
    (["sysctl -w 'a=1 2'", "sysctl -w 'a=1 3'"], ["sysctl -w 'a=1 2'", "sysctl -w 'a=1 3'"]),
    (["modprobe a", "rmmod a"], ["modprobe a", "rmmod a"]),
])
def test_lines_that_differ_in_a_place_are_one_loop(lines, folded):
    assert fold(lines) == folded


def test_many_values_are_a_list_that_is_read():
    lines = [f"echo {value} > {POLICY}{number}/scaling_max_freq"
             for number, value in enumerate((3500000, 3400000, 3300000, 3200000, 3100000))]
    assert fold(lines) == [
        f'while read -r first second; do echo "$first" > "{POLICY}$second/scaling_max_freq"; done <<\'END\'',
        "3500000 0", "3400000 1", "3300000 2", "3200000 3", "3100000 4", "END"]


WORDS = st.sampled_from(["policy0", "policy1", "policy2", "policy3", "policy10", "0000:01:00.0", "0000:c1:00.0", "9",
                         "10", "a b", "it's", "$HOME", "*", "-n", "0-3,8", "\\", '"'])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(WORDS, WORDS), max_size=12))
def test_the_loops_do_what_the_lines_do(pairs):
    lines = [f"printf '<%s>\\n' /sys/{shlex.quote(one)}/x {shlex.quote(other)}" for one, other in pairs]
    expected = sorted({f"</sys/{one}/x>\n<{other}>" for one, other in pairs})

    script = "\n".join(fold(lines)) + "\n"
    done = subprocess.run(["sh", "-eu"], input=script, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    assert sorted("\n".join(printed[at:at + 2]) for at in range(0, len(printed), 2)) == expected
