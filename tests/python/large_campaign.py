# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign of any size, for timing: kernels x blocks x cases, with so many counters an iteration."""
import json
import sys
from pathlib import Path

import numpy as np
from campaigns import Builder, digest


def make(directory, kernels=40, blocks=20, cases=20, counters=300, iterations=1, seed=1):
    suite = {"suite": "large", "margin-percent": 2, "derived": [],
             "primary": {"host": [{"case": f"case{i:02d}", "metric": "score"} for i in range(cases)]}}
    b = Builder(lane="host", accelerator=None, blocks=blocks, iterations=iterations, suite=suite, seed=seed)
    ids = [b.kernel(f"v6.{i}") for i in range(kernels)]
    known = [b.case(f"case{i:02d}") for i in range(cases)]
    names = [f"proc-vmstat.counter_of_the_kernel_{i:03d}" for i in range(counters)]
    for block in range(blocks):
        for kernel in ids:
            b.plan["boots"].append({"index": len(b.plan["boots"]), "block": block, "order": ids.index(kernel), "kernel": kernel,
                                    "phase": None, "cpus": 2, "cases": known})
    directory = b.write(directory)
    for boot in b.plan["boots"]:
        for place, case in enumerate(known):
            record = b._record(boot["index"], boot["block"], boot["order"], boot["kernel"], case, [], None, "ok", "", {})
            values = b.random.integers(1000, 100000, (iterations + 1, counters)).tolist()
            effect = 1.05 if ids.index(boot["kernel"]) == 3 and place == 2 else 1.0
            record["iterations"] = [
                {"index": i, "warmup": i == 0, "elapsed_ns": 10 ** 9, "operations": 1000, "counts": dict(zip(names, row)),
                 "metrics": {"score": float(b.random.normal(1e6 * effect, 2e4))}, "histograms": {}, "missing": {}}
                for i, row in enumerate(values)]
            (directory / "records" / f"{boot['index']:04d}-{case}.json").write_text(json.dumps(record))
    return directory


if __name__ == "__main__":
    make(Path(sys.argv[1]), *(int(a) for a in sys.argv[2:]))
