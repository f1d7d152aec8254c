# SPDX-License-Identifier: GPL-2.0-or-later
"""The host lane on the kernel that runs: what else it would need is said, and nothing is rebooted unasked."""
import gzip
import json
import os
import pathlib
import re
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOOTDOWN = ROOT / "build" / "shootdown"


def shootdown(*arguments, **changes):
    return subprocess.run([SHOOTDOWN, *map(str, arguments)], capture_output=True, text=True, timeout=180, check=False, cwd=ROOT,
                          env=dict(os.environ, **changes))


@pytest.fixture
def image(tmp_path):
    """A bzImage with the release of the running kernel, which packs another build."""
    packed = gzip.compress(b"not this build")
    head = bytearray(5 * 512)   # the boot sector and four more of the setup
    struct.pack_into("<4sHxxxxxxH", head, 0x202, b"HdrS", 0x20f, 0x300 - 0x200)
    struct.pack_into("<II", head, 0x248, 0, len(packed))
    text = os.uname().release.encode() + b" (somebody) #1\0"
    head[0x300:0x300 + len(text)] = text
    path = tmp_path / "image"
    path.write_bytes(head + packed)
    return path


def records(directory):
    return [json.loads(path.read_text()) for path in sorted((directory / "records").glob("*.json"))]


def test_run_alone_says_what_could_run():
    done = shootdown("run")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 30 and "estimates" in lines[0]
    suites = json.loads(shootdown("list", "suites", "--json").stdout)
    for suite in suites:
        assert re.search(rf"^  {re.escape(suite['name'])} +\S", done.stdout, re.MULTILINE), suite["name"]
    assert re.search(r"^  smoke +\d+ (s|min)", done.stdout, re.MULTILINE)


@pytest.mark.skipif(not os.path.exists("/sys/kernel/notes"), reason="the running kernel shows no build ID")
def test_a_namesake_is_not_the_running_kernel(tmp_path, image):
    directory = tmp_path / "c"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = shootdown("run", "null", "--lane", "host", "-k", "host", "-k", f"image:{image}", "--blocks", 2, "--iterations", 1,
                     "-o", directory, **cache)
    assert done.returncode == 125
    last = done.stderr.splitlines()[-1]
    assert f"boot kernel image:{image} (" in last and f"run this again: shootdown run --resume {directory}" in last
    # What this kernel can run of the block is run, and the other block waits for its own pair.
    measured = records(directory)
    assert [(record["label"], record["block"], record["complete"]) for record in measured] == [("host", 0, True)]
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert measured[0]["facts"]["boot_id"] == boot_id
    again = shootdown("run", "--resume", directory, **cache)
    assert again.returncode == 125 and again.stderr.splitlines()[-1] == last
    assert records(directory) == measured


def test_an_image_that_is_not_whole_is_said(tmp_path, image):
    image.write_bytes(image.read_bytes()[:-4])
    done = shootdown("run", "null", "--lane", "host", "-k", f"image:{image}", "-o", tmp_path / "c", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 130 and "it is not whole" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words, status, says", [
    (["--lane", "vm", "--reboot", "kexec", "--dry-run"], 129, "boots its guests itself"),
    (["--lane", "host", "--reboot", "grub"], 129, "name kexec"),
    (["--lane", "host", "--initrd", "none"], 129, "goes with --reboot"),
    (["--lane", "host", "--reboot", "kexec", "--initrd", "/nonexistent"], 129, "/nonexistent"),
    (["--lane", "host", "--reboot", "kexec", "--pilot"], 129, "do not go together"),
])
def test_a_reboot_that_cannot_be(words, status, says):
    done = shootdown("run", "null", *words)
    assert done.returncode == status
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_restore_removes_the_unit(tmp_path):
    unit = tmp_path / "shootdown-resume.service"
    unit.write_text("[Unit]\n")
    (tmp_path / "multi-user.target.wants").mkdir()
    (tmp_path / "multi-user.target.wants" / unit.name).symlink_to(f"../{unit.name}")
    place = {"SHOOTDOWN_UNIT_DIRECTORY": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = shootdown("restore", **place)
    assert (done.returncode, done.stdout) == (0, "shootdown-resume.service removed\n")
    assert not [path for path in tmp_path.rglob("*") if path.name == unit.name]
    assert shootdown("restore", **place).stdout == "nothing to put back\n"


def test_cases_for_a_larger_machine_are_left_out(tmp_path):
    suite = tmp_path / "suite.yaml"
    suite.write_text("suite: t\nprotocol: {blocks: 1, iterations: 1, warmup: 0}\ncases:\n  - {name: fits, workload: 'null'}\n"
                     "  - {name: large, workload: known-flush, options: {siblings: 4000}}\n")
    done = shootdown("run", suite, "--lane", "host", "-o", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    assert "left out: case 'large': known-flush: --siblings 4000 needs 4001 CPUs" in done.stderr
    plan = json.loads((tmp_path / "c/plan.json").read_text())
    assert [case["name"] for case in plan["cases"]] == ["fits"]
    assert [left["case"] for left in plan["left_out"]] == ["large"]
    assert [record["outcome"] for record in records(tmp_path / "c")] == ["ok"]
