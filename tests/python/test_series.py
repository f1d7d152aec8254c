# SPDX-License-Identifier: GPL-2.0-or-later
"""Series and their suites hang together: no kernel is built for it."""
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build")) / "workloads"
FOLDERS = sorted(path.parent for room in ("kernels/series", "tests/series") for path in ROOT.glob(f"{room}/*/series.yaml"))
SUITES = sorted([*ROOT.glob("kernels/series/*/suite*.yaml"), *ROOT.glob("configs/suites/*.yaml")])
LIMITS = "cpus=4,nodes=2,memory=34359738368"
KEYS = {
    "series": {"series", "title", "summary", "published", "base", "architectures", "baseline", "options", "variants", "claims"},
    "variant": {"name", "summary", "patches", "config", "boot-parameters"},
    "claim": {"name", "published", "source", "baseline", "candidate", "case", "cpus", "metric", "lanes", "direction",
              "published-change-percent", "expect", "note"},
}


def read(path):
    return yaml.load(path.read_text(), Loader=yaml.BaseLoader)


def suites_of(folder):
    return [read(path) for path in sorted(folder.glob("suite*.yaml"))]


def described(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", FOLDERS, ids=described)
def test_series_names_what_it_has(folder):
    series = read(folder / "series.yaml")
    assert set(series) == KEYS["series"]
    assert series["series"] == folder.name
    names = [variant["name"] for variant in series["variants"]]
    assert len(set(names)) == len(names) and series["baseline"] in names
    wanted = set()
    for variant in series["variants"]:
        assert set(variant) == KEYS["variant"]
        assert set(variant["config"]) <= set(series["options"])
        wanted |= set(variant["patches"])
    folders = [path for path in folder.iterdir() if path.is_dir()]
    assert wanted == {path.name for below in folders for path in below.glob("*.patch")}, "patches that nobody uses, or that are not there"


@pytest.mark.parametrize("patch", sorted(p for folder in FOLDERS for p in folder.glob("*/*.patch")), ids=described)
def test_patch_is_a_mail_that_says_why(patch):
    text = patch.read_text()
    head, _, rest = text.partition("\n\n")
    message, _, diff = rest.partition("\n---\n")
    assert re.match(r"From 0{40} ", head)
    assert {"From", "Date", "Subject"} <= set(re.findall(r"^([A-Z][a-z]+): ", head, re.MULTILINE))
    assert len(message.split()) > 12, "a message says what the mechanism is and why it is changed"
    assert max(map(len, message.splitlines())) <= 80
    changed = re.findall(r"^diff --git a/(\S+) b/(\S+)$", diff, re.MULTILINE)
    assert changed and all(old == new for old, new in changed)
    assert re.search(rf"^ {len(changed)} files? changed", diff, re.MULTILINE)


@pytest.mark.parametrize("folder", FOLDERS, ids=described)
def test_claims_are_about_what_is_run(folder):
    series = read(folder / "series.yaml")
    variants = {variant["name"] for variant in series["variants"]}
    # A publication is named by its message-id or, where none is known, by words that hold its date.
    sources = {publication["message-id"] for publication in series["published"] if "message-id" in publication}
    dates = [str(publication["date"]) for publication in series["published"] if "message-id" not in publication]
    suites = suites_of(folder)
    for claim in series["claims"]:
        assert set(claim) <= KEYS["claim"] and {"name", "published", "source", "metric", "direction"} <= set(claim)
        assert {claim["baseline"], claim["candidate"]} <= variants and claim["baseline"] != claim["candidate"]
        assert claim["source"] in sources or any(date in claim["source"] for date in dates)
        assert claim["direction"] in ("increase", "decrease")
        cases = {case["name"]: set(case.get("lanes", suite["lanes"])) for suite in suites for case in suite["cases"]}
        assert claim["case"] in cases and set(claim["lanes"]) <= cases[claim["case"]]
        expect = claim.get("expect", {"of": "ratio", "at-least": "0"})
        assert expect["of"] in ("ratio", "candidate", "baseline", "difference")
        assert {"at-least", "at-most"} & set(expect) and set(expect) <= {"of", "at-least", "at-most"}


@pytest.mark.parametrize("path", SUITES, ids=described)
def test_cases_resolve(path):
    suite = read(path)
    for case in suite["cases"]:
        # As the plan hands them on: true and false of YAML are yes and no of an option.
        words = {"true": "yes", "false": "no"}
        options = [f"--{name}={words.get(str(value), value)}" for name, value in case.get("options", {}).items()]
        result = subprocess.run([WORKLOADS / case["workload"], "--resolve", LIMITS, *options], capture_output=True, text=True,
                                timeout=60)
        assert result.returncode == 0, f"{case['name']}: {result.stderr}"


@pytest.mark.parametrize("path", SUITES, ids=described)
def test_suite_refers_to_its_own_cases(path):
    suite = read(path)
    cases = [case["name"] for case in suite["cases"]]
    assert len(set(cases)) == len(cases)
    assert suite["default-lane"] in suite["lanes"]
    for case in suite["cases"]:
        assert set(case.get("lanes", [])) <= set(suite["lanes"])
    for metric in suite.get("derived", []):
        assert metric["case"] in cases
        used = set(re.findall(r"[A-Za-z_]\w*", metric["formula"]))
        assert used == set(metric["terms"])
        assert all(term.get("case", metric["case"]) in cases and term["key"] for term in metric["terms"].values())
    for lane, rows in suite["primary"].items():
        assert lane in suite["lanes"]
        assert all(row["case"] in cases and row["metric"] for row in rows)


@pytest.mark.parametrize("path", [path for path in SUITES if path.parent.name != "suites"], ids=described)
def test_default_kernels_are_variants(path):
    series = read(path.parent / "series.yaml")
    variants = {f"{series['base']}+{series['series']}/{variant['name']}" for variant in series["variants"]}
    assert set(read(path)["kernels"]) <= variants | {series["base"]}
