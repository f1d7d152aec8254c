# SPDX-License-Identifier: GPL-2.0-or-later
"""The builder on a real kernel: one base and cheap variants of it."""
import hashlib
import json
import os
import pathlib
import subprocess

import pytest

from guests import BUILD_SECONDS, SHOOTDOWN, environment

BASE = "deb:6.12"


def build(*specs, cache=None, words=()):
    more = {"XDG_CACHE_HOME": str(cache)} if cache else {}
    done = subprocess.run([SHOOTDOWN, "kernel", "build", "--json", *words, *specs], env=environment(**more), capture_output=True,
                          text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def test_base_is_resolved_and_recorded():
    [kernel] = build(BASE)
    base = kernel["identity"]["base"]
    assert kernel["spec"] == f"deb:6.12={base['version']}"
    assert base["release"].startswith("6.12.") and kernel["release"] == base["release"]
    assert digest(kernel["image"]) == kernel["identity"]["image_hash"]
    config = pathlib.Path(kernel["config"]).read_text()
    for line in ("CONFIG_NUMA_BALANCING=y", "CONFIG_IO_URING=y", "CONFIG_KALLSYMS_ALL=y", "# CONFIG_RANDOMIZE_BASE is not set"):
        assert line in config.splitlines()
    assert "=m" not in config
    [pinned] = build(f"deb:6.12={base['version']}")
    assert pinned["id"] == kernel["id"] and not pinned["built"] and pinned["seconds"] < 2


def test_variant_of_one_file_builds_one_file():
    base, variant = build(BASE, f"{BASE}+nop/one-more")
    assert variant["release"] == base["release"] and variant["id"] != base["id"]
    assert variant["identity"]["image_hash"] != base["identity"]["image_hash"]
    assert variant["identity"]["config_hash"] == base["identity"]["config_hash"]

    def banner(kernel):
        data = pathlib.Path(kernel["vmlinux"]).read_bytes()
        start = data.index(b"Linux version ")
        return data[start:data.index(b"\0", start)]
    # Equal to the letter: another banner would be another boot.
    assert banner(base) == banner(variant)
    assert b"shootdown@shootdown" in banner(base) and os.uname().nodename.encode() not in banner(base).split(b"(gcc")[0]


def test_patch_that_does_not_apply_to_a_kernel():
    done = subprocess.run([SHOOTDOWN, "kernel", "build", f"{BASE}+broken/does-not-apply"], env=environment(), capture_output=True,
                          text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 1
    for word in ("broken/does-not-apply", "0001-does-not-apply.patch", "lib/ctype.c, hunk 2 (line 36)"):
        assert word in done.stderr


def test_kernel_that_does_not_build():
    done = subprocess.run([SHOOTDOWN, "kernel", "build", f"{BASE}+broken/does-not-build"], env=environment(), capture_output=True,
                          text=True, timeout=BUILD_SECONDS, check=False)
    assert done.returncode == 1
    assert "lib/ctype.c:" in done.stderr and "this file does not build" in done.stderr


@pytest.mark.full
def test_image_of_one_key_is_the_same_from_another_directory(tmp_path):
    [here] = build(BASE)
    [there] = build(BASE, cache=tmp_path / "another-and-longer-directory")
    assert there["built"] and here["id"] == there["id"]
    for part in ("image", "vmlinux", "system_map", "config"):
        assert digest(here[part]) == digest(there[part]), part


@pytest.mark.full
@pytest.mark.parametrize("fragment", ["realistic", "debug"])
def test_fragments_come_out_as_asked(fragment):
    [kernel] = build(BASE, words=["--kconfig", fragment])
    config = pathlib.Path(kernel["config"]).read_text().splitlines()
    assert ("CONFIG_MEMCG=y" if fragment == "realistic" else "CONFIG_PROVE_LOCKING=y") in config


@pytest.mark.full
def test_ready_kernel_of_the_distribution():
    [kernel] = build("deb-image:linux-image-cloud-amd64")
    assert kernel["release"].endswith("-cloud-amd64")
    assert pathlib.Path(kernel["modules"]).name == kernel["release"]
    assert list(pathlib.Path(kernel["modules"]).rglob("virtio_net.ko*"))
