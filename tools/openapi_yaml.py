# SPDX-License-Identifier: MIT
"""Reads and writes openapi.yaml as data: block style, two spaces a level, no anchors, lines of at
most 100 columns.

A comment on a line of its own is an entry of the mapping or list that it stands in: "#3 text" with
the number of its line. So the parts between `# generated: NAME` and `# end` are replaced as data,
and the file is formatted as a whole, the parts written by hand too."""

import json
import re
import textwrap

import yaml

COLUMNS = 100
COMMENT = re.compile(r"#\d+ ")
WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
FIRST = r"[A-Za-z(/]"
IN_FLOW = r"[^\x00-\x1f:?,\[\]{}]*"  # text that needs no quotes inside [] or {}
ON_LINE = r"(?:[^\x00-\x1f:]|:(?! |$))*"  # text that needs none as the rest of a line
DATA = ("value", "example")  # keys of examples, which may be written as flows


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Dates stay text, as in JSON."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


# ---- reading ------------------------------------------------------------------------------------


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def comment_lines(lines):
    """The indices of the lines that are comments; text in block scalars is none."""
    found, scalar = [], None
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        if scalar is not None and indent_of(line) > scalar:
            continue
        scalar = indent_of(line) if re.search(r"(?:^|[:-] )[|>][-+\d]*$", line) else None
        if line.lstrip().startswith("#"):
            found.append(i)
    return found


def in_list(lines, comments, i):
    """Whether the comment of that line is an entry of a list: its next neighbour of the same
    indent is one, or else its last."""
    content = [(n, line) for n, line in enumerate(lines) if line.strip() and n not in comments]
    indent = indent_of(lines[i])
    after = next((line for n, line in content if n > i), "")
    if indent_of(after) != indent:
        after = next(
            (line for n, line in reversed(content) if n < i and indent_of(line) <= indent), ""
        )
    return indent_of(after) == indent and after.lstrip().startswith("- ")


def load(text):
    """The document with its comments as entries."""
    lines = text.split("\n")
    comments = comment_lines(lines)
    listed = {i: in_list(lines, set(comments), i) for i in comments}
    for i in comments:
        entry = json.dumps(f"#{i} " + lines[i].strip().removeprefix("#").strip())
        lines[i] = " " * indent_of(lines[i]) + (f"- {entry}" if listed[i] else f"{entry}: null")
    return yaml.load("\n".join(lines), Loader)


def is_comment(key):
    return isinstance(key, str) and COMMENT.match(key)


def without_comments(node):
    if isinstance(node, dict):
        return {key: without_comments(value) for key, value in node.items() if not is_comment(key)}
    if isinstance(node, list):
        return [without_comments(item) for item in node if not is_comment(item)]
    return node


def with_region(node, name, content):
    """The document with `content` between `# generated: NAME` and `# end`; of a mapping a mapping,
    of a list a list."""
    keys = list(node)
    start = next(
        (
            i
            for i, key in enumerate(keys)
            if is_comment(key) and key.split(" ", 1)[1] == f"generated: {name}"
        ),
        None,
    )
    if start is None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, (dict, list)):
                changed = with_region(value, name, content)
                if changed is not None:
                    return (
                        {**node, key: changed}
                        if isinstance(node, dict)
                        else [*node[:key], changed, *node[key + 1 :]]
                    )
        return None
    end = next(
        i for i in range(start, len(keys)) if is_comment(keys[i]) and keys[i].endswith(" end")
    )
    if isinstance(node, dict):
        items = list(node.items())
        return dict([*items[: start + 1], *content.items(), *items[end:]])
    return [*node[: start + 1], *content, *node[end:]]


def region_names(node):
    """The names of all `# generated: NAME`."""
    if isinstance(node, (dict, list)):
        for key in node:
            if is_comment(key) and key.split(" ", 1)[1].startswith("generated: "):
                yield key.split("generated: ", 1)[1]
        for value in node.values() if isinstance(node, dict) else node:
            yield from region_names(value)


# ---- writing ------------------------------------------------------------------------------------


def plain(text, inside):
    """Whether text is the same in YAML without quotes."""
    return (
        re.fullmatch(FIRST + inside, text)
        and text.strip() == text
        and " #" not in text
        and text.lower() not in WORDS
    )


def key_of(text):
    is_plain = re.fullmatch(r"[A-Za-z_$/][\w$/.{}-]*|[1-9]XX", text) and text.lower() not in WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def scalar(value, inside=ON_LINE):
    """A value on one line. Floats of JSON are those of YAML 1.1 if they have a dot."""
    if isinstance(value, str) and plain(value, inside):
        return value
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_of(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value, IN_FLOW)


def packs(value):
    """Whether a value may be broken between two words: numbers, short words, lists of them."""
    if isinstance(value, list):
        return all(map(packs, value))
    return not isinstance(value, dict) and bool(re.fullmatch(r"\S{0,60}", str(value)))


def folded(text, width):
    """The lines of a folded scalar: each newline of the text is a blank line."""
    lines = []
    for i, paragraph in enumerate(text.split("\n")):
        lines += [""] if i else []
        words = re.split(r"(?<! ) (?! )", paragraph) if paragraph else []
        for k, word in enumerate(words):
            if k == 0 or len(lines[-1]) + 1 + len(word) > width:
                lines.append(word)
            else:
                lines[-1] += " " + word
    return lines


def quoted(text, width):
    """The lines of a quoted scalar, broken by backslashes."""
    lines = ['"']
    for letter in text:
        escaped = json.dumps(letter, ensure_ascii=False)[1:-1]
        if len(lines[-1]) + len(escaped) >= width:
            lines[-1] += "\\"
            lines.append({" ": "\\x20", "#": "\\x23"}.get(letter, escaped))
        else:
            lines[-1] += escaped
    return [*lines[:-1], lines[-1] + '"']


def long_text(text, indent):
    """(the end of the first line, the lines below) of text that does not fit on one line."""
    width = COLUMNS - indent
    body, ending = (text[:-1], "") if text.endswith("\n") else (text, "-")
    lines = body.split("\n")
    blocks = body and not re.search(r"^[ \t]|[ \t]$|\A\n|\n\Z|[^\n -\U0010ffff]", body, re.M)
    if blocks and len(lines) > 1 and max(map(len, lines)) <= width:
        return "|" + ending, lines
    if body and blocks:
        lines = folded(body, width)
        if max(map(len, lines)) <= width:
            return ">" + ending, lines
    lines = quoted(text, width - 1)
    return "", lines


def lines_of(value, indent, data, lead):
    """(the end of a line that has `lead` columns, the lines below) of a value; `indent` is that of
    the lines below, `data` that it is part of an example."""
    pad = " " * indent
    if isinstance(value, (dict, list)):
        text = flow(value)
        short = packs(value) if isinstance(value, list) else not value
        if (short or data) and lead + 1 + len(text) <= COLUMNS:
            return text, []
        if short:
            filled = textwrap.wrap(
                text, COLUMNS - indent, break_long_words=False, break_on_hyphens=False
            )
            return "", [pad + line for line in filled]
        return "", block(value, indent, data)
    if not isinstance(value, str) or "\n" not in value and lead + 1 + len(scalar(value)) <= COLUMNS:
        return scalar(value), []
    head, lines = long_text(value, indent)
    return head, [pad + line if line else "" for line in lines]


def block(node, indent=0, data=False, parent=""):
    """The lines of a mapping or list."""
    pad, out = " " * indent, []
    if isinstance(node, dict):
        for key, value in node.items():
            if is_comment(key):
                out.append(f"{pad}# " + key.split(" ", 1)[1])
                continue
            start = f"{pad}{key_of(key)}:"
            shown = data or key in DATA and parent != "properties"
            if isinstance(value, (dict, list)) and value and not shown and not packs(value):
                out += [start, *block(value, indent + 2, shown, key)]
                continue
            end, below = lines_of(value, indent + 2, shown, len(start))
            out += [f"{start} {end}" if end else start, *below]
        return out
    for value in node:
        if is_comment(value):
            out.append(f"{pad}# " + value.split(" ", 1)[1])
            continue
        end, below = lines_of(value, indent + 2, data, indent + 1)
        if end:
            out += [f"{pad}- {end}", *below]
        else:
            out += [f"{pad}- {below[0].lstrip(' ')}", *below[1:]]
    return out


def dump(document):
    text = "\n".join(line.rstrip() for line in block(document)) + "\n"
    assert without_comments(load(text)) == without_comments(document)
    return text
