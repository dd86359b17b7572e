"""The YAML file that may give parameters. Needs PyYAML, which Ray brings."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a key may not come twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Raises YAMLError for a key that comes again, of which PyYAML would take the last."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := sorted({str(k) for k in keys if keys.count(k) > 1}):
            raise yaml.YAMLError(f"{', '.join(twice)} comes twice")
        return super().construct_mapping(node, deep)


def read(path: str) -> dict[Any, Any]:
    """Returns the keys and values of a file.

    Raises ValueError with what is wrong, as the end of a sentence that has named the file.
    """
    try:
        with open(path, encoding="utf-8") as f:
            content = yaml.load(f, _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise ValueError(f"which cannot be read: {e}") from e
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise ValueError("which must hold keys and values")
    if empty := [str(key) for key, value in content.items() if value is None]:
        raise ValueError(f"in which there is no value of {', '.join(empty)}")
    return content
