"""A record of compiled networks as the text that `parse_compiled` reads."""

from __future__ import annotations

import json
from typing import Any

from edgefaced.models.compiled import CompiledRecord


def compiled_toml(record: CompiledRecord) -> str:
    """The record as TOML, without the keys that have no value."""
    lines = [f"compiled = {record.compiled}", f"pack = {_value(record.pack)}"]
    for model in record.model:
        table = model.model_dump(mode="json", exclude_none=True)
        lines += ["", "[[model]]"]
        lines += [f"{k} = {_value(v)}" for k, v in table.items() if not _is_table(v)]
        for key, value in table.items():
            if isinstance(value, dict):
                lines += ["", f"[model.{key}]", *(f"{k} = {_value(v)}" for k, v in value.items())]
        for output in table["outputs"]:
            lines += ["", "[[model.outputs]]", *(f"{k} = {_value(v)}" for k, v in output.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))


def _value(value: Any) -> str:
    """Strings, numbers and lists of them are spelled alike in JSON and TOML; a table is inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
