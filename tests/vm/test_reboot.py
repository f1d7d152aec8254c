# SPDX-License-Identifier: GPL-2.0-or-later
"""run --lane host --reboot kexec, from kernel to kernel until the campaign is complete. PID 1 is a script of ours, which does
what systemd would do with the unit; test_reboot_systemd.py has systemd itself."""
import json
import struct

import pytest
from rebooting import CAMPAIGN, UNIT, Machine, boots_of, build_kernels, install, pack, run_campaign

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def kernels():
    return build_kernels()


@pytest.fixture(scope="module")
def initrd(tmp_path_factory):
    tree = tmp_path_factory.mktemp("initrd") / "tree"
    return pack(tree, install(tree, "reboot-init.sh"))


def test_a_campaign_boots_its_kernels_and_ends(tmp_path, kernels, initrd):
    machine = Machine(tmp_path, kernels, initrd, CAMPAIGN)
    trace = (run_campaign(machine) / "trace").read_text()
    lines = [line for line in trace.splitlines() if line.startswith("line ")]
    assert "BOOT_IMAGE" in lines[0] and all("BOOT_IMAGE" not in line and "mark=own no_timer_check" in line for line in lines[1:])
    assert trace.splitlines()[-1] == "end 0", machine.told()


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
