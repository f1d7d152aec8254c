# SPDX-License-Identifier: GPL-2.0-or-later
"""Library of the exact lane: symbols, groups, counts files, tables of functions, verdicts."""
import gzip
import json
import lzma
import pathlib
import struct
import zlib

import pytest

from analysis.exact import (CountsError, FunctionTable, GroupError, Groups, SymbolError, Symbols, check_symbols,
                            compare_functions, judge, least_gap, least_gap_per_call, read_counts)

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = ROOT / "configs" / "function-groups.yaml"
SYSTEM_MAP = ROOT / "tests" / "fixtures" / "exact" / "System.map-6.12.117.xz"
TEXT = 0xffffffff81000000
KINDS = ["plain", "call", "jump", "cr3-write", "rep", "invpcid"]
# main calls leaf; leaf writes CR3, copies, and jumps to its own entry.
MAP = f"""{TEXT:x} T _stext
{TEXT:x} T main
{TEXT + 0x100:x} t leaf
{TEXT + 0x200:x} t leaf.cold
{TEXT + 0x300:x} T irq_entries_start
{TEXT + 0x300 + 203 * 16:x} T asm_sysvec_reschedule_ipi
{TEXT + 0x2000:x} T last
"""


def block(kind, payload):
    return struct.pack("<IIQ", kind, zlib.crc32(payload), len(payload)) + payload + b"\0" * (-len(payload) % 8)


def words(values):
    return struct.pack(f"<{len(values)}Q", *values)


def region(index, rows, branches=(), repeats=(), commands=(), watched=(), user=0, user_rep=0):
    """rows: (address, executed, kind) ascending."""
    kinds = bytes(KINDS.index(kind) for _, _, kind in rows)
    return block(2, struct.pack("<6I2Q", index, len(rows), len(branches), len(repeats), len(commands), len(watched), user, user_rep)
                 + words([r[0] for r in rows]) + words([r[1] for r in rows]) + kinds + b"\0" * (-len(kinds) % 8)
                 + b"".join(words([row[i] for row in table]) for table, width in ((branches, 2), (repeats, 2), (commands, 2), (watched, 3))
                            for i in range(width)))


def counts_file(path, *blocks, header=None, end=True):
    head = {"format": 1, "architecture": "x86-64", "cpus": 2, "watched": 1, "command_ranges": 1, "kinds": KINDS, **(header or {})}
    data = b"SDEXACT1" + block(1, json.dumps(head).encode()) + b"".join(blocks) + (block(4, b"") if end else b"")
    packed = {".gz": lambda data: gzip.compress(data, mtime=0), ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(packed(data))
    return path


def sample(index=0, times=10, extra=0):
    rows = [(TEXT, times, "plain"), (TEXT + 4, times, "call"),
            (TEXT + 0x100, times + 3, "plain"), (TEXT + 0x104, times + 3, "cr3-write"), (TEXT + 0x107, 22 * times, "rep"),
            *[(TEXT + 0x110 + i, times, "plain") for i in range(extra)],
            (TEXT + 0x180, 3, "jump"), (TEXT + 0x204, 2, "plain"), (TEXT + 0x310, 5, "plain"), (TEXT + 0x314, 5, "plain"),
            (TEXT + 0x300 + 203 * 16, 4, "plain")]
    return region(index, rows, branches=[(TEXT + 4, TEXT + 0x100), (TEXT + 0x180, TEXT + 0x100)], repeats=[(TEXT + 0x107, 21 * times)],
                  commands=[(TEXT + 0x104, 7)], watched=[(TEXT + 0x100, 0, 6), (TEXT + 0x100, 1, 4)], user=100, user_rep=40)


@pytest.fixture(scope="module")
def real_symbols():
    return Symbols.from_system_map(SYSTEM_MAP)


@pytest.fixture(scope="module")
def real_groups():
    return Groups.from_files(GROUPS)


@pytest.fixture
def table(tmp_path):
    return FunctionTable(read_counts(counts_file(tmp_path / "c.gz", sample())), Symbols.from_text(MAP))


def test_calls_instructions_and_iterations(table):
    leaf = table.index["leaf"]
    assert table.calls[0][leaf] == 10, "13 executions of the entry, 3 of them by a jump from inside"
    # 13 + 13 + one rep a call + the jump + the cold part
    assert table.instructions[0][leaf] == 13 + 13 + 10 + 3 + 2
    assert table.rep_iterations[0][leaf] == 210
    assert table.user_instructions[0] == 60
    assert "leaf.cold" not in table.index and "_stext" not in table.index


def test_callers_watched_and_events(table):
    assert table.callers("leaf", [0]) == [("main", 10)]
    assert table.callers("asm_sysvec_reschedule_ipi", [0]) == [("(indirect)", 4)]
    assert table.watched([0]) == {"leaf": {0: 6, 1: 4}}
    events = table.events[0]
    assert events["cr3-write"] == 13 and events["rep-iterations"] == 210 and events["icr-write"] == 7
    assert events["interrupt-reschedule_ipi"] == 4 and events["interrupt-33"] == 5
    assert table.function_events("cr3-write", [0]) == [("leaf", 13)]


def test_keys_add_up(table):
    groups = Groups([{"mm-switch": {"class": "work", "functions": ["leaf"]}, "tick": {"class": "time", "functions": ["irq_*"]}}])
    metrics = table.metrics([10], [0], groups, table.missing(cpu_flags={"fpu"}))[0]
    assert metrics["function:leaf:instructions/call"] == 4.1
    assert metrics["function:leaf:calls/op"] == 1 and metrics["event:cr3-write/op"] == 1.3
    by_group = sum(v for k, v in metrics.items() if k.startswith("group:") and k.endswith("instructions/op"))
    assert by_group == pytest.approx(metrics["total:kernel-instructions/op"])
    assert metrics["total:work-instructions/op"] == pytest.approx(metrics["total:kernel-instructions/op"] - 1.0)


def test_what_the_cpu_lacks_is_missing_and_never_zero(table):
    missing = table.missing(cpu_flags={"fpu"}, apic_driver="physical flat")
    assert "CPU model" in missing["event:invpcid"] and "event:invpcid/op" in missing
    assert "event:icr-write" not in missing
    assert "event:icr-write" in table.missing(cpu_flags={"invpcid"}, apic_driver="cluster x2apic")
    metrics = table.metrics([10], [0], Groups([]), missing)[0]
    assert not any("invpcid" in key for key in metrics)


def test_no_operations_gives_no_value_per_operation(table):
    metrics = table.metrics([0], [0], Groups([]))[0]
    assert metrics["function:leaf:calls"] == 10 and not any(key.endswith("/op") for key in metrics)


def sides(tmp_path, name, extra):
    symbols = Symbols.from_text(MAP)
    return [(FunctionTable(read_counts(counts_file(tmp_path / f"{name}{p}", sample(times=10 + p, extra=extra))), symbols), [0], [10 + p])
            for p in range(5)]


def test_one_more_instruction_is_one_row_and_rows_add_up(tmp_path):
    rows = compare_functions(sides(tmp_path, "a", 1), sides(tmp_path, "b", 2))
    changed = [row for row in rows if row["per-call"] == "changed"]
    assert [row["function"] for row in changed] == ["leaf"] and rows[0]["function"] == "leaf"
    assert changed[0]["candidate"]["instructions/call"] - changed[0]["baseline"]["instructions/call"] == pytest.approx(1)
    assert rows[-1]["function"] == "total"
    assert sum(row["difference"] for row in rows[:-1]) == pytest.approx(rows[-1]["difference"]) == pytest.approx(1)
    assert sum(row["share"] for row in rows[:-1]) == pytest.approx(1)


def test_same_counts_are_unchanged(tmp_path):
    rows = compare_functions(sides(tmp_path, "a", 1), sides(tmp_path, "b", 1))
    assert not [row for row in rows if row["per-call"] == "changed" or row["total"] == "changed"]


@pytest.mark.parametrize("base, cand, placebo, word", [
    ([41, 41], [41, 41], 0, "unchanged"), ([41, 41], [42, 42], 0, "changed"), ([41, 43], [42, 44], 0, "within schedule spread"),
    ([100, 101], [102, 103], 0.02, "within schedule spread"), ([41], [42], 0, "shown"),
    ([100, 101, 102, 101, 100], [104, 105, 106, 105, 104], 0.01, "changed"), ([100, 101, 102, 101, 100], [104, 105, 106, 105, 104], 0.02, "within schedule spread"),
    ([100, 101], [104, 105], 0, "inconclusive"),              # two and two are apart by luck once in three times
    ([40.0083, 40.0083], [41.0083, 41.0084], 0, "changed"),             # but not like that
])
def test_verdicts(base, cand, placebo, word):
    assert judge(base, cand, placebo) == word


@pytest.mark.parametrize("base, cand, least, among, word", [
    ([4.0015] * 3, [4.0005] * 3, least_gap([4.0015] * 3, [4.0005] * 3, 2000), 1, "inconclusive"),       # 2 events of 8000
    ([0.001] * 3, [0.0005] * 3, least_gap([0.001] * 3, [0.0005] * 3, 2000), 1, "inconclusive"),         # 2 events or 1
    ([4.0] * 3, [0.001] * 3, least_gap([4.0] * 3, [0.001] * 3, 2000), 1, "changed"),
    ([41.0] * 3, [42.0] * 3, least_gap_per_call([4000] * 6), 700, "changed"),
    ([41.0] * 3, [42.0] * 3, least_gap_per_call([4000] * 5 + [3]), 700, "inconclusive"),                # called by luck
    ([38205] * 3, [33066] * 3, least_gap_per_call([1] * 6), 700, "changed"),                            # once, and a lot
    ([6.0] * 3, [6.04] * 3, least_gap_per_call([400] * 6), 700, "inconclusive"),                        # another mixture of ways
    ([6.0, 6.1, 6.0, 6.1, 6.0], [6.14] * 5, 0, 700, "inconclusive"),   # of 700 rows five are apart by luck: 5 and 5 phases are few
    ([6.0, 6.1] * 4, [6.14] * 8, 0.5, 700, "changed"),                 # 8 and 8 are not
])
def test_few_phases_are_not_believed_easily(base, cand, least, among, word):
    assert judge(base, cand, 0, least, among) == word


def test_symbols_of_another_kernel_are_noticed(tmp_path):
    calls = [(TEXT + 4 * i, 1, "call") for i in range(20)]
    counts = read_counts(counts_file(tmp_path / "c", region(0, calls, branches=[(a, TEXT + 0x1000 + 16 * i) for i, (a, _, _) in enumerate(calls)])))
    with pytest.raises(SymbolError, match="do not belong to the kernel that ran"):
        check_symbols(counts, Symbols.from_text(MAP))


def test_truncated_and_damaged_files(tmp_path):
    path = counts_file(tmp_path / "c", sample(0), sample(1))
    data = path.read_bytes()
    path.write_bytes(data[:-60])
    counts = read_counts(path)
    assert len(counts.regions) == 1 and not counts.ended, "whole regions stay"
    path.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    with pytest.raises(CountsError, match="damaged"):
        read_counts(path)
    for content in (b"", b"SDEXACT1", b"not counts"):
        path.write_bytes(content)
        with pytest.raises(CountsError):
            read_counts(path)
    with pytest.raises(CountsError, match="format 2"):
        read_counts(counts_file(path, header={"format": 2}))


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_packed_files(tmp_path, suffix):
    path = counts_file(tmp_path / f"c{suffix}", sample(0), sample(1))
    counts = read_counts(path)
    assert len(counts.regions) == 2 and counts.ended
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CountsError, match="cannot be read"):
        read_counts(path)


def test_fault_is_kept(tmp_path):
    counts = read_counts(counts_file(tmp_path / "c", sample(), block(3, b"the region of interest began again before it had ended (region 1)")))
    assert "began again" in counts.fault and len(counts.regions) == 1


def test_canonical_names():
    symbols = Symbols.from_text(f"{TEXT:x} t __weakling\n{TEXT:x} W alias\n{TEXT:x} T __real_start\n{TEXT:x} T real\n"
                                f"{TEXT + 16:x} t twice\n{TEXT + 32:x} t twice\n{TEXT + 48:x} t clone.constprop.0\n{TEXT + 64:x} t __pfx_twice\n")
    assert symbols.functions == ["clone", "real", "twice", "twice#2"]
    with pytest.raises(SymbolError, match="without privilege"):
        Symbols.from_text("0000000000000000 T real\n")


def test_no_function_is_in_two_groups(real_groups, real_symbols):
    groups, symbols = real_groups, real_symbols
    assert len(symbols.functions) > 20000
    twice = {f: c for f in symbols.functions if len(c := groups.candidates(f.partition("#")[0])) > 1}
    assert not twice
    with pytest.raises(GroupError, match="is in the groups"):
        Groups([{"a": {"class": "work", "functions": ["f"]}, "b": {"class": "work", "functions": ["f"]}}])


@pytest.mark.parametrize("function, group", [
    ("switch_mm_irqs_off", "mm-switch"), ("__schedule", "context-switch"), ("flush_tlb_func", "tlb-flush"), ("native_flush_tlb_multi", "tlb-flush"),
    ("smp_call_function_many_cond", "ipi-send"), ("default_send_IPI_single_phys", "ipi-send"), ("__flush_smp_call_function_queue", "ipi-receive"),
    ("queued_spin_lock_slowpath", "waiting"), ("hrtimer_interrupt", "tick"), ("do_idle", "idle"), ("__handle_mm_fault", "page-fault"),
    ("get_page_from_freelist", "page-alloc"), ("free_unref_folios", "page-free"), ("migrate_pages", "migrate"), ("try_to_migrate", "migrate"),
    ("copy_process", "fork"), ("load_elf_binary", "exec"), ("do_exit", "exit"), ("tcp_sendmsg_locked", "net"), ("pipe_read", "pipe"),
    ("blake2s_compress_generic", "other"),
])
def test_groups_of_functions_that_matter(function, group, real_groups, real_symbols):
    assert function in real_symbols.position
    assert real_groups.group_of(function) == group


def test_a_series_groups_come_first(tmp_path):
    own = tmp_path / "groups.yaml"
    own.write_text("groups:\n  mask:\n    class: work\n    functions: [switch_mm_irqs_off]\n")
    groups = Groups.from_files(own, GROUPS)
    assert groups.group_of("switch_mm_irqs_off") == "mask" and groups.group_of("enter_lazy_tlb") == "mm-switch"
    own.write_text("groups: [no]\n")
    with pytest.raises(GroupError):
        Groups.from_files(own, GROUPS)
