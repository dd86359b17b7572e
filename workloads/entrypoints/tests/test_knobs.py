"""Tests that no program has a knob that nothing reads."""

import ast
import dataclasses
import pathlib

import pytest

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = sorted(p.stem for p in ENTRYPOINTS.glob("*.py"))
# What settings are called where they are used.
NAMES = {"settings", "_settings", "s", "knobs"}


def trees(program):
    """Returns the syntax of a program and of all modules of raylib that it reaches."""
    left, seen = [ENTRYPOINTS / f"{program}.py"], {}
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen[path] = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(seen[path]):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("raylib"):
                names = [node.module.split(".")[1:], *([a.name] for a in node.names)]
                files = [ENTRYPOINTS / "raylib" / f"{n[0]}.py" for n in names if n]
                left += [f for f in files if f.exists()]
    return seen.values()


def read_by(program):
    """Returns the names that the program's code takes from its settings."""
    found = set()
    for node in (n for tree in trees(program) for n in ast.walk(tree)):
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
            and isinstance(node.args[1], ast.Constant)
        ):
            owner, name = node.args[0], node.args[1].value
        else:
            continue
        if getattr(owner, "id", getattr(owner, "attr", "")) in NAMES:
            found.add(name)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_knob_is_read_by_the_program_that_has_it(program):
    knobs = {f.name for f in dataclasses.fields(__import__(program).PROGRAM.params)}
    assert sorted(knobs - read_by(program)) == []
