# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic exact-lane campaigns: counts files as the plugin writes them (runner/exact/format.h), with known truth."""
import json
import lzma
import struct
import zlib

import numpy as np
from campaigns import Builder

BASE = 0xffffffff81000000
KINDS = ["plain", "call", "jump", "cr3-write", "locked-bit"]
DESCRIBE = {"name": "ping-pong", "summary": "requests and replies", "operation": "round trip", "options": [], "helpers": [],
            "metrics": [{"name": "score", "unit": "round trips/s", "class": "time", "better": "higher", "help": ""}]}


class Kernel:
    """functions: {name: (instructions, calls an operation, {offset of an instruction: kind})}, callers by name."""

    def __init__(self, functions, callers, shift=0):
        self.functions, self.callers, self.address, at = functions, callers, {}, BASE + shift
        for name, (instructions, _, _) in functions.items():
            self.address[name] = at
            at += 16 * (instructions // 16 + 1) * 4
        self.end = at

    def system_map(self):
        lines = [f"{a:016x} T {name}" for name, a in self.address.items()] + [f"{self.end:016x} T _etext"]
        return lzma.compress("\n".join(lines).encode())

    def region(self, index, operations, jitter):
        """One iteration: `jitter` instructions more in tick, as the schedule would have it."""
        rows, branches = [], []
        for name, (instructions, calls, kinds) in self.functions.items():
            times = int(calls * operations) + (jitter if name == "tick_sched_handle" else 0)
            for i in range(instructions if times else 0):
                rows.append((self.address[name] + 4 * i, times, KINDS.index(kinds.get(i, "plain"))))
        for caller, callee in self.callers:
            source = self.address[caller] + 4 * (self.functions[caller][0] - 1)
            branches.append((source, self.address[callee]))
            rows = [(a, t, KINDS.index("call") if a == source else k) for a, t, k in rows]
        rows.sort()
        branches.sort()
        head = struct.pack("<6I2Q", index, len(rows), len(branches), 0, 0, 0, 500 * operations, 0)
        arrays = [np.array([r[0] for r in rows], dtype="<u8"), np.array([r[1] for r in rows], dtype="<u8"),
                  np.array([r[2] for r in rows], dtype="u1"), np.array([b[0] for b in branches], dtype="<u8"),
                  np.array([b[1] for b in branches], dtype="<u8")]
        return head + b"".join(_padded(a.tobytes()) for a in arrays)


def _padded(data):
    return data + b"\0" * (-len(data) % 8)


def _block(kind, payload):
    return struct.pack("<IIQ", kind, zlib.crc32(payload), len(payload)) + _padded(payload)


def counts_file(kernel, iterations, operations, jitters, cpus=4):
    header = {"format": 1, "architecture": "x86-64", "cpus": cpus, "watched": 0, "command_ranges": 0, "kinds": KINDS}
    blocks = [_block(1, json.dumps(header).encode())]
    blocks += [_block(2, kernel.region(i, operations, jitters[i])) for i in range(iterations)]
    return b"SDEXACT1" + b"".join(blocks) + _block(4, b"")


def functions(switch=41, switches=2.0, cr3=0.0):
    """A small kernel; cr3: CR3 writes of one switch."""
    kinds = {3: "locked-bit"} if cr3 else {}
    if cr3:
        kinds[5] = "cr3-write"
    return {"__schedule": (100, 4.0, {}), "switch_mm_irqs_off": (switch, switches, kinds), "tcp_sendmsg": (300, 1.0, {}),
            "tick_sched_handle": (50, 0.001, {}), "flush_tlb_func": (30, 0.5, {}), "flush_tlb_mm_range": (60, 0.5, {})}


CALLERS = [("__schedule", "switch_mm_irqs_off"), ("tcp_sendmsg", "flush_tlb_mm_range")]


def lazy_tlb(baseline=None, candidate=None, phases=8, cpus=(4,), shift=0, operations=4000, labels=("with", "without"), seed=5):
    """(builder, {path in the campaign: bytes}). Without arguments: `without` switches twice as often and writes CR3."""
    suite = {"suite": "lazy-tlb", "summary": "requests and replies", "margin-percent": 2, "derived": [],
             "primary": {"exact": [{"case": "ping-pong-tcp", "metric": "function:switch_mm_irqs_off:instructions/op"},
                                   {"case": "ping-pong-tcp", "metric": "event:cr3-write/op"},
                                   {"case": "ping-pong-tcp", "metric": "total:work-instructions/op"}]}}
    b = Builder(lane="exact", accelerator="tcg", blocks=0, iterations=2, seed=seed, suite=suite)
    kernels = [Kernel(baseline or functions(), CALLERS), Kernel(candidate or functions(79, 4.0, 1.0), CALLERS, shift)]
    ids = [b.kernel(f"deb:6.12+lazy-tlb/{label}", "lazy-tlb", label) for label in labels]
    files = {f"kernels/{i}.System.map.xz": k.system_map() for i, k in zip(ids, kernels)}
    for count in cpus:
        case = b.case("ping-pong-tcp", "ping-pong", count, DESCRIBE, transport="tcp")
        for phase in range(phases):
            for identity, kernel in zip(ids, kernels):
                boot = len(b.plan["boots"])
                file = f"raw/{boot:04d}/exact-{case}.counts"
                jitters = [int(b.random.integers(0, 6)) * count for _ in range(3)]
                files[file] = counts_file(kernel, 3, operations, jitters, count)
                b.boot(phase, identity, {case: [{"operations": operations, "metrics": {"score": 1e5}} for _ in range(3)]},
                       phase=phase, exact={"file": file},
                       facts={"release": "6.12.117", "cpu_flags": ["fpu", "tsc"], "apic_driver": "flat"})
    return b, files


def write(made, directory):
    builder, files = made
    builder.write(directory)
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


if __name__ == "__main__":
    import sys
    from pathlib import Path
    print(write(lazy_tlb(cpus=(2, 4, 8)), Path(sys.argv[1])))
