# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often an experiment is right, on simulated benchmarks: the tables of docs/evidence.md ("Statistics").

    PYTHONPATH=.ansible/collections .venv/bin/python tests/benchmarks/sureness.py --experiments 2000
"""
from __future__ import annotations

import argparse
import datetime
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.blocks import complete_blocks
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._statistics.effect import _ways, critical_rank, effect

from simulated import WORLDS, World, acted_on, experiment, false_claims, gaussian, results, runs

BLOCKS = (8, 10, 12, 16, 24)
EFFECTS, NOISES = (0, 1, 2, 3, 5, 10), (0.01, 0.03, 0.1)
MOST_BLOCKS = 200       # more than a night of runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000,
                        help="for each cell of a table (default 2000), five times as many in the first")
    experiments = parser.parse_args().experiments
    print(f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, {experiments} experiments a cell, in the "
          "first table five times as many\n")
    for table in (claims_without_effect, acted_upon, coverage, power, peeking, asking_for_more):
        print(table(experiments), flush=True)


def claims_without_effect(experiments: int) -> str:
    """Rates near 5 percent need many experiments: of 10000 they are right to 0.4 percent, 19 times in 20."""
    experiments *= 5
    exact = [100 * 2 * sum(_ways(half, half)[:critical_rank(half, half)]) / math.comb(2 * half, half)
             for half in (blocks // 2 for blocks in BLOCKS)]
    rows = [["any, by the exact distribution at most", *(f"{one:.1f} %" for one in exact)]]
    for world in WORLDS.values():
        claims = [share(false_claims(world, experiments, blocks), experiments) for blocks in BLOCKS]
        rows.append([world.what, *claims])
    return table("No effect: reported as helps or hurts", ["host", *(f"{blocks} blocks" for blocks in BLOCKS)], rows)


def acted_upon(experiments: int) -> str:
    """8 changes by 2 figures: what is kept, written off or set at the end where nothing differs, and where the first
    change makes both figures 10 % more."""
    rows = []
    for world in (*WORLDS.values(), World("independent noise of 1 %", gaussian(0.01))):
        nothing = [experiment(world, seed, 12) for seed in range(experiments)]
        acted = [acted_on(document) for document in nothing]
        alone = sum(any(found["alone"] in ("helps", "hurts") for arm in document["arms"]
                        for found in arm["metrics"].values()) for document in nothing)
        found = [acted_on(experiment(world, seed, 12, percent=10)) for seed in range(experiments // 4)]
        called = sum(any(found["verdict"] in ("helps", "hurts") for arm in document["arms"]
                         for found in arm["metrics"].values()) for document in nothing)
        rows.append([world.what, share(alone, experiments), share(called, experiments),
                     share(sum(bool(one["written_off"]) for one in acted), experiments),
                     share(sum(any(one.values()) for one in acted), experiments),
                     share(sum("change0" in one["end"] for one in found), len(found))])
    return table("8 changes, 2 metrics, 12 blocks",
                 ["host", "called alone", "called", "written off", "anything done", "10 % more is found"], rows)


def coverage(experiments: int) -> str:
    rows = []
    for world in WORLDS.values():
        found = list(results(world, experiments, 12, percent=5))
        measured = [one for one in found if one["low"] is not None]
        inside = sum(one["low"] <= 5 <= one["high"] for one in measured)
        width = sorted(one["high"] - one["low"] for one in measured)[len(measured) // 2]
        verdicts = [one["verdict"] for one in found]
        rows.append([world.what, share(inside, len(measured)), f"{width:.1f} %",
                     share(verdicts.count("helps"), experiments), share(verdicts.count("hurts"), experiments)])
    return table("B 5 % higher, 12 blocks", ["host", "interval includes it", "median width", "helps", "hurts"], rows)


def power(experiments: int) -> str:
    rows = []
    for noise in NOISES:
        world = World(f"noise {noise}", gaussian(noise))
        for percent in EFFECTS:
            cells = []
            for blocks in BLOCKS:
                verdicts = [one["verdict"] for one in results(world, experiments, blocks, percent)]
                cells.append(f"{share(verdicts.count('helps'), experiments)} / "
                             f"{share(verdicts.count('no measurable effect'), experiments)}")
            rows.append([f"{noise * 100:.0f} %", f"{percent} %", *cells])
    heads = ["noise", "effect", *(f"{blocks} blocks" for blocks in BLOCKS)]
    return table("Reported as helps / as no measurable effect", heads, rows)


def peeking(experiments: int) -> str:
    """Evaluation after every second block, stopped at the first difference: what a fixed plan avoids."""
    rows = []
    for most in (12, 24, 48):
        wrong = 0
        for seed in range(experiments // 4):
            blocks = complete_blocks(runs(WORLDS["plain"], seed, most), "one", "speed")
            wrong += any(effect(blocks[:seen], "higher")["verdict"] in ("helps", "hurts")
                         for seen in range(8, most + 1, 2))
        rows.append([f"8 to {most}", share(wrong, experiments // 4)])
    return table("No effect, evaluated after every second block", ["blocks", "difference reported"], rows)


def asking_for_more(experiments: int) -> str:
    """A new experiment of the size that an inconclusive one of 8 blocks recommended."""
    rows = []
    for percent in (0, 2, 3, 5):
        asked, beyond, decided = [], 0, 0
        for seed, first in enumerate(results(WORLDS["plain"], experiments // 4, 8, percent)):
            if first["verdict"] != "inconclusive":
                continue
            asked.append(8 + first["more_blocks"])
            if asked[-1] > MOST_BLOCKS:
                beyond += 1
                continue
            again = complete_blocks(runs(WORLDS["plain"], f"again {seed}", asked[-1], percent), "one", "speed")
            decided += effect(again, "higher")["verdict"] != "inconclusive"
        rows.append([f"{percent} %", str(len(asked)), str(sorted(asked)[len(asked) // 2]),
                     share(decided, len(asked) - beyond), str(beyond)])
    return table("8 blocks with noise of 3 % were inconclusive; a new experiment with the recommended number",
                 ["effect", "inconclusive", "recommended blocks (median)", "then conclusive",
                  f"more than {MOST_BLOCKS} recommended"], rows)


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table(caption: str, head: list[str], rows: list[list[str]]) -> str:
    lines = [f"{caption}:", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


if __name__ == "__main__":
    main()
