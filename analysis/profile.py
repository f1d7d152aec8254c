# SPDX-License-Identifier: GPL-2.0-or-later
"""Sampled profile: shares of all samples by function and by function group, for each kernel. Shown, not judged."""
from analysis.records import PROFILE

FUNCTIONS_LISTED = 60


def _shares(total, kernel):
    histogram = total.content.get(PROFILE) if total else None
    counts = {str(label[0]): count for label, count in histogram["buckets"].items()} if histogram else {}
    samples = sum(counts.values())
    return {name: count / samples * 100 for name, count in counts.items()} if samples else {}, samples


def profiles(campaign):
    """[{case, samples: {kernel: n}, functions: [{function, group, shares: {kernel: percent}}], groups: [...]}]"""
    from analysis.exactlane import groups_of
    groups, found = groups_of(campaign), []
    for case in campaign.cases:
        by_kernel, samples = {}, {}
        for kernel in campaign.kernels:
            shares, count = _shares(campaign.histograms.get((case["id"], kernel["id"])), kernel["id"])
            if count:
                by_kernel[kernel["id"]], samples[kernel["id"]] = shares, count
        if not by_kernel:
            continue
        of = {name: name if name.startswith("[") else groups.group_of(name) for shares in by_kernel.values() for name in shares}
        functions = [{"function": name, "group": group, "shares": {k: s.get(name, 0.0) for k, s in by_kernel.items()}}
                     for name, group in of.items()]
        functions.sort(key=lambda f: (-max(f["shares"].values()), f["function"]))
        sums = {}
        for function in functions:
            row = sums.setdefault(function["group"], dict.fromkeys(by_kernel, 0.0))
            for kernel, share in function["shares"].items():
                row[kernel] += share
        rows = [{"group": group, "shares": shares} for group, shares in sums.items()]
        rows.sort(key=lambda g: (-max(g["shares"].values()), g["group"]))
        found.append({"case": case["id"], "case_name": case["name"], "cpus": case.get("cpus"), "samples": samples,
                      "functions": functions[:FUNCTIONS_LISTED], "functions_sampled": len(functions), "groups": rows})
    return found
