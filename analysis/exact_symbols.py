# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel text addresses -> functions: one canonical name where several symbols share an address.

Rules, in this order:
  * only text symbols (t, T, w, W) in the kernel's half of the address space; `__pfx_` padding symbols are left out;
  * of the symbols at one address: no section marker (_stext, ..._start, ..._end) before one; global before local before
    weak; fewer leading underscores; shorter; then alphabetical;
  * compiler-made pieces belong to their function: NAME.cold, NAME.isra.N, NAME.constprop.N, NAME.part.N become NAME. Entering
    .cold is no call, and entering .part is none where NAME itself exists;
  * other functions of one name (static, in different files) are NAME, NAME#2, ... by ascending address.
"""
import lzma
import re

import numpy as np

KERNEL_HALF = 1 << 63
_TEXT = frozenset("tTwW")
_RANK = {"T": 0, "t": 1, "W": 2, "w": 2}
_MARKER = re.compile(r"^(_s?text|_etext|_s?inittext|_einittext|__.*_(start|end|begin)|.*_(start|end))$")
_PIECE = re.compile(r"\.(cold|part|isra|constprop|llvm)(\.\d+)*")


class SymbolError(ValueError):
    """The file of symbols cannot be used; the text is one line."""


def _order(kind, name):
    return (_MARKER.match(name) is not None, _RANK[kind], len(name) - len(name.lstrip("_")), len(name), name)


def parse_symbols(lines):
    """Lines of System.map or /proc/kallsyms -> {address: canonical symbol name}."""
    best = {}
    for line in lines:
        fields = line.split()
        if len(fields) < 3 or fields[1] not in _TEXT or fields[2].startswith("__pfx_"):
            continue
        try:
            address = int(fields[0], 16)
        except ValueError:
            raise SymbolError(f"not a line of System.map or kallsyms: {line.strip()[:60]!r}") from None
        if address < KERNEL_HALF:
            continue
        other = best.setdefault(address, fields)
        if other is not fields and _order(fields[1], fields[2]) < _order(other[1], other[2]):
            best[address] = fields
    return {address: fields[2] for address, fields in best.items()}


def _function_names(addresses, raw):
    """Function name and 'entering it is a call' of each symbol, in ascending order of address."""
    whole = {name for name in raw if "." not in name}
    seen, names, entries = {}, [], []
    for name in raw:
        base = _PIECE.sub("", name)
        piece = base != name
        if not piece:
            seen[name] = seen.get(name, 0) + 1
        names.append(base if piece or seen[name] == 1 else f"{base}#{seen[name]}")
        entries.append(".cold" not in name and not (".part." in name and base in whole))
    return names, entries


class Symbols:
    """Where each function is. `functions` are the names; index_of() gives positions in it."""

    def __init__(self, symbols):
        if not symbols:
            raise SymbolError("no kernel text symbol: a kallsyms read without privilege shows zeros")
        addresses = sorted(symbols)
        names, entries = _function_names(addresses, [symbols[a] for a in addresses])
        self.functions = sorted(set(names))
        number = {name: i for i, name in enumerate(self.functions)}
        self.addresses = np.array(addresses, dtype=np.uint64)
        self.function = np.array([number[name] for name in names], dtype=np.int64)
        self.entry = np.array(entries, dtype=bool)
        self.position = {name: a for name, a in zip(reversed(names), reversed(addresses))}

    @classmethod
    def from_text(cls, text):
        return cls(parse_symbols(text.splitlines()))

    @classmethod
    def from_file(cls, path):
        """System.map or kallsyms, plain or .xz."""
        try:
            with (lzma.open if str(path).endswith(".xz") else open)(path, "rt", encoding="ascii", errors="replace") as file:
                return cls(parse_symbols(file))
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise SymbolError(f"{path}: cannot be read: {error}") from None
        except SymbolError as error:
            raise SymbolError(f"{path}: {error}") from None

    from_system_map = from_file
    from_kallsyms = from_file

    def symbol_of(self, addresses):
        """Index of the symbol each address lies in; -1 below the first."""
        return np.searchsorted(self.addresses, addresses, side="right").astype(np.int64) - 1

    def is_symbol(self, addresses):
        """Whether each address is exactly where a symbol stands."""
        at = self.symbol_of(addresses)
        return (at >= 0) & (self.addresses[np.maximum(at, 0)] == addresses)

    def span(self, name):
        """(address, bytes up to the next symbol) of a function, or None."""
        address = self.position.get(name)
        if address is None:
            return None
        at = int(np.searchsorted(self.addresses, np.uint64(address)))
        following = int(self.addresses[at + 1]) if at + 1 < len(self.addresses) else address
        return address, following - address
