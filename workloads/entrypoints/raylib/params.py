"""Typed parameters from environment variables and an optional YAML file.

A program declares a frozen dataclass whose fields are made by `knob`, and a prefix. `load` reads
`<PREFIX><FIELD>` for each field, refuses variables with the prefix that no field has, and reports
all problems at once. `<PREFIX>CONFIG` may name a YAML file with the fields as keys; a variable wins
over the file.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from raylib.errors import ParameterError

T = TypeVar("T", bound="Params")

_KEY = "knob"
_TRUE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text"}


@dataclasses.dataclass(frozen=True)
class Knob:
    """What is known of a parameter beside its type and default."""

    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    required: bool = False
    secret: bool = False
    result: bool = True


def knob(default: Any = None, **known: Any) -> Any:
    """Returns a dataclass field with documentation and bounds.

    `low` and `high` are inclusive and hold for each element of a tuple. `choices` and `pattern`
    hold for text. `required` has no default. `secret` is never printed. `result=False` says that
    the parameter does not decide the result, so a run may be resumed with another value of it.
    """
    facts = Knob(**known)
    return dataclasses.field(
        default=dataclasses.MISSING if facts.required else default,
        repr=not facts.secret,
        metadata={_KEY: facts},
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Params:
    """The base of all parameter sets."""

    PREFIX: ClassVar[str] = ""
    # Whether a variable with the prefix that no field has is an error.
    STRICT: ClassVar[bool] = True

    def problems(self) -> list[str]:
        """Returns what is wrong between fields; each field alone is already right."""
        return []

    def shown(self) -> dict[str, Any]:
        """Returns the fields for a log, with secrets hidden."""
        return {
            f.name: "***" if _facts(f).secret and getattr(self, f.name) else getattr(self, f.name)
            for f in dataclasses.fields(self)
        }

    def deciding(self) -> dict[str, Any]:
        """Returns the fields that decide the result."""
        return {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if _facts(f).result and not _facts(f).secret
        }


def digest(value: Any) -> str:
    """Returns the SHA-256 of a value's JSON, which does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def load(cls: type[T], env: Mapping[str, str]) -> T:
    """Reads the parameters. Raises ParameterError with everything that is wrong."""
    hints = typing.get_type_hints(cls)
    problems = _unknown(cls, env) if cls.STRICT else []
    given = _from_file(cls, env, problems)
    values: dict[str, Any] = {}
    for f in dataclasses.fields(cls):
        name = cls.PREFIX + f.name.upper()
        raw = env[name] if name in env else given.get(f.name)
        if raw is None:
            if f.default is dataclasses.MISSING:
                problems.append(f"{name} is not set; it is {_facts(f).help}")
            continue
        try:
            values[f.name] = _parse(raw, hints[f.name], _facts(f), f.default)
        except ValueError as e:
            shown = "" if _facts(f).secret else f" {raw!r}"
            problems.append(f"{name} is{shown} {e}{_rule(f, hints[f.name])}")
    if problems:
        raise ParameterError(problems)
    made = cls(**values)
    if wrong := made.problems():
        raise ParameterError(wrong)
    return made


def describe(cls: type[Params]) -> str:
    """Returns the documentation of all parameters, for --help."""
    hints = typing.get_type_hints(cls)
    lines = []
    for f in dataclasses.fields(cls):
        lines.append(f"  {cls.PREFIX}{f.name.upper()}{_rule(f, hints[f.name])}")
        lines.append(f"      {_facts(f).help}")
    return "\n".join(lines)


def _facts(f: dataclasses.Field[Any]) -> Knob:
    return typing.cast(Knob, f.metadata[_KEY])


def _unknown(cls: type[Params], env: Mapping[str, str]) -> list[str]:
    known = {cls.PREFIX + f.name.upper() for f in dataclasses.fields(cls)} | {cls.PREFIX + "CONFIG"}
    ours = [n for n in sorted(env) if n.startswith(cls.PREFIX) and n not in known]
    return [
        f"{n} is no parameter of this program{nearest(n, known)}"
        for n in ours
        if not _service_link(n, env)
    ]


def _service_link(name: str, env: Mapping[str, str]) -> bool:
    """Tells whether Kubernetes put the variable there, for a Service in the pod's namespace."""
    match = re.match(r"(.+?)_(SERVICE_|PORT$|PORT_\d)", name)
    return bool(match) and f"{match.group(1)}_SERVICE_HOST" in env


def nearest(name: str, known: typing.Iterable[str]) -> str:
    """Returns a suggestion to append to a message, or nothing."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _from_file(cls: type[Params], env: Mapping[str, str], problems: list[str]) -> Mapping[str, Any]:
    name = cls.PREFIX + "CONFIG"
    path = env.get(name)
    if not path:
        return {}
    from raylib import paramfile

    try:
        content = paramfile.read(path)
    except ValueError as e:
        problems.append(f"{name} is {path!r}, {e}")
        return {}
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for key in content:
        if key not in fields:
            problems.append(f"{path}: {key} is no parameter{nearest(str(key), fields)}")
        elif _facts(fields[key]).secret:
            problems.append(f"{path}: {key} is a secret and may only be a variable")
    return {k: v for k, v in content.items() if k in fields and not _facts(fields[k]).secret}


def _parse(raw: Any, hint: Any, facts: Knob, default: Any) -> Any:
    if typing.get_origin(hint) is tuple:
        element = typing.get_args(hint)[0]
        items = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(items, list | tuple):
            items = [items]
        stripped = [i.strip() if isinstance(i, str) else i for i in items]
        return tuple(_parse(i, element, facts, default) for i in stripped if i != "")
    if raw is None or isinstance(raw, list | tuple | dict):
        raise ValueError(f"which is no {_KINDS[hint]}")
    value = _scalars[hint](str(raw))
    if hint is str:
        if facts.choices and value not in facts.choices:
            raise ValueError(f"which is not allowed{nearest(value, facts.choices)}")
        if facts.required and not value:
            raise ValueError("which is empty")
        if facts.pattern and value != default and not re.fullmatch(facts.pattern, value):
            raise ValueError("which has the wrong form")
        return value
    if (facts.low is not None and value < facts.low) or (
        facts.high is not None and value > facts.high
    ):
        raise ValueError("which is out of range")
    return value


def _number(text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"which is no {_KINDS[kind]}") from None
    # A whole number may be too large to ask.
    if kind is float and not math.isfinite(value):
        raise ValueError("which is not finite")
    return value


def _truth(text: str) -> bool:
    if text.lower() not in _TRUE:
        raise ValueError("which is neither true nor false")
    return _TRUE[text.lower()]


_scalars: dict[Any, Callable[[str], Any]] = {
    int: lambda text: _number(text, int),
    float: lambda text: _number(text, float),
    bool: _truth,
    str: str,
}


def _rule(f: dataclasses.Field[Any], hint: Any) -> str:
    """Returns what is allowed, in brackets: kind, unit, bounds, default."""
    facts = _facts(f)
    several = typing.get_origin(hint) is tuple
    kind = typing.get_args(hint)[0] if several else hint
    parts = [" or ".join(facts.choices) if facts.choices else _KINDS[kind]]
    if several:
        parts = [parts[0] + ", several with commas"]
    if facts.unit:
        parts.append(facts.unit)
    if facts.low is not None:
        parts.append(f"at least {facts.low}")
    if facts.high is not None:
        parts.append(f"at most {facts.high}")
    if f.default is dataclasses.MISSING:
        parts.append("required")
    else:
        default = ",".join(map(str, f.default)) if several else f.default
        parts.append(f"default {default if default != '' else 'empty'}")
    return f" ({'; '.join(parts)})"
