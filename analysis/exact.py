# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact lane: counts by address -> functions, groups, events, callers, and what changed between two kernels.

How to use it (nothing here reads a plan or a record; the caller knows which file belongs to which):

    counts  = read_counts(path)                          # raw/0000/exact-CASE.counts.gz; CountsError: one line
    symbols = Symbols.from_system_map(path)              # kernels/ID.System.map.xz (or kallsyms); SymbolError
    groups  = Groups.from_files("kernels/series/ID/groups.yaml", "configs/function-groups.yaml")
    check_symbols(counts, symbols)                       # raises SymbolError when they do not belong together
    table   = FunctionTable(counts, symbols)             # one row a region; region i belongs to iteration frame i
    metrics = table.metrics(operations, regions, groups) # [{key: value}] for the regions asked for
    missing = table.missing(cpu_flags, apic_driver)      # {"event:invpcid": "missing (CPU model)"}
    table.callers("flush_tlb_mm_range", regions)         # [(caller, calls)], `(indirect)` for calls through a pointer
    rows    = compare_functions(base, cand)              # base, cand: [(table, regions, operations)], one for each phase

Keys are those of CONTRIBUTING.md, "Exact counts". EXACT_KEYS says unit, class and direction of each family.

A call of a function is one execution of its first instruction that did not come by a jump from inside the function. A rep
instruction is one instruction; its iterations are apart (`rep-iterations`). An instruction that faults counts again when it is
restarted. Interrupt keys: `interrupt-NAME` for system vectors (the NAME of asm_sysvec_NAME: call_function,
call_function_single, reschedule_ipi, apic_timer_interrupt, ...), `interrupt-N` (decimal vector) for devices.
"""
import math

import numpy as np

from analysis.exact_counts import Counts, CountsError, Region, read_counts
from analysis.exact_groups import OTHER, UNKNOWN, GroupError, Groups
from analysis.exact_symbols import SymbolError, Symbols

__all__ = ["Counts", "CountsError", "Region", "read_counts", "Groups", "GroupError", "Symbols", "SymbolError", "EXACT_KEYS",
           "check_symbols", "FunctionTable", "compare_functions", "judge"]

# Family of keys -> (unit, class, better). NAME and EVENT stand for what varies.
EXACT_KEYS = {
    "function:NAME:calls": ("calls", "work", "lower"),
    "function:NAME:instructions": ("instructions", "work", "lower"),
    "function:NAME:instructions/call": ("instructions/call", "work", "lower"),
    "function:NAME:calls/op": ("calls/op", "work", "lower"),
    "function:NAME:instructions/op": ("instructions/op", "work", "lower"),
    "group:NAME:instructions/op": ("instructions/op", "work", "lower"),     # class: the group's own
    "group:NAME:calls/op": ("calls/op", "work", "lower"),
    "event:EVENT": ("events", "work", "lower"),                             # interrupt-*, hlt, icr-write, pause: schedule
    "event:EVENT/op": ("events/op", "work", "lower"),
    "total:kernel-instructions/op": ("instructions/op", "work", "lower"),
    "total:work-instructions/op": ("instructions/op", "work", "lower"),
    "total:user-instructions/op": ("instructions/op", "work", "neither"),
    "total:rep-iterations/op": ("iterations/op", "work", "lower"),
}
SCHEDULE_EVENTS = ("interrupt-", "hlt", "icr-write", "invlpg", "pause", "sgi-write", "wfi", "wfe", "yield")

# Ranges of 5 and 5 phases are apart by luck once in 126 times. With fewer the gap must dwarf the ranges, be no trifle, and belong to
# something that happened often: what runs now and then has one value in each phase, and another elsewhere, by mere luck.
LUCK = 0.01
LUCK_OF_A_TABLE = 0.2       # rows apart by luck that a whole table of functions may be expected to hold
# What the gap must be, in times of both ranges together, by the fewer phases: so much is luck in fewer than 1% of draws from one
# normal distribution, and in a table of functions in fewer than 0.03%.
GAP_TO_RANGES = {2: 4, 3: 1, 4: 0.5}
GAP_TO_RANGES_OF_A_TABLE = {2: 20, 3: 3, 4: 1}
GAP_TO_RANGES_OF_MORE = 0.5
FEW_PHASES_GAP = 0.005              # of the larger middle
FEW_PHASES_EVENTS = 200             # more or fewer in a phase; what comes and goes by luck does so one by one or ten by ten ...
FEW_PHASES_INSTRUCTIONS = 3000     # ... with the instructions of that
FEW_PHASES_PER_CALL = 0.5           # a change adds or takes an instruction a call, another mixture of ways a few hundredths;
FEW_PHASES_IN_ALL_CALLS = 1000      # and in all calls of a phase more than one other way through a function that is seldom called


# Kinds that steer control and are no events of their own.
_CONTROL = frozenset(("plain", "call", "call-indirect", "jump", "jump-indirect", "return", "interrupt-return", "rep", "rep-compare"))
_SYSVEC = "asm_sysvec_"
_FIRST_DEVICE_VECTOR = 0x20
_LEAST_KNOWN_TARGETS = 0.95


def event_class(event):
    return "schedule" if event.startswith(SCHEDULE_EVENTS) else "work"


def check_symbols(counts, symbols):
    """Executed direct calls go to functions: where they do not, the symbols are another kernel's."""
    targets = [_call_targets(region, counts.kinds) for region in counts.regions]
    targets = np.unique(np.concatenate(targets)) if targets else np.array([], dtype=np.uint64)
    if len(targets) == 0:
        return
    known = float(np.mean(symbols.is_symbol(targets)))
    if known < _LEAST_KNOWN_TARGETS:
        raise SymbolError(f"{counts.path}: the symbols do not belong to the kernel that ran: {100 * (1 - known):.0f}% of "
                          f"{len(targets)} called addresses are no function; give the System.map of that very build")


def _call_targets(region, kinds):
    calls = _kinds_at(region, region.branch_source) == kinds.index("call") if "call" in kinds else slice(None)
    return region.branch_target[calls]


def _kinds_at(region, addresses):
    return region.kind[np.searchsorted(region.address, addresses)]


def _executed_at(region, addresses):
    return region.executed[np.searchsorted(region.address, addresses)].astype(np.int64)


class FunctionTable:
    """Counts of one file, by function: arrays of regions x functions. The last function is `unknown`."""

    def __init__(self, counts, symbols):
        self.counts, self.symbols = counts, symbols
        self.functions = [*symbols.functions, UNKNOWN]
        self.index = {name: i for i, name in enumerate(self.functions)}
        shape = (len(counts.regions), len(self.functions))
        self.calls = np.zeros(shape, dtype=np.int64)
        self.instructions = np.zeros(shape, dtype=np.int64)
        self.rep_iterations = np.zeros(shape, dtype=np.int64)
        self.events = []                # one a region: {event: count}
        self.user_instructions = np.array([r.user_instructions - r.user_rep_iterations for r in counts.regions], dtype=np.int64)
        self._sums = {}
        for i, region in enumerate(counts.regions):
            self._fill(i, region)

    def functions_at(self, addresses):
        """Index of the function at each address."""
        at = self.symbols.symbol_of(addresses)
        return np.where(at >= 0, self.symbols.function[np.maximum(at, 0)], len(self.functions) - 1)

    def _sum(self, functions, values):
        return np.bincount(functions, weights=values.astype(np.float64), minlength=len(self.functions)).astype(np.int64)

    def _fill(self, i, region):
        functions = self.functions_at(region.address)
        self.rep_iterations[i] = self._sum(self.functions_at(region.rep_address), region.rep_iterations)
        self.instructions[i] = self._sum(functions, region.executed) - self.rep_iterations[i]
        if (self.instructions[i] < 0).any():
            raise CountsError(f"{self.counts.path}: more iterations than executions of a rep instruction: this QEMU's plugin interface counts accesses in a way that is not known")
        at = self.symbols.symbol_of(region.address)
        entered = self.symbols.is_symbol(region.address) & self.symbols.entry[np.maximum(at, 0)]
        self.calls[i] = self._sum(functions[entered], region.executed[entered]) - self._jumps_to_own_entry(region)
        self.events.append(self._count_events(region))
        stubs = self._device_vectors(region)
        if "irq_entries_start" in self.index:
            self.calls[i][self.index["irq_entries_start"]] = sum(stubs.values())

    def _jumps_to_own_entry(self, region):
        source, target = self.functions_at(region.branch_source), self.functions_at(region.branch_target)
        own = (source == target) & self.symbols.is_symbol(region.branch_target)
        if "jump" in self.counts.kinds:
            own &= _kinds_at(region, region.branch_source) == self.counts.kinds.index("jump")
        return self._sum(source[own], _executed_at(region, region.branch_source[own]))

    def _count_events(self, region):
        sums = np.bincount(region.kind, weights=region.executed.astype(np.float64), minlength=len(self.counts.kinds))
        events = {}
        for kind, times in zip(self.counts.kinds, sums):        # a name may stand twice: encodings of one kind
            if kind not in _CONTROL:
                events[kind] = events.get(kind, 0) + int(times)
        if "rep" in self.counts.kinds:
            events["rep-iterations"] = int(region.rep_iterations.sum())
        if self.counts.header.get("command_ranges"):
            events["icr-write"] = int(region.command_writes.sum())
        for name, address in self.symbols.position.items():
            if name.startswith(_SYSVEC):
                events["interrupt-" + name[len(_SYSVEC):]] = int(_count_at(region, address))
        for vector, times in self._device_vectors(region).items():
            events[f"interrupt-{vector}"] = times
        return events

    def _device_vectors(self, region):
        """Executions of the entry stub of each device vector: stubs stand one after the other, 8 or 16 bytes each."""
        span = self.symbols.span("irq_entries_start")
        if span is None:
            return {}
        first, size = span
        stub = 16 if size > 2400 else 8
        inside = (region.address >= first) & (region.address < first + size) & ((region.address - np.uint64(first)) % np.uint64(stub) == 0)
        return {_FIRST_DEVICE_VECTOR + int(a - first) // stub: int(n)
                for a, n in zip(region.address[inside].tolist(), region.executed[inside].tolist())}

    def function_events(self, event, regions):
        """[(function, count)] of an event that is an instruction kind (cr3-write, locked-bit, ...), or icr-write, rep-iterations; largest first."""
        total = np.zeros(len(self.functions), dtype=np.int64)
        for region in (self.counts.regions[i] for i in regions):
            if event == "rep-iterations":
                total += self._sum(self.functions_at(region.rep_address), region.rep_iterations)
            elif event == "icr-write":
                total += self._sum(self.functions_at(region.command_address), region.command_writes)
            else:
                of = np.isin(region.kind, [k for k, kind in enumerate(self.counts.kinds) if kind == event])
                total += self._sum(self.functions_at(region.address[of]), region.executed[of])
        return self._named(total)

    def _named(self, total):
        order = sorted(np.flatnonzero(total), key=lambda f: (-total[f], self.functions[f]))
        return [(self.functions[f], int(total[f])) for f in order]

    def callers(self, function, regions):
        """[(caller, calls)] of a function over these regions, largest first. Calls through a pointer: `(indirect)`."""
        number, total, called = self.index.get(function), np.zeros(len(self.functions), dtype=np.int64), 0
        if number is None:
            return []
        for i in regions:
            region = self.counts.regions[i]
            to = (self.functions_at(region.branch_target) == number) & self.symbols.is_symbol(region.branch_target)
            sources = region.branch_source[to]
            own = (self.functions_at(sources) == number) & (_kinds_at(region, sources) != self.counts.kinds.index("call"))
            sources = sources[~own]
            total += self._sum(self.functions_at(sources), _executed_at(region, sources))
            called += int(self.calls[i][number])
        rows = self._named(total)
        indirect = called - int(total.sum())
        return rows + ([("(indirect)", indirect)] if indirect > 0 else [])

    def watched(self, regions):
        """{function: {cpu: calls}} of the functions the lane watched: who flushes, and on which CPUs flushes are executed."""
        result = {}
        for region in (self.counts.regions[i] for i in regions):
            for f, cpu, calls in zip(self.functions_at(region.watched_address).tolist(), region.watched_cpu.tolist(), region.watched_calls.tolist()):
                row = result.setdefault(self.functions[f], {})
                row[cpu] = row.get(cpu, 0) + calls
        return result

    def missing(self, cpu_flags=None, apic_driver=""):
        """Keys that this guest cannot show, with the reason; they are left out of metrics()."""
        result = {}
        if self.counts.architecture == "x86-64":
            if cpu_flags is not None and "invpcid" not in cpu_flags:
                result["event:invpcid"] = "missing (CPU model): the guest's CPU has no INVPCID"
            if not self.counts.header.get("command_ranges"):
                result["event:icr-write"] = "missing: the kernel's symbols name no function that sends interrupt commands"
            elif "x2apic" in (apic_driver or ""):
                result["event:icr-write"] = "missing: interrupt commands are register writes with this APIC driver"
        return {**result, **{key + "/op": reason for key, reason in result.items()}}

    def metrics(self, operations, regions, groups, missing=()):
        """One {key: value} for each region in `regions`; operations[k] belongs to regions[k]. Functions never run have no key."""
        membership = self._membership(groups)
        return [self._region_metrics(i, max(ops, 0), groups, membership, missing) for i, ops in zip(regions, operations)]

    def _membership(self, groups):
        """Group names, and the number of its group for each function."""
        key = id(groups)
        if key not in self._sums:
            names = list(groups.names)
            number = {name: i for i, name in enumerate(names)}
            ran = (self.instructions.any(axis=0)) | (self.calls.any(axis=0))
            group = np.full(len(self.functions), number[OTHER], dtype=np.int64)
            for f in np.flatnonzero(ran).tolist():
                name = self.functions[f]
                group[f] = number[UNKNOWN if name == UNKNOWN else groups.group_of(name)]
            self._sums[key] = (names, group)
        return self._sums[key]

    def group_of(self, function, groups):
        names, group = self._membership(groups)
        return names[group[self.index[function]]]

    def _region_metrics(self, i, operations, groups, membership, missing):
        names, group = membership
        values = {}
        for f in np.flatnonzero(self.instructions[i]).tolist():
            _function_metrics(values, f"function:{self.functions[f]}", int(self.calls[i][f]), int(self.instructions[i][f]), operations)
        group_instructions = np.bincount(group, weights=self.instructions[i], minlength=len(names))
        group_calls = np.bincount(group, weights=self.calls[i], minlength=len(names))
        work = sum(n for name, n in zip(names, group_instructions) if groups.is_work(name))
        totals = {"kernel-instructions": self.instructions[i].sum(), "user-instructions": self.user_instructions[i],
                  "work-instructions": work, "rep-iterations": self.rep_iterations[i].sum()}
        if operations:
            for name, instructions, calls in zip(names, group_instructions, group_calls):
                values[f"group:{name}:instructions/op"] = instructions / operations
                values[f"group:{name}:calls/op"] = calls / operations
            values.update({f"total:{name}/op": float(n) / operations for name, n in totals.items()})
        for event, times in self.events[i].items():
            values[f"event:{event}"] = times
            if operations:
                values[f"event:{event}/op"] = times / operations
        for key in missing:
            values.pop(key, None)
        return values


def _count_at(region, address):
    at = np.searchsorted(region.address, np.uint64(address))
    return region.executed[at] if at < len(region.address) and region.address[at] == address else 0


def _function_metrics(values, prefix, calls, instructions, operations):
    values[prefix + ":calls"] = calls
    values[prefix + ":instructions"] = instructions
    if calls:
        values[prefix + ":instructions/call"] = instructions / calls
    if operations:
        values[prefix + ":calls/op"] = calls / operations
        values[prefix + ":instructions/op"] = instructions / operations


def judge(base, cand, placebo=0.0, least=0.0, among=1):
    """'unchanged', 'within schedule spread', 'changed', 'inconclusive' or 'shown', from the values of the phases of two kernels.

    Changed = the ranges are apart, and by more than `placebo`: the largest gap, relative to the larger middle, that a placebo pair
    (same source, shifted text) shows. One phase each decides nothing unless equal. Where ranges are often apart by luck (below five
    phases and five; of a table of `among` rows, below eight) the gap must dwarf the ranges and reach `least` (unit of the values):
    else it is inconclusive, which is not to say that nothing changed."""
    low_b, high_b, low_c, high_c = min(base), max(base), min(cand), max(cand)
    if low_b == high_b == low_c == high_c:
        return "unchanged"
    gap = max(low_c - high_b, low_b - high_c)
    if gap <= 0 or gap <= placebo * _scale(base, cand):
        return "within schedule spread"
    fewer = min(len(base), len(cand))
    if fewer < 2:
        return "shown"
    if apart_by_luck(len(base), len(cand)) * among <= (LUCK if among == 1 else LUCK_OF_A_TABLE):
        return "changed"
    times = (GAP_TO_RANGES if among == 1 else GAP_TO_RANGES_OF_A_TABLE).get(fewer, GAP_TO_RANGES_OF_MORE)
    return "changed" if gap >= max(least, times * (high_b - low_b + high_c - low_c)) else "inconclusive"


def _scale(base, cand):
    return max(abs(float(np.median(base))), abs(float(np.median(cand))))


def least_gap(base, cand, operations, instructions=False):
    """What a gap of events, or instructions, for each operation must reach in few phases; operations: of a phase."""
    count = FEW_PHASES_INSTRUCTIONS if instructions else FEW_PHASES_EVENTS
    return max(FEW_PHASES_GAP * _scale(base, cand), count / operations) if operations else math.inf


def least_gap_per_call(calls):
    """The same of instructions a call; calls: of the function in each phase of both kernels, zeros too."""
    return max(FEW_PHASES_PER_CALL, FEW_PHASES_IN_ALL_CALLS / min(calls)) if min(calls) else math.inf


def apart_by_luck(phases, others):
    """How often the ranges of two samples of one distribution are apart."""
    return 2 / math.comb(phases + others, phases)


def _per_phase(side):
    """{function: (calls/op, instructions/op, instructions/call)} arrays over the phases, NaN where it did not run."""
    names = sorted({table.functions[f] for table, regions, _ in side for f in np.flatnonzero(table.instructions[list(regions)].any(axis=0))})
    calls, instructions = np.zeros((len(names), len(side))), np.zeros((len(names), len(side)))
    operations = np.array([sum(ops) for _, _, ops in side], dtype=float)
    for p, (table, regions, _) in enumerate(side):
        at = np.array([table.index.get(name, -1) for name in names], dtype=int)
        rows = list(regions)
        calls[:, p] = np.where(at >= 0, table.calls[rows].sum(axis=0)[at], 0)
        instructions[:, p] = np.where(at >= 0, table.instructions[rows].sum(axis=0)[at], 0)
    return {name: (calls[i] / operations, instructions[i] / operations, calls[i], instructions[i]) for i, name in enumerate(names)}


def _per_call(calls, instructions):
    with np.errstate(divide="ignore", invalid="ignore"):
        values = instructions / calls
    return values[np.isfinite(values)]


def _side(row, phases):
    calls_op, instructions_op, calls, instructions = row if row else (np.zeros(phases),) * 4
    per_call = _per_call(calls, instructions)
    return {"calls/op": float(calls_op.mean()), "instructions/op": float(instructions_op.mean()),
            "instructions/op-range": [float(instructions_op.min()), float(instructions_op.max())],
            "instructions/call": float(np.median(per_call)) if len(per_call) else None,
            "instructions/call-range": [float(per_call.min()), float(per_call.max())] if len(per_call) else None}, per_call, instructions_op


def _judge_per_call(base, cand, base_calls, cand_calls, placebo, among):
    return judge(base, cand, placebo, least_gap_per_call([*base_calls, *cand_calls]), among)


def compare_functions(baseline, candidate, placebo=0.0, groups=None):
    """Which functions changed. baseline, candidate: one (table, regions, operations) for each phase.

    Rows {"function", "group", "baseline", "candidate", "difference" (instructions/op, mean of the phases), "share" (of the whole
    difference), "per-call" and "total" verdicts}, largest share of the difference first. Means are used so that the rows'
    differences add up to the last row, {"function": "total"}: a sum of medians would not."""
    base, cand = _per_phase(baseline), _per_phase(candidate)
    rows, names = [], sorted({*base, *cand})
    operations = min(sum(done) for _, _, done in [*baseline, *candidate])
    for name in names:
        b, b_call, b_op = _side(base.get(name), len(baseline))
        c, c_call, c_op = _side(cand.get(name), len(candidate))
        rows.append({"function": name, "baseline": b, "candidate": c, "difference": c["instructions/op"] - b["instructions/op"],
                     "group": groups.group_of(name) if groups and name != UNKNOWN else UNKNOWN if name == UNKNOWN else None,
                     "per-call": _judge_per_call(b_call, c_call, base[name][2], cand[name][2], placebo, len(names)) if len(b_call) and len(c_call) else None,
                     "total": judge(b_op, c_op, placebo, least_gap(b_op, c_op, operations, True), len(names))})
    total = {"function": "total", "group": None, "per-call": None, "total": None,
             **{side: {key: sum(row[side][key] for row in rows) for key in ("calls/op", "instructions/op")} for side in ("baseline", "candidate")}}
    total["difference"] = sum(row["difference"] for row in rows)
    for row in rows:
        row["share"] = row["difference"] / total["difference"] if total["difference"] else None
    rows.sort(key=lambda row: (-abs(row["difference"]), row["function"]))
    return [*rows, total]
