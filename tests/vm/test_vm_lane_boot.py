# SPDX-License-Identifier: GPL-2.0-or-later
"""shootdown kernel boot: a command in a guest, with its output, its exit status, its files, and its limits."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import guests
import pytest


@pytest.fixture(scope="module", autouse=True)
def kernel():
    guests.build(guests.KERNEL)


def test_output_and_exit_status_come_back():
    done = guests.boot("--", "sh", "-c", "uname -s; echo to-stderr >&2; exit 7")
    assert done.stdout == "Linux\n"
    assert "to-stderr" in done.stderr
    assert done.returncode == 7


def test_a_signal_is_told_as_a_shell_does():
    assert guests.boot("--", "sh", "-c", "kill -SEGV $$").returncode == 128 + signal.SIGSEGV


def test_output_of_some_megabytes_is_whole():
    done = guests.boot("--", "sh", "-c", "i=0; while [ $i -lt 40 ]; do head -c 50000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("x" * 50000 + "\n") * 40


def test_cpus_nodes_and_memory():
    done = guests.boot("--cpus", "4", "--nodes", "2", "--memory", "768 MiB", "--", "sh", "-c",
                       "cat /sys/devices/system/node/node*/cpulist; grep MemTotal /proc/meminfo; dmesg | grep -c WARNING:")
    lines = done.stdout.split("\n")
    assert lines[:2] == ["0-1", "2-3"], done.stderr
    assert 650_000 < int(lines[2].split()[1]) < 768 * 1024
    assert lines[3] == "0"


def test_the_guest_is_set_up():
    done = guests.boot("--", "sh", "-c", "ip addr show lo; for d in proc sys sys/kernel/debug sys/kernel/tracing tmp run dev/pts; do "
                       "grep -q \" /$d \" /proc/mounts || echo missing $d; done")
    assert "127.0.0.1" in done.stdout and "UP" in done.stdout
    assert "missing" not in done.stdout


def test_files_travel(tmp_path):
    (tmp_path / "relative").mkdir()
    (tmp_path / "relative" / "data").write_text("one\n")
    (tmp_path / "absolute").write_text("two\n")
    done = guests.boot("--file", "relative", "--file", tmp_path / "absolute", "--", "cat", "relative/data",
                       tmp_path / "absolute", cwd=tmp_path)
    assert done.stdout == "one\ntwo\n", done.stderr


def test_a_program_among_the_files_brings_its_libraries(tmp_path):
    done = guests.boot("--file", "/usr/bin/sha256sum", "--", "sh", "-c", "/usr/bin/sha256sum --version")
    assert "coreutils" in done.stdout, done.stderr


def test_nothing_else_of_the_host_travels():
    done = guests.boot("--", "sh", "-c", "ls -a /; cat /job.json; env")
    assert done.returncode == 0
    assert str(guests.ROOT) not in done.stdout
    assert os.uname().nodename not in done.stdout.split()
    assert not {"home", "root/.ssh", "etc"} & set(done.stdout.split("\n"))


@pytest.mark.parametrize("words, says", [
    (["--", "no-such-program"], "no-such-program"),
    (["--file", "no-such-file", "--", "true"], "no-such-file"),
    (["--file", f"../{guests.ROOT.name}/Makefile", "--", "true"], "'..'"),      # it exists, and may still not travel
])
def test_what_cannot_travel(words, says):
    done = guests.boot(*words)
    assert done.returncode == 130
    assert says in done.stderr and done.stderr.count("\n") <= 2


@pytest.mark.parametrize("words", [["--cpus", "0"], ["--cpus", "x"], ["--nodes", "3"], ["--memory", "1"], ["--timeout", "5"]])
def test_wrong_limits(words):
    assert guests.boot(*words, "--", "true").returncode == 129


def test_a_command_that_does_not_end(tmp_path):
    done = guests.boot("--timeout", "3s", "--", "sh", "-c", "echo begun; sleep 1000",
                       env=guests.environment(TMPDIR=str(tmp_path)))
    assert done.returncode == 1
    assert "hang: no end within 3 s" in done.stderr
    assert done.stdout == "begun\n"
    assert not list(tmp_path.iterdir()) and not guests.processes_naming(str(tmp_path))


def test_a_guest_that_goes_away():
    done = guests.boot("--", "sh", "-c", "reboot -f; sleep 100")
    assert done.returncode == 1 and "early-exit" in done.stderr


def test_a_shell(tmp_path):
    if not shutil.which("busybox"):
        pytest.skip("busybox is not installed")
    done = guests.boot(input="echo $((6*7)); tty; exit 5\n")
    assert "\n42" in done.stdout.replace("\r", "")
    assert "/dev/tty" in done.stdout
    assert done.returncode == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_runner_that_is_stopped_leaves_no_guest(tmp_path, number):
    with subprocess.Popen([str(guests.SHOOTDOWN), "kernel", "boot", guests.KERNEL, "--", "sleep", "1000"],
                          env=guests.environment(TMPDIR=str(tmp_path)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as runner:
        assert guests.wait_for(lambda: any("qemu" in line for line in guests.processes_naming(str(tmp_path))), 60)
        runner.send_signal(number)
        runner.communicate(timeout=30)
    assert guests.wait_for(lambda: not guests.processes_naming(str(tmp_path)), 5)
    if number != signal.SIGKILL:
        assert runner.returncode == 130
        assert not list(tmp_path.iterdir())


def image_of_a_kernel():
    """Path of an image in the cache, which the fixture has filled."""
    listed = json.loads(guests.shootdown("kernel", "list", "--json").stdout)
    entry = next(entry for entry in listed if entry["architecture"] == "x86-64" and entry["release"].startswith("6.12"))
    return pathlib.Path(entry["directory"]) / "image"


def test_a_qemu_that_is_killed_is_no_fault_of_the_kernel(tmp_path):
    with subprocess.Popen([str(guests.SHOOTDOWN), "kernel", "boot", guests.KERNEL, "--", "sh", "-c", "echo alive; sleep 1000"],
                          env=guests.environment(TMPDIR=str(tmp_path)), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as runner:
        assert runner.stdout.readline() == "alive\n"
        (qemu,) = [pid for pid in guests.children_of(runner.pid)]
        os.kill(qemu, signal.SIGKILL)
        _, errors = runner.communicate(timeout=30)
    assert runner.returncode == 130
    assert "QEMU was killed by signal 9" in errors
    assert not list(tmp_path.iterdir())


def test_an_ordinary_user():
    if os.geteuid() != 0:
        pytest.skip("every other test runs as an ordinary user already")
    nobody = pwd.getpwnam("nobody")
    # What stands below a directory of root's is not for others to read: it is copied out, with the marks of a source tree.
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for source, target in [(guests.SHOOTDOWN, "build/shootdown"), (guests.BUILD / "guest/init", "build/guest/init"),
                               *((guests.ROOT / path, path) for path in ("Makefile", "workloads/workload.h", "kernels/kernel.h")),
                               (image_of_a_kernel(), "image")]:
            (tree / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / target)
        (tree / "home").mkdir()
        subprocess.run(["chown", "-R", "nobody:", folder], check=True)
        done = subprocess.run([tree / "build/shootdown", "kernel", "boot", f"image:{tree}/image", "--", "sh", "-c", "exit 3"],
                              user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd=tree, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "HOME": str(tree / "home")}, timeout=guests.BOOT_SECONDS,
                              stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 3, done.stderr


def test_a_ready_image_with_modules():
    done = guests.boot("--", "sh", "-c", "uname -r; cut -d' ' -f1 /proc/modules",
                       kernel="deb-image:linux-image-cloud-amd64", timeout=guests.BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    release, *modules = done.stdout.split()
    assert release.endswith("cloud-amd64")
    assert {"virtio_pci", "virtio_console"} <= set(modules)
