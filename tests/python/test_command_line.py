# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input to the command: one clear line, what to do in it, and the right exit status."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOOTDOWN = ROOT / "build" / "shootdown"
USAGE, ENVIRONMENT = 129, 130


def shootdown(*arguments, **options):
    return subprocess.run([SHOOTDOWN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False, cwd=options.pop("cwd", ROOT), **options)


def suite_file(folder, text):
    path = folder / "suite.yaml"
    path.write_text(text)
    return path


ONE_CASE = "suite: t\ncases: [{name: a, workload: null}]\n".replace("null", '"null"')


@pytest.mark.parametrize("arguments, says", [
    (["rnu"], "did you mean 'run'"),
    (["run", "ping-pnog"], "did you mean 'ping-pong'"),
    (["run", "smoek"], "did you mean 'smoke'"),
    (["run", "null", "--lnae", "vm"], "did you mean 'lane'"),
    (["run", "null", "--lane", "hots"], "did you mean 'host'"),
    (["run", "null", "--lane", "host", "--cpus", "none"], "'none' is not a number of CPUs"),
    (["run", "null", "--lane", "host", "--blocks", "0"], "'0' is not a number from 1 to 1000"),
    (["run", "null", "--lane", "vm", "--memory", "2 gigs"], "'2 gigs' is no memory of a guest"),
    (["run", "null", "--lane", "vm", "--memory", "512"], "with the unit"),
    (["run", "null", "--lane", "exact", "--cpus", "2,300", "--dry-run", "-k", "deb:6.12"], "300 CPUs: a guest of lane exact has 255"),
    (["run", "null", "--lane", "vm", "--arch", "sparc", "--dry-run"], "no architecture 'sparc'"),
    (["run", "null", "--lane", "host", "--probe", "tlb-flsh", "--dry-run"], "tlb-flush"),
    (["run", "null", "--lane", "host", "--probe", "perf:no-such-event", "--dry-run"], "no-such-event"),
    (["run", "null", "--lane", "exact", "--probe", "tlb-flush", "--dry-run"], "adds instructions"),
    (["run", "fork-exec-make", "--lane", "host", "--option", "unit=3", "--dry-run"], "'--units'"),
    (["run", "fork-exec-make", "--lane", "host", "--option", "units", "--dry-run"], "NAME=VALUE"),
    (["run", "--lane", "host"], "name a suite or a workload"),
    (["run", "--exec"], "takes its command after '--'"),
    (["run", "null", "--", "x"], "needs --exec"),
    (["run", "null", "--resume"], "-o DIR"),
    (["run", "null", "--lane", "vm", "--dry-run", "-k", "deb:6.12+lazi-tlb/with"], "did you mean 'lazy-tlb'"),
    (["run", "null", "--lane", "vm", "--dry-run", "-k", "deb:6.12+lazy-tlb/witout"], "did you mean 'without'"),
    (["run", "null", "--lane", "vm", "--dry-run", "-k", "dbe:6.12"], "did you mean 'deb'"),
    (["run", "null", "--lane", "vm", "--dry-run", "-k", "deb:6.12", "--baseline", "deb:6.13"], "none of the kernels"),
    (["list", "wokloads"], "did you mean 'workloads'"),
    (["reproduce", "lazytlb"], "did you mean 'lazy-tlb'"),
    (["compare"], "too few arguments"),
    (["doctor", "--lane", "vn"], "did you mean 'vm'"),
    (["completion", "fish"], "bash or zsh"),
])
def test_usage_is_one_line_and_129(arguments, says):
    done = shootdown(*arguments)
    assert done.returncode == USAGE, done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


@pytest.mark.parametrize("text, says", [
    ("suite: t\ncases: [{name: a, wokload: ping-pong}]\n", "cases[0]: unknown key 'wokload'; did you mean 'workload'?"),
    ("suite: t\ncases: [{name: a, workload: ping-pnog}]\n", "did you mean 'ping-pong'"),
    ("suite: t\ncases: [{name: a, workload: ping-pong, options: {tranport: tcp}}]\n", "did you mean '--transport'"),
    ("suite: t\ncases: [{name: a, workload: ping-pong, options: {transport: tpc}}]\n", "tcp"),
    ("suite: t\ncases: [{name: a, workload: anon-cow-rand-mt, options: {size: 4 megs}}]\n", "size"),
    ("suite: t\ncases: [{name: a/b, workload: ping-pong}]\n", "letters, digits"),
    ("suite: t\ncases: []\n", "the suite has none"),
    ("suite: t\ncases: [{name: a, workload: ping-pong}, {name: a, workload: ping-pong}]\n", "stands twice"),
    ("suite: t\nsuite: u\ncases: []\n", "line 2"),
    ("suite: [\n", "line"),
    ("suite: t\nprotocol: {blocks: 0}\ncases: [{name: a, workload: ping-pong}]\n", "protocol.blocks: 0 is less than 1"),
    ("suite: t\nprimary: {host: [{case: b, metric: score}]}\ncases: [{name: a, workload: ping-pong}]\n", "there is no case 'b'"),
    ("suite: t\ncases: [{name: a, workload: ping-pong, lanes: [vm]}]\n", "no case for the lane 'host'"),
])
def test_a_wrong_suite_names_the_place(tmp_path, text, says):
    done = shootdown("run", suite_file(tmp_path, text), "--lane", "host", "--dry-run")
    assert done.returncode == USAGE, done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments, says", [
    (["run", "anon-cow-rand-mt", "--lane", "vm", "--memory", "100 TiB", "--dry-run"], "does not fit"),
    (["compare", "/nonexistent"], "/nonexistent"),
    (["run", "--resume", "-o", "/nonexistent"], "no campaign to resume"),
])
def test_what_the_machine_cannot_do_is_130(arguments, says):
    done = shootdown(*arguments)
    assert done.returncode == ENVIRONMENT, done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_more_memory_or_cpus_than_there_are(tmp_path):
    memory = suite_file(tmp_path, "suite: t\ncases: [{name: a, workload: munmap-huge, options: {size: 4096 GiB}}]\n")
    done = shootdown("run", memory, "--lane", "host", "--dry-run")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (ENVIRONMENT, 1), done.stderr
    assert "needs" in done.stderr
    cpus = suite_file(tmp_path, "suite: t\ncases: [{name: a, workload: known-flush, options: {siblings: 4000}}]\n")
    done = shootdown("run", cpus, "--lane", "host", "--dry-run")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (ENVIRONMENT, 1), done.stderr


def test_a_full_disk_is_said(tmp_path):
    done = subprocess.run([SHOOTDOWN, "list", "workloads"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == ENVIRONMENT
    assert "could not be written" in done.stderr


def test_a_host_campaign_is_whole_and_is_not_overwritten(tmp_path):
    directory = tmp_path / "c"
    done = shootdown("run", "null", "--lane", "host", "--blocks", 2, "--iterations", 2, "-o", directory)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(directory)
    plan = json.loads((directory / "plan.json").read_text())
    records = [json.loads(path.read_text()) for path in sorted((directory / "records").iterdir())]
    assert len(records) == 2
    for record in records:
        assert record["complete"] and record["outcome"] == "ok" and record["plan"] == plan["id"]
        assert [i["warmup"] for i in record["iterations"]] == [True, False, False]
    assert not (directory / "lock").exists() and not list(directory.glob("shootdown-session-*"))
    again = shootdown("run", "null", "--lane", "host", "-o", directory)
    assert again.returncode == USAGE and "holds a campaign already" in again.stderr
    resumed = shootdown("run", "--resume", "-o", directory)
    assert resumed.returncode == 0 and "2 were there already" in resumed.stderr


def test_an_interrupt_keeps_what_was_measured_and_resumes(tmp_path):
    directory = tmp_path / "c"
    runner = subprocess.Popen([SHOOTDOWN, "run", "--exec", "--lane", "host", "--blocks", "3", "--iterations", "2", "--warmup", "0",
                               "-o", directory, "--", "sleep", "0.4"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              cwd=ROOT)
    for _ in range(200):
        if len(list((directory / "records").glob("*.json"))) >= 2:
            break
        time.sleep(0.05)
    runner.send_signal(signal.SIGINT)
    error = runner.communicate(timeout=20)[1]
    assert runner.returncode == ENVIRONMENT
    assert "interrupted; what was measured is kept" in error
    kept = {path.name: json.loads(path.read_text()) for path in (directory / "records").glob("*.json")}
    assert any(record["complete"] for record in kept.values())
    done = shootdown("run", "--resume", "-o", directory)
    assert done.returncode == 0, done.stderr
    after = {path.name: json.loads(path.read_text()) for path in (directory / "records").glob("*.json")}
    assert len(after) == 3 and all(record["complete"] and record["outcome"] == "ok" for record in after.values())
    for name, record in kept.items():
        if record["complete"]:
            assert after[name] == record


def test_resume_refuses_another_campaign_by_name(tmp_path):
    directory = tmp_path / "c"
    assert shootdown("run", "null", "--lane", "host", "--blocks", 1, "-o", directory).returncode == 0
    plan = json.loads((directory / "plan.json").read_text())
    plan["machine"] = "0" * 64
    (directory / "plan.json").write_text(json.dumps(plan))
    done = shootdown("run", "--resume", "-o", directory)
    assert done.returncode == USAGE and "another machine" in done.stderr


def test_two_runners_on_one_campaign(tmp_path):
    directory = tmp_path / "c"
    first = subprocess.Popen([SHOOTDOWN, "run", "--exec", "--lane", "host", "--blocks", "1", "--iterations", "1", "--warmup", "0", "-o",
                              directory, "--", "sleep", "3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    try:
        for _ in range(100):
            if (directory / "plan.json").exists():
                break
            time.sleep(0.05)
        second = shootdown("run", "--resume", "-o", directory)
        assert second.returncode == ENVIRONMENT
        assert f"process {first.pid} runs this campaign" in second.stderr
    finally:
        first.terminate()
        first.wait(timeout=10)


def test_a_failed_command_is_an_outcome(tmp_path):
    done = shootdown("run", "--exec", "--lane", "host", "--blocks", 2, "-o", tmp_path / "c", "--", "false")
    assert done.returncode == 0
    assert "2 failed" in done.stderr
    for path in (tmp_path / "c" / "records").iterdir():
        record = json.loads(path.read_text())
        assert record["outcome"] == "workload-failed" and "'false' ended with status 1" in record["detail"]


def test_help_manual_and_completions_know_every_command():
    commands = set(re.findall(r"^  (\w+) ", shootdown("--help").stdout, re.MULTILINE))
    assert {"run", "compare", "reproduce", "kernel", "list", "doctor"} <= commands
    manual, bash, zsh = (shootdown(*words).stdout for words in (["manual"], ["completion", "bash"], ["completion", "zsh"]))
    for command in commands:
        assert f".SS shootdown {command} " in manual
        assert f"\t\t{command}) words=" in bash
        assert f"\n{command})\n" in zsh
        assert shootdown(command, "--help").stdout.startswith(f"usage: shootdown {command}")


@pytest.mark.parametrize("what", ["workloads", "series", "suites", "kernels"])
def test_every_list_can_be_had(what):
    done = shootdown("list", what, "--json")
    assert done.returncode == 0, done.stderr
    names = [entry.get("name", entry.get("id")) for entry in json.loads(done.stdout)]
    assert all(names) and (names or what == "kernels")


def test_a_suite_of_a_series_by_its_name():
    done = shootdown("run", "xpfo/suite-quick", "--lane", "vm", "--dry-run", "-k", "deb:6.12")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("lane", ["vm", "exact"])
def test_the_running_kernel_is_not_booted_in_a_guest(lane):
    done = shootdown("run", "null", "-k", "host", "--lane", lane, "--dry-run")
    assert done.returncode == USAGE
    assert "no image to boot" in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_exact_lane_has_nothing_to_pilot():
    done = shootdown("run", "null", "-k", "deb:6.12", "--lane", "exact", "--pilot", "--dry-run")
    assert done.returncode == USAGE
    assert "nothing to estimate" in done.stderr


def test_the_bash_completion_is_a_script():
    text = shootdown("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


def test_doctor_changes_nothing_and_says_json():
    done = shootdown("doctor", "--json")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert {lane["lane"] for lane in answer["lanes"]} == {"host", "vm", "exact"}
    for check in answer["checks"]:
        assert check["fact"]
        if check["status"] in ("warning", "missing", "blocks"):
            assert check["harm"] and check["mend"]


def test_colours_only_on_terminals():
    assert "\033" not in shootdown("rnu", env=dict(os.environ, TERM="xterm")).stderr


def test_an_error_stays_one_line_and_does_not_steer_the_terminal():
    done = shootdown("run", "a\nb\x1b[31m")
    assert done.returncode == USAGE
    assert len(done.stderr.strip().splitlines()) == 1 and "\x1b" not in done.stderr and "a?b?" in done.stderr
