# SPDX-License-Identifier: GPL-2.0-or-later
"""Foreign bytes: a damaged plan or record gives a result or one line of text, never a traceback."""
import copy
import json
import random

import pytest
from campaigns import unmap_inaccessible

from analysis.cli import main

VALUES = [None, True, 0, -1, 1e308, 10 ** 400, "", "x" * 300, "\x1b[2J\n", [], {}, [1], {"a": 1}, [[]], {"keys": [], "buckets": [[]]}, float("nan")]


def nodes(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from nodes(value[key], (*path, key))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from nodes(value[i], (*path, i))


def mutate(content, chance):
    places = list(nodes(content))[1:]
    path = chance.choice(places)
    holder = content
    for step in path[:-1]:
        holder = holder[step]
    if chance.random() < 0.3:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(chance.choice(VALUES))


def survives(campaign, capsys, arguments):
    status = main(["compare", str(campaign), *arguments])
    error = capsys.readouterr().err
    assert "internal error" not in error and status in (0, 1, 125, 129, 130), error
    if status >= 129:
        assert error.count("\n") == 1 and "\x1b" not in error


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("file", ["plan", "record"])
def test_mutated(tmp_path, capsys, file, seed):
    chance = random.Random(f"{file}{seed}")
    campaign = unmap_inaccessible(blocks=2).write(tmp_path / "c")
    path = campaign / "plan.json" if file == "plan" else chance.choice(sorted((campaign / "records").glob("*.json")))
    content = json.loads(path.read_text())
    for _ in range(chance.randint(1, 3)):
        mutate(content, chance)
    path.write_text(json.dumps(content))
    survives(campaign, capsys, ["--format", chance.choice(["text", "json", "md", "csv"])])


@pytest.mark.parametrize("seed", range(20))
def test_damaged_bytes(tmp_path, capsys, seed):
    chance = random.Random(seed)
    campaign = unmap_inaccessible(blocks=2).write(tmp_path / "c")
    path = chance.choice([campaign / "plan.json", *sorted((campaign / "records").glob("*.json")), campaign / "machine.json"])
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 5)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    survives(campaign, capsys, [])
