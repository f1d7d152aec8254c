# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel builder on a source of two files (tests/fixtures/source), which goes through all of it in seconds."""
import difflib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build"))
SHOOTDOWN = BUILD / "shootdown"
SOURCE = ROOT / "tests/fixtures/source"

SERIES = """\
series: demo
title: a series for the tests of the builder
base: deb:6.12
architectures: [x86-64]
baseline: stock
options: [CONFIG_NUMA]
variants:
  - {name: stock, patches: []}
  - {name: changed, patches: [0001-change.patch]}
  - {name: quiet, patches: [0001-change.patch], boot-parameters: quiet}
  - {name: fails, patches: [0001-change.patch, 0002-fails.patch]}
  - {name: missing-file, patches: [0003-missing-file.patch]}
  - {name: does-not-build, patches: [0004-does-not-build.patch]}
  - {name: header, patches: [0005-header.patch]}
  - {name: configured, patches: [], config: {CONFIG_NUMA: y}}
  - {name: kconfig, patches: [0006-kconfig.patch]}
"""


def difference(path, *changes, start=()):
    """A patch of a file of the fixture. `start` changes what the patch believes to stand there."""
    before = (SOURCE / path).read_text()
    for old, new in start:
        assert old in before
        before = before.replace(old, new)
    after = before
    for old, new in changes:
        assert old in after
        after = after.replace(old, new)
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}", n=1))


PATCHES = {
    "0001-change.patch": difference("mm/rmap.c", ("return 0;", "return 1;")),
    "0002-fails.patch": difference("mm/tlb.c", ("return __FILE__;", 'return "";'), ("return nothing;", "return 0;"),
                                   start=[("return page < PAGES_AT_ONCE;", "return nothing;")]),
    "0003-missing-file.patch": difference("mm/tlb.c", ("__FILE__", '""')).replace("mm/tlb.c", "mm/nothing.c"),
    "0004-does-not-build.patch": difference("mm/tlb.c", ("PAGES_AT_ONCE", "PAGES_UNKNOWN")),
    "0005-header.patch": difference("arch/x86/include/asm/tlb.h", ("33", "34")),
    "0006-kconfig.patch": difference("Kconfig", ("config NUMA\n", 'config ADDED\n\tbool "new"\nconfig NUMA\n')),
}

MAIL = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Somebody <somebody@example.org>
Date: Mon, 1 Jan 2024 00:00:00 +0000
Subject: [PATCH {number}/2] {subject}

Why.
---
{diff}--
2.39

"""


def machine_can_build():
    probe = subprocess.run([SHOOTDOWN, "kernel", "build", f"tree:{SOURCE}"], capture_output=True, text=True, check=False,
                           env=dict(os.environ, XDG_CACHE_HOME="/proc/none"))
    return "missing here" not in probe.stderr and "no compiler" not in probe.stderr


pytestmark = pytest.mark.skipif(not machine_can_build(), reason="the programs that a kernel build needs are missing here")


class Builder:
    """shootdown with a cache, series and source of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        self.source = folder / "source"
        shutil.copytree(SOURCE, self.source)
        demo = folder / "series/demo/6.12"
        demo.mkdir(parents=True)
        (demo.parent / "series.yaml").write_text(SERIES)
        for name, text in PATCHES.items():
            (demo / name).write_text(text)
        self.fragment = folder / "own.config"
        self.fragment.write_text("CONFIG_MMU=y\n")

    @property
    def environment(self):
        return dict(os.environ, XDG_CACHE_HOME=str(self.cache), SHOOTDOWN_SERIES_PATH=str(self.folder / "series"))

    @property
    def tree(self):
        return f"tree:{self.source}"

    def arguments(self, *words):
        kconfig = [] if "--kconfig" in words else ["--kconfig", str(self.fragment)]
        return [str(SHOOTDOWN), "kernel", "build", *kconfig, *words]

    def run(self, *words, **environment):
        return subprocess.run(self.arguments(*words), env=dict(self.environment, **environment), capture_output=True, text=True,
                              timeout=120, check=False)

    def build(self, *words, **environment):
        done = self.run("--json", *words, **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refuse(self, status, *words):
        done = self.run(*words)
        assert done.returncode == status, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("shootdown: ")]
        assert len(lines) == 1, done.stderr
        return lines[0]

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.source, check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()

    def commit_source(self):
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(name="builder")
def make_builder(tmp_path):
    return Builder(tmp_path)


@pytest.fixture(name="shared", scope="module")
def make_shared(tmp_path_factory):
    """For tests that only read: the base is built once."""
    builder = Builder(tmp_path_factory.mktemp("shared"))
    builder.build(builder.tree)
    return builder


def test_builds_once_and_answers_from_the_cache(shared):
    [again] = shared.build(shared.tree)
    assert not again["built"] and again["seconds"] < 2
    assert again["release"] == "6.12.117"
    assert again["spec"] == shared.tree and again["label"] == shared.tree
    for part in ("image", "vmlinux", "system_map", "config"):
        assert os.path.getsize(again[part]) > 0
    identity = again["identity"]
    assert identity["id"] == again["id"] == identity["key"][:16]
    assert len(identity["image_hash"]) == len(identity["config_hash"]) == 64
    assert identity["base"]["release"] == "6.12.117" and identity["compiler"] and identity["linker"]
    log = pathlib.Path(again["image"]).with_name("build.log").read_text()
    assert "CC      mm/rmap.o" in log


def test_list_shows_what_stands_in_the_cache(shared):
    done = subprocess.run([SHOOTDOWN, "kernel", "list", "--json"], env=shared.environment, capture_output=True, text=True, check=True)
    assert any(kernel["base"]["source"] == shared.tree for kernel in json.loads(done.stdout))


def test_banner_names_nobody_and_no_time(shared):
    [kernel] = shared.build(shared.tree)
    image = pathlib.Path(kernel["image"]).read_bytes()
    assert image.startswith(b"Linux version 6.12.117 (shootdown@shootdown) #1 Wed Jan  1 00:00:00 UTC 2020\n")


def test_variant_rebuilds_only_what_it_changes(shared):
    [variant] = shared.build(f"{shared.tree}+demo/changed")
    assert variant["built"] and variant["identity"]["series"] == "demo" and variant["identity"]["variant"] == "changed"
    log = pathlib.Path(variant["image"]).with_name("build.log").read_text()
    assert "mm/rmap.o" in log and "mm/tlb.o" not in log
    [base] = shared.build(shared.tree)
    assert base["identity"]["image_hash"] != variant["identity"]["image_hash"]
    assert base["release"] == variant["release"]


def test_variant_without_patches_is_the_base(shared):
    [base], [stock] = shared.build(shared.tree), shared.build(f"{shared.tree}+demo/stock")
    assert stock["id"] == base["id"] and not stock["built"]


def test_boot_parameters_make_another_kernel_of_the_same_image(shared):
    [changed], [quiet] = shared.build(f"{shared.tree}+demo/changed"), shared.build(f"{shared.tree}+demo/quiet")
    assert quiet["id"] != changed["id"] and quiet["image"] == changed["image"] and not quiet["built"]
    assert quiet["identity"]["boot_parameters"] == "quiet"


def test_header_variant_has_a_tree_of_its_own(shared):
    shared.build(f"{shared.tree}+demo/header")
    trees = sorted(path.name for path in (shared.cache / "shootdown/trees").iterdir())
    assert any(name + "-headers" in trees for name in trees)


@pytest.mark.parametrize("spec, words", [
    ("demo/fails", ["demo/fails", "0002-fails.patch", "mm/tlb.c", "hunk 2 (line 12)"]),
    ("demo/missing-file", ["0003-missing-file.patch", "mm/nothing.c"]),
])
def test_patch_that_does_not_apply_is_named_and_leaves_nothing(shared, spec, words):
    before = {path: path.read_text() for path in shared.source.rglob("*.c")}
    line = shared.refuse(1, f"{shared.tree}+{spec}")
    assert all(word in line for word in words), line
    assert before == {path: path.read_text() for path in shared.source.rglob("*.c")}
    for tree in (shared.cache / "shootdown/trees").glob("*/source/mm/tlb.c"):
        assert tree.read_text() == (shared.source / "mm/tlb.c").read_text()
    [base] = shared.build(shared.tree)
    assert not base["built"]


def test_error_of_the_compiler_is_in_the_one_line(shared):
    line = shared.refuse(1, f"{shared.tree}+demo/does-not-build")
    assert "mm/tlb.c:13" in line and "PAGES_UNKNOWN" in line
    assert pathlib.Path(line.split("the log is ")[1]).exists()


def test_config_of_a_variant(shared):
    [configured] = shared.build(f"{shared.tree}+demo/configured")
    assert "CONFIG_NUMA=y" in pathlib.Path(configured["config"]).read_text()


def test_variant_may_change_only_what_its_series_names(shared):
    path = shared.folder / "series/demo/series.yaml"
    path.write_text(SERIES.replace("options: [CONFIG_NUMA]", "options: [CONFIG_NUMA, CONFIG_NUMA_BALANCING]").replace(
        "config: {CONFIG_NUMA: y}", "config: {CONFIG_NUMA_BALANCING: y}"))
    try:
        line = shared.refuse(1, f"{shared.tree}+demo/configured")
        assert "CONFIG_NUMA_BALANCING=y (is n)" in line
        path.write_text(SERIES.replace("options: [CONFIG_NUMA]", "options: []"))
        assert "CONFIG_NUMA" in shared.refuse(129, f"{shared.tree}+demo/configured")
    finally:
        path.write_text(SERIES)


def test_patch_that_changes_an_option_nobody_named(shared):
    patch = shared.folder / "series/demo/6.12/0006-kconfig.patch"
    text = patch.read_text()
    patch.write_text(text + difference("scripts/config.sh", ('value["CONFIG_NUMA_BALANCING"] = "n"\n',
                                                             'value["CONFIG_NUMA_BALANCING"] = "n"\n\t\tvalue["CONFIG_ADDED"] = "y"\n')))
    try:
        line = shared.refuse(1, f"{shared.tree}+demo/kconfig")
        assert "CONFIG_ADDED changed from n to y" in line
    finally:
        patch.write_text(text)


@pytest.mark.parametrize("fragment, words", [
    ("CONFIG_NUMA_BALANCING=y\n", ["CONFIG_NUMA_BALANCING=y (is n)"]),
    ("CONFIG_NOBODY_KNOWS=y\n", ["CONFIG_NOBODY_KNOWS=y (is unknown)"]),
])
def test_option_that_does_not_survive_is_an_error(shared, tmp_path, fragment, words):
    path = tmp_path / "wrong.config"
    path.write_text(fragment)
    line = shared.refuse(1, "--kconfig", str(path), shared.tree)
    assert all(word in line for word in words), line


def test_option_of_another_architecture_is_a_note(shared, tmp_path):
    path = tmp_path / "both.config"
    path.write_text("CONFIG_ARM64_ONLY=y\n")
    (tmp_path / "both.x86-64.config").write_text("CONFIG_X86_ONLY=y\n")
    done = shared.run("--json", "--kconfig", str(path), shared.tree)
    assert done.returncode == 0, done.stderr
    assert "CONFIG_ARM64_ONLY" in done.stderr
    [kernel] = json.loads(done.stdout)
    assert "CONFIG_X86_ONLY=y" in pathlib.Path(kernel["config"]).read_text()
    assert [fragment["name"] for fragment in kernel["identity"]["kconfig"]][1].endswith(".x86-64")


def test_later_fragment_wins_a_choice(shared, tmp_path):
    one, two = tmp_path / "one.config", tmp_path / "two.config"
    one.write_text("CONFIG_CHOICE_ONE=y\n")
    two.write_text("# needs: " + str(one) + "\n# CONFIG_CHOICE_ONE is not set\nCONFIG_CHOICE_TWO=y\n")
    [first] = shared.build("--kconfig", str(one), shared.tree)
    [second] = shared.build("--kconfig", str(two), shared.tree)
    assert "CONFIG_CHOICE_ONE=y" in pathlib.Path(first["config"]).read_text()
    assert "CONFIG_CHOICE_TWO=y" in pathlib.Path(second["config"]).read_text()
    assert len(second["identity"]["kconfig"]) == 2


def test_fragment_that_needs_itself(shared, tmp_path):
    loop = tmp_path / "loop.config"
    loop.write_text(f"# needs: {loop}\nCONFIG_MMU=y\n")
    assert "needs itself" in shared.refuse(129, "--kconfig", str(loop), shared.tree)


@pytest.mark.parametrize("spec, words", [
    ("dev:6.12", ["unknown source", "did you mean 'deb'?"]),
    ("6.12", ["did you mean 'deb:6.12'?"]),
    ("tree:", ["nothing after the colon"]),
    ("tree:/nowhere/at/all", ["/nowhere/at/all"]),
    ("tar:/nowhere.tar", ["/nowhere.tar"]),
    ("git:/nowhere@main", ["/nowhere"]),
    ("host:x", ["takes no argument"]),
    ("host+demo/stock", ["cannot be patched"]),
    ("deb:6.12+demo", ["+SERIES/VARIANT"]),
    ("deb:-o=x", ["no package is called that"]),
    ("SOURCE+dmeo/stock", ["no series 'dmeo'", "did you mean 'demo'?"]),
    ("SOURCE+demo/chnaged", ["no variant 'chnaged'", "did you mean 'changed'?"]),
    ("SOURCE+mbox:/nowhere.mbox", ["/nowhere.mbox"]),
    ("image:/etc/hostname", ["not a kernel image"]),
])
def test_bad_spec(shared, spec, words):
    line = shared.refuse(129, spec.replace("SOURCE", shared.tree))
    assert all(word in line for word in words), line


@pytest.mark.parametrize("words, answer", [
    (["--kconfig", "fats"], "did you mean 'fast'?"),
    (["--kconfig", "/nowhere.config"], "/nowhere.config"),
    (["--arch", "arm"], "did you mean 'arm64'?"),
])
def test_bad_option(shared, words, answer):
    assert answer in shared.refuse(129, *words, shared.tree)


def test_key_with_a_slip_in_series_yaml(builder):
    path = builder.folder / "series/demo/series.yaml"
    path.write_text(SERIES.replace("baseline:", "basline:"))
    line = builder.refuse(129, f"{builder.tree}+demo/stock")
    assert "basline" in line and "did you mean 'baseline'?" in line and str(path) in line


def test_edited_tree_is_another_kernel_and_the_old_one_is_kept(builder):
    [first] = builder.build(builder.tree)
    file = builder.source / "mm/tlb.c"
    text = file.read_text()
    file.write_text(text.replace("page < PAGES", "page <= PAGES"))
    [second] = builder.build(builder.tree)
    assert second["built"] and second["id"] != first["id"]
    file.write_text(text)
    (builder.source / "mm/rmap.o").write_text("left by a build of the user's")
    [third] = builder.build(builder.tree)
    assert third["id"] == first["id"] and not third["built"]
    assert len(list((builder.cache / "shootdown/trees").iterdir())) == 1


def test_new_and_deleted_files_of_a_git_tree_count(builder):
    builder.commit_source()
    [first] = builder.build(builder.tree)
    (builder.source / "mm/extra.c").write_text("int extra;\n")
    [second] = builder.build(builder.tree)
    (builder.source / "mm/extra.c").unlink()
    [third] = builder.build(builder.tree)
    assert second["id"] != first["id"] == third["id"]


def test_git_reference_and_range(builder):
    first = builder.commit_source()
    marker = builder.folder / "hook-ran"
    for name in ("post-checkout", "pre-commit", "post-index-change", "applypatch-msg", "reference-transaction"):
        hook = builder.source / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    commits = []
    for number in (34, 35):
        header = builder.source / "arch/x86/include/asm/tlb.h"
        header.write_text(f"#define PAGES_AT_ONCE {number}\n")
        subprocess.run(["git", "-c", "core.hooksPath=/dev/null", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "x"],
                       cwd=builder.source, check=True)
        commits.append(subprocess.run(["git", "rev-parse", "HEAD"], cwd=builder.source, check=True, capture_output=True,
                                      text=True).stdout.strip())
    marker.unlink(missing_ok=True)
    repository = f"git:{builder.source}"
    kernels = builder.build(f"{repository}@{first}..main+demo/changed")
    assert [kernel["identity"]["base"]["version"] for kernel in kernels] == commits
    assert kernels[0]["label"] == f"{repository}@{commits[0][:12]}+demo/changed"
    assert len({kernel["identity"]["image_hash"] for kernel in kernels}) == 2
    # One tree for all commits of a repository: a bisection builds only what differs.
    assert len(list((builder.cache / "shootdown/trees").iterdir())) == 1
    [head] = builder.build(repository)
    assert head["spec"] == f"{repository}@{commits[-1]}"
    assert not marker.exists()
    assert "did you mean 'main'?" in builder.refuse(129, f"{repository}@mian")
    assert "holds no commit" in builder.refuse(129, f"{repository}@main..{first}")


def test_archive_is_the_same_kernel_as_its_tree(builder):
    archive = builder.folder / "linux.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(SOURCE, arcname="linux-6.12.117")
    [packed], [plain] = builder.build(f"tar:{archive}"), builder.build(builder.tree)
    assert packed["identity"]["base"]["hash"] == plain["identity"]["base"]["hash"]
    assert packed["id"] == plain["id"]
    [again] = builder.build(f"tar:{archive}")
    assert not again["built"] and again["seconds"] < 2


def archive_with(path, entries):
    with tarfile.open(path, "w") as tar:
        for name, kind, data in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(data) if kind == tarfile.REGTYPE else 0
            if kind in (tarfile.LNKTYPE, tarfile.SYMTYPE):
                entry.linkname = data.decode()
            tar.addfile(entry, io.BytesIO(data) if kind == tarfile.REGTYPE else None)


@pytest.mark.parametrize("entries, word", [
    ([("../evil", tarfile.REGTYPE, b"x")], "unsafe name"),
    ([("linux/.git/config", tarfile.REGTYPE, b"x")], "unsafe name"),
    ([("/etc/passwd", tarfile.REGTYPE, b"x")], "unsafe name"),
    ([("linux/a\nM 100644 inline b", tarfile.REGTYPE, b"x")], "unsafe name"),
    ([("linux/a", tarfile.REGTYPE, b"x"), ("linux/b", tarfile.LNKTYPE, b"linux/a")], "linux/b"),
    ([("linux/device", tarfile.CHRTYPE, b"")], "linux/device"),
    ([("linux/README", tarfile.REGTYPE, b"x")], "not the source of a kernel"),
])
def test_hostile_archive_is_refused(builder, entries, word):
    path = builder.folder / "hostile.tar"
    archive_with(path, entries)
    assert word in builder.refuse(129, f"tar:{path}")
    assert not (builder.folder / "evil").exists()


@pytest.mark.parametrize("data", [b"", b"this is no archive" * 100])
def test_file_that_is_no_archive(builder, data):
    path = builder.folder / "no.tar"
    path.write_bytes(data)
    assert str(path) in builder.refuse(129, f"tar:{path}")


def test_archive_that_is_cut_short(builder):
    whole, cut = builder.folder / "whole.tar.xz", builder.folder / "cut.tar.xz"
    with tarfile.open(whole, "w:xz") as tar:
        tar.add(SOURCE, arcname="linux")
    cut.write_bytes(whole.read_bytes()[:-600])
    assert str(cut) in builder.refuse(129, f"tar:{cut}")


def test_mbox_of_two_mails(builder):
    mbox = builder.folder / "two.mbox"
    mbox.write_text(MAIL.format(number=1, subject="first", diff=PATCHES["0001-change.patch"]) +
                    MAIL.format(number=2, subject="second", diff=PATCHES["0005-header.patch"]))
    [kernel] = builder.build(f"{builder.tree}+mbox:{mbox}")
    assert kernel["identity"]["layers"][0]["patches"][0]["name"] == "two.mbox"
    [stacked] = builder.build(f"{builder.tree}+demo/changed+demo/header")
    assert stacked["identity"]["image_hash"] == kernel["identity"]["image_hash"]
    mbox.write_text(MAIL.format(number=1, subject="first", diff=PATCHES["0001-change.patch"]) +
                    MAIL.format(number=2, subject="the second", diff=PATCHES["0002-fails.patch"]))
    line = builder.refuse(1, f"{builder.tree}+mbox:{mbox}")
    assert "two.mbox" in line and "the second" in line and "mm/tlb.c, hunk 2 (line 12)" in line


def test_path_with_a_plus(builder):
    odd = builder.folder / "linux+demo"
    shutil.copytree(SOURCE, odd / "stock")
    [kernel] = builder.build(f"tree:{odd}/stock")
    assert kernel["spec"] == f"tree:{odd}/stock" and kernel["identity"]["layers"] == []


def test_image_is_the_same_from_another_directory(builder, tmp_path_factory):
    other = Builder(tmp_path_factory.mktemp("a-much-longer-name-of-a-directory"))
    spec = "+demo/changed"
    [here], [there] = builder.build(builder.tree + spec), other.build(other.tree + spec)
    assert here["image"] != there["image"]
    for part in ("image", "vmlinux", "config"):
        assert pathlib.Path(here[part]).read_bytes() == pathlib.Path(there[part]).read_bytes()


def can_unshare():
    return subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_unshare(), reason="this machine allows no network namespace")
def test_build_has_no_network(builder):
    makefile = builder.source / "Makefile"
    makefile.write_text(makefile.read_text().replace("@echo '  LD      $@'", "@cat /proc/net/dev"))
    [kernel] = builder.build(builder.tree)
    log = pathlib.Path(kernel["image"]).with_name("build.log").read_text()
    assert re.findall(r"^ *(\S+): +\d+ +\d+", log, re.MULTILINE) == ["lo"]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become an ordinary user")
def test_ordinary_user_builds(shared):
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*words, "test", "-x", SHOOTDOWN, "-a", "-r", SOURCE / "Makefile"], check=False).returncode:
            pytest.skip("the build directory is not readable for others")
        fragment = pathlib.Path(folder) / "own.config"
        fragment.write_text("CONFIG_MMU=y\n")
        done = subprocess.run([*words, SHOOTDOWN, "kernel", "build", "--json", "--kconfig", fragment, f"tree:{SOURCE}"],
                              env=dict(os.environ, HOME=folder, XDG_CACHE_HOME=folder, CCACHE_DIR=f"{folder}/ccache"),
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        [mine], [root] = json.loads(done.stdout), shared.build(shared.tree)
        assert mine["identity"]["image_hash"] == root["identity"]["image_hash"]


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_stopped_build_goes_on(builder, number, status):
    environment = dict(builder.environment, FIXTURE_SLEEP="3")
    process = subprocess.Popen(builder.arguments(builder.tree), env=environment, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any("CC " in log.read_text() for log in builder.cache.rglob("*.log")))
    process.send_signal(number)
    errors = process.communicate(timeout=30)[1]
    assert process.returncode == status, errors
    if number == signal.SIGINT:
        assert "interrupted" in errors
    kernels = builder.cache / "shootdown/kernels"
    assert not kernels.exists() or not [path for path in kernels.iterdir() if not path.name.endswith(".partial")]
    [kernel] = builder.build(builder.tree)
    assert kernel["built"]


def test_stale_locks_of_git_do_not_stop_a_build(builder):
    builder.build(builder.tree)
    [tree] = (builder.cache / "shootdown/trees").iterdir()
    (tree / "index.lock").write_text("")
    (builder.cache / "shootdown/git/index-patches.lock").write_text("")
    for index in list((builder.cache / "shootdown/git/indexes").iterdir()):
        pathlib.Path(str(index) + ".lock").write_text("")
    [kernel] = builder.build(f"{builder.tree}+demo/changed")
    assert kernel["built"]


def test_two_builds_at_once(builder):
    environment = dict(builder.environment, FIXTURE_SLEEP="2")
    first = subprocess.Popen(builder.arguments("--json", builder.tree), env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    wait_for(lambda: any("CC " in log.read_text() for log in builder.cache.rglob("*.log")))
    second = subprocess.Popen(builder.arguments("--json", builder.tree, f"{builder.tree}+demo/changed"), env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    assert first.returncode == second.returncode == 0, outputs
    assert f"pid {first.pid}, kernel build {builder.tree}" in outputs[1][1]
    [one], [same, other] = (json.loads(output[0]) for output in outputs)
    assert one["id"] == same["id"] != other["id"]
    assert one["identity"]["image_hash"] == same["identity"]["image_hash"]


def test_cache_that_cannot_be_written(builder):
    builder.cache = pathlib.Path("/proc/none")
    assert "XDG_CACHE_HOME" in builder.refuse(130, builder.tree)


@pytest.mark.skipif(os.geteuid() != 0 or not can_unshare(), reason="only root can mount a small disk")
def test_full_disk_is_one_line_and_leaves_no_kernel(builder):
    script = 'mount -t tmpfs -o size=300k none "$1" && shift && exec "$@"'
    builder.cache.mkdir()
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", builder.cache, *builder.arguments(builder.tree)],
                          env=builder.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "make room" in done.stderr.splitlines()[-1]
