# SPDX-License-Identifier: MIT
"""References of openapi.yaml that stand twice or more: aliases of the first one, as YAML has them.

`&dim {$ref: "#/components/parameters/dim"}` is written once and `*dim` from then on; so are the
answers that operations share. Readers of YAML put them back, and openapi.json has none."""
import collections
import re

REFERENCE = re.compile(r'(?<=: )"#/components/(\w+)/([\w.-]+)"')
ANSWERS = re.compile(r'(?m)(?<= responses: )'
                     r'\{"200": \{\$ref: "#/components/responses/(\w+)"\}, .*\}$')
ANCHOR = re.compile(r'&([\w.-]+) ("#/components/[^"]+")')
ENCODINGS = re.compile(r"(?<=x-encodings: )\[[^]]{40,}?\]")
STATUSES = re.compile(r"(?m)(?<= x-statuses: )\[(?:\d+, ){6,}\d+\]$")
NUMBERS = re.compile(r"(?<=imum: )-?9007199254740991\b")
SAID = r"An encoding that has this view\.|The same view, its parameters in a body\."
WORDS = re.compile(rf"(?m)(?<=description: )(?:{SAID})(?=$|,)")
LINE_ANCHOR = re.compile(r"(?m)(?<=ses: )&([\w.-]+) ([{[].*[]}])$")
SCALAR_ANCHOR = re.compile(rf"&([\w.-]+) (-?9007199254740991|{SAID})")
LIST_ANCHOR = re.compile(r"(?<=x-encodings: )&([\w.-]+) (\[[^]]*\])")


# References in a list need no braces.
BARE = r'(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))(?=[],])'
ENTRY = r'\{(\$ref: (?:\*[\w.-]+|(?:&[\w.-]+ )?"[^"]+"))\}(?=[],])'


def reference_name(found):
    """Its first word, or two, or all of it, whatever no other has."""
    kind, name = found.groups()
    words = re.findall(r"[A-Z]?[^A-Z]+|[A-Z]+", name)
    return f"{name}In{kind.title()}", name, "".join(words[:2]), words[0]


def answers_name(found):
    return found.group(1) + ("AnswersOrNot" if "304" in found.group(0) else "Answers")


def statuses_name(found):
    """After the first operation that has them."""
    return "as_" + re.findall(r"operationId: (\w+)", found.string[:found.start()])[-1]


def encodings_name(found):
    """After the first parameter that they take."""
    return "take_" + re.findall(r"\{name: (\w+)", found.string[:found.start()])[-1]


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
        names[node] = next(name for name in reversed(offered) if name not in names.values())
        return f"&{names[node]} {node}"

    return pattern.sub(short, text)


def shortened(text):
    """With aliases, and one space for each level instead of two."""
    for pattern, name_of in ((ANSWERS, answers_name), (REFERENCE, reference_name),
                             (STATUSES, statuses_name), (ENCODINGS, encodings_name),
                             (NUMBERS, lambda found: "least" if "-" in found.group(0) else "most"),
                             (WORDS, lambda found: "had" if "An" in found.group(0) else "posted")):
        text = repeated(pattern, name_of, text)
    text = re.sub(r"(?<=\[)" + ENTRY + "|(?<=, )" + ENTRY, r"\1\2", text)
    return re.sub(r"(?m)^( +)\1", r"\1", text)


def whole(text):
    """The same without aliases, and with two spaces."""
    text = re.sub(r"(?m)^ +", lambda found: 2 * found.group(0), text)
    text = re.sub(rf"(?<=\[){BARE}|(?<=, ){BARE}", r"{\1\2}", text)
    for pattern in (ANCHOR, LINE_ANCHOR, LIST_ANCHOR, SCALAR_ANCHOR):
        nodes = dict(found.groups() for found in pattern.finditer(text))
        text = pattern.sub(lambda found: found.group(2), text)
        text = re.sub(r"(?m)(?<=[ \[])\*([\w.-]+)(?=[],}]|$)",
                      lambda found: nodes.get(found.group(1), found.group(0)), text)
    return text
