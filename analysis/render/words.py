# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and words as all renderers write them."""
import math
import string

HUGE_CHANGE = 1000      # percent; beyond, and where the base is zero, the difference itself says more
SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e5, "k"))


def number(value, digits=4):
    """Four significant digits; k, M, G, T from 100,000 on; '-' without a value."""
    if value is None or not math.isfinite(value):
        return "-"
    for scale, suffix in SCALES:
        if abs(value) >= scale:
            return f"{value / (1e3 if suffix == 'k' else scale):.{digits}g}{suffix}"
    if value == int(value):
        return str(int(value))
    if abs(value) >= 10 ** digits:
        return f"{value:.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def signed(value, digits=4):
    text = number(value, digits)
    return text if text.startswith("-") or value == 0 else "+" + text


def percent(value):
    if value is None or not math.isfinite(value):
        return "-"
    digits = 1 if abs(value) >= 0.1 or value == 0 else 2
    return f"{value:+.{digits}f}%" if value else "0.0%"


def change(change_percent, difference):
    """The change in percent of the base; the plain difference where that says nothing."""
    if change_percent is None or not math.isfinite(change_percent) or abs(change_percent) > HUGE_CHANGE:
        return signed(difference) if difference is not None else "-"
    return percent(change_percent)


def interval(effect, which="interval"):
    """'-3.1% to -2.7%' of an effect, in the metric's unit where percent says nothing; '' without. which: interval, or
    bootstrap, the second opinion."""
    if not effect or which not in effect:
        return ""
    ends = effect[f"{which}_percent"]
    if None in ends or max(map(abs, ends)) > HUGE_CHANGE:
        known = all(x is not None and math.isfinite(x) for x in effect[which])
        return " to ".join(signed(x) for x in effect[which]) if known else ""
    return " to ".join(percent(x) for x in ends)


def measured(claim):
    """'12 → 316 instructions/op (26.4 times)' of a claim: the ratio where it is large, else the change."""
    m = claim["measured"]
    if not m:
        return "-"
    ratio = m["ratio"]
    if ratio is not None and 2 <= ratio < 1e6:
        said = f"{ratio:.3g} times"
    else:
        said = change(m["change_percent"], m["difference"])
    unit = f" {plain(claim['unit'])}" if claim["unit"] else ""
    return f"{number(m['baseline'])} → {number(m['candidate'])}{unit} ({said})"


def spread(summary):
    """'± 3%' of the median; '± 0.02' where the median is zero; '' without."""
    sd, centre = summary.get("sd"), summary.get("median", summary.get("mean"))
    if sd is None or centre is None:
        return ""
    if centre == 0 or sd > 10 * abs(centre):
        return f"± {number(sd, 2)}" if sd else "± 0%"
    return f"± {sd / abs(centre) * 100:.0f}%"


def p_value(value):
    if value is None or not math.isfinite(value):
        return "-"
    if value < 1e-4:
        return "<0.0001"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def letters(kernels):
    """kernel id -> A, B, ... AA: the baseline first."""
    ordered = sorted(kernels, key=lambda k: not k["baseline"])
    names = {}
    for place, kernel in enumerate(ordered):
        name, rest = string.ascii_uppercase[place % 26], place // 26
        names[kernel["id"]] = (string.ascii_uppercase[rest - 1] if rest else "") + name
    return ordered, names


def plain(text):
    """Foreign text for a terminal: no control character gets through."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def where(campaign):
    """'vm lane, TCG, QEMU 7.2.22, CPU model max' in pieces."""
    pieces = [f"{campaign['lane']} lane"]
    accelerator = campaign.get("accelerator")
    if campaign["lane"] == "vm" and accelerator:
        pieces.append("KVM" if accelerator == "kvm" else "TCG (translated, no KVM)")
    if campaign["lane"] == "exact":
        pieces.append("TCG counting instructions, one CPU at a time")
    if campaign["lane"] != "host":
        pieces += [f"QEMU {campaign['qemu_version']}"] if campaign.get("qemu_version") else []
        pieces += [f"CPU model {campaign['cpu_model']}"] if campaign.get("cpu_model") else []
    pieces += [campaign["architecture"]] if campaign.get("architecture") else []
    return [plain(piece) for piece in pieces]


def protocol(campaign):
    p = campaign.get("protocol") or {}
    if campaign["lane"] == "exact":
        phases = p.get("phases")
        return f"{phases} phase{'s' if phases != 1 else ''}, one boot each; margin and p do not apply: counts are exact"
    blocks, iterations = p.get("blocks"), p.get("iterations")
    return (f"{blocks} block{'s' if blocks != 1 else ''} (one boot of each kernel), {iterations} "
            f"iteration{'s' if iterations != 1 else ''} a boot after {p.get('warmup', 0)} of warm-up; margin of interest "
            f"{campaign['margin_percent']:g}%")


def needs(row):
    """What would decide a metric that is inconclusive."""
    if row["effect"] and "gap" in row["effect"]:        # exact lane: fewer are apart by luck too often
        return " (five phases or more decide)"
    blocks = row["blocks_needed"]
    return f" (about {blocks} blocks needed)" if blocks else " (more blocks than are practical needed)"


def case_title(row):
    return plain(row["case_name"]) + (f", {row['cpus']} CPUs" if row.get("cpus") else "")
