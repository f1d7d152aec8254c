# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks round a campaign that needs no kernel: killed processes, a full or read-only disk, cut records, one CPU."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from tests.soak import soak

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOOTDOWN = ROOT / "build" / "shootdown"
WORKLOADS = ROOT / "build" / "workloads"
USAGE, ENVIRONMENT = 129, 130
POLICY = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture
def place(tmp_path):
    """Environment in which everything that a run may leave lies below one folder."""
    (tmp_path / "tmp").mkdir()
    return dict(os.environ, TMPDIR=str(tmp_path / "tmp"), XDG_STATE_HOME=str(tmp_path / "state"), NO_COLOR="1")


def shootdown(place, *words):
    return subprocess.run([SHOOTDOWN, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, env=place)


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def one_line(done, status, *parts):
    assert done.returncode == status, done.stderr
    lines = [line for line in done.stderr.strip().splitlines() if line.startswith("shootdown: ")]
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0]


@contextlib.contextmanager
def tmpfs(folder, options):
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def records(directory):
    return {path.name: json.loads(path.read_text()) for path in sorted((directory / "records").glob("*.json"))}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign that is done; not to be changed."""
    directory = tmp_path_factory.mktemp("finished") / "c"
    assert shootdown(os.environ, "run", "null", "--lane", "host", "--blocks", 1, "--iterations", 1, "-o", directory).returncode == 0
    return directory


@pytest.mark.slow
def test_random_kills_lose_nothing_and_leave_nothing():
    result = soak(4, seed=7, lanes=("host",))
    assert (result["lost"], result["wrong"], result["left"]) == (0, 0, 0), "\n".join(result["notes"])
    assert sum(result["kills"].values()) == 4


def test_a_killed_supervisor_leaves_work_for_restore(place, tmp_path):
    """Its directory and the system's policy for huge pages come back, and not while it lives."""
    change = ["--thp", "always"] if os.access(POLICY, os.W_OK) else []
    before = POLICY.read_text() if change else ""
    words = [WORKLOADS / "anon-cow-rand-mt", "--size=1MiB", "--threads=1", "--stores=1000000000000", *change] if change else \
            [WORKLOADS / "fork-exec-make", "--units=20000"]
    journals = tmp_path / "state" / "shootdown" / "leftovers"
    with subprocess.Popen(words, env=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as workload:
        changed = (lambda: POLICY.read_text() != before) if change else (lambda: list((tmp_path / "tmp").iterdir()))
        try:
            assert wait_for(changed)
            # The owner lives: nothing may be taken from under it.
            assert "nothing to put back" in shootdown(place, "restore").stdout
            assert changed()
        finally:
            workload.kill()
    try:
        assert list(journals.iterdir())
        assert wait_for(lambda: "cleared away" in shootdown(place, "restore").stdout)
        assert not changed()
        assert not list((tmp_path / "tmp").iterdir()) and not list(journals.iterdir())
    finally:
        if change and POLICY.read_text() != before:
            POLICY.write_text(before.partition("[")[2].partition("]")[0])


def test_the_next_start_clears_away_what_a_killed_run_left(place, tmp_path):
    with subprocess.Popen([WORKLOADS / "fork-exec-make", "--units=20000"], env=place, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as workload:
        assert wait_for(lambda: list((tmp_path / "tmp").iterdir()))
        workload.kill()
    assert wait_for(lambda: not subprocess.run(["pgrep", "-f", "units=20000"], capture_output=True, check=False).stdout)
    done = shootdown(place, "run", "null", "--lane", "host", "--blocks", 1, "--iterations", 1, "-o", tmp_path / "c")
    assert done.returncode == 0 and "cleared away what a killed run had left" in done.stderr, done.stderr
    assert not list((tmp_path / "tmp").iterdir())


def test_a_journal_cannot_make_anybody_remove_what_is_not_ours(place, tmp_path):
    journals = tmp_path / "state" / "shootdown" / "leftovers"
    journals.mkdir(parents=True)
    victim = tmp_path / "precious"
    victim.mkdir()
    for number, entry in enumerate([{"kind": "tree", "path": str(victim)}, {"kind": "tree", "path": "shootdown-x"},
                                    {"kind": "value", "path": str(victim), "value": "x"}, {"kind": "tree"}, [], "x",
                                    {"kind": "tree", "path": f"{tmp_path}/shootdown-x/../precious"}]):
        (journals / str(number)).write_text(json.dumps(entry) + "\n{\"kind\": \"tre")
    assert shootdown(place, "restore").returncode == 0
    assert victim.is_dir() and not list(journals.iterdir())


def test_a_killed_runner_takes_its_workload_with_it(place, tmp_path):
    """And the workload's supervisor still clears away."""
    suite = tmp_path / "s.yaml"
    suite.write_text("suite: t\ncases: [{name: a, workload: fork-exec-make, options: {units: 20000}}]\n")
    with subprocess.Popen([SHOOTDOWN, "run", suite, "--lane", "host", "-o", tmp_path / "c"], env=place, cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
        assert wait_for(lambda: list((tmp_path / "tmp").iterdir()))
        runner.kill()
    leftovers = tmp_path / "state" / "shootdown" / "leftovers"
    # What is left to do is the runner's own: its session directory.
    assert wait_for(lambda: not list((tmp_path / "tmp").iterdir()) and len(list(leftovers.iterdir())) == 1)
    assert list((tmp_path / "c").glob("shootdown-session-*"))
    assert shootdown(place, "restore").returncode == 0
    assert not list(leftovers.iterdir()) and not list((tmp_path / "c").glob("shootdown-session-*"))


def test_a_cut_record_is_measured_again_and_the_others_stay(place, tmp_path):
    directory = tmp_path / "c"
    words = ["run", "null", "--lane", "host", "--blocks", 3, "--iterations", 1, "-o", directory]
    assert shootdown(place, *words).returncode == 0
    paths = sorted((directory / "records").iterdir())
    whole = paths[0].read_text()
    paths[0].write_text(whole[:len(whole) // 2])
    paths[1].write_text("")
    (directory / "records" / (paths[2].name + ".unfinished-Ab3dEf")).write_text(whole[:100])
    kept = paths[2].read_bytes()
    done = shootdown(place, "run", "--resume", directory)
    assert done.returncode == 0 and "2 ran, 1 were there already" in done.stderr, done.stderr
    assert paths[2].read_bytes() == kept
    assert all(record["complete"] and record["outcome"] == "ok" for record in records(directory).values())
    assert sorted(path.name for path in (directory / "records").iterdir()) == [path.name for path in paths]


@pytest.mark.parametrize("damage, says", [
    (lambda text: text[:len(text) // 2], "line"),
    (lambda text: "", "line"),
    (lambda text: "[]", "no text"),
    (lambda text: text.replace('"kernel": "', '"kernel": "0'), "none of the plan's kernels"),
    (lambda text: text.replace('"boots": [', '"boots": [7, '), "boots[0]"),
    (lambda text: text.replace('"name": "null"', '"name": "../null"'), "name"),
    (lambda text: text.replace('"arguments": []', '"arguments": [7]'), "arguments"),
    (lambda text: text.replace('"shootdown",', "null,"), "command"),
])
def test_a_damaged_plan_is_refused_in_one_line(place, tmp_path, finished, damage, says):
    directory = tmp_path / "c"
    shutil.copytree(finished, directory)
    plan = directory / "plan.json"
    damaged = damage(plan.read_text())
    assert damaged != plan.read_text()
    plan.write_text(damaged)
    one_line(shootdown(place, "run", "--resume", directory), ENVIRONMENT, says, str(directory))


@pytest.mark.slow
def test_a_full_disk_stops_the_campaign_and_room_lets_it_go_on(place, tmp_path):
    with tmpfs(tmp_path / "small", "size=192k") as small:
        directory = small / "c"
        done = shootdown(place, "run", "null", "--lane", "host", "--blocks", 16, "--iterations", 1, "-o", directory)
        one_line(done, ENVIRONMENT, str(directory), "No space left on device")
        # What was measured is whole: a record is there or it is not.
        before = records(directory)
        complete = {name: record for name, record in before.items() if record["complete"]}
        assert complete
        again = shootdown(place, "run", "--resume", directory)
        one_line(again, ENVIRONMENT, "No space left on device")
        subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
        done = shootdown(place, "run", "--resume", directory)
        assert done.returncode == 0, done.stderr
        after = records(directory)
        assert len(after) == 16 and all(record["complete"] and record["outcome"] == "ok" for record in after.values())
        assert all(after[name] == record for name, record in complete.items())
        assert not list(directory.rglob("*.unfinished-*"))


def test_a_read_only_directory_is_said_before_anything_runs(place, tmp_path):
    with tmpfs(tmp_path / "fixed", "ro") as fixed:
        done = shootdown(place, "run", "null", "--lane", "host", "--blocks", 1, "-o", fixed / "c")
        one_line(done, ENVIRONMENT, str(fixed / "c"), "Read-only file system")
    assert not list((tmp_path / "tmp").iterdir())


def test_a_campaign_that_became_read_only(place, tmp_path):
    with tmpfs(tmp_path / "fixed", "size=16m") as fixed:
        assert shootdown(place, "run", "null", "--lane", "host", "--blocks", 1, "-o", fixed / "c").returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", fixed], check=True)
        one_line(shootdown(place, "run", "--resume", fixed / "c"), ENVIRONMENT, "Read-only file system")


def cpuset_root():
    """Where the kernel keeps cpusets, whichever of the two kinds of cgroups this system has."""
    first, second = pathlib.Path("/sys/fs/cgroup/cpuset"), pathlib.Path("/sys/fs/cgroup")
    if (first / "cpuset.cpus").exists():
        return first
    controllers = second / "cgroup.controllers"
    if controllers.exists() and "cpuset" in controllers.read_text().split():
        (second / "cgroup.subtree_control").write_text("+cpuset")
        return second
    return pytest.skip("this system's cgroups have no cpuset")


@contextlib.contextmanager
def cgroup_of_one_cpu():
    """Path of a cgroup.procs whose members may use one CPU only."""
    if os.geteuid() != 0:
        pytest.skip("making a cgroup needs root")
    folder = None
    try:
        try:
            root = cpuset_root()
            folder = root / f"shootdown-test-{os.getpid()}"
            folder.mkdir()
            (folder / "cpuset.cpus").write_text(str(min(os.sched_getaffinity(0))))
            if (root / "cpuset.mems").exists():
                (folder / "cpuset.mems").write_text((root / "cpuset.mems").read_text())
        except OSError as error:
            pytest.skip(f"a cgroup with one CPU cannot be made: {error}")
        yield folder / "cgroup.procs"
    finally:
        if folder and folder.is_dir():
            folder.rmdir()


def test_a_cgroup_with_one_cpu(place, tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one CPU anyway")
    with cgroup_of_one_cpu() as members:
        def enter():
            members.write_text(str(os.getpid()))

        def run(*words):
            return subprocess.run([*map(str, words)], env=place, cwd=ROOT, preexec_fn=enter, capture_output=True, text=True, check=False)

        done = run(WORKLOADS / "known-flush", "--siblings=all", "--flushes=10", "--iterations=1", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["start"]["options"]["siblings"] == 0
        refused = run(WORKLOADS / "known-flush", "--siblings=1", "--iterations=1")
        assert refused.returncode == ENVIRONMENT and len(refused.stderr.splitlines()) == 1
        done = run(SHOOTDOWN, "run", "null", "--lane", "host", "--blocks", 1, "--iterations", 1, "-o", tmp_path / "c")
        assert done.returncode == 0, done.stderr
        (record,) = records(tmp_path / "c").values()
        assert record["outcome"] == "ok" and record["cpus"] == 1


def test_two_starts_of_one_campaign_end_with_one_runner(place, tmp_path):
    """The lock's file is removed by whoever held it: that must not let two in."""
    directory = tmp_path / "c"
    assert shootdown(place, "run", "null", "--lane", "host", "--blocks", 1, "--iterations", 1, "-o", directory).returncode == 0
    for path in (directory / "records").iterdir():
        path.unlink()
    runners = [subprocess.Popen([SHOOTDOWN, "run", "--resume", directory], env=place, cwd=ROOT, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE) for _ in range(6)]
    ends = [(runner.communicate(timeout=60)[1], runner.returncode) for runner in runners]
    assert {status for _, status in ends} <= {0, ENVIRONMENT}
    assert sum("1 ran" in text for text, _ in ends) == 1, ends
    assert all("runs this campaign" in text for text, status in ends if status)


def test_a_workload_that_is_killed_says_so(place, tmp_path):
    directory = tmp_path / "c"
    with subprocess.Popen([SHOOTDOWN, "run", "--exec", "--lane", "host", "--blocks", "1", "--iterations", "1", "--warmup", "0", "-o",
                           directory, "--", "sleep", "1000"], env=place, cwd=ROOT, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as runner:
        def child():
            return pathlib.Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
        assert wait_for(lambda: child() and list((directory / "records").glob("*")))
        os.kill(int(child()[0]), signal.SIGKILL)
        runner.wait(timeout=30)
    (record,) = records(directory).values()
    assert record["complete"] and record["outcome"] == "workload-failed" and "killed by signal 9" in record["detail"]
    assert not shutil.which("pgrep") or not subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, check=False).stdout


def test_a_case_is_not_left_out_for_a_killed_program(place, tmp_path):
    """A program that is killed while it is asked what it needs says nothing about whether its case fits this machine."""
    root = tmp_path / "root"
    (root / "build/workloads").mkdir(parents=True)
    for name in ("Makefile", "workloads", "kernels", "configs", "analysis"):
        (root / name).symlink_to(ROOT / name)
    for program in WORKLOADS.iterdir():
        (root / "build/workloads" / program.name).symlink_to(program)
    shutil.copy(SHOOTDOWN, root / "build/shootdown")
    asked = root / "build/workloads/fork-exec-make"
    asked.unlink()
    asked.write_text(f'#!/bin/sh\ncase "$*" in --resolve*) kill -9 $$;; esac\nexec {WORKLOADS / "fork-exec-make"} "$@"\n')
    asked.chmod(0o755)
    suite = tmp_path / "two.yaml"
    suite.write_text("suite: two\nprotocol: {blocks: 1, iterations: 1, warmup: 0}\ncases:\n"
                     "  - {name: nothing, workload: \"null\"}\n  - {name: build, workload: fork-exec-make}\n")
    done = subprocess.run([root / "build/shootdown", "run", suite, "--lane", "host", "-o", tmp_path / "c"], env=place, cwd=ROOT,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == ENVIRONMENT, done.stderr
    assert "case 'build': fork-exec-make was killed by signal 9 while it was asked --resolve" in done.stderr
    assert not (tmp_path / "c/plan.json").exists()


def test_a_killed_compiler_is_named(place):
    """Of the driver and its stage, the stage: the driver's end must tell how it ended."""
    with subprocess.Popen([WORKLOADS / "fork-exec-make", "--units", "1", "--compute", "10000000000", "--iterations", "1", "--warmup", "0"],
                          env=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        def stages():
            named = subprocess.run(["ps", "-e", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
            return [int(line.split()[0]) for line in named.splitlines() if "compiler-job compile" in line]
        assert wait_for(stages)
        os.kill(stages()[0], signal.SIGKILL)
        _, error = process.communicate(timeout=30)
    assert process.returncode == 1 and "was killed by signal 9" in error, error


def test_a_case_may_take_as_long_as_it_is_given(place, tmp_path):
    command = ["run", "--exec", "--lane", "host", "--blocks", "1", "--iterations", "1", "--warmup", "0"]
    for wrong in ("5", "0s", "8d", "soon"):
        done = shootdown(place, *command, "--timeout", wrong, "--", "true")
        assert done.returncode == USAGE and f"--timeout: '{wrong}' is no limit of a case" in done.stderr
    started = time.monotonic()
    shootdown(place, *command, "--timeout", "1s", "-o", tmp_path / "c", "--", "sleep", "100")
    assert time.monotonic() - started < 60
    (record,) = records(tmp_path / "c").values()
    assert record["outcome"] == "hang", record["detail"]
    plan = json.loads((tmp_path / "c/plan.json").read_text())
    assert plan["guest"]["timeout_seconds"] == 1 and plan["command"][plan["command"].index("--timeout") + 1] == "1s"
