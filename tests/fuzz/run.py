#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the fuzz targets: first what is kept in corpus/NAME and the seeds that a target names, then random inputs.

usage: tests/fuzz/run.py BUILD [--seconds N] [--seed N] [--jobs N] [NAME...]

What breaks a target stays in BUILD/crashes; what is new to it in BUILD/corpus/NAME, from which the next run starts.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "fuzz"
# Beyond its seconds: for starting, and for an input that is slow under the sanitizers.
GRACE_SECONDS = 60
MEMORY_MIB = 1024
INPUT_SECONDS = 10
PROGRESS = re.compile(r"#\d+\t|INFO: |stat::|Base64: |0x[0-9a-f]{2},")


def notes(name, kind):
    """Words of the line "// KIND: WORD..." of a target's source."""
    found = re.search(rf"^// {kind}: *(.+)$", (HERE / f"fuzz-{name}.c").read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).split() if found else []


def gather_seeds(name, folder):
    paths = [path for pattern in notes(name, "seeds") for path in sorted(ROOT.glob(pattern))]
    for number, path in enumerate(paths):
        shutil.copy(path, folder / f"{number:03}-{path.name}")


def fuzz_one(build, name, seconds, seed):
    """(inputs run, None) or (inputs run, what broke)."""
    corpus, crashes = build / "corpus" / name, build / "crashes"
    corpus.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="shootdown-fuzz-", dir=memory) as scratch:
        seeds = pathlib.Path(scratch) / "seeds"
        seeds.mkdir()
        gather_seeds(name, seeds)
        kept = HERE / "corpus" / name
        words = [build / "fuzz" / name, f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={INPUT_SECONDS}",
                 f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={crashes}/{name}-", "-print_final_stats=1",
                 *notes(name, "options"), corpus, seeds, *([kept] if kept.is_dir() else [])]
        try:
            done = subprocess.run(list(map(str, words)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, timeout=seconds + GRACE_SECONDS, check=False,
                                  env=dict(os.environ, TMPDIR=scratch, XDG_STATE_HOME=scratch))
        except subprocess.TimeoutExpired:
            return 0, f"no end within {seconds + GRACE_SECONDS} s"
    said = done.stderr.decode(errors="replace")
    runs = re.search(r"^stat::number_of_executed_units: *(\d+)", said, re.MULTILINE)
    if done.returncode:
        return int(runs.group(1)) if runs else 0, "\n".join(line for line in said.splitlines() if not PROGRESS.match(line))
    # A target that ran nothing has tested nothing.
    return (int(runs.group(1)), None) if runs and int(runs.group(1)) else (0, "no input was run")


def targets(build):
    return sorted(path.name for path in (build / "fuzz").iterdir() if os.access(path, os.X_OK))


def fuzz(build, names, seconds, seed, jobs):
    """Yields (name, inputs run, None or what broke), in the order of the names."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [(name, pool.submit(fuzz_one, build, name, seconds, seed)) for name in names]
        for name, future in waiting:
            yield (name, *future.result())


def report(results):
    """Prints a line for each; (passed, failed)."""
    passed = failed = 0
    for name, runs, broken in results:
        if broken:
            failed += 1
            print(broken)
        else:
            passed += 1
        print(f"{'FAIL' if broken else 'ok':5} fuzz {name} ({runs} inputs)", flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1, help="0: another one each time")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    build = options.build.resolve()
    passed, failed = report(fuzz(build, options.names or targets(build), options.seconds, options.seed, options.jobs))
    print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
