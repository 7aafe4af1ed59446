"""Rewrite a configuration of an earlier version: settings that were renamed or removed, and nothing else.

The text is edited in place, so comments, order and spelling of all that stays are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from meterdp.core.config import REMOVED
from meterdp.errors import InputError

# Settings whose values mean the same under another name of the same section.
RENAMED = {"mechanisms.sound.library": "prior_mixture", "neighbourhoods.nearest": "size"}
_NULL, _BOOL = "tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"
# Start and end in the text, what to put there, and what to say of it.
Edit = tuple[int, int, str, str]


def upgraded(text: str, source: str = "config") -> tuple[str, list[str]]:
    """Return a configuration without settings that are no longer there, and a sentence for each change."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        row = error.problem_mark.line + 1 if getattr(error, "problem_mark", None) else None
        raise InputError("is not valid YAML", file=source, row=row, hint="correct it first") from None
    edits = sorted(_of_section(root, text, "")) if isinstance(root, yaml.MappingNode) else []
    for start, end, new, _ in reversed(edits):
        text = text[:start] + new + text[end:]
    return text, [said for *_, said in edits]


def _of_section(section: yaml.MappingNode, text: str, path: str) -> Iterator[Edit]:
    names = {key.value for key, _ in section.value}
    said: dict[int, str] = {}
    for number, (key, value) in enumerate(section.value):
        name = f"{path}{key.value}"
        new = RENAMED.get(name)
        if name == "export.register" and value.tag != _NULL and "register_column" in names:
            column = next(value.value for key, value in section.value if key.value == "register_column")
            kept = yaml.safe_dump({column: [value.value]}, default_flow_style=True, allow_unicode=True).strip()
            said_now = f"export.register_column and export.register are now export.keep_rows: {kept}"
            yield key.start_mark.index, _end(value), f"keep_rows: {kept}", said_now
        elif name == "release.insist" and _stands_beside(key, value) and value.tag == _BOOL and "allow" not in names:
            now = f"allow: [{'poor, repeat, ids' if yaml.safe_load(value.value) else ''}]"
            yield key.start_mark.index, value.end_mark.index, now, f"release.insist is now release.{now}"
        elif new is not None and new not in names:
            yield key.start_mark.index, key.end_mark.index, new, f"{name} is now {path}{new}"
        elif name in REMOVED:
            said[number] = f"{name} is left out: {REMOVED[name]}"
        elif isinstance(value, yaml.MappingNode):
            yield from _of_section(value, text, f"{name}.")
        elif isinstance(value, yaml.SequenceNode):
            choices = {place: f"{name}: {item.value}" for place, item in enumerate(value.value)}
            gone = {place: f"{c} is left out: {REMOVED[c]}" for place, c in choices.items() if c in REMOVED}
            yield from _removals(text, [(item.start_mark.index, _end(item)) for item in value.value], gone, value)
        elif (choice := f"{name}: {value.value}") in REMOVED:
            said[number] = f"{choice} is left out: {REMOVED[choice]}"
    yield from _removals(text, [(key.start_mark.index, _end(value)) for key, value in section.value], said, section)


def _stands_beside(key: yaml.Node, value: yaml.Node) -> bool:
    """Whether a value is written there and not elsewhere, under an alias."""
    return value.start_mark.index > key.start_mark.index


def _end(node: yaml.Node) -> int:
    """Return where the text of a node ends; YAML counts that of a block to the next token, comments included."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node.end_mark.index


def _removals(
    text: str, spans: Sequence[tuple[int, int]], said: dict[int, str], of: yaml.CollectionNode
) -> Iterator[Edit]:
    """Yield what takes away entries of a collection: their lines in a block, else with the comma beside them."""
    for number, sentence in said.items():
        start, end = spans[number]
        if not of.flow_style:
            newline = end - 1 if text[end - 1 : end] == "\n" else text.find("\n", end)
            start, end = text.rfind("\n", 0, start) + 1, len(text) if newline < 0 else newline + 1
        elif number + 1 < len(spans):
            end = spans[number + 1][0]
        elif number and number - 1 not in said:
            start = spans[number - 1][1]
        yield start, end, "", sentence
