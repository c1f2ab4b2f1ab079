# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import shipped
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import Unreadable
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.expression import names
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.fact_words import fact_in_words

# What judging adds to the facts, and is always known.
NO_READING = ("host.allow_busy", "host.dedicated", "host.derived", "host.included")


@pytest.mark.parametrize("path, words", [
    ("host.kernel.log", "the kernel log of this boot (dmesg)"),
    ("host.managers.services[?service == 'x'].installed", "which services are installed and enabled (systemctl)"),
    ("host.gpus[].pcie", "PCIe registers (lspci -xxxx)"), ("it.pcie.link.width", "PCIe registers (lspci -xxxx)"),
    ('host.sysctl."vm.swappiness"', "the sysctl vm.swappiness"),
    ('host.tunables."sysfs:/sys/x.y"', "sysfs:/sys/x.y"), ("it.mine.value", "mine.value")])
def test_a_path_in_words(path, words):
    assert fact_in_words(path) == words


def of_host(check):
    expressions = [expression for _key, expression in check.expressions()]
    expressions += [expression for _key, text in check.texts() for expression in text.expressions]
    return {path for expression in expressions for path in names(expression) if path.startswith("host.")}


def test_every_fact_of_the_shipped_checks_has_words():
    paths = {path for check in shipped() for path in of_host(check)} - set(NO_READING)
    assert len(paths) > 200
    assert {path for path in paths if " " not in fact_in_words(path)} == set()


@pytest.mark.parametrize("status, why, message", [
    ("not_recorded", "the bug report does not have it",
     "no record of swap (/proc/swaps): the bug report does not have it"),
    ("denied", None, "swap (/proc/swaps) could not be read: it needs root")])
def test_messages_say_the_words(status, why, message):
    error = Unreadable(status, why=why)
    error.name = "host.memory.swap"
    assert error.message == message
