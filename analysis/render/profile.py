# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampled profile as text: where CPU time went, by group and by function."""
from analysis.render import words

KERNELS, GROUPS, FUNCTIONS = 4, 8, 15


def text_table(profiles, ordered, names):
    lines = ["Sampled profile, percent of all CPU time (shown, not judged)"]
    kernels = [k["id"] for k in ordered][:KERNELS]
    for profile in profiles:
        shown = [k for k in kernels if k in profile["samples"]]
        lines += ["", f"{words.case_title(profile)}: " + ", ".join(f"{names[k]} {profile['samples'][k]} samples" for k in shown)]
        lines.append("".join(f"{names[k]:>9}" for k in shown) + "  group")
        lines += [_row(r["shares"], shown, r["group"]) for r in profile["groups"][:GROUPS]]
        lines.append("".join(f"{names[k]:>9}" for k in shown) + "  function")
        lines += [_row(r["shares"], shown, r["function"]) for r in profile["functions"][:FUNCTIONS]]
    return lines


def _row(shares, kernels, name):
    return ("".join(f"{shares.get(k, 0.0):>8.2f}%" for k in kernels) + "  " + words.plain(name))[:72]
