# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import builtins
import pathlib
import re

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks import catalogue
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import (
    Profile,
    asked_tunables,
    load,
    load_file,
    load_profile,
    profile_names,
    shipped,
)
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._expressions.errors import CatalogueError, MissingPackage

OWN = """
- id: my_check
  title: There are enough process ids
  topic: kernel
  priority: P2
  applies: host.derived.compute_gpus > `0`
  otherwise: there is no GPU
  actual: host.tunables."sysctl:kernel.pid_max"
  expect: {op: at_least, value: 65536, type: int}
  why: Every worker of {host.identity.hostname} has many threads.
  evidence: community
  sources: [our wiki]
  takes_effect: at_once
  fix:
    class: runtime
    tunable: sysctl:kernel.pid_max
    risk: none
    undo: sysctl kernel.pid_max=32768
"""


@pytest.fixture
def own(tmp_path):
    """A user's file of one check, with a part of its text replaced."""
    def write(old="", new="", name="mine.yml"):
        assert old in OWN
        path = tmp_path / name
        path.write_text(OWN.replace(old, new), encoding="utf-8")
        return path
    return write


def test_an_own_check_is_added_to_the_shipped_ones(own):
    path = own()
    assert [check.id for check in load([str(path)])] == [*(check.id for check in shipped()), "my_check"]
    assert load([str(path)])[-1].file == str(path)


def test_a_folder_gives_its_yaml_files_by_name(own, tmp_path):
    own("my_check", "second", "b.yml")
    own("my_check", "first", "a.yaml")
    (tmp_path / "README.md").write_text("no check")
    assert [check.id for check in load([str(tmp_path)])][-2:] == ["first", "second"]


def test_own_checks_may_ask_for_tunables_that_no_shipped_one_reads(own):
    assert asked_tunables(load_file(own())) == ["sysctl:kernel.pid_max"]


@pytest.mark.parametrize("old, new, message", [
    ("priority: P2", "prioirty: P2", "check my_check: unknown key 'prioirty': did you mean 'priority'?"),
    ("priority: P2", "priority: P5", "check my_check: priority: 'P5' is none of P0, P1, P2, info"),
    ("  priority: P2\n", "", "check my_check: the key 'priority' is missing"),
    ("  priority: P2\n", "  priority: P2\n  effect: {size: big, source: me}\n",
     "check my_check: effect.size: 'big' is none of none, small, some, large, unknown"),
    ("  priority: P2\n", "  priority: P2\n  effect: {size: some}\n",
     "check my_check: effect: the key 'source' is missing"),
    ("  priority: P2\n", "  priority: P2\n  source_links: [www.example.org]\n",
     "check my_check: source_links: 'www.example.org' is neither https://... nor PROJECT@VERSION:FILE:SYMBOL"),
    ("priority: P2", "priority: P0", "check my_check: priority: a tunable is never above P1"),
    ("priority: P2", "priority: P2\n  escalate: {priority: P0, if: host.privileged}",
     "check my_check: priority: a tunable is never above P1"),
    ("- id: my_check", "- id: 5", "check number 1: id: a number, wanted a string"),
    ("- id: my_check", "- id: on", "check number 1: id: true is a boolean. YAML reads an unquoted on, off, yes or no "
                                   "as a boolean: quote it in YAML"),
    ("otherwise: there is no GPU", "pass: fine", "check my_check: 'applies' also needs the key 'otherwise'"),
    ("compute_gpus > `0`", "compute_gpsu > `0`",
     "check my_check: applies: there is no 'compute_gpsu' in host.derived: did you mean 'compute_gpus'? "
     "(in host.derived.compute_gpsu > `0`)"),
    ("host.derived.compute_gpus > `0`", "host.derived.compute_gpus",
     "check my_check: applies: yields a number, not a boolean (in host.derived.compute_gpus)"),
    ("host.derived.compute_gpus > `0`", "lenght(host.gpus) > `0`",
     "check my_check: applies: there is no function lenght(): did you mean 'length'? (in lenght(host.gpus) > `0`)"),
    ('host.tunables."sysctl:kernel.pid_max"', 'host.sysctl."fs.file-max"',
     """check my_check: actual: there is no 'fs.file-max' in host.sysctl (in host.sysctl."fs.file-max"); for a """
     'sysctl that host_info does not read by default use host.tunables."sysctl:NAME"'),
    ("{host.identity.hostname}", "{host.identity.hostnam}",
     "check my_check: why: there is no 'hostnam' in host.identity: did you mean 'hostname'? "
     "(in host.identity.hostnam)"),
    ("{host.identity.hostname}", "{host.identity", "check my_check: why: unclosed {: write {{ for a literal brace "
                                                   "(in Every worker of {host.identity has many threads.)"),
    ("{host.identity.hostname}", "{it.bdf}", "check my_check: why: 'bdf' asked of it, which is null (in it.bdf)"),
    ("op: at_least", "op: atleast", "check my_check: expect.op: 'atleast' is none of equals, not_equals, one_of, "
                                    "none_of, at_least, at_most, matches, subset, superset, empty, not_empty, "
                                    "all_equal: did you mean 'at_least'?"),
    ("value: 65536", "value: 64k", 'check my_check: expect.value: "64k" is not an int'),
    ("value: 65536", "value: yes", "check my_check: expect.value: true is a boolean, not an int"),
    ("value: 65536, ", "", "check my_check: expect: exactly one of the keys value, from is needed"),
    ("value: 65536", "value: 65536, from: host.cpu.logical",
     "check my_check: expect: exactly one of the keys value, from is needed"),
    ("op: at_least, value: 65536", "op: empty, value: 65536",
     "check my_check: expect: the key 'value' is not allowed here"),
    ("op: at_least, value: 65536", "op: one_of, value: [65536]",
     "check my_check: fix.value: the op one_of does not determine the value to write to sysctl:kernel.pid_max: set it "
     "here"),
    ("sysctl:kernel.pid_max\n    risk", "sysfs:/sys/x\n    risk",
     "check my_check: fix.value: the op at_least does not determine the value to write to sysfs:/sys/x: set it here"),
    ("class: runtime", "class: reboot\n    how: so", "check my_check: fix: the key 'tunable' is not allowed here"),
    ("    undo: sysctl kernel.pid_max=32768\n", "", "check my_check: fix: the key 'undo' is missing"),
    ("evidence: community", "evidence: community\n  plan_if: host.gpus",
     "check my_check: plan_if: yields an array, not a boolean (in host.gpus)"),
    ("evidence: community", "evidence: community\n  plan_if: [{if: host.privileged}]",
     "check my_check: plan_if.0: the key 'otherwise' is missing"),
    ("evidence: community", "evidence: community\n  contested: {by: somebody, why: x}",
     "check my_check: contested.by: a string, wanted an array"),
    ("evidence: community", "evidence: community\n  each: host.gpus[].path[]",
     "check my_check: 'each' also needs the key 'subject'"),
    ("evidence: community", "evidence: community\n  each: host.privileged\n  subject: it",
     "check my_check: each: yields a boolean, not an array (in host.privileged)"),
    ("evidence: community", "evidence: community\n  each: host.gpus\n  subject: it.bfd",
     "check my_check: subject: there is no 'bfd' in it: did you mean 'bdf'? (in it.bfd)"),
    ("evidence: community", "evidence: community\n  each: host.gpus\n  subject: it.path",
     "check my_check: subject: yields an array, not a string (in it.path)"),
    ("  why:", "  title: again\n  why:", "line 10: the key 'title' is given twice"),
    ("  why:", "  0000:41:00.0: x\n  why:", "line 10: '0000:41:00.0' is read as 2460.0, not as text: quote it in YAML"),
    ("  why:", "  on: x\n  why:", "line 10: 'on' is read as true, not as text: quote it in YAML"),
    ("  title: There", "  title: [There", "is not YAML: while parsing a flow sequence"),
    ("- id", "id", "is not YAML:"),
    (OWN, "", "null, wanted an array"),
    (OWN, "[]", "[] should be non-empty"),
    (OWN, "[1]", "check number 1: a number, wanted an object"),
])
def test_a_mistake_is_one_message_with_file_check_and_key(own, old, new, message):
    path = own(old, new)
    with pytest.raises(CatalogueError) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("path", sorted((catalogue.FOLDER / "checks").glob("*.yml")), ids=lambda path: path.name)
def test_shipped_checks_pass_what_the_checks_of_users_must(path):
    assert load_file(path)


def test_shipped_ids_are_unique():
    ids = [check.id for check in shipped()]
    assert len(ids) == len(set(ids)) >= 36


def test_subjects_are_known_by_their_type(own):
    each = "  each: host.gpus[?vendor == '10de']\n  subject: it.bdf\n"
    path = own("  evidence: community\n", f"  evidence: community\n{each}")
    assert load_file(path)[0].subject.text == "it.bdf"


def test_a_file_that_is_not_there():
    with pytest.raises(CatalogueError, match=r"^/nowhere/x.yml: cannot be read: No such file or directory$"):
        load(["/nowhere/x.yml"])


def test_a_folder_without_checks(tmp_path):
    with pytest.raises(CatalogueError, match=r"the directory has no \.yml file"):
        load([str(tmp_path)])


def test_an_id_that_is_taken(own):
    one, two = own(), own(name="two.yml")
    with pytest.raises(CatalogueError) as caught:
        load([str(one), str(two)])
    assert str(caught.value) == (f"{two}: check my_check: id: is already used by {one}: choose another id, or change "
                                 "that check's value or priority with gpuhost_overrides")


def test_missing_jsonschema_is_one_message_that_names_it(own, monkeypatch):
    path, real = own(), builtins.__import__

    def without(name, *more, **named):
        if name == "jsonschema":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackage, match=r"package jsonschema is needed .*mine\.yml: pip install jsonschema"):
        load_file(path)


def test_missing_jmespath_is_told_when_checks_are_asked_for(monkeypatch):
    monkeypatch.setattr(catalogue, "SHIPPED", MissingPackage("jmespath", "judge"))
    with pytest.raises(MissingPackage, match="jmespath"):
        load()


# -- profiles --------------------------------------------------------------------------------------------------

@pytest.fixture
def checks(own):
    names = ("alpha", "beta", "gamma")
    return [load_file(own("my_check", name, f"{name}.yml"))[0] for name in names]


@pytest.fixture
def profile(tmp_path, checks):
    def write(text, name="mine.yml"):
        path = tmp_path / "profiles" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"name: {pathlib.Path(name).stem}\ndescription: mine\n{text}", encoding="utf-8")
        return str(path)
    return write


def test_a_profile_of_a_user(profile, checks):
    path = profile("plan: [alpha]\nleave: [beta]\nevidence: [vendor]\nvalues: {gamma: 5}\npriorities: {gamma: info}")
    assert load_profile(path, checks) == Profile(
        name="mine", description="mine", file=path, plan=frozenset(["alpha"]), leave=frozenset(["beta"]),
        evidence=frozenset(["vendor"]), values={"gamma": 5}, priorities={"gamma": "info"})


def test_a_profile_extends_another_beside_it(profile, checks):
    profile("plan: [alpha, beta]\nleave: [gamma]\nvalues: {alpha: 1, beta: 2}", "base.yml")
    found = load_profile(profile("extends: base.yml\nplan: [gamma]\nleave: [alpha]\nvalues: {beta: 3}"), checks)
    assert (found.name, found.plan, found.leave) == ("mine", {"beta", "gamma"}, {"alpha"})
    assert found.values == {"alpha": 1, "beta": 3}


def test_a_profile_may_judge_some_checks_only(profile, checks):
    base = profile("only: [alpha, beta]", "base.yml")
    assert load_profile(base, checks).only == {"alpha", "beta"}
    assert load_profile(profile("extends: base.yml\nplan: [gamma]"), checks).only == {"alpha", "beta"}
    assert load_profile(profile("extends: base.yml\nonly: [gamma]"), checks).only == {"gamma"}
    with pytest.raises(CatalogueError, match="only: there is no check 'delta'"):
        load_profile(profile("only: [delta]"), checks)


def test_a_profile_extends_a_shipped_one(profile):
    found, base = load_profile(profile("extends: inference")), load_profile("inference")
    assert (found.plan, found.values) == (base.plan, base.values)


@pytest.mark.parametrize("text, message", [
    ("plan: [alhpa]", "plan: there is no check 'alhpa': did you mean 'alpha'?"),
    ("leave: [delta]", "leave: there is no check 'delta'"),
    ("values: {alhpa: 1}", "values: there is no check 'alhpa': did you mean 'alpha'?"),
    ("values: {alpha: many}", 'check alpha: value: "many" is not an int'),
    ("priorities: {alpha: P0}", "check alpha: priority: a tunable is never above P1"),
    ("priorities: {alpha: P7}", "priorities.alpha: 'P7' is none of P0, P1, P2, info"),
    ("plans: [alpha]", "unknown key 'plans': did you mean 'plan'?"),
    ("extends: mine.yml", "extends: is circular: "),
    ("extends: inferenze", "there is no profile 'inferenze' (shipped: before_reboot, conservative, full, inference, "
                           "training_rdma; for your own use the path of its file): did you mean 'inference'?"),
])
def test_a_mistake_in_a_profile_is_one_message(profile, checks, text, message):
    path = profile(text)
    with pytest.raises(CatalogueError) as caught:
        load_profile(path, checks)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_profile_nobody_knows():
    with pytest.raises(CatalogueError) as caught:
        load_profile("conservativ")
    assert str(caught.value) == ("gpuhost_profile: there is no profile 'conservativ' (shipped: before_reboot, "
                                 "conservative, full, inference, training_rdma; for your own use the path of its "
                                 "file): did you mean 'conservative'?")
    assert profile_names() == ["before_reboot", "conservative", "full", "inference", "training_rdma"]


def test_no_expression_in_a_text_may_be_empty():
    """Nothing is shown as a dash, so that `of this boot{... || ''}` would end with one."""
    folder = pathlib.Path(catalogue.__file__).parents[1] / "catalogue" / "checks"
    found = [file.name for file in folder.glob("*.yml") if re.search(r"\|\|\s*''\s*\}", file.read_text())]
    assert found == [] and len(list(folder.glob("*.yml"))) > 15
