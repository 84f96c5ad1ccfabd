"""What the JSON Schemas of results are made of."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TIME: Schema = {"type": "number", "exclusiveMinimum": 0}
RATE: Schema = {"type": "number", "exclusiveMinimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
DURATION: Schema = {"type": "number", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 0}
EXECUTOR: Schema = {"enum": ["native", "stream", "graph", "windows"]}
VIA: Schema = {"type": "string", "pattern": "^(direct|[a-z][a-z0-9_]*)$"}


def record(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def optional(schema: Schema, *names: str) -> Schema:
    """Return a record that may lack these: files that are older than them."""
    return {**schema, "required": [name for name in schema["required"] if name not in names]}


def list_of(items: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": items, "minItems": least}
