# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures by name: what is asked, how it is measured, what came out."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOOTDOWN = str(ROOT / "build" / "shootdown")
FIGURES = {}


class Figure:
    def __init__(self, name, unit, at_most, at_least, text, measure, long):
        self.name, self.unit, self.at_most, self.at_least = name, unit, at_most, at_least
        self.text, self.measure, self.long = text, measure, long

    def asked(self):
        parts = []
        if self.at_least is not None:
            parts.append(f">= {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"<= {self.at_most:g}")
        return " and ".join(parts)

    def met(self, value):
        return ((self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least))


def figure(name, unit, text, at_most=None, at_least=None, long=False):
    """Registers a function that returns a number, or (number, note). `long` ones run only when they are named, or with --all."""
    def register(function):
        FIGURES[name] = Figure(name, unit, at_most, at_least, text, function, long)
        return function
    return register


@contextlib.contextmanager
def scratch():
    folder = tempfile.mkdtemp(prefix="shootdown-bench-")
    try:
        yield pathlib.Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(*arguments, accept=(0,), **options):
    """Runs to the end; the exit status must be one of `accept`. Returns (seconds, standard output)."""
    started = time.monotonic()
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, cwd=options.pop("cwd", ROOT), **options)
    seconds = time.monotonic() - started
    if done.returncode not in accept:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise RuntimeError(f"{' '.join(map(str, arguments[:4]))}: status {done.returncode}: {last[0]}")
    return seconds, done.stdout


def timed(*arguments, **options):
    """(seconds, a note with the CPU seconds): on a busy machine the former says less than the latter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, _ = run(*arguments, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, f"{used:.1f} s of CPU time, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"


def shootdown(*arguments, accept=(0,), **options):
    return run(SHOOTDOWN, *arguments, accept=accept, **options)


def median_seconds(times, *arguments, **options):
    return statistics.median(run(*arguments, **options)[0] for _ in range(times))


def records(campaign):
    return [json.loads(path.read_text()) for path in sorted(pathlib.Path(campaign, "records").glob("*.json"))]


def measured(record):
    return [iteration for iteration in record["iterations"] if not iteration["warmup"]]


def peak_memory(match, *arguments, **options):
    """Runs a command and watches the processes that `match(cmdline)` names; returns their highest resident MiB."""
    peak, done = [0.0], threading.Event()

    def watch():
        while not done.is_set():
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit():
                    continue
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes().split(b"\0")
                    if match([part.decode(errors="replace") for part in command]):
                        status = (entry / "status").read_text()
                        line = next((row for row in status.splitlines() if row.startswith("VmHWM:")), None)
                        if line:
                            peak[0] = max(peak[0], int(line.split()[1]) / 1024)
            done.wait(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        run(*arguments, **options)
    finally:
        done.set()
        thread.join()
    return peak[0]


def child_peak_memory(*arguments, **options):
    """Highest resident MiB of one program that starts no others."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    run(*arguments, **options)
    return max(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, before) / 1024


def environment(**changes):
    return dict(os.environ, **changes)
