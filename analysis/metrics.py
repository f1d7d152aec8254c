# SPDX-License-Identifier: GPL-2.0-or-later
"""What a key means: unit, class, better direction. Workloads describe their own metrics; the kernel's counts are here."""
import re
from typing import NamedTuple

WORK, SCHEDULE, TIME = "work", "schedule", "time"


class Metric(NamedTuple):
    name: str
    unit: str
    kind: str       # work, schedule or time: DESIGN.md, "What a count is worth depends on its class"
    better: str     # lower, higher or neither
    help: str = ""


# First match wins. The class is that of the cause: what follows elapsed time (NUMA scans) is time, whatever it counts.
COUNTS = [
    (r"proc-vmstat\.nr_tlb_remote_flush$", "flushes", WORK, "lower", "flushes that interrupted other CPUs"),
    (r"proc-vmstat\.nr_tlb_remote_flush_received$", "flushes", WORK, "lower", "flushes executed for another CPU"),
    (r"proc-vmstat\.nr_tlb_local_flush_(all|one)$", "flushes", SCHEDULE, "lower", "flushes on the own CPU"),
    (r"proc-vmstat\.(numa_|pgmigrate|pgpromote|nr_active|nr_inactive|nr_dirt|nr_writeback|workingset)", "pages", TIME,
     "neither", "follows elapsed time"),
    (r"proc-vmstat\.pgmajfault$", "faults", SCHEDULE, "lower", "faults that waited for I/O"),
    (r"proc-vmstat\.pgfault$", "faults", WORK, "neither", "page faults"),
    (r"proc-vmstat\.(xpfo|nr_xpfo)", "flushes", WORK, "lower", "flushes of the direct map"),
    (r"proc-vmstat\.(pgalloc|pgfree|thp_|pgreuse)", "pages", WORK, "neither", ""),
    (r"proc-vmstat\.nr_", "pages", SCHEDULE, "neither", "a level, not a sum"),
    (r"proc-vmstat\.", "events", SCHEDULE, "neither", ""),
    (r"interrupts\.(TLB|CAL|RES|IPI\d*)[:.]", "interrupts", SCHEDULE, "lower", "interrupts delivered, all CPUs"),
    (r"interrupts\.", "interrupts", SCHEDULE, "neither", "interrupts delivered, all CPUs"),
    (r"time\.(user_time|system_time|elapsed_time)$", "s", TIME, "lower", ""),
    (r"time\.(minor|major)_page_faults$", "faults", WORK, "neither", ""),
    (r"time\..*context_switches$", "switches", SCHEDULE, "neither", ""),
    (r"time\.", "s", TIME, "neither", ""),
    (r"machine\..*_time$", "s", TIME, "neither", "all CPUs together"),
    (r"profile\.", "samples", TIME, "neither", ""),
    (r"sched\.", "switches", SCHEDULE, "neither", ""),
    (r"perf\.instructions", "instructions", WORK, "lower", ""),
    (r"perf\.(cycles|.*-clock)", "cycles", TIME, "lower", ""),
    (r"perf\..*(miss|walk)", "events", SCHEDULE, "lower", ""),
    (r"perf\.", "events", SCHEDULE, "neither", ""),
    (r"tracepoint\.(tlb:tlb_flush)", "flushes", SCHEDULE, "lower", "flushes by the tracepoint"),
    (r"tracepoint\.", "events", SCHEDULE, "neither", ""),
    (r"tlb_flush\.remote IPI send", "flushes", WORK, "lower", "flushes that interrupted other CPUs, by the tracepoint"),
    (r"tlb_flush\.remote", "flushes", WORK, "lower", "flushes executed for another CPU, by the tracepoint"),
    (r"tlb_flush\.", "flushes", SCHEDULE, "lower", "flushes by reason, by the tracepoint"),
    (r"memory\..*object_size$", "bytes", WORK, "lower", "size of the slab object"),
    (r"memory\.", "bytes", WORK, "neither", ""),
    (r"function:.*:instructions/call$", "instructions/call", WORK, "lower", "kernel instructions of one call"),
    (r"(function|group):.*:instructions", "instructions", WORK, "lower", ""),
    (r"(function|group):.*:calls", "calls", WORK, "lower", ""),
    (r"event:(interrupt|hlt|icr|pause|sgi-write|wfi|wfe|yield)", "events", SCHEDULE, "lower", ""),
    (r"event:tlbi-", "TLBI", WORK, "lower", "TLB invalidations by instruction"),
    (r"event:(dsb|dmb|isb)", "barriers", WORK, "lower", ""),
    (r"event:(invlpg|invpcid)", "events", SCHEDULE, "lower", ""),
    (r"event:(cr3|cr4)", "writes", WORK, "lower", ""),
    (r"event:", "events", WORK, "lower", ""),
    (r"total:work-instructions", "instructions", WORK, "lower", "kernel, without waiting, ticks and rep iterations"),
    (r"total:rep-iterations", "iterations", WORK, "lower", "elements moved by rep instructions"),
    (r"total:user-instructions", "instructions", WORK, "neither", ""),
    (r"total:", "instructions", SCHEDULE, "lower", "waiting and ticks included"),
    (r"operations$", "operations", WORK, "neither", "operations of the workload"),
    (r"elapsed_ns$", "ns", TIME, "lower", "time of the measured region"),
]
COUNTS = [(re.compile(pattern), *rest) for pattern, *rest in COUNTS]
def _count(key):
    for pattern, unit, kind, better, text in COUNTS:
        if pattern.match(key):
            return Metric(key, unit, kind, better, text)
    return Metric(key, "", SCHEDULE, "neither", "")


def _described(case, name):
    for row in (case.get("describe") or {}).get("metrics") or []:
        if row.get("name") == name:
            return Metric(name, row.get("unit", ""), row.get("class", TIME), row.get("better", "neither"),
                          row.get("help", ""))
    return None


class MetricTable:
    """Looks up a key for a case: derived metrics of the suite, then the workload's own, then the kernel's counts."""

    def __init__(self, campaign):
        self.derived = {(d["case"], d["name"]): d for d in campaign.suite.get("derived") or []}
        self.groups = campaign.groups     # exact lane: the classes of function groups
        self.known = {}

    def get(self, case, key):
        found = self.known.get((case["id"], key))
        if found is None:
            found = self.known[case["id"], key] = self._find(case, key)
        return found

    def _find(self, case, key):
        derived = self.derived.get((case["name"], key))
        if derived:
            return Metric(key, derived.get("unit", ""), derived.get("class", WORK), derived.get("better", "neither"),
                          derived.get("formula", ""))
        described = _described(case, key)
        if described:
            return described
        if key.startswith("group:") and self.groups:
            kind = self.groups.classes.get(key.split(":")[1], WORK)
            return self._per_operation(case, key)._replace(kind=kind, better="lower" if kind == WORK else "neither")
        return self._per_operation(case, key)

    def _per_operation(self, case, key):
        if key.endswith("/op"):
            base = _count(key[:-3])
            operation = (case.get("describe") or {}).get("operation") or "operation"
            return base._replace(name=key, unit=f"{base.unit}/{operation}")
        return _count(key)


def judged(lane, accelerator, kind):
    """'verdict', 'shown' or 'not comparable': the table of classes in DESIGN.md."""
    if lane == "exact":
        return "verdict" if kind == WORK else "shown"
    if lane == "vm" and accelerator != "kvm":
        return {WORK: "verdict", SCHEDULE: "shown"}.get(kind, "not comparable")
    return "verdict"
