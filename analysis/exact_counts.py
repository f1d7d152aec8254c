# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin's counts file (layout: runner/exact/format.h) as arrays."""
import gzip
import json
import lzma
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

MAGIC = b"SDEXACT1"
FORMAT = 1
_BLOCK = struct.Struct("<IIQ")
_REGION = struct.Struct("<6I2Q")
_HEADER, _REGION_TYPE, _FAULT, _END = 1, 2, 3, 4


class CountsError(ValueError):
    """The counts file cannot be used; the text is one line."""


@dataclass
class Region:
    """One iteration: what was executed between two marks."""
    index: int
    user_instructions: int          # as executed: each iteration of a rep instruction
    user_rep_iterations: int
    address: np.ndarray
    executed: np.ndarray
    kind: np.ndarray
    branch_source: np.ndarray
    branch_target: np.ndarray
    rep_address: np.ndarray
    rep_iterations: np.ndarray
    command_address: np.ndarray
    command_writes: np.ndarray
    watched_address: np.ndarray
    watched_cpu: np.ndarray
    watched_calls: np.ndarray


@dataclass
class Counts:
    path: str
    architecture: str
    cpus: int
    kinds: list
    header: dict
    regions: list = field(default_factory=list)
    fault: str = ""                 # why no further region can be trusted
    ended: bool = False             # QEMU ended in order


def _array(view, at, count, kind=np.uint64):
    size = count * np.dtype(kind).itemsize
    return np.frombuffer(view, dtype=kind, count=count, offset=at), at + -(-size // 8) * 8


def _region(payload):
    index, instructions, branches, repeats, commands, watched, user, user_rep = _REGION.unpack_from(payload)
    arrays, at = [], _REGION.size
    for count, kind in ((instructions, np.uint64), (instructions, np.uint64), (instructions, np.uint8),
                        *((n, np.uint64) for n in (branches, branches, repeats, repeats, commands, commands,
                                                   watched, watched, watched))):
        array, at = _array(payload, at, count, kind)
        arrays.append(array)
    return Region(index, user, user_rep, *arrays)


def _blocks(data, path):
    """(type, payload) of each whole block; a cut-off last one is left out, a damaged one is an error."""
    at = len(MAGIC)
    while at + _BLOCK.size <= len(data):
        kind, checksum, size = _BLOCK.unpack_from(data, at)
        payload = data[at + _BLOCK.size:at + _BLOCK.size + size]
        if len(payload) < size:
            return
        if zlib.crc32(payload) != checksum:
            raise CountsError(f"{path}: damaged: checksum of the block at byte {at} is wrong")
        yield kind, payload
        at += _BLOCK.size + -(-size // 8) * 8


def read_counts(path):
    """Reads a counts file, plain, gzip, or xz (half the size: for those that are kept). CountsError when it is none or damaged; a file that was cut off keeps its regions."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        elif data[:6] == b"\xfd7zXZ\0":
            data = lzma.decompress(data)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise CountsError(f"{path}: cannot be read: {error}") from None
    if data[:len(MAGIC)] != MAGIC:
        raise CountsError(f"{path}: not a counts file of the exact lane")
    counts = None
    try:
        for kind, payload in _blocks(data, path):
            if kind == _HEADER:
                header = json.loads(payload)
                if header["format"] != FORMAT:
                    raise CountsError(f"{path}: format {header['format']}, this version reads {FORMAT}")
                counts = Counts(str(path), header["architecture"], header["cpus"], header["kinds"], header)
            elif counts is None:
                raise CountsError(f"{path}: damaged: no header")
            elif kind == _REGION_TYPE:
                counts.regions.append(_region(payload))
            elif kind == _FAULT:
                counts.fault = payload.decode("utf-8", "replace")
            elif kind == _END:
                counts.ended = True
    except (struct.error, KeyError, TypeError, json.JSONDecodeError) as error:
        raise CountsError(f"{path}: damaged: {error}") from None
    except ValueError as error:
        raise error if isinstance(error, CountsError) else CountsError(f"{path}: damaged: {error}") from None
    if counts is None:
        raise CountsError(f"{path}: truncated: no header")
    return counts
