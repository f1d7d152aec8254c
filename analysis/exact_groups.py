# SPDX-License-Identifier: GPL-2.0-or-later
"""Function groups: configs/function-groups.yaml, and a series' own groups.yaml before it.

    groups:
      tlb-flush:
        summary: what a flush runs, here and on the CPUs it interrupts
        class: work                   # work | schedule | time; only `work` is in total:work-instructions
        functions: [flush_tlb_func, flush_tlb_*]

An entry is a function's name, or a pattern with `*`. A name beats every pattern; of patterns the one with most letters wins.
A function that nothing names is in the group `other`.
"""
import fnmatch
import re

import yaml

OTHER = "other"
UNKNOWN = "unknown"             # addresses outside every symbol: modules without symbols, BPF
CLASSES = ("work", "schedule", "time")


class GroupError(ValueError):
    """The file of groups cannot be used; the text is one line."""


def _weight(pattern):
    return len(pattern.replace("*", ""))


def _matcher(pattern):
    """Most patterns are a beginning and `*`: asked for a thousand functions, that must be quick."""
    head = pattern[:-1]
    if pattern.endswith("*") and not any(c in head for c in "*?["):
        return lambda name: name.startswith(head)
    return re.compile(fnmatch.translate(pattern)).match


class Groups:
    def __init__(self, definitions):
        """definitions: {name: {"class", "functions", "summary"}} of each file, the first file wins."""
        self.classes, self.summaries, self._exact, self._patterns = {OTHER: "work", UNKNOWN: "work"}, {}, {}, []
        for rank, groups in enumerate(definitions):
            self._add_file(rank, groups)
        self._patterns.sort(key=lambda row: (row[0], -row[1]))
        self._known = {}
        self.names = [*self.classes]

    def _add_file(self, rank, groups):
        named = {}
        if not isinstance(groups, dict):
            raise GroupError("`groups:` with a mapping is wanted")
        for name, group in groups.items():
            if not isinstance(group, dict) or group.get("class") not in CLASSES or not isinstance(group.get("functions"), list):
                raise GroupError(f"group {name!r}: wants class ({', '.join(CLASSES)}) and a list of functions")
            self.classes.setdefault(name, group["class"])
            self.summaries.setdefault(name, group.get("summary", ""))
            for function in group["functions"]:
                if named.setdefault(function, name) != name:
                    raise GroupError(f"{function!r} is in the groups {named[function]!r} and {name!r}")
                if "*" in function:
                    self._patterns.append((rank, _weight(function), _matcher(function), name))
                else:
                    self._exact.setdefault(function, name)

    @classmethod
    def from_files(cls, *paths):
        definitions = []
        for path in paths:
            try:
                with open(path, encoding="utf-8") as file:
                    content = yaml.safe_load(file)
                definitions.append(content["groups"])
            except OSError as error:
                raise GroupError(f"{path}: cannot be read: {error.strerror}") from None
            except (yaml.YAMLError, TypeError, KeyError):
                raise GroupError(f"{path}: not a file of groups: `groups:` with a mapping is wanted") from None
        try:
            return cls(definitions)
        except GroupError as error:
            raise GroupError(f"{', '.join(str(p) for p in paths)}: {error}") from None

    def candidates(self, function):
        """Groups that claim a function with equal right: more than one is a mistake in the file."""
        if function in self._exact:
            return {self._exact[function]}
        best, found = None, set()
        for rank, weight, matcher, name in self._patterns:
            if best is not None and (rank, weight) != best:
                break
            if matcher(function):
                best = (rank, weight)
                found.add(name)
        return found or {OTHER}

    def group_of(self, function):
        """A clone (NAME#2) is in the group of NAME."""
        group = self._known.get(function)
        if group is None:
            group = self._known[function] = min(self.candidates(function.partition("#")[0]))
        return group

    def is_work(self, group):
        return self.classes.get(group, "work") == "work"
