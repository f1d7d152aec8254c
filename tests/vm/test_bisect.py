# SPDX-License-Identifier: GPL-2.0-or-later
"""shootdown bisect on a history of kernels with a planted culprit: one nop, found by the exact lane among commits that do not build
and do not boot."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from guests import BUILD_SECONDS, ROOT, shootdown

NOP = ROOT / "tests" / "series" / "nop" / "6.12" / "0001-one-more-instruction-in-switch_mm_irqs_off.patch"
# From the good end to the bad one. Both halves of the history that git tries first are commits that cannot be tested.
HISTORY = [("harmless", "a comment in mm/rmap.c"), ("harmless-too", "a comment in kernel/sched/idle.c"), ("no-build", "lib/ctype.c does not build"),
           ("no-boot", "lib/ctype.c builds again, and the kernel does not boot"), ("sound", "the kernel boots again"),
           ("culprit", "one nop more in switch_mm_irqs_off"), ("head", "another comment in mm/rmap.c")]
SUITE = """suite: planted
summary: two processes that take turns on one CPU
margin-percent: 2
default-lane: exact
lanes:
  exact: {cpus: [1], nodes: 1, memory: 256 MiB, kconfig: [fast], iterations: 1, warmup: 0, phases: 2}
  vm: {cpus: 1, nodes: 1, memory: 256 MiB, kconfig: [fast]}
cases:
  - {name: nothing, workload: 'null'}
  - {name: turns, workload: ping-pong, options: {transport: pipe, round-trips: 3000, relation: same-cpu, latency: no}}
primary:
  exact: [{case: turns, metric: 'function:switch_mm_irqs_off:instructions/call'}]
  vm: [{case: turns, metric: score}]
"""


class History:
    """A repository without a work tree: commits are made of the cache's own objects, so that no kernel source is copied."""

    def __init__(self, folder, kernel):
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shootdown" / "git"
        self.folder, self.commits = folder, {}
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{cache / 'objects'}\n")
        self.git("read-tree", kernel["identity"]["base"]["hash"])
        self.commit("base", "the package's source")

    def git(self, *words, data=None):
        # Days and names that do not change: the same commits in every run of the test.
        fixed = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER")
                 for what, text in (("NAME", "Ann Author"), ("EMAIL", "ann@shootdown.example"), ("DATE", "2026-11-01T12:00:00Z"))}
        return subprocess.run(["git", *words], cwd=self.folder, input=data, check=True, capture_output=True, text=True,
                              env=dict(os.environ, **fixed)).stdout.strip()

    def text(self, path):
        return self.git("cat-file", "blob", f"{self.commits['base']}:{path}") + "\n"

    def put(self, path, text):
        blob = self.git("hash-object", "-w", "--stdin", data=text)
        self.git("update-index", "--cacheinfo", f"100644,{blob},{path}")

    def commit(self, name, subject):
        parent = ["-p", next(reversed(self.commits.values()))] if self.commits else []
        self.commits[name] = self.git("commit-tree", self.git("write-tree"), *parent, data=f"{subject}\n")
        self.git("update-ref", "refs/heads/main", self.commits[name])


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    done = shootdown("kernel", "build", "--json", "deb:6.12", timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    made = History(tmp_path_factory.mktemp("history") / "linux", json.loads(done.stdout)[0])
    boots = made.text("init/main.c")
    marker = "static int __ref kernel_init(void *unused)\n{\n\tint ret;\n"
    assert boots.count(marker) == 1
    edits = {"harmless": lambda: made.put("mm/rmap.c", made.text("mm/rmap.c") + "/* The end. */\n"),
             "harmless-too": lambda: made.put("kernel/sched/idle.c", made.text("kernel/sched/idle.c") + "/* The end. */\n"),
             "no-build": lambda: made.put("lib/ctype.c", made.text("lib/ctype.c") + "#error \"not meant to build\"\n"),
             "no-boot": lambda: (made.put("lib/ctype.c", made.text("lib/ctype.c")),
                                 made.put("init/main.c", boots.replace(marker, marker + '\n\tpanic("not meant to boot");\n'))),
             "sound": lambda: made.put("init/main.c", boots),
             "culprit": lambda: made.git("apply", "--cached", NOP),
             "head": lambda: made.put("mm/rmap.c", made.text("mm/rmap.c") + "/* The very end. */\n")}
    for name, subject in HISTORY:
        edits[name]()
        made.commit(name, subject)
    return made


def bisect(history, folder, *words):
    suite = folder / "planted.yaml"
    suite.write_text(SUITE)
    return shootdown("bisect", "-k", f"git:{history.folder}", "--suite", suite, "--case", "turns", "-o", folder / "bisect", *words,
                     timeout=BUILD_SECONDS)


def test_the_planted_culprit_is_found(history, tmp_path):
    done = bisect(history, tmp_path, "--good", history.commits["base"], "--bad", "main", "--lane", "exact")
    assert done.returncode == 0, done.stderr
    commits = {name: commit[:12] for name, commit in history.commits.items()}
    first, evidence = done.stdout.split("tested, each against", 1)
    assert first.splitlines()[:2] == [f"first bad commit: {history.commits['culprit']}", "  one nop more in switch_mm_irqs_off"]
    assert "Ann Author, 2026-11-01" in first
    for line in (f"{commits['head']}: regressed: bad", f"{commits['no-build']}: does not build: skipped", f"{commits['no-boot']}: broken: skipped",
                 f"{commits['culprit']}: regressed: bad"):
        assert f"  {line}\n" in evidence
    assert re.search(rf"  {commits['sound']}: (unchanged|within schedule spread): good\n", evidence)
    # The comparison that says so, and which kernel is which.
    assert f"@{commits['culprit']}" in re.sub(r"\s", "", evidence) and "REGRESSED" in evidence
    assert "function:switch_mm_irqs_off:instructions/call" in evidence
    plans = {path.parent: json.loads(path.read_text()) for path in (tmp_path / "bisect").glob("*/plan.json")}
    assert all([case["name"] for case in plan["cases"]] == ["turns"] for plan in plans.values()), "only the case asked for is run"
    found = next(path for path, plan in plans.items() if plan["kernels"][1]["spec"].endswith(history.commits["culprit"]))
    answer = subprocess.run(["/usr/bin/python3", "-m", "analysis", "compare", "--json", found],
                            cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1, answer.stderr
    [exact] = json.loads(answer.stdout)["comparisons"][0]["exact"]
    [changed] = [f for f in exact["functions"] if f["function"] == "switch_mm_irqs_off"]
    more = changed["candidate"]["instructions/call"] - changed["baseline"]["instructions/call"]
    assert changed["per-call"] == "changed" and round(more, 1) == 1


@pytest.mark.full
def test_nothing_to_find_is_said(history, tmp_path):
    done = bisect(history, tmp_path, "--good", history.commits["base"], "--bad", history.commits["sound"])
    assert done.returncode == 125
    assert "does not show as worse" in done.stderr and done.stdout == ""


@pytest.mark.full
def test_the_commit_that_broke_the_boot_is_found(history, tmp_path):
    """A bad end that does not boot is what is looked for, not what is skipped; a commit between that does not build leaves two."""
    done = bisect(history, tmp_path, "--good", history.commits["base"], "--bad", history.commits["no-boot"])
    assert done.returncode == 125
    assert f"the first bad one is among 2, up to {history.commits['no-boot'][:12]}" in done.stderr


def test_ends_the_wrong_way_round(history, tmp_path):
    done = bisect(history, tmp_path, "--good", "main", "--bad", history.commits["base"])
    assert done.returncode == 129
    assert "exchange --good and --bad" in done.stderr
