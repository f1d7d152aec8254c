# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the guest lanes share: the command, the kernel, and a look for what was left running."""
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build"))
SHOOTDOWN = BUILD / "shootdown"
# One base for all VM tests; another one (image:FILE) for a quick run by hand.
KERNEL = os.environ.get("SHOOTDOWN_TEST_KERNEL", "deb:6.12")
# From an empty cache the first of them builds the base.
BUILD_SECONDS = 2400
BOOT_SECONDS = 240


def environment(**more):
    return dict(os.environ, SHOOTDOWN_SERIES_PATH=str(ROOT / "tests" / "series"), NO_COLOR="1", **more)


def shootdown(*words, timeout=BOOT_SECONDS, **options):
    """Runs the command to its end; output and standard error as text."""
    options.setdefault("env", environment())
    options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
    if options["stdin"] is None:
        del options["stdin"]
    return subprocess.run([str(SHOOTDOWN), *map(str, words)], capture_output=True, text=True, timeout=timeout,
                          check=False, **options)


def build(*specs):
    done = shootdown("kernel", "build", *specs, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr


def boot(*words, kernel=KERNEL, **options):
    return shootdown("kernel", "boot", kernel, *words, **options)


def processes_naming(text):
    """Command lines of running processes that name `text`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


def children_of(pid):
    return [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def wait_for(condition, seconds):
    """True as soon as the condition holds, False when it does not within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
