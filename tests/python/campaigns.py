# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic campaign directories with known truth, written as the runner writes them."""
import hashlib
import json
from pathlib import Path

import numpy as np

DESCRIBE = {
    "name": "anon-cow-rand-mt", "summary": "random stores to copy-on-write memory", "operation": "store",
    "options": [], "helpers": [],
    "metrics": [{"name": "score", "unit": "bytes/s", "class": "time", "better": "higher", "help": "bytes stored a second"}],
}

CLAIMS = [
    {"name": "flushes-gone", "published": "TLB-flush IPIs fall by up to 44.3%", "source": "m@x", "baseline": "without",
     "candidate": "with", "case": "anon-cow", "metric": "flushes-beyond-floor-per-migrated-page", "lanes": ["vm"],
     "direction": "decrease", "expect": {"of": "candidate", "at-most": 0.05}, "note": "the part that the patch removes"},
    {"name": "tlb-interrupts", "published": "TLB-flush IPIs fall by up to 44.3%", "source": "m@x", "baseline": "without",
     "candidate": "with", "case": "anon-cow", "metric": "interrupts.TLB:TLB_shootdowns", "lanes": ["vm"],
     "direction": "decrease", "published-change-percent": -44.3, "note": "how many pages migrate is luck"},
    {"name": "score", "published": "score up to +2.1%", "source": "m@x", "baseline": "without", "candidate": "with",
     "case": "anon-cow", "metric": "score", "lanes": ["host", "vm"], "direction": "increase",
     "published-change-percent": 2.1, "note": "a time: needs real cores"},
]

DERIVED = [{
    "name": "flushes-beyond-floor-per-migrated-page", "case": "anon-cow", "unit": "flushes/page", "class": "work",
    "better": "lower", "formula": "(received - floor_received / floor_copied * copied) / migrated",
    "terms": {"received": {"key": "proc-vmstat.nr_tlb_remote_flush_received"}, "copied": {"key": "operations"},
              "migrated": {"key": "proc-vmstat.pgmigrate_success"},
              "floor_received": {"case": "anon-cow-floor", "key": "proc-vmstat.nr_tlb_remote_flush_received"},
              "floor_copied": {"case": "anon-cow-floor", "key": "operations"}}}]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Builder:
    """Collects plan and records; write() makes the directory."""

    def __init__(self, lane="vm", accelerator="tcg", blocks=8, iterations=3, seed=1, suite=None, series=None):
        self.random = np.random.default_rng(seed)
        self.plan = {
            "schema": "shootdown-plan-1", "id": digest(f"plan{seed}")[:16], "created": "2026-11-30T21:00:00Z",
            "command": ["shootdown", "run", "suite.yaml", "--lane", lane], "version": "test",
            "suite": suite or {"suite": "synthetic", "summary": "made up", "margin-percent": 2, "derived": [], "primary": {}},
            "suite_hash": digest("suite"), "series": series, "lane": lane, "architecture": "x86-64",
            "accelerator": accelerator, "qemu_version": "7.2.22", "cpu_model": "max", "seed": seed, "machine": digest("m")[:16],
            "protocol": {"blocks": blocks, "iterations": iterations, "warmup": 1, "phases": 8, "margin_percent": 2},
            "baseline": None, "kernels": [], "cases": [],
            "guest": {"nodes": 2, "memory_bytes": 1 << 30, "boot_parameters": "", "slice_microseconds": 0},
            "boots": [], "hashes": {"workloads": {}, "helpers": {}, "plugin": None, "init": digest("init")}}
        self.records = []

    def kernel(self, label, series=None, variant=None):
        identity = digest(label)[:16]
        self.plan["kernels"].append({"id": identity, "label": label, "spec": label, "series": series, "variant": variant,
                                     "release": "6.12.117"})
        self.plan["baseline"] = self.plan["baseline"] or identity
        return identity

    def case(self, name, workload="anon-cow-rand-mt", cpus=2, describe=None, **options):
        identity = digest(f"{name}{cpus}")[:16]
        self.plan["cases"].append({
            "id": identity, "name": name, "cpus": cpus, "workload": workload, "options": options, "settings": [],
            "arguments": [f"--{k}={v}" for k, v in options.items()], "probes": ["default"], "needs": {"cpus": cpus},
            "describe": describe or DESCRIBE})
        self.plan["hashes"]["workloads"][workload] = digest(workload)
        return identity

    def boot(self, block, kernel, iterations_by_case, phase=None, outcome="ok", detail="", **extra):
        """iterations_by_case: case id -> list of iteration objects without index."""
        index = len(self.plan["boots"])
        cases = list(iterations_by_case)
        cpus = next(c["cpus"] for c in self.plan["cases"] if c["id"] == cases[0])
        order = sum(b["block"] == block for b in self.plan["boots"])
        self.plan["boots"].append({"index": index, "block": block, "order": order, "kernel": kernel, "phase": phase,
                                   "cpus": cpus, "cases": cases})
        for case, iterations in iterations_by_case.items():
            self.records.append(self._record(index, block, order, kernel, case, iterations, phase, outcome, detail, extra))

    def _record(self, index, block, order, kernel, case, iterations, phase, outcome, detail, extra):
        known = next(c for c in self.plan["cases"] if c["id"] == case)
        label = next(k["label"] for k in self.plan["kernels"] if k["id"] == kernel)
        numbered = [{"index": i, "warmup": i == 0, "elapsed_ns": 1_000_000_000, "operations": 1000, "metrics": {},
                     "counts": {}, "per_cpu": {}, "histograms": {}, "scaled": {}, "missing": {}, **iteration}
                    for i, iteration in enumerate(iterations)]
        return {
            "schema": "shootdown-record-1", "complete": True, "plan": self.plan["id"], "boot": index, "block": block,
            "order": order, "phase": phase, "cpus": known["cpus"], "lane": self.plan["lane"], "kernel": kernel,
            "label": label, "case": case, "case_name": known["name"], "workload": known["workload"], "outcome": outcome,
            "detail": detail, "started": "2026-11-30T21:00:00Z", "seconds": 3.2, "seconds_to_workload": 1.9,
            "accelerator": self.plan["accelerator"], "qemu_version": "7.2.22", "cpu_model": "max", "machine": digest("m")[:16],
            "hashes": {"workload": digest(known["workload"]), "helpers": {}, "init": digest("init"), "plugin": None},
            "facts": {"release": "6.12.117", "clocksource": "tsc-early"}, "start": {"facts": {}, "missing": {}},
            "iterations": numbered, "missing": {"perf.cycles": "no hardware PMU on this machine"}, **extra}

    def write(self, directory):
        directory = Path(directory)
        (directory / "records").mkdir(parents=True)
        (directory / "kernels").mkdir()
        (directory / "plan.json").write_text(json.dumps(self.plan))
        (directory / "machine.json").write_text(json.dumps(
            {"identity": {"cpus": 2, "cpu_model": "Synthetic CPU", "memory_bytes": 1 << 34}, "state": {}, "missing": {}}))
        for kernel in self.plan["kernels"]:
            (directory / "kernels" / f"{kernel['id']}.json").write_text(json.dumps({"id": kernel["id"], "compiler": "gcc"}))
        for record in self.records:
            path = directory / "records" / f"{record['boot']:04d}-{record['case']}.json"
            path.write_text(json.dumps(record))
        return directory


def unmap_inaccessible(seed=1, blocks=8):
    """The series of the demo: `without` pays one flush a migrated page, `with` none; migrations are luck."""
    suite = {"suite": "unmap-inaccessible", "summary": "anon-cow on two nodes", "margin-percent": 2, "derived": DERIVED,
             "primary": {"vm": [{"case": "anon-cow", "metric": "flushes-beyond-floor-per-migrated-page"},
                                {"case": "anon-cow", "metric": "score"},
                                {"case": "anon-cow", "metric": "interrupts.TLB:TLB_shootdowns"}]}}
    series = {"series": "unmap-inaccessible", "title": "no flush for PTEs that no CPU can have cached",
              "summary": "Pages that NUMA balancing migrates need no flush.", "base": "deb:6.12", "baseline": "without",
              "published": [{"title": "mm,unmap: avoid flushing TLB in batch if PTE is inaccessible", "date": "2023-04-10",
                             "message-id": "20230410075224.827740-1-ying.huang@intel.com"}], "claims": CLAIMS}
    b = Builder(blocks=blocks, seed=seed, suite=suite, series=series)
    kernels = [b.kernel(f"deb:6.12+unmap-inaccessible/{v}", "unmap-inaccessible", v) for v in ("without", "with")]
    case = b.case("anon-cow", size=134217728, **{"numa-balancing": "fast"})
    floor = b.case("anon-cow-floor", size=134217728, **{"numa-balancing": "off"})
    for block in range(blocks):
        for kernel in kernels:
            b.boot(block, kernel, {case: [_anon_cow(b.random, kernel == kernels[0], True) for _ in range(4)],
                                   floor: [_anon_cow(b.random, kernel == kernels[0], False) for _ in range(4)]})
    return b


def _anon_cow(random, flushes, balancing):
    copied = 32768
    migrated = int(random.integers(900, 9000)) if balancing else 0
    received = copied + (migrated if flushes else 0) + int(random.integers(0, 8))
    counts = {"proc-vmstat.nr_tlb_remote_flush": received, "proc-vmstat.nr_tlb_remote_flush_received": received,
              "interrupts.TLB:TLB_shootdowns": received + int(random.integers(0, 30)),
              "interrupts.RES:Rescheduling_interrupts": int(random.integers(5, 50)),
              "interrupts.CAL:Function_call_interrupts": received + int(random.integers(0, 60)),
              "proc-vmstat.pgfault": copied + int(random.integers(0, 20)), "time.system_time": random.normal(0.6, 0.02)}
    if balancing:
        counts["proc-vmstat.pgmigrate_success"] = migrated
    buckets = [["remote shootdown", 1, received], ["remote IPI send", 1, received], ["local MM shootdown", 33, 12],
               ["flush on task switch", -1, int(random.integers(20, 90))]]
    return {"operations": copied, "elapsed_ns": int(9e8 * random.normal(1, 0.03)), "counts": counts,
            "metrics": {"score": random.normal(2.6e8, 4e6)},
            "histograms": {"tlb_flush": {"unit": "flushes", "keys": ["reason", "pages"], "buckets": buckets}}}


if __name__ == "__main__":
    import sys
    print(unmap_inaccessible().write(sys.argv[1]))
