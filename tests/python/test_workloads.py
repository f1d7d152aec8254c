# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads as processes on this machine: quick, no kernel is booted."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = Path(os.environ.get("SHOOTDOWN_BUILD", ROOT / "build")) / "workloads"
NAMES = sorted(path.stem for path in (ROOT / "workloads").glob("*.c"))
TRANSPORTS = ["tcp", "udp", "unix", "pipe", "eventfd", "futex", "io-uring-tcp", "io-uring-unix"]
CPUS = len(os.sched_getaffinity(0))
DONE, UNSUPPORTED, USAGE = 0, 125, 129


def execute(name, *arguments, environment=None):
    return subprocess.run([WORKLOADS / name, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(environment or {})})


def run(name, *arguments, iterations=2, environment=None):
    """Iterations of a run that has to succeed; the test is skipped where the machine cannot do it, with the reason."""
    result = execute(name, *arguments, "--iterations", iterations, "--warmup", 0, "--no-probes", "--json",
                     environment=environment)
    if result.returncode == UNSUPPORTED:
        pytest.skip(result.stderr.strip())
    assert result.returncode == DONE, result.stderr
    record = json.loads(result.stdout)
    assert record["status"] == "done" and len(record["iterations"]) == iterations
    return record["iterations"]


def resolve(name, *arguments, cpus=2, nodes=2, memory=1 << 30):
    result = execute(name, "--resolve", f"cpus={cpus},nodes={nodes},memory={memory}", *arguments)
    assert result.returncode == DONE, result.stderr
    return json.loads(result.stdout)


def fails(name, *arguments):
    """The one line of an error."""
    result = execute(name, *arguments)
    assert result.returncode not in (DONE, UNSUPPORTED)
    assert len(result.stderr.strip().splitlines()) == 1
    return result.returncode, result.stderr


@pytest.fixture
def scratch(tmp_path):
    """A place for temporary directories that must be empty in the end."""
    yield {"TMPDIR": str(tmp_path)}
    assert not list(tmp_path.iterdir()), "the workload left files behind"


# --- what holds for each of them ---

@pytest.mark.parametrize("name", NAMES)
def test_describes_itself(name):
    description = json.loads(execute(name, "--describe").stdout)
    assert description["name"] == name and description["summary"] and description["operation"]
    for option in description["options"]:
        assert option["name"] and option["help"]
    for metric in description["metrics"]:
        assert metric["class"] in ("work", "schedule", "time") and metric["better"] in ("higher", "lower", "neither")


@pytest.mark.parametrize("name", NAMES)
def test_resolved_arguments_resolve_to_themselves(name):
    once = resolve(name)
    again = resolve(name, *once["arguments"])
    assert again == once


# --- anon-cow-rand-mt ---

def test_anon_cow_counts_the_pages_it_copies():
    size, stores = 2 << 20, 20000
    iterations = run("anon-cow-rand-mt", "--size", size, "--threads", 2, "--stores", stores)
    for iteration in iterations:
        assert iteration["operations"] == 2 * stores
        # 40,000 stores leave a page of 512 untouched once in 10^34 runs.
        assert iteration["metrics"]["pages_copied"] == size / os.sysconf("SC_PAGESIZE")
    assert len({iteration["metrics"]["pages_copied"] for iteration in iterations}) == 1


def test_anon_cow_faults_once_for_each_page_copied():
    result = execute("anon-cow-rand-mt", "--size", 4 << 20, "--threads", 1, "--stores", 500, "--numa-balancing", "keep",
                     "--json", "--iterations", 1, "--warmup", 0)
    assert result.returncode == DONE, result.stderr
    iteration = json.loads(result.stdout)["iterations"][0]
    pages = iteration["metrics"]["pages_copied"]
    assert 350 < pages < 500
    assert pages <= iteration["counts"]["time.minor_page_faults"] <= pages + 256


def test_anon_cow_usemem_clock_sums_threads():
    for iteration in run("anon-cow-rand-mt", "--size", "4MiB", "--threads", 2, "--stores", 50000, "--usemem-clock"):
        assert iteration["metrics"]["score"] > 0


def test_anon_cow_resolves_what_memory_allows():
    case = resolve("anon-cow-rand-mt", "--size", "fit", memory=1 << 30)
    assert case["options"]["size"] == 384 << 20 and case["needs"]["memory_bytes"] < 1 << 30
    fast = resolve("anon-cow-rand-mt", "--numa-balancing", "fast")
    assert fast["options"]["scan-delay"] == 1_000_000 and fast["options"]["scan-period-max"] == 50_000_000
    assert fast["needs"]["nodes"] == 2


def test_anon_cow_refuses_scan_periods_that_the_kernel_cannot_hold():
    status, line = fails("anon-cow-rand-mt", "--scan-delay", "100us")
    assert status == USAGE and "milliseconds" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="writes a system-wide setting")
def test_anon_cow_puts_the_thp_policy_back():
    policy = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not policy.exists():
        pytest.skip("no transparent huge pages")
    before = policy.read_text()
    run("anon-cow-rand-mt", "--size", "4MiB", "--stores", 1000, "--thp", "always")
    assert policy.read_text() == before


# --- ping-pong ---

@pytest.mark.skipif(CPUS < 2, reason="a pair needs 2 CPUs")
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_ping_pong_over_each_transport(transport):
    for iteration in run("ping-pong", "--transport", transport, "--round-trips", 200):
        metrics = iteration["metrics"]
        assert iteration["operations"] == 200
        assert sum(count for _, _, count in iteration["histograms"]["latency_ns"]["buckets"]) == 200
        assert 0 < metrics["latency_p50"] <= metrics["latency_p90"] <= metrics["latency_p99"] <= metrics["latency_p99.9"]


@pytest.mark.parametrize("transport", ["tcp", "udp", "unix", "pipe", "io-uring-tcp", "io-uring-unix"])
@pytest.mark.parametrize("size", [3, 8, 60000])
def test_ping_pong_moves_messages_of_any_size(transport, size):
    run("ping-pong", "--transport", transport, "--message-size", size, "--round-trips", 50, "--relation", "same-cpu",
        iterations=1)


def test_ping_pong_pairs_share_one_machine():
    iteration, = run("ping-pong", "--transport", "unix", "--relation", "same-cpu", "--pairs", "all", "--round-trips", 100,
                     "--latency=no", iterations=1)
    assert iteration["operations"] == 100 * CPUS
    assert "switched off" in iteration["missing"]["latency_p50"]


def test_ping_pong_transports_are_those_of_the_table():
    description = json.loads(execute("ping-pong", "--describe").stdout)
    transport, = (option for option in description["options"] if option["name"] == "transport")
    assert transport["choices"] == TRANSPORTS


@pytest.mark.parametrize("arguments", [("--transport", "futex", "--message-size", "8"),
                                       ("--transport", "udp", "--message-size", "64KiB")])
def test_ping_pong_refuses_messages_that_a_transport_cannot_carry(arguments):
    status, line = fails("ping-pong", *arguments)
    assert status == USAGE and arguments[1] in line


# --- munmap-huge ---

@pytest.mark.parametrize("arguments, pages, calls", [
    (("--size", "8MiB"), 2048, 1),
    (("--size", "8MiB", "--chunk", "64KiB"), 2048, 128),
    (("--size", "64MiB", "--holes", "2MiB"), 32, 1),
    (("--size", "5MiB", "--chunk", "2MiB"), 1280, 3),
    (("--size", "8MiB", "--page-size", "thp"), 4, 1),
    (("--size", "16MiB", "--page-size", "thp", "--holes", "4MiB", "--chunk", "8MiB"), 4, 2),
])
@pytest.mark.skipif(os.sysconf("SC_PAGESIZE") != 4096, reason="worked out for base pages of 4 KiB")
def test_munmap_counts_pages_and_calls(arguments, pages, calls):
    for iteration in run("munmap-huge", *arguments):
        assert iteration["operations"] == pages
        assert iteration["metrics"]["calls"] == calls


@pytest.mark.skipif(CPUS < 2, reason="a sibling needs a CPU of its own")
def test_munmap_with_a_sibling():
    for iteration in run("munmap-huge", "--size", "8MiB", "--siblings", 1):
        assert iteration["metrics"]["tables"] == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="fills the pool of huge pages")
def test_munmap_hugetlb_leaves_the_pool_as_it_was():
    pool = Path("/proc/sys/vm/nr_hugepages")
    if not pool.exists():
        pytest.skip("no hugetlb pages")
    before = pool.read_text()
    run("munmap-huge", "--size", "8MiB", "--page-size", "hugetlb")
    assert pool.read_text() == before


def test_munmap_takes_the_seeds_size_where_memory_allows():
    assert resolve("munmap-huge", memory=24 << 30)["options"]["size"] == 0x433333000
    small = resolve("munmap-huge", memory=512 << 20)
    assert small["needs"]["memory_bytes"] < 512 << 20 and small["options"]["size"] > 256 << 20
    holes = resolve("munmap-huge", "--holes", "2MiB", memory=512 << 20)
    assert holes["options"]["size"] == 0x433333000


# --- fork-exec-make ---

SMALL_UNITS = ("--headers", 5, "--lookups", 12, "--heap", "256KiB", "--text", "256KiB", "--compute", 100)


@pytest.mark.parametrize("spawn", ["fork", "vfork"])
def test_make_runs_the_whole_graph(scratch, spawn):
    for iteration in run("fork-exec-make", "--units", 7, "--archive", 3, "--jobs", 3, "--spawn", spawn, *SMALL_UNITS,
                         environment=scratch):
        assert iteration["operations"] == 7 + 3 + 1
        assert iteration["metrics"]["faults_per_job"] > 50


def test_make_without_archives(scratch):
    iteration, = run("fork-exec-make", "--units", 4, "--archive", 0, *SMALL_UNITS, iterations=1, environment=scratch)
    assert iteration["operations"] == 5


def test_make_has_the_profile_of_a_compiler(scratch):
    """Faults of one unit: 2,912 where the profile was fitted, less what the archive and the link dilute it by."""
    iteration, = run("fork-exec-make", "--units", 4, "--archive", 0, "--jobs", 1, iterations=1, environment=scratch)
    assert 2912 * 0.9 < iteration["metrics"]["faults_per_job"] * 5 / 4 < 2912 * 1.15


MAKEFILE = """\
prog: a.o b.o
\t@cat $^ > $@
%.o: %.c
\tcp $< $@
clean:
\trm -f *.o prog
.PHONY: clean
"""


@pytest.fixture
def project():
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "Makefile").write_text(MAKEFILE)
        Path(directory, "a.c").write_text("a\n")
        Path(directory, "b.c").write_text("b\n")
        yield Path(directory)
        assert sorted(path.name for path in Path(directory).iterdir()) == ["Makefile", "a.c", "b.c"]


def test_make_really(scratch, project):
    for iteration in run("fork-exec-make", "--real", project, environment=scratch):
        assert iteration["operations"] == 3


def test_make_builds_the_tree_that_comes_with_it(scratch):
    iteration, = run("fork-exec-make", "--real", "shootdown", iterations=1, environment=scratch)
    units = [path for part in ("common", "exact", "guest") for path in (ROOT / "runner" / part).glob("*.c")]
    assert iteration["operations"] == len(units) - 4 + 1 + 3    # left out, directories, archive and two links
    assert 2000 < iteration["metrics"]["faults_per_job"] < 4000


def test_make_says_why_a_real_one_fails(project):
    _, line = fails("fork-exec-make", "--real", project, "--target", "nothing", "--no-probes")
    assert re.search(r"make ended with status 2: .*nothing", line)
    _, line = fails("fork-exec-make", "--real", project / "absent", "--no-probes")
    assert "No such file" in line


# --- memcached ---

@pytest.fixture
def open_scratch():
    """The server is not root: the directory has to be one that everybody may enter."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)
        yield {"TMPDIR": directory}
        assert not list(Path(directory).iterdir()), "the workload left files behind"


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_memcached_answers_every_request(open_scratch, transport):
    for iteration in run("memcached", "--transport", transport, "--connections", 6, "--requests", 30, "--keys", 20,
                         "--clients", 1, "--server-threads", 1, "--sets", 30, environment=open_scratch):
        assert iteration["operations"] == 180
        assert iteration["metrics"]["server_cpu_time"] > 0


def test_memcached_moves_large_values(open_scratch):
    run("memcached", "--connections", 2, "--requests", 5, "--keys", 3, "--value-size", "512KiB", "--clients", 1,
        "--server-threads", 1, iterations=1, environment=open_scratch)


def test_memcached_says_where_to_get_it():
    result = execute("memcached", "--server", "no-such-server", "--no-probes")
    assert result.returncode == UNSUPPORTED and "apt-get install memcached" in result.stderr


def test_memcached_reports_a_server_that_does_not_start(open_scratch):
    result = subprocess.run([WORKLOADS / "memcached", "--server", "false", "--no-probes"], capture_output=True, text=True,
                            timeout=60, env={**os.environ, **open_scratch})
    assert result.returncode == 1 and "ended before it answered" in result.stderr
