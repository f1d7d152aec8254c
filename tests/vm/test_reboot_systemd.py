# SPDX-License-Identifier: GPL-2.0-or-later
"""run --lane host --reboot kexec under systemd itself, PID 1 of a guest with Debian's systemd: it stops its services for
`systemctl kexec`, and at the next boot starts the unit that the campaign has installed."""
import pathlib
import shutil
import subprocess

import guests
import pytest
from rebooting import CAMPAIGN, PROGRAMS, UNIT, Machine, boots_of, build_kernels, install, pack, run_campaign

pytestmark = pytest.mark.full
UNITS = pathlib.Path("/lib/systemd/system")
# What a boot to the console, a kexec and a power-off go through.
TARGETS = ("basic", "final", "kexec", "local-fs", "local-fs-pre", "multi-user", "paths", "poweroff", "shutdown", "slices", "sockets",
           "swap", "sysinit", "timers", "umount")
SERVICES = ("systemd-kexec", "systemd-poweroff")
SYSTEMD = ("/lib/systemd/systemd", "/lib/systemd/systemd-shutdown", "/lib/systemd/systemd-executor", "/bin/systemctl")
FILES = {
    "etc/machine-id": "5d0f1c7e0c1b4d6f8a2e9b3c4d5e6f70\n",
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/os-release": "ID=guest\nNAME=guest\n",
    "etc/systemd/system.conf": "[Manager]\nDefaultStandardOutput=tty\nDefaultStandardError=tty\n",
    "usr/lib/systemd/system/first.service": """[Unit]
After=multi-user.target
ConditionPathExists=!/disk/output
[Service]
Type=exec
WorkingDirectory=/disk
Environment=PATH=/usr/local/bin:/bin HOME=/disk/home XDG_CACHE_HOME=/disk/cache XDG_STATE_HOME=/disk/state
ExecStart=/bin/sh /disk/first
StandardOutput=append:/disk/output
StandardError=append:/disk/output
""",
    "usr/lib/systemd/system/watch.service": """[Service]
Type=exec
Environment=PATH=/bin
ExecStart=/bin/sh /watch
""",
}


@pytest.fixture(scope="module")
def kernels():
    return build_kernels()


def add_systemd(tree):
    """The manager, the units that it needs, and two of ours. Returns its programs."""
    for name in ("bin", "sbin", "lib", "lib64"):
        folder = tree / name
        if folder.is_dir():
            shutil.copytree(folder, tree / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(folder)
        (tree / "usr" / name).mkdir(parents=True, exist_ok=True)
        folder.symlink_to(f"usr/{name}")
    for folder in ("disk", "run", "tmp", "etc/systemd/system", "usr/lib/systemd/system"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    for name in [f"{target}.target" for target in TARGETS] + [f"{service}.service" for service in SERVICES]:
        shutil.copy(UNITS / name, tree / "usr/lib/systemd/system" / name)
    (tree / "usr/lib/systemd/system/default.target").symlink_to("multi-user.target")
    for name, text in FILES.items():
        (tree / name).write_text(text)
    wants = tree / "usr/lib/systemd/system/multi-user.target.wants"
    wants.mkdir()
    for name in ("first.service", "watch.service"):
        (wants / name).symlink_to(f"../{name}")
    shutil.copy(PROGRAMS / "systemd-watch.sh", tree / "watch")
    subprocess.run(["gcc", "-static", "-o", tree / "usr/sbin/kexec", PROGRAMS / "kexec.c"], check=True)
    programs = [program for program in SYSTEMD if pathlib.Path(program).exists()]
    for program in programs:
        shutil.copy(program, tree / program.lstrip("/"))
    return [tree / program.lstrip("/") for program in programs]


@pytest.fixture(scope="module")
def initrd(tmp_path_factory):
    tree = tmp_path_factory.mktemp("initrd") / "tree"
    programs = install(tree, "systemd-init.sh")
    return pack(tree, programs + add_systemd(tree))


def test_systemd_goes_on_with_the_campaign(tmp_path, kernels, initrd):
    machine = Machine(tmp_path, kernels, initrd, CAMPAIGN)
    lines = [line.rstrip() for line in (run_campaign(machine) / "trace").read_text().splitlines()]
    assert [line for line in lines if line.startswith("init ")] == ["init systemd"] * 5
    assert "resumed success 0" in lines and "failed" in lines, machine.told()


REFUSED = """run="shootdown run null --lane host -k image:A --blocks 1 --iterations 1 --reboot kexec -o campaign"
$run --initrd missing
busybox mv /sbin/kexec /gone
exec $run --initrd initrd
"""


def test_what_cannot_end_well_is_not_begun(tmp_path, kernels, initrd):
    """Without the program kexec, systemd would stop everything and then boot the default kernel."""
    machine = Machine(tmp_path, kernels, initrd, REFUSED)
    after = machine.run()
    trace, output = (after / "trace").read_text(), (after / "output").read_text()
    assert len(boots_of(trace)) == 1 and "first exit-code 130" in trace.splitlines(), machine.told()
    assert "--initrd: missing: No such file or directory" in output
    assert "systemd starts a loaded kernel by the program kexec; install kexec-tools" in output
    assert not list(after.rglob(UNIT)) and not list((after / "campaign").glob("records/*"))
    assert guests.processes_naming(str(tmp_path)) == []
