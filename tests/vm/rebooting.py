# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine of its own that boots itself from kernel to kernel: a guest with an installed shootdown and a disk that outlives its
kernels. Those are built with the fragment `kexec`."""
import json
import pathlib
import shutil
import subprocess

import guests

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
MACHINE_SECONDS = 900
UNIT = "shootdown-resume.service"


def build_kernels():
    """Images of two kernels of one release that can start one another."""
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


def install(tree, init):
    """An installed shootdown, busybox as the shell, and `init` as PID 1. Returns the programs that need libraries."""
    subprocess.run(["make", "-s", "install", f"BUILD={guests.BUILD}", f"DESTDIR={tree}"], cwd=guests.ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    for folder in ("bin", "proc", "sys", "dev"):
        (tree / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    shutil.copy(PROGRAMS / init, tree / "init")
    (tree / "init").chmod(0o755)
    return [tree / "usr/local/bin/shootdown", *(path for path in (tree / "usr/local/libexec/shootdown/workloads").iterdir()
                                                if path.is_file())]


def pack(tree, programs):
    """The tree with the libraries of its programs, stripped, as an initramfs beside it."""
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


def boots_of(trace):
    """[(notes, boot id)] in the order of the boots."""
    return [tuple(line.split()[1:]) for line in trace.splitlines() if line.startswith("boot ")]


CAMPAIGN = """exec shootdown run known-flush --case no-siblings --lane host -k image:A -k image:B --blocks 2 --iterations 1 \\
	--reboot kexec --initrd initrd -o campaign
"""


def run_campaign(machine):
    """Runs CAMPAIGN to its end: a record for each boot of the plan, made in it, by its kernel. Returns what is on the disk."""
    after = machine.run()
    plan = json.loads((after / "campaign/plan.json").read_text())
    records = [json.loads(path.read_text()) for path in sorted((after / "campaign/records").glob("*.json"))]
    assert [record["outcome"] for record in records] == ["ok"] * 4, machine.told()
    assert all(record["complete"] for record in records)
    boots = boots_of((after / "trace").read_text())
    # The user's own boot, and one for each boot of the plan, in its order.
    assert len(boots) == 5, machine.told()
    assert [record["facts"]["boot_id"] for record in records] == [boot_id for _, boot_id in boots[1:]]
    assert len({boot_id for _, boot_id in boots}) == 5
    of_kernel = {}
    for boot, (notes, _) in zip(plan["boots"], boots[1:]):
        of_kernel.setdefault(boot["kernel"], set()).add(notes)
    assert len(of_kernel) == 2 and all(len(notes) == 1 for notes in of_kernel.values())
    assert set.union(*of_kernel.values()) == {notes for notes, _ in boots} and len({notes for notes, _ in boots}) == 2
    # Nothing is left that would start again.
    assert not list(after.rglob(UNIT))
    assert "left" not in json.loads((after / "campaign/reboot.json").read_text())
    return after
