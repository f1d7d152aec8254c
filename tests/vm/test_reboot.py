# SPDX-License-Identifier: GPL-2.0-or-later
"""run --lane host --reboot kexec, in a machine of its own: a guest that holds an installed shootdown and a disk boots itself
from kernel to kernel until the campaign is complete. Its kernels are built with the fragment `kexec`."""
import json
import pathlib
import shutil
import struct
import subprocess

import guests
import pytest

pytestmark = pytest.mark.full
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
MACHINE_SECONDS = 900
UNIT = "shootdown-resume.service"


@pytest.fixture(scope="module")
def kernels():
    """Two kernels of one release that can start one another."""
    done = guests.shootdown("kernel", "build", guests.KERNEL, f"{guests.KERNEL}+nop/one-more", "--kconfig", "kexec", "--json",
                            timeout=guests.BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    built = json.loads(done.stdout)
    assert built[0]["release"] == built[1]["release"]
    return [pathlib.Path(kernel["image"]) for kernel in built]


def libraries(program):
    """What the dynamic loader would map."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return {word for line in told.splitlines() for word in line.split() if word.startswith("/")}


@pytest.fixture(scope="module")
def initrd(tmp_path_factory):
    tree = tmp_path_factory.mktemp("initrd") / "tree"
    subprocess.run(["make", "-s", "install", f"BUILD={guests.BUILD}", f"DESTDIR={tree}"], cwd=guests.ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    for folder in ("bin", "proc", "sys", "dev"):
        (tree / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    shutil.copy(PROGRAMS / "reboot-init.sh", tree / "init")
    (tree / "init").chmod(0o755)
    programs = [tree / "usr/local/bin/shootdown", *(path for path in (tree / "usr/local/libexec/shootdown/workloads").iterdir()
                                                    if path.is_file())]
    for library in sorted(set().union(*map(libraries, programs))):
        target = tree / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    for program in programs:
        subprocess.run(["strip", program], check=False)
    names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, capture_output=True, check=True).stdout
    path = tree.parent / "initrd"
    path.write_bytes(packed)
    return path


class Machine:
    """A guest with a disk that outlives its kernels; `first` is what its user types. QEMU's HPET stays as the last
    kernel left it, so that the next one looks for the older timer in vain: no_timer_check."""

    def __init__(self, folder, kernels, initrd, first, **files_of_user):
        self.folder, self.kernel, self.initrd = folder, kernels[0], initrd
        files = folder / "disk"
        files.mkdir()
        for name, image in zip("AB", kernels):
            shutil.copy(image, files / name)
        shutil.copy(initrd, files / "initrd")
        (files / "first").write_text(first)
        for name, content in files_of_user.items():
            (files / name).write_bytes(content)
        self.disk = folder / "disk.img"
        subprocess.run(["mkfs.ext4", "-q", "-d", files, self.disk, "256M"], check=True)

    def run(self):
        console = self.folder / "console.log"
        subprocess.run(["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-machine", "q35", "-accel", "tcg", "-cpu", "max",
                        "-smp", "1", "-m", "1024M", "-display", "none", "-nic", "none", "-no-reboot",
                        "-serial", f"file:{console}", "-drive", f"file={self.disk},if=virtio,format=raw", "-kernel", self.kernel,
                        "-initrd", self.initrd, "-append", "console=ttyS0 panic=-1 BOOT_IMAGE=/A mark=own no_timer_check"],
                       check=True, timeout=MACHINE_SECONDS, stdin=subprocess.DEVNULL)
        after = self.folder / "after"
        after.mkdir()
        subprocess.run(["debugfs", "-R", f"rdump / {after}", self.disk], check=True, capture_output=True)
        return after

    def told(self):
        console = self.folder / "console.log"
        return "\n".join(path.read_text(errors="replace") for path in (self.folder / "after/output", self.folder / "after/trace", console)
                         if path.exists())[-4000:]


CAMPAIGN = """exec shootdown run known-flush --case no-siblings --lane host -k image:A -k image:B --blocks 2 --iterations 1 \\
	--reboot kexec --initrd initrd -o campaign
"""


def boots_of(trace):
    """[(notes, boot id)] in the order of the boots."""
    return [tuple(line.split()[1:]) for line in trace.splitlines() if line.startswith("boot ")]


def test_a_campaign_boots_its_kernels_and_ends(tmp_path, kernels, initrd):
    machine = Machine(tmp_path, kernels, initrd, CAMPAIGN)
    after = machine.run()
    plan = json.loads((after / "campaign/plan.json").read_text())
    records = [json.loads(path.read_text()) for path in sorted((after / "campaign/records").glob("*.json"))]
    assert [record["outcome"] for record in records] == ["ok"] * 4, machine.told()
    assert all(record["complete"] for record in records)
    trace = (after / "trace").read_text()
    boots = boots_of(trace)
    # The user's own boot, and one for each boot of the plan, in its order.
    assert len(boots) == 5, machine.told()
    assert [record["facts"]["boot_id"] for record in records] == [boot_id for _, boot_id in boots[1:]]
    assert len({boot_id for _, boot_id in boots}) == 5
    of_kernel = {}
    for boot, (notes, _) in zip(plan["boots"], boots[1:]):
        of_kernel.setdefault(boot["kernel"], set()).add(notes)
    assert len(of_kernel) == 2 and all(len(notes) == 1 for notes in of_kernel.values())
    assert set.union(*of_kernel.values()) == {notes for notes, _ in boots} and len({notes for notes, _ in boots}) == 2
    lines = [line for line in trace.splitlines() if line.startswith("line ")]
    assert "BOOT_IMAGE" in lines[0] and all("BOOT_IMAGE" not in line and "mark=own no_timer_check" in line for line in lines[1:])
    # The last one ends well, and nothing is left that would start again.
    assert trace.splitlines()[-1] == "end 0", machine.told()
    assert not list(after.rglob(UNIT))
    assert "left" not in json.loads((after / "campaign/reboot.json").read_text())


SPOILT = """run="shootdown run null --lane host --blocks 1 --iterations 1 -k image:A"
$run -k image:B -o by-hand
echo "by hand: $?"
busybox head -c 100000 A > cut
$run -k image:cut --reboot kexec --initrd initrd -o cut-short
echo "cut short: $?"
exec $run -k image:spoilt --reboot kexec --initrd initrd -o campaign
"""


def spoilt_image():
    """The head of a bzImage, which no loader takes for one that 64-bit kernels start."""
    head = bytearray(0x1000)
    struct.pack_into("<4sHxxxxxxH", head, 0x202, b"HdrS", 0x20f, 0x300 - 0x200)
    head[0x300:0x310] = b"0.0.1 (somebody)"
    return bytes(head)


def test_a_kernel_that_cannot_be_loaded_ends_it(tmp_path, kernels, initrd):
    """And without --reboot the machine stays up, and one line says what to boot."""
    machine = Machine(tmp_path, kernels, initrd, SPOILT, spoilt=spoilt_image())
    after = machine.run()
    trace, output = (after / "trace").read_text(), (after / "output").read_text()
    assert "boot kernel image:B (" in output and "run this again: shootdown run --resume by-hand" in output, machine.told()
    assert "by hand: 125" in output
    assert trace.splitlines()[-1] == "end 130", machine.told()
    assert "cut short: 130" in output and "image cannot be read: it is not whole" in output
    assert "kernel image:spoilt cannot be booted from here: " in output
    assert not list(after.rglob(UNIT))
    assert "left" not in json.loads((after / "campaign/reboot.json").read_text())
    # Of what was measured before it, nothing is lost.
    assert len(list((after / "campaign/records").glob("*.json"))) == len(boots_of(trace)) - 1
