# SPDX-License-Identifier: MIT
"""References of openapi.yaml that stand twice or more: aliases of the first one, as YAML has them.

`&dim {$ref: "#/components/parameters/dim"}` is written once and `*dim` from then on; so are the
answers that operations share. Readers of YAML put them back, and openapi.json has none."""
import collections
import re

import yaml

REFERENCE = re.compile(r'(?<=: )"#/components/(\w+)/([\w.-]+)"')
ANSWERS = re.compile(r'(?m)(?<= responses: )'
                     r'\{"200": \{\$ref: "#/components/responses/(\w+)"\}, .*\}$')
ANCHOR = re.compile(r'&([\w.-]+) ("#/components/[^"]+")')
ENCODINGS = re.compile(r"(?<=x-encodings: )\[[^]]{40,}?\]")
STATUSES = re.compile(r"(?m)(?<= x-statuses: )\[(?:\d+, ){6,}\d+\]$")
NUMBERS = re.compile(r"(?<=imum: )-?9007199254740991\b")
SAID = r'(?:"(?:[^"\\\n]|\\.){24,}"|[A-Za-z(/][^\n:?,\[\]{}&*"]{24,})(?=[,}]|$)'
WORDS = re.compile(rf"(?m)(?<=description: ){SAID}")
LINE_ANCHOR = re.compile(r"(?m)(?<=ses: )&([\w.-]+) ([{[].*[]}])$")
NUMBER_ANCHOR = re.compile(r"&([\w.-]+) (-?9007199254740991)")
WORDS_ANCHOR = re.compile(rf"(?m)(?<=description: )&([\w.-]+) ({SAID})")
LIST_ANCHOR = re.compile(r"(?<=x-encodings: )&([\w.-]+) (\[[^]]*\])")


# References in a list need no braces.
BARE = r'(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))(?=[],])'
ENTRY = r'\{(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))\}(?=[],])'


def reference_name(found):
    """The beginning of its first word, as much as no other has, and the first letters of the rest:
    parameters begin with a small letter, and all else with a large one."""
    kind, name = found.groups()
    first, *rest = re.findall(r"[A-Z]?[^A-Z-]+|[A-Z]+", name)
    ends = "".join(word[0] for word in rest)
    first = first if kind == "parameters" else first[0].upper() + first[1:]
    short = [first[:size] + ends for size in range(1 if rest else 2, len(first) + 1)]
    return *short, name, f"{name}In{kind.title()}"


def answers_name(found):
    return found.group(1) + ("AnswersOrNot" if "304" in found.group(0) else "Answers")


def statuses_name(found):
    """After the first operation that has them."""
    return "as_" + re.findall(r"operationId: (\w+)", found.string[:found.start()])[-1]


def encodings_name(found):
    """After the first parameter that they take."""
    return "take_" + re.findall(r"\{name: (\w+)", found.string[:found.start()])[-1]


def words_name(found):
    """Its first words, as many as no other begins with."""
    words = re.findall(r"\w+", found.group(0).lower())
    return ["_".join(words[:count]) for count in range(2, len(words) + 1)]


def repeated(pattern, name_of, text):
    count = collections.Counter(found.group(0) for found in pattern.finditer(text))
    names = {}

    def short(found):
        node = found.group(0)
        if count[node] == 1:
            return node
        if node in names:
            return "*" + names[node]
        offered = name_of(found)
        offered = (offered,) if isinstance(offered, str) else offered
        names[node] = next(name for name in offered if name not in names.values())
        return f"&{names[node]} {node}"

    return pattern.sub(short, text)


def spaced(text, gap):
    """With that gap behind the commas of lists and mappings on one line."""
    ends = [token.end_mark.index for token in yaml.scan(text, getattr(yaml, "CSafeLoader",
                                                                     yaml.SafeLoader))
            if isinstance(token, yaml.FlowEntryToken)]
    pieces = [text[start:end] for start, end in zip([0] + ends, ends + [None])]
    return gap.join([pieces[0]] + [piece if piece.startswith("\n") else piece.lstrip(" ")
                                   for piece in pieces[1:]]).replace(", \n", ",\n")


def shortened(text):
    """With aliases, without spaces behind commas, and one for each level instead of two."""
    for pattern, name_of in ((ANSWERS, answers_name), (REFERENCE, reference_name),
                             (STATUSES, statuses_name), (ENCODINGS, encodings_name),
                             (NUMBERS, lambda found: "least" if "-" in found.group(0) else "most"),
                             (WORDS, words_name)):
        text = repeated(pattern, name_of, text)
    text = re.sub(r"(?<=\[)" + ENTRY + "|(?<=, )" + ENTRY, r"\1\2", text)
    return spaced(re.sub(r"(?m)^( +)\1", r"\1", text), "")


def whole(text):
    """The same without aliases, and with its spaces."""
    text = spaced(text, " ")
    text = re.sub(r"(?m)^ +", lambda found: 2 * found.group(0), text)
    text = re.sub(rf"(?<=\[){BARE}|(?<=, ){BARE}", r"{\1\2}", text)
    for pattern in (ANCHOR, LINE_ANCHOR, LIST_ANCHOR, NUMBER_ANCHOR, WORDS_ANCHOR):
        nodes = dict(found.groups() for found in pattern.finditer(text))
        text = pattern.sub(lambda found: found.group(2), text)
        text = re.sub(r"(?m)(?<=[ \[])\*([\w.-]+)(?=[],}]|$)",
                      lambda found: nodes.get(found.group(1), found.group(0)), text)
    return text
