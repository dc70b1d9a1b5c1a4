# SPDX-License-Identifier: MIT
"""What stands in openapi.yaml twice or more: aliases of the first one, as YAML has them.

`$ref: &di "#/components/parameters/dim"` is written once and `$ref: *di` from then on; so are long
descriptions, and the longest of equal lists and mappings. Readers of YAML put them back, and
openapi.json has none."""
import collections
import re

import yaml

REFERENCE = re.compile(r'(?<=: )"#/components/(\w+)/([\w.-]+)"')
NUMBERS = re.compile(r"(?<=imum: )-?9007199254740991\b")
WORDS = re.compile(r'(?m)(?<=description: )(?:"(?:[^"\\\n]|\\.){24,}"|'
                   r'[A-Za-z(/][^\n:?,\[\]{}&*"]{24,})(?=[,}]|$)')
COLLECTIONS_MAX = 48  # SnakeYAML, which openapi-generator reads with, takes 50 aliases of them

# References in a list need no braces.
BARE = r'(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))(?=[],])'
ENTRY = r'\{(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))\}(?=[],])'


def loader():
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def reference_name(found):
    """The beginning of its first word, as much as no other has, and the first letters of the rest:
    parameters begin with a small letter, and all else with a large one."""
    kind, name = found.groups()
    first, *rest = re.findall(r"[A-Z]?[^A-Z-]+|[A-Z]+", name)
    ends = "".join(word[0] for word in rest)
    first = first if kind == "parameters" else first[0].upper() + first[1:]
    short = [first[:size] + ends for size in range(1 if rest else 2, len(first) + 1)]
    return *short, name, f"{name}In{kind.title()}"


def words_name(found):
    """Its first words, as many as no other begins with."""
    words = re.findall(r"\w+", found.group(0).lower())
    return ["_".join(words[:count]) for count in range(2, len(words) + 1)]


def number_name(found):
    return ("least" if "-" in found.group(0) else "most",)


def repeated(pattern, name_of, text):
    count = collections.Counter(found.group(0) for found in pattern.finditer(text))
    names = {}

    def short(found):
        node = found.group(0)
        if count[node] == 1:
            return node
        if node in names:
            return "*" + names[node]
        names[node] = next(name for name in name_of(found) if name not in names.values())
        return f"&{names[node]} {node}"

    return pattern.sub(short, text)


def flows(node, key=""):
    """(start, end, the key that has it) of every list and mapping on one line, outer ones first."""
    if isinstance(node, yaml.ScalarNode):
        return
    if node.flow_style:
        yield node.start_mark.index, node.end_mark.index, key
    for child in node.value:
        name, value = (child[0].value, child[1]) if isinstance(child, tuple) else (key, child)
        yield from flows(value, name)


def gain(node):
    """How much shorter an alias is; of a reference alone it is hardly."""
    return len(REFERENCE.sub("*abc", node))


def equal(text):
    """(start, end, what stands there instead) of the longest equal lists and mappings."""
    places = collections.defaultdict(list)
    for start, end, key in flows(yaml.compose(text, loader())):
        places[text[start:end]].append((start, end, key))
    taken, edits, left = set(), [], COLLECTIONS_MAX
    for _, found in sorted(places.items(), key=lambda item: (-gain(item[0]), item[0])):
        found = [place for place in found if not any(
            start <= place[0] < end for start, end, instead in edits if instead[0] == "*")]
        if not 1 < len(found) <= left + 1:
            continue
        letter = found[0][2].strip("/")[:1] or "_"
        name = next(offered for offered in (f"{letter}_{i}" for i in range(1, 99))
                    if offered not in taken)
        taken.add(name)
        edits += [(found[0][0], found[0][0], f"&{name} ")]
        edits += [(start, end, "*" + name) for start, end, _ in found[1:]]
        left -= len(found) - 1
    return edits


def edited(text, edits):
    """With what stands at (start, end) replaced; of edits at one place the longest is first."""
    pieces, at = [], 0
    for start, end, instead in sorted(edits):
        if start >= at:
            pieces += [text[at:start], instead]
            at = end
    return "".join(pieces) + text[at:]


def spaced(text, gap):
    """With that gap behind the commas of lists and mappings on one line."""
    ends = [token.end_mark.index for token in yaml.scan(text, loader())
            if isinstance(token, yaml.FlowEntryToken)]
    return edited(text, [(end, end + len(re.match(" *", text[end:end + 9]).group(0)), gap)
                         for end in ends if text[end] != "\n"])


def shortened(text):
    """With aliases, without spaces behind commas, and one for each level instead of two."""
    text = edited(text, equal(text))
    for pattern, name_of in ((REFERENCE, reference_name), (NUMBERS, number_name),
                             (WORDS, words_name)):
        text = repeated(pattern, name_of, text)
    text = re.sub(r"(?<=\[)" + ENTRY + "|(?<=, )" + ENTRY, r"\1\2", text)
    return spaced(re.sub(r"(?m)^( +)\1", r"\1", text), "")


def unfolded(text):
    """With what aliases stand for in their places."""
    opened, anchors, aliases = [], {}, []
    for event in yaml.parse(text, loader()):
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            aliases.append((start, end, event.anchor))
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            opened.append((event.anchor, start))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            name, start = opened.pop()
            anchors[name] = (start, end)
        elif isinstance(event, yaml.ScalarEvent):
            anchors[event.anchor] = (start, end)
    anchors.pop(None, None)

    def put(start, end):
        inside = [(at, to, put(anchors[name][0] + len(name) + 2, anchors[name][1]))
                  for at, to, name in aliases if start <= at < end]
        inside += [(at, at + len(name) + 2, "") for name, (at, _) in anchors.items()
                   if start <= at < end]
        return edited(text[start:end], [(at - start, to - start, new) for at, to, new in inside])

    return put(0, len(text))


def whole(text):
    """The same without aliases, and with its spaces."""
    text = re.sub(r"(?m)^ +", lambda found: 2 * found.group(0), spaced(unfolded(text), " "))
    return re.sub(rf"(?<=\[){BARE}|(?<=, ){BARE}", r"{\1\2}", text)
