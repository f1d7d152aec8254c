# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: python3 -m tests.bench [--all] [--list] [NAME...]      results also in build/bench.json"""
import argparse
import importlib
import json
import pathlib
import sys
import time

from tests.bench.core import FIGURES, ROOT

HERE = pathlib.Path(__file__).resolve().parent


def load():
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in ("__init__", "__main__", "core"):
            importlib.import_module(f"tests.bench.{path.stem}")


def measure(figure):
    started = time.monotonic()
    try:
        result = figure.measure()
        value, note = result if isinstance(result, tuple) else (result, "")
        verdict = "met" if figure.met(value) else "MISSED"
        shown = f"{value:.4g}"
    except Exception as error:  # a figure that cannot be had is reported, and the others still run
        value, note, verdict, shown = None, str(error), "not measured", "-"
    row = {"figure": figure.name, "asked": figure.asked(), "unit": figure.unit, "measured": value, "verdict": verdict,
           "note": note, "seconds": round(time.monotonic() - started, 1)}
    print(f"{figure.name:34} {shown:>10} {figure.unit:18} asked {figure.asked():22} {verdict}{'  ' + note if note else ''}",
          flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    load()
    unknown = [name for name in options.names if name not in FIGURES]
    if unknown:
        parser.error(f"no figure is called {unknown[0]}; --list names them")
    if options.list:
        for figure in FIGURES.values():
            print(f"{figure.name:34} {figure.asked():22} {figure.unit:18} {figure.text}")
        return 0
    chosen = [f for f in FIGURES.values() if (f.name in options.names if options.names else options.all or not f.long)]
    rows = [measure(figure) for figure in chosen]
    (ROOT / "build" / "bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{sum(r['verdict'] == 'met' for r in rows)} met, {sum(r['verdict'] == 'MISSED' for r in rows)} missed, "
          f"{sum(r['verdict'] == 'not measured' for r in rows)} not measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
