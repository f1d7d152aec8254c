#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests of a level and closes with one line: N passed, N failed, N skipped.

usage: tests/run.py fast|check|full [--build DIR] [--sanitized DIR] [--fuzzed DIR]

fast   C units and Python tests, no kernel
check  fast, the C units again under sanitizers, some seconds of each fuzz target, and the VM tests
full   check, and the tests marked `full`
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_TIMEOUT = 120
FUZZ_SECONDS = {"check": 2, "full": 20}
RESULT = re.compile(r"^(not ok|ok) \d+ - ?(\S*)(.*)$", re.MULTILINE)


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run_unit(program, totals):
    """One cmocka program, in TAP; a program that dies counts as one failure more."""
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP")
    try:
        done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=UNIT_TIMEOUT, check=False)
        output, status = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as expired:
        output, status = (expired.stdout or b"").decode(errors="replace"), "timeout"
    results = RESULT.findall(output)
    skipped = sum(1 for verdict, _, rest in results if verdict == "ok" and "SKIP" in rest)
    passed = sum(1 for verdict, _, _ in results if verdict == "ok") - skipped
    failed = sum(1 for verdict, _, _ in results if verdict == "not ok")
    if (status != 0 and not failed) or not results:
        failed += 1
    totals.add(passed, failed, skipped)
    if failed:
        print(output)
    print(f"{'FAIL' if failed else 'ok':5} {os.path.relpath(program, ROOT)} ({passed} passed)", flush=True)


def run_units(build, totals):
    for program in sorted((build / "tests").glob("test-*")):
        if os.access(program, os.X_OK) and program.suffix == "":
            run_unit(program, totals)


def run_fuzz(build, seconds, totals):
    """Its own last line is like ours."""
    output = ""
    with subprocess.Popen([sys.executable, ROOT / "tests" / "fuzz" / "run.py", build, "--seconds", str(seconds)], text=True,
                          stdout=subprocess.PIPE, errors="replace") as fuzzing:
        for line in fuzzing.stdout:
            print(line, end="", flush=True)
            output = line
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped\n?", output)
    totals.add(*(map(int, counts.groups()) if counts else (0, 1, 0)))


def run_pytest(arguments, build, totals):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        environment = dict(os.environ, PYTHONPATH=str(ROOT), SHOOTDOWN_BUILD=str(build))
        status = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rfEs", "--durations=5", "-p", "no:cacheprovider",
                                 f"--junit-xml={report}", *arguments], cwd=ROOT, env=environment, check=False).returncode
        if not report.exists():
            totals.add(0, 1, 0)
            return
        suites = xml.etree.ElementTree.parse(report).getroot().iter("testsuite")
        counts = [[int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")] for suite in suites]
        tests, failures, errors, skipped = (sum(column) for column in zip(*counts))
        failed = failures + errors
        # pytest's 5 is "no test was selected": of a level that must have some, that is a failure.
        if status not in (0, 1) and not failed:
            failed += 1
        totals.add(max(tests - failures - errors - skipped, 0), failed, skipped)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("level", choices=["fast", "check", "full"])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sanitized", type=pathlib.Path)
    parser.add_argument("--fuzzed", type=pathlib.Path)
    options = parser.parse_args()
    totals = Totals()
    run_units(options.build, totals)
    if options.sanitized:
        run_units(options.sanitized, totals)
    if options.fuzzed:
        run_fuzz(options.fuzzed, FUZZ_SECONDS.get(options.level, 1), totals)
    # A test that boots a kernel stands in tests/vm; `full` marks what takes longer than `make check` may.
    folders = ["tests/python"] + (["tests/vm"] if options.level != "fast" else [])
    selection = {"fast": "not full and not slow", "check": "not full", "full": ""}[options.level]
    run_pytest([*folders, *(["-m", selection] if selection else [])], options.build, totals)
    print(totals)
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
