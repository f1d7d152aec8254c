#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kills runners, emulators and workloads at random moments of short campaigns, resumes, and counts what was lost, wrong or left.

usage: tests/soak.py [--kills N] [--seed N] [--lanes host,vm] [--keep]
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build"))
KERNEL = os.environ.get("SHOOTDOWN_TEST_KERNEL", "deb:6.12")
# A campaign gets at most so many kills before it may end.
KILLS_EACH = 4
END_SECONDS = 300
# The supervisor of a workload may take 3 s to stop a workload in order.
GONE_SECONDS = 10
ITERATIONS, WARMUP = 2, 1
SYSCTL = "/proc/sys/kernel/printk_ratelimit_burst"
POLICY = "/sys/kernel/mm/transparent_hugepage/enabled"

FLUSHES, UNITS, ARCHIVE = 300, 6, 6
SMALL_BUILD = f"{{units: {UNITS}, archive: {ARCHIVE}, headers: 4, lookups: 4, heap: 256 KiB, text: 1 MiB, compute: 1000}}"
HOST_SUITE = """\
suite: soak-host
protocol: {{blocks: 2, iterations: {iterations}, warmup: {warmup}}}
cases:
  - {{name: flush, workload: known-flush, options: {{flushes: {flushes}, siblings: {siblings}}}{settings}}}
  - {{name: build, workload: fork-exec-make, options: {small_build}}}
  - {{name: cow, workload: anon-cow-rand-mt, options: {{size: 4 MiB, threads: 2, stores: 200000{policy}}}}}
"""
# One CPU: a shootdown between two that wait for the host's scheduler takes minutes on a busy machine.
VM_SUITE = """\
suite: soak-vm
protocol: {{blocks: 2, iterations: {iterations}, warmup: {warmup}}}
kernels: ["{kernel}"]
lanes: {{vm: {{cpus: 1, memory: 256 MiB}}}}
cases:
  - {{name: flush, workload: known-flush, options: {{flushes: {flushes}, siblings: 0}}}}
  - {{name: build, workload: fork-exec-make, options: {small_build}}}
"""
# Operations of an iteration, by case: what it must have done whatever happened to its neighbours.
OPERATIONS = {"flush": FLUSHES, "build": UNITS + UNITS // ARCHIVE + 1}


def suite_text(lane):
    values = {"iterations": ITERATIONS, "warmup": WARMUP, "flushes": FLUSHES, "small_build": SMALL_BUILD, "kernel": KERNEL,
              "siblings": min(1, len(os.sched_getaffinity(0)) - 1),
              "settings": ', settings: {"sysctl kernel.printk_ratelimit_burst": 7}' if os.access(SYSCTL, os.W_OK) else "",
              "policy": ", thp: always" if os.access(POLICY, os.W_OK) else ""}
    return {"host": HOST_SUITE, "vm": VM_SUITE}[lane].format(**values)


def read(path):
    with contextlib.suppress(OSError):
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def parents():
    """{pid: parent} of all processes."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = read(entry / "stat").rpartition(")")[2].split()
            if len(fields) > 1 and fields[0] != "Z":
                found[int(entry.name)] = int(fields[1])
    return found


def descendants(pid):
    """Of a process, nearest first."""
    table, found = parents(), []
    level = [pid]
    while level:
        level = [child for child, parent in table.items() if parent in level]
        found += level
    return found


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Campaign:
    """One campaign in a place of its own: whatever it starts carries the place in its environment."""

    def __init__(self, place, lane):
        self.place, self.lane = place, lane
        self.directory, self.temporary, self.state = place / "campaign", place / "tmp", place / "state"
        self.suite = place / "soak.yaml"
        self.temporary.mkdir(parents=True)
        text = suite_text(lane)
        self.suite.write_text(text)
        self.cases = text.count("workload:")
        self.settings = {path: read(path) for path in (SYSCTL, POLICY)}
        self.complete = {}
        self.workload_kills = 0
        self.faults = collections.Counter()
        self.notes = []

    def fault(self, kind, text):
        self.faults[kind] += 1
        self.notes.append(f"{kind}: {text}")

    def start(self):
        words = ["run", "--resume", self.directory] if (self.directory / "plan.json").exists() else \
                ["run", self.suite, "--lane", self.lane, "-o", self.directory]
        environment = dict(os.environ, TMPDIR=str(self.temporary), XDG_STATE_HOME=str(self.state), NO_COLOR="1")
        return subprocess.Popen([str(BUILD / "shootdown"), *map(str, words)], env=environment, cwd=self.place, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def running(self):
        """Living processes of this campaign."""
        mark = f"XDG_STATE_HOME={self.state}".encode()
        found = []
        for pid in parents():
            with contextlib.suppress(OSError):
                if pid != os.getpid() and mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
        return found

    def check_gone(self):
        end = time.monotonic() + GONE_SECONDS
        while (left := self.running()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            self.fault("left", f"process {pid}: {read(f'/proc/{pid}/cmdline')!r}")
            kill(pid)

    def records(self):
        return {path.name: path.read_text() for path in sorted((self.directory / "records").glob("*.json"))}

    def check_records(self):
        """A boot that is done stays, to the last byte; one that was cut short is run again as a whole."""
        now = self.records()
        done = collections.defaultdict(dict)
        for name, text in self.complete.items():
            if name not in now:
                self.fault("lost", f"{name} is gone")
            elif now[name] != text:
                self.fault("wrong", f"{name} has changed after it was complete")
        for name, text in now.items():
            try:
                record = json.loads(text)
                if record["complete"]:
                    done[record["boot"]][name] = text
            except (ValueError, KeyError) as error:
                self.fault("wrong", f"{name}: {error}")
        for boot in done.values():
            if len(boot) == self.cases:
                self.complete |= boot

    def check_values(self, name, record):
        if record["outcome"] == "workload-failed" and "killed by signal 9" in record["detail"] and self.workload_kills:
            return      # it says what happened
        if record["outcome"] != "ok":
            self.fault("wrong", f"{name}: {record['outcome']}: {record['detail']}")
            return
        iterations = record["iterations"]
        if [(i["index"], i["warmup"]) for i in iterations] != [(i, i < WARMUP) for i in range(ITERATIONS + WARMUP)]:
            self.fault("lost", f"{name}: {len(iterations)} iterations")
        for iteration in iterations:
            wanted = OPERATIONS.get(record["case_name"])
            if wanted and iteration["operations"] != wanted:
                self.fault("wrong", f"{name}: {iteration['operations']} operations, not {wanted}")
            flushes = iteration["counts"].get("proc-vmstat.nr_tlb_remote_flush")
            if record["lane"] == "host" and record["case_name"] == "flush" and flushes is not None and flushes < wanted:
                self.fault("wrong", f"{name}: {flushes} flushes, not {wanted}")

    def check_end(self):
        plan = json.loads((self.directory / "plan.json").read_text())
        names = {case["id"]: case["name"] for case in plan["cases"]}
        wanted = {f"{boot['index']:04d}-{names[case]}.json" for boot in plan["boots"] for case in boot["cases"]}
        have = self.records()
        for name in sorted(wanted ^ have.keys()):
            self.fault("lost", f"{name} {'is missing' if name in wanted else 'is none of the plan'}")
        for name, text in have.items():
            record = json.loads(text)
            if not record["complete"]:
                self.fault("lost", f"{name} is not complete")
            else:
                self.check_values(name, record)
        checked = subprocess.run([sys.executable, "-m", "analysis", "check", str(self.directory)], cwd=ROOT, capture_output=True,
                                 text=True, check=False)
        if checked.returncode:
            self.fault("wrong", f"check: {(checked.stdout + checked.stderr).strip().splitlines()[-1:]}")

    def check_left(self):
        for path in [*self.temporary.iterdir(), *self.state.rglob("leftovers/*"), *self.state.rglob("settings.json"),
                     *self.directory.rglob("*.unfinished-*"), *self.directory.glob("shootdown-session-*"),
                     *self.directory.glob("lock")]:
            self.fault("left", str(path.relative_to(self.place)))
        for path, before in self.settings.items():
            if read(path) != before:
                self.fault("left", f"{path} is {read(path).strip()!r}, was {before.strip()!r}")

    def finish(self):
        runner = self.start()
        try:
            _, errors = runner.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            kill(runner.pid)
            _, errors = runner.communicate()
        if runner.returncode:
            self.fault("wrong", f"the last run ended with {runner.returncode}: {errors.strip().splitlines()[-1:]}")
        self.check_gone()
        self.check_records()
        if (self.directory / "plan.json").exists():
            self.check_end()
        else:
            self.fault("lost", "there is no plan")
        self.check_left()

    def victims(self, runner, what):
        """Processes to be killed, in that order; empty when there is none of that kind at the moment."""
        below = descendants(runner.pid)
        if what == "runner":
            return [runner.pid]
        if what == "runner and child":
            return [runner.pid, *below[:1]]
        if what == "child":         # QEMU, or the supervisor of a workload
            return below[:1]
        return below[-1:]           # whoever works

    def kill_once(self, chance, seconds):
        """Runs until a random moment, and kills; what was killed, or None when the run ended first."""
        what = chance.choice(["runner", "runner", "child", "worker", "runner and child"])
        runner = self.start()
        end = time.monotonic() + chance.uniform(0, seconds)
        while time.monotonic() < end and runner.poll() is None:
            time.sleep(0.002)
        victims = self.victims(runner, what) if runner.poll() is None else []
        for pid in victims:
            kill(pid)
        if victims and self.lane == "host" and what in ("child", "worker"):
            self.workload_kills += 1
        try:
            runner.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.fault("wrong", "the runner did not end")
            kill(runner.pid)
            runner.communicate()
        self.check_gone()
        self.check_records()
        return what if victims else None


def time_campaign(place, lane):
    """Seconds of a campaign that nobody disturbs, which must be faultless."""
    campaign = Campaign(place / f"{lane}-calm", lane)
    started = time.monotonic()
    campaign.finish()
    return time.monotonic() - started, campaign


def soak(kills, seed=1, lanes=("host", "vm"), keep=False, say=lambda text: None):
    """{"kills": {kind: n}, "campaigns": n, "records": n, "lost": n, "wrong": n, "left": n, "notes": [...]}"""
    chance = random.Random(seed)
    place = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    killed, faults, notes, records, campaigns = collections.Counter(), collections.Counter(), [], 0, 0
    seconds = {}

    def count(campaign):
        nonlocal records, campaigns
        campaigns += 1
        records += len(campaign.complete)
        faults.update(campaign.faults)
        notes.extend(f"{campaign.place.name}: {note}" for note in campaign.notes)
        if not campaign.faults and not keep:
            shutil.rmtree(campaign.place)

    for lane in lanes:
        seconds[lane], campaign = time_campaign(place, lane)
        count(campaign)
        say(f"{lane}: a campaign takes {seconds[lane]:.1f} s")
    while killed.total() < kills:
        lane = lanes[campaigns % len(lanes)]
        campaign = Campaign(place / f"{lane}-{campaigns}", lane)
        for _ in range(min(chance.randint(1, KILLS_EACH), kills - killed.total())):
            what = campaign.kill_once(chance, seconds[lane])
            if what:
                killed[f"{lane} {what}"] += 1
        campaign.finish()
        count(campaign)
        say(f"{lane}: {killed.total()} of {kills} kills; {faults['lost']} lost, {faults['wrong']} wrong, {faults['left']} left")
        for note in campaign.notes:
            say(f"  {note}")
    if not faults and not keep:
        shutil.rmtree(place)
    return {"kills": dict(killed), "campaigns": campaigns, "records": records, "lost": faults["lost"], "wrong": faults["wrong"],
            "left": faults["left"], "notes": notes, "place": str(place)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", default="host,vm")
    parser.add_argument("--keep", action="store_true", help="keep the campaigns; those with a fault are kept in any case")
    options = parser.parse_args()
    result = soak(options.kills, options.seed, options.lanes.split(","), options.keep, lambda text: print(text, flush=True))
    for kind, number in sorted(result["kills"].items()):
        print(f"{number:5} kills: {kind}")
    faults = result["lost"] + result["wrong"] + result["left"]
    if faults:
        print(f"kept in {result['place']}")
    print(f"{sum(result['kills'].values())} kills, {result['campaigns']} campaigns, {result['records']} records: "
          f"{result['lost']} lost, {result['wrong']} wrong, {result['left']} leftovers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
