# SPDX-License-Identifier: GPL-2.0-or-later
"""make and gcc inside a guest, from the toolchain that travels with the case; nothing of this machine's files is there."""
import json

import guests
import pytest

MAKEFILE = """\
program: first.o second.o
\tgcc -o $@ $^ -lm
\t./$@
\t@# the toolchain is read-only, and what is there came with it
\t! touch /usr/bin/gcc
\t! test -e SOURCE
%.o: %.c
\tcc -O1 -c -o $@ $<
clean:
\trm -f program *.o
.PHONY: clean
"""
FIRST = """\
#include <math.h>
#include <stdio.h>
double half(double);
int main(int argc, char **argv) { (void)argv; printf("%f\\n", sqrt(half(argc))); return 0; }
"""
SECOND = "double half(double value) { return value / 2; }\n"


@pytest.fixture(scope="module", autouse=True)
def kernel():
    guests.build(guests.KERNEL)


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "Makefile").write_text(MAKEFILE.replace("SOURCE", __file__))
    (directory / "first.c").write_text(FIRST)
    (directory / "second.c").write_text(SECOND)
    return directory


def run(campaign, real, *words, lane="vm"):
    return guests.shootdown("run", "fork-exec-make", "--option", f"real={real}", "--option", "jobs=2", "-k", guests.KERNEL,
                            "--lane", lane, "--cpus", "2", "--memory", "1 GiB", "--iterations", "1", "--warmup", "0", *words,
                            "-o", campaign, timeout=900)


PROFILE = ["tracepoint.kmem:mm_page_alloc", "time.minor_page_faults", "tracepoint.sched:sched_process_fork",
           "tracepoint.sched:sched_process_exec"]


def record_of(campaign):
    path, = (campaign / "records").glob("*.json")
    return json.loads(path.read_text())


def test_builds_a_directory_in_the_guest(project, tmp_path):
    campaign = tmp_path / "campaign"
    done = run(campaign, project, "--blocks", "1")
    assert done.returncode == 0, done.stderr
    record = record_of(campaign)
    assert record["outcome"] == "ok", record["detail"]
    assert record["iterations"][0]["operations"] == 3
    assert len(record["hashes"]["tree"]) == len(record["hashes"]["toolchain"]) == 64


def test_what_the_compiler_says_is_the_reason(project, tmp_path):
    (project / "second.c").write_text("double half(double value) { return wrong; }\n")
    run(tmp_path / "campaign", project, "--blocks", "1")
    record = record_of(tmp_path / "campaign")
    assert record["outcome"] == "workload-failed"
    assert "make ended with status 2" in record["detail"]


def test_another_content_is_another_plan(project, tmp_path):
    campaign = tmp_path / "campaign"
    assert run(campaign, project, "--blocks", "1").returncode == 0
    (project / "second.c").write_text(SECOND + "int more;\n")
    done = guests.shootdown("run", "--resume", "-o", campaign, timeout=300)
    assert done.returncode == 129 and "hashes" in done.stderr, done.stderr


@pytest.mark.full
def test_a_made_up_job_is_like_a_real_one(tmp_path):
    """The suite that shows both: pages, faults, forks and executed programs of a job."""
    campaign = tmp_path / "campaign"
    done = guests.shootdown("run", "real-build", "-k", guests.KERNEL, "--blocks", "1", "-o", campaign, timeout=900)
    assert done.returncode == 0, done.stderr
    per_job = {}
    for path in (campaign / "records").glob("*.json"):
        record = json.loads(path.read_text())
        assert record["outcome"] == "ok", record["detail"]
        iteration, = record["iterations"]
        per_job[record["case_name"]] = {key: iteration["counts"][key] / iteration["operations"] for key in PROFILE}
    for key in PROFILE:
        assert per_job["made-up"][key] == pytest.approx(per_job["real"][key], rel=0.1), per_job


@pytest.mark.full
def test_the_same_to_the_instruction_with_a_compiler(project, tmp_path):
    counts = []
    for name in ("one", "two"):
        assert run(tmp_path / name, project, "--phases", "1", lane="exact").returncode == 0
        path, = (tmp_path / name / "raw").glob("*/exact-*.counts.gz")
        counts.append(path.read_bytes())
    assert counts[0] == counts[1]
