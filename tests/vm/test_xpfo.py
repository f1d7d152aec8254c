# SPDX-License-Identifier: GPL-2.0-or-later
"""The xpfo series protects, by its own self-test, and is correct, by a program that has the kernel use user pages in
every way it has. One image serves all variants but stock."""
import pathlib
import shutil
import subprocess

import guests
import pytest
import yaml

PATCHES = sorted((guests.ROOT / "kernels" / "series" / "xpfo" / "6.12").glob("*.patch"))
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
MODES = ["off", "sync", "deferred", "batched"]
# What the guest of the tests lacks, and so is skipped in it: a disk.
MAY_BE_SKIPPED = {"direct-io"}


@pytest.fixture(scope="module")
def touch_everything(tmp_path_factory):
    program = tmp_path_factory.mktemp("programs") / "touch-everything"
    subprocess.run(["cc", "-O1", "-static", "-Wall", "-Wextra", "-Werror", "-o", program,
                    PROGRAMS / "touch-everything.c"], check=True)
    return program


def run(program, kernel, *words, timeout, may_be_skipped=MAY_BE_SKIPPED, **options):
    done = guests.boot("--cpus", "2", "--nodes", "2", *words, "--timeout", f"{timeout}s", "--", program, kernel=kernel,
                       timeout=timeout + guests.BOOT_SECONDS, **options)
    results = [line.split(" ", 1) if not line.startswith("not ok ") else ["not ok", line[7:]]
               for line in done.stdout.splitlines() if line and not line.startswith("#")]
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [rest for word, rest in results if word not in ("ok", "skip")], done.stdout
    assert {rest.split(":")[0] for word, rest in results if word == "skip"} <= may_be_skipped, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def image():
    guests.build(*(f"deb:6.12+xpfo/{mode}" for mode in MODES))


@pytest.mark.parametrize("mode", MODES)
def test_protects_and_is_correct(image, touch_everything, mode):
    output = run(touch_everything, f"deb:6.12+xpfo/{mode}", timeout=300)
    assert f"# # xpfo={mode}\n" in output
    assert "ok selftest\n" in output


def meminfo(kernel, **options):
    done = guests.boot("--cpus", "2", "--nodes", "1", "--memory", "1 GiB", "--", "cat", "/proc/meminfo", kernel=kernel, **options)
    assert done.returncode == 0, done.stderr
    return {line.split(":")[0]: int(line.split()[1]) for line in done.stdout.splitlines() if line.endswith("kB")}


def test_costs_a_page_table_entry_for_each_page(image):
    """8 bytes for a page of 4 KiB: the page tables of what had been mapped by pages of 2 MiB, and nothing else."""
    off, sync = meminfo("deb:6.12+xpfo/off"), meminfo("deb:6.12+xpfo/sync")
    tables = off["DirectMap2M"] // 2048
    assert tables > 0 and sync["DirectMap2M"] == 0
    assert off["MemTotal"] - sync["MemTotal"] == pytest.approx(4 * tables, abs=64)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["sync", "deferred", "batched"])
def test_no_splat_with_debugging(touch_everything, mode):
    fragments = ["--kconfig", "fast", "--kconfig", PROGRAMS / "debug.config"]
    done = guests.shootdown("kernel", "build", f"deb:6.12+xpfo/{mode}", *fragments, timeout=guests.BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    run(touch_everything, f"deb:6.12+xpfo/{mode}", *fragments, timeout=900)


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory):
    """A series whose variants first-N have the first N patches; what to set in the environment for it."""
    folder = tmp_path_factory.mktemp("series") / "prefix"
    shutil.copytree(PATCHES[0].parent, folder / PATCHES[0].parent.name)
    series = yaml.safe_load((PATCHES[0].parents[1] / "series.yaml").read_text())
    series.update(series="prefix", options=["CONFIG_XPFO"], claims=[], variants=[series["variants"][0]] + [
        {"name": f"first-{count}", "summary": "the first patches", "patches": [patch.name for patch in PATCHES[:count]],
         "config": {"CONFIG_XPFO": "y"}, "boot-parameters": "xpfo=" + {1: "sync", 2: "deferred"}.get(count, "batched")}
        for count in range(1, len(PATCHES))])
    (folder / "series.yaml").write_text(yaml.safe_dump(series, sort_keys=False))
    return {**guests.environment(), "SHOOTDOWN_SERIES_PATH": str(folder.parent)}


@pytest.mark.full
@pytest.mark.parametrize("count", range(1, len(PATCHES)))
def test_each_patch_builds_and_boots_without_those_after_it(prefixes, touch_everything, count):
    """All of them together are the series' variants."""
    kernel = f"deb:6.12+prefix/first-{count}"
    done = guests.shootdown("kernel", "build", kernel, timeout=guests.BUILD_SECONDS, env=prefixes)
    assert done.returncode == 0, done.stderr
    run(touch_everything, kernel, timeout=300, may_be_skipped=MAY_BE_SKIPPED | {"selftest"}, env=prefixes)
    assert meminfo(kernel, env=prefixes)["DirectMap2M"] == 0        # it was on: a mode that the kernel does not know is off
