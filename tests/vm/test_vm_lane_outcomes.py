# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that break: each way is recognised and named, what was measured before stays, and the campaign goes on."""
import json

import guests
import pytest

# Variant of tests/series/broken -> outcome, and a word of the line that names the cause.
BROKEN = {
    "panic": ("panic", "Kernel panic - not syncing"),
    "oops": ("oops", "NULL pointer dereference"),
    "warn": ("warn", "WARNING: "),
    "out-of-memory": ("out-of-memory", "Out of memory"),
    "reset": ("early-exit", "the guest went away before it was done"),
    "hang": ("hang", ""),
}


def spec(variant):
    return f"{guests.KERNEL}+broken/{variant}"


@pytest.fixture(scope="module", autouse=True)
def kernels():
    if not guests.KERNEL.startswith("deb:"):
        pytest.skip("a ready image cannot be patched")
    guests.build(*map(spec, ["sound", "panic-in-run", *BROKEN]))


@pytest.mark.parametrize("variant", BROKEN)
def test_boot_names_what_broke(variant, tmp_path):
    outcome, cause = BROKEN[variant]
    done = guests.boot("--timeout", "20s", "--", "sh", "-c", "echo alive", kernel=spec(variant),
                       env=guests.environment(TMPDIR=str(tmp_path)))
    assert f"{outcome}: " in done.stderr and cause in done.stderr, done.stderr
    # A warning does not keep the command from doing its work.
    assert (done.stdout, done.returncode) == (("alive\n", 0) if variant == "warn" else ("", 1))
    kept = done.stderr.strip().rpartition("kept in ")[2]
    if cause:
        assert cause.split(":")[0] in open(kept, encoding="utf-8", errors="replace").read() or outcome == "early-exit"
    assert not list(tmp_path.iterdir()) and not guests.processes_naming(str(tmp_path))


def test_the_patched_kernel_is_sound_without_its_parameter():
    done = guests.boot("--", "sh", "-c", "echo alive", kernel=spec("sound"))
    assert (done.stdout, done.returncode) == ("alive\n", 0), done.stderr


def records_of(campaign):
    return [json.loads(path.read_text()) for path in sorted((campaign / "records").glob("*.json"))]


def run(campaign, *words, **options):
    return guests.shootdown("run", *words, "--lane", "vm", "--cpus", "2", "--warmup", "0", "-o", campaign, timeout=900, **options)


def test_a_campaign_outlives_a_panic(tmp_path):
    """fork-exec-make starts its 200th program in the middle of the run: then the kernel panics."""
    campaign = tmp_path / "campaign"
    done = run(campaign, "fork-exec-make", "-k", spec("sound"), "-k", spec("panic-in-run"), "--blocks", "1", "--iterations", "3")
    assert done.returncode == 0, done.stderr
    records = records_of(campaign)
    assert len(records) == 2
    for record in records:
        assert record["complete"]
        if record["label"].endswith("sound"):
            assert record["outcome"] == "ok" and len(record["iterations"]) == 3
        else:
            assert record["outcome"] == "panic"
            assert "Kernel panic" in record["detail"] and "console line" in record["detail"]
            # What came before the panic is there.
            assert record["start"]["workload"] == "fork-exec-make"
            assert len(record["iterations"]) < 3
            log = (campaign / "raw" / f"{record['boot']:04d}" / "console.log").read_text(errors="replace")
            assert "Kernel panic - not syncing" in log
    compared = guests.shootdown("compare", campaign, "--format", "text")
    assert compared.returncode == 1
    assert "panic" in compared.stdout and "broken" in compared.stdout


def test_a_warning_is_an_outcome_and_the_frames_are_there(tmp_path):
    campaign = tmp_path / "campaign"
    done = run(campaign, "null", "-k", spec("warn"), "--blocks", "1", "--iterations", "3")
    assert done.returncode == 0, done.stderr
    (record,) = records_of(campaign)
    assert record["outcome"] == "warn" and "WARNING: " in record["detail"]
    assert len(record["iterations"]) == 3


def test_a_record_says_where_it_was_measured(tmp_path):
    campaign = tmp_path / "campaign"
    done = run(campaign, "null", "-k", spec("sound"), "--blocks", "1", "--iterations", "2", "--nodes", "2")
    assert done.returncode == 0, done.stderr
    (record,) = records_of(campaign)
    facts = record["facts"]
    assert record["outcome"] == "ok"
    assert facts["accelerator"] in ("kvm", "tcg") and facts["kvm_reason"]
    assert facts["release"].startswith("6.12") and facts["cpu_flags"] and facts["command_line"]
    assert facts["online_cpus"] == "0-1" and facts["online_nodes"] == "0-1"
    assert facts["channel"] == "virtio-serial"
    assert 0 < record["seconds_to_workload"] < record["seconds"]
