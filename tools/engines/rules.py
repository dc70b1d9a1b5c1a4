# SPDX-License-Identifier: MIT
"""How an engine reads the keys of each model type: the rules by which a config that was never
measured is judged. A config of the type gets a rope object of each rope type, with all of its keys
at unusual values, and once with the fewest keys. Where the engine rotates otherwise than posenc
reads, a rule is the least change after which posenc reads the config as the engine does: keys that
are taken away or have another value. It was found where posenc's frequencies, factor and width of
the changed config are those that were measured.

Keys of a rule are relative to the part about text; "rope" is its rope object."""

import copy
import itertools
import re

import compare
import expected
import measure
from forms import OLD, model_key, old_form, text_of

THETA, LOCAL_THETA = 777000.0, 777.0
NONE = "none"  # a config without a key of the rotation
FULL, BARE = "full", "bare"  # all keys of a rope type, and the fewest
YARN = {"factor": 4.0, "original_max_position_embeddings": 1024}
RAMP = YARN | {"beta_fast": 16.0, "beta_slow": 2.0}
OBJECTS = {
    ("default", FULL): {},
    ("default", "partial"): {"partial_rotary_factor": 0.5},
    ("linear", FULL): {"factor": 4.0},
    ("dynamic", FULL): {"factor": 4.0},
    ("llama3", FULL): {
        "factor": 16.0,
        "low_freq_factor": 2.0,
        "high_freq_factor": 8.0,
        "original_max_position_embeddings": 1024,
    },
    ("llama3", "partial"): {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
        "partial_rotary_factor": 0.5,
    },
    ("yarn", FULL): RAMP | {"truncate": False, "attention_factor": 1.5},
    ("yarn", BARE): YARN,
    ("yarn", "mscale"): YARN | {"mscale": 0.7, "mscale_all_dim": 1.1},
    # An engine may refuse a config without the ends of the ramp, and rounds them or does not.
    ("yarn", "ramp"): RAMP,
    ("yarn", "ramp and mscale"): RAMP | {"mscale": 0.7, "mscale_all_dim": 1.1},
    ("yarn", "one mscale"): RAMP | {"mscale": 0.7},
    ("longrope", FULL): {"factor": 16.0, "original_max_position_embeddings": 1024},
}
STIRRED = {"rope_theta", "rope_type", "type", "long_factor", "short_factor"}
STIRRED |= {key for keys in OBJECTS.values() for key in keys} - {"partial_rotary_factor"}
PARTS = [*(" ".join(part) for part in OBJECTS), f"{NONE} {BARE}"]
# Where a config has these: the context is YaRN's, and an engine makes short tables.
CONTEXT = {"max_position_embeddings": 4096, "original_max_position_embeddings": 1024}
LAYERS = 8  # in which each kind of layers is
# By which the values of keys are multiplied, for a second config.
TIMES = {
    "rope_theta": 1.5,
    "rotary_emb_base": 1.5,
    "rope_local_base_freq": 1.5,
    "partial_rotary_factor": 0.5,
    "rotary_pct": 0.5,
    "factor": 0.5,
    "original_max_position_embeddings": 2,
    "beta_fast": 1.5,
    "beta_slow": 1.5,
    "attention_factor": 0.8,
    "mscale": 2.0,  # from less to more than mscale_all_dim
    "mscale_all_dim": 1.1,
    "low_freq_factor": 0.75,
    "high_freq_factor": 0.75,
}
TYPES_OF_LAYERS = {"full_attention", "sliding_attention"}
SIZE_MAX = 3  # of keys that are changed together
TRIES = 600  # of changes for a cell
OTHER_BASE = 1e-2  # relative
NEVER = ("rope_type", "type")  # which is never taken away alone
PLAIN = ["rope.rope_type", "default"]  # the scaling is not applied
# Where posenc does not read the part of the head that rotates without scaling.
PARTIAL = [["rope.rope_type", "linear"], ["rope.factor", 1.0]]


def part_keys():
    """The keys of each part's rope object beside its type and base."""
    longrope = ["long_factor", "short_factor"]
    found = {
        part: list(keys) + longrope * (part[0] == "longrope") for part, keys in OBJECTS.items()
    }
    return found | {(NONE, BARE): []}


# ---- configs ------------------------------------------------------------------------------------


def objects(config):
    """(rope type, part, rope object of transformers 5) for a config in that form."""
    usual = text_of(config).get("rope_parameters")
    for (rope_type, part), keys in OBJECTS.items():
        flat = {"rope_type": rope_type, "rope_theta": THETA} | copy.deepcopy(keys)
        if not isinstance(usual, dict):
            yield rope_type, part, flat
        elif TYPES_OF_LAYERS & set(usual):
            own = usual.get("full_attention") or {}
            flat = {k: v for k, v in own.items() if k not in STIRRED} | flat
            local = {"rope_type": "default", "rope_theta": LOCAL_THETA}
            given = {"full_attention": flat, "sliding_attention": local}
            yield rope_type, part, {k: given.get(k, v) for k, v in usual.items()}
        else:
            kept = {k: v for k, v in usual.items() if k not in STIRRED}
            yield rope_type, part, kept | flat


def stirred(forms):
    """(rope type, part, {form: config}) of a row."""
    base = copy.deepcopy(forms.get("5") or forms["4"])
    if "5" not in forms:
        for key in ("rope_theta", "rope_scaling"):
            text_of(base).pop(key, None)
    shortened(text_of(base))
    for rope_type, part, rope in objects(base):
        shortened(rope)
        config = copy.deepcopy(base)
        text_of(config)["rope_parameters"] = rope
        if rope_type == "longrope" and not lengthened(config, base):
            continue
        old = as_old(config, forms)
        found = {"5": config if "5" in forms else None, "4": old if "4" in forms else None}
        yield rope_type, part, {form: c for form, c in found.items() if c}
    if "4" in forms:
        bare = without_rope(forms["4"])
        shortened(text_of(bare))
        yield NONE, BARE, {"4": bare}


def shortened(text):
    """A context and a number of layers that an engine is quick with."""
    text |= {key: value for key, value in CONTEXT.items() if text.get(key) and text[key] > value}
    count = text.get("num_hidden_layers")
    of_one = any(isinstance(v, dict) and any(map(str.isdigit, v)) for v in text.values())
    if not isinstance(count, int) or count <= LAYERS or of_one:
        return
    of_layers = {k: v for k, v in text.items() if isinstance(v, list) and len(v) == count}
    cut = {key: value[:LAYERS] for key, value in of_layers.items()}
    if all(set(map(str, cut[key])) == set(map(str, value)) for key, value in of_layers.items()):
        text |= cut | {"num_hidden_layers": LAYERS}


def as_old(config, forms):
    """In the form of transformers 4, whose configs have both names of the rope type, and a name of
    the base that some models have."""
    old = old_form(config)
    if old is None:
        return None
    text, before = text_of(old), text_of(forms.get("4") or {})
    if isinstance(text.get("rope_scaling"), dict) and "rope_type" in text["rope_scaling"]:
        text["rope_scaling"]["type"] = text["rope_scaling"]["rope_type"]
    if "rotary_emb_base" in before:
        text.pop("rope_theta", None)
        text["rotary_emb_base"] = THETA
        text |= {"rotary_pct": before["rotary_pct"]} if "rotary_pct" in before else {}
    return old


def without_rope(config):
    found = copy.deepcopy(config)
    for key in ("rope_parameters", *OLD, "rotary_emb_base", "rotary_pct"):
        text_of(found).pop(key, None)
    return found


def lengthened(config, base):
    """Adds the factors of longrope, one a pair. False: posenc does not say how many."""
    try:
        kinds = expected.kinds_of(expected.read(base))
        pairs = max(
            len(expected.frequencies(k["encoding"], 4096)[0]) for k in kinds if k["encoding"]
        )
    except (expected.NotARow, expected.posenc.Refused, ValueError):
        return False
    rope = text_of(config)["rope_parameters"]
    rope = rope.get("full_attention", rope)
    rope["long_factor"] = [2.0 + pair / 4 for pair in range(pairs)]
    rope["short_factor"] = [1.0 + pair / 64 for pair in range(pairs)]
    return True


# ---- the change after which posenc reads as the engine ------------------------------------------


def text_path(config):
    for name in ("text_config", "thinker_config", "llm_config"):
        if isinstance(config.get(name), dict):
            return (name, *text_path(config[name]))
    return ()


def rope_key(text):
    return next((k for k in ("rope_parameters", "rope_scaling") if text.get(k)), None)


def changed(config, change):
    """A copy with the change of a rule: [[path, value], ...]; null takes a key away, and
    {"as": key} has the value of a key beside it."""
    found = copy.deepcopy(config)
    text = text_of(found)
    rope = rope_key(text)
    for path, value in change:
        keys = path.split(".")
        at = text
        if keys[0] == "rope" and rope:
            keys[0] = rope
        elif keys[0] == "rope":
            keys[0] = "rope_scaling"
            text["rope_scaling"] = text.get("rope_scaling") or {}
        for key in keys[:-1]:
            at = at.get(key) if isinstance(at, dict) else None
        if not isinstance(at, dict):
            continue
        if value is None:
            at.pop(keys[-1], None)
        elif isinstance(value, dict):
            if value["as"] in at:
                at[keys[-1]] = copy.deepcopy(at[value["as"]])
        else:
            at[keys[-1]] = value
    return found


def leaves(config):
    """Paths of keys about positions, relative to the part about text, those of the rope object
    first."""
    text = text_of(config)
    rope = rope_key(text)
    inside, beside = [], []
    for path in measure.paths(text):
        if isinstance(measure.value_at(text, path), dict):
            continue
        if path[0] == rope:
            inside.append(".".join(("rope", *path[1:])))
        else:
            beside.append(".".join(path))
    return [path for path in inside if path.split(".")[-1] not in NEVER], beside


def real_path(config, path):
    keys = path.split(".")
    return [rope_key(text_of(config)) if keys[0] == "rope" else keys[0], *keys[1:]]


def widths(answer):
    """How many elements rotate, of each kind of layers."""
    seen = [s for kind in answer["kinds"] for s in (kind["rotation"] or {}).values()]
    return sorted({2 * sum(f != 0 for f in s["frequencies"]) for s in seen})


def bases(answer):
    """Bases of what an engine rotates, of few digits first."""
    found = []
    for kind in answer["kinds"]:
        for seen in (kind["rotation"] or {}).values():
            own = compare.geometric([f for f in seen["frequencies"] if f > 0])
            if own:
                found += [float(f"{own[0]:.{digits}g}") for digits in (2, 3, 4, 6)]
    return list(dict.fromkeys(found))


def is_another(base, value):
    """A base near that of the config is made of it: another config would have another one."""
    return abs(base / value - 1) > OTHER_BASE


def single(config, answer):
    """Changes of one key, the likely ones first."""
    inside, beside = leaves(config)
    of_base = [p for p in inside + beside if re.search(r"theta|base", p)]
    for path in inside + beside:
        last = path.split(".")[-1]
        value = measure.value_at(text_of(config), real_path(config, path))
        if path in of_base and isinstance(value, (int, float)):
            yield from ([path, base] for base in bases(answer) if is_another(base, value))
        elif last in ("long_factor", "short_factor"):
            yield [path, {"as": {"long": "short", "short": "long"}[last.split("_")[0]] + "_factor"}]
        yield [path, None]
        if last in ("partial_rotary_factor", "rotary_pct"):
            yield [path, 1.0]
        if last in ("beta_fast", "beta_slow"):
            yield [path, 0.0]
        if last == "factor":
            yield [path, 1.0]
    holders = {path.rsplit(".", 1)[0] for path in inside}
    for holder in sorted(holders):
        for key, value in (("truncate", False), ("beta_fast", 0.0), ("beta_slow", 0.0)):
            if f"{holder}.{key}" not in inside and f"{holder}.beta_fast" in inside + [
                f"{holder}.beta_fast"
            ] * ("yarn" in str(text_of(config))):
                yield [f"{holder}.{key}", value]
        yield [f"{holder}.attention_factor", 1.0]
    if not of_base:
        yield from (["rope_theta", base] for base in bases(answer))
    if "partial_rotary_factor" not in str(beside + inside):
        yield ["partial_rotary_factor", 1.0]
    for width in widths(answer):
        yield ["head_dim", width]
        head = text_of(config).get("head_dim")
        yield from [["partial_rotary_factor", width / head]] if head else []
    if "yarn" in str(text_of(config)) or inside:
        yield ["rope.rope_type", "yarn"]


def whole(answer):
    """Changes without the rope object."""
    yield [["rope", None]]
    for base in bases(answer):
        yield [["rope", None], ["rope_theta", base]]
    for base in bases(answer):
        yield [["rope", None], ["rope_theta", base], ["partial_rotary_factor", 1.0]]


def changes(config, answer):
    ones = list({str(one): one for one in single(config, answer)}.values())
    yield from ([one] for one in ones)
    yield [PLAIN]
    yield PARTIAL
    of_base = [one for one in ones if isinstance(one[1], float) and one[1] > 1]
    yield from ([PLAIN, one] for one in of_base)
    if rope_key(text_of(config)):
        yield from whole(answer)
        if rope_key(text_of(config)) == "rope_scaling":
            yield from ([["rope", None], one] for one in ones if not one[0].startswith("rope."))
    for size in range(2, SIZE_MAX + 1):
        for group in itertools.combinations(ones, size):
            if len({path for path, _ in group}) == size:
                yield list(group)


def holds(change, config, answer, lengths, permuted):
    """Does posenc read the changed config as the engine read the config?"""
    try:
        ours = expected.kinds(expected.read(changed(config, change)), lengths)
    except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
        return False
    return compare.models(ours, answer["kinds"], permuted) is None


def moved(config):
    """The config with other values of the same keys."""
    found = copy.deepcopy(config)
    for path in itertools.chain(*leaves(config)):
        *before, last = real_path(config, path)
        at = measure.value_at(text_of(found), before)
        of_pairs = last == "partial_rotary_factor" and "short_factor" in str(config)
        if last in TIMES and isinstance(at[last], (int, float)) and not of_pairs:
            at[last] = type(at[last])(at[last] * TIMES[last])
    return found


def reads_as(driver, config, answer, lengths):
    """The least change, or None. A change holds for other values too: a head_dim that is half of
    the measured one is no rule, nor is any other value that the engine computes."""
    other, permuted = moved(config), driver.engine.permuted
    try:
        other_lengths = expected.lengths(expected.read(other))
        other_answer = driver.ask(other, other_lengths)
    except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
        return None
    if "kinds" not in other_answer:
        return None
    for change in itertools.islice(changes(config, answer), TRIES):
        if holds(change, config, answer, lengths, permuted) and holds(
            change, other, other_answer, other_lengths, permuted
        ):
            return change
    return None


# ---- rules --------------------------------------------------------------------------------------


def judged(driver, config):
    """A rule of one config: "same"; {"reads_as": change or None, and what differs};
    {"raises"}, {"unmeasured"}, {"absent"}."""
    report = expected.read(config)
    lengths = expected.lengths(report)
    answer = driver.ask(config, lengths)
    if "kinds" not in answer:
        return answer
    ours = expected.kinds(report, lengths)
    found = compare.models(ours, answer["kinds"], driver.engine.permuted)
    if found is None:
        return "same"
    change = reads_as(driver, config, answer, lengths)
    return {"reads_as": change} | {k: v for k, v in found.items() if k != "reads"}


def culprit(driver, config):
    """Of a config for which an engine raises: the key without which it does not."""
    inside, _ = leaves(config)
    for path in inside:
        left = changed(config, [[path, None]])
        try:
            if "raises" not in driver.ask(left, expected.lengths(expected.read(left))):
                return path
        except (expected.NotARow, expected.posenc.Refused):
            continue
    return None


def is_run(cell):
    return cell == "same" or (isinstance(cell, dict) and bool({"code", "by_default"} & set(cell)))


def bases_of(table, cells):
    """By model type and form: the row whose config is stirred, one that the engine runs. Model
    types of published configs come first."""
    found = {}
    for kind in ("defaults", "published"):
        for row in table:
            if row["kind"] != kind:
                continue
            for form, config in row["forms"].items():
                cell = cells.get(kind, {}).get(row["name"], {}).get(form)
                if is_run(cell) and model_key(config):
                    found.setdefault((model_key(config), form), row)
    published = {
        model_key(c) for r in table if r["kind"] == "published" for c in r["forms"].values()
    }
    return dict(sorted(found.items(), key=lambda item: item[0][0] not in published))


def measured(driver, table, cells, types=None, known=()):
    """Yields model type, form, {"row", "same": parts, "rules": {part: rule}, "needs", "beyond"}; of
    these types (None: of all), but not of known ones."""
    for (model_type, form), row in bases_of(table, cells).items():
        if (model_type, form) in known or (types is not None and model_type not in types):
            continue
        forms = {k: row["forms"][k] for k in {form, "5"} if k in row["forms"]}
        of_parts, needed = of_type(driver, forms, form)
        run = running(table, cells, model_type, form)
        of_parts |= contradicted(of_parts, {rope_type_of(config) for config in run})
        if of_parts:
            run = running(table, cells, model_type, form)
            needed = uncontradicted(needs(driver, forms, form, of_parts, needed), run)
            limits = beyond(driver, forms, form, of_parts)
            more = {"needs": needed, "beyond": limits}
            found = short(of_parts) | {key: value for key, value in more.items() if value}
            yield model_type, form, {"row": row["name"]} | found
        print(f"{driver.engine.label}: {model_type} {form}: {of_parts}"[:300], flush=True)


def short(of_parts):
    same = [part for part, rule in of_parts.items() if rule == "same"]
    return {"same": same, "rules": {p: rule for p, rule in of_parts.items() if rule != "same"}}


def parts_of(about):
    """{part: rule} of an entry."""
    return dict.fromkeys(about["same"], "same") | about["rules"]


def of_type(driver, forms, form):
    """{part: rule}, and {rope type: {"rope.type": what the engine raises without it}}"""
    found, needed = {}, {}
    for rope_type, part, made in stirred(forms):
        config = made.get(form)
        if not config:
            continue
        try:
            rule = judged(driver, config)
            again = typed(config, rope_type)
            if "raises" in rule and again:
                rule_again = judged(driver, again)
                if "raises" not in rule_again:
                    needed[rope_type] = {"rope.type": rule["raises"]}
                    rule, config = rule_again, again
        except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
            continue
        if isinstance(rule, dict) and "raises" in rule:
            key = culprit(driver, config)
            rule = rule | ({"key": key} if key else {})
        found[f"{rope_type} {part}"] = rule
    return found, needed


def typed(config, rope_type):
    """With the older name of the rope type too, which files of transformers 4 have; or None."""
    found = copy.deepcopy(config)
    text = text_of(found)
    rope = text.get(rope_key(text))
    if not isinstance(rope, dict) or "rope_type" not in rope or "type" in rope:
        return None
    rope["type"] = rope_type
    return found


def running(table, cells, model_type, form):
    """Configs of a model type that the engine runs."""
    found = []
    for row in table:
        cell, config = cells.get(row["kind"], {}).get(row["name"], {}), row["forms"].get(form)
        if is_run(cell.get(form)) and model_key(config) == model_type:
            found.append(config)
    return found


def rope_type_of(config):
    text = text_of(config)
    rope = text.get(rope_key(text)) if rope_key(text) else {}
    objects = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    named = [o.get("rope_type", o.get("type")) for o in objects]
    own = next((name for name in named if name and name != "default"), "default")
    return {"su": "longrope", "mrope": "default"}.get(own, own)


def contradicted(of_parts, types):
    """Parts for which the engine raises without a key to blame, though it runs other configs of the
    model type and rope type: it chooses by more than the rope object."""
    reason = "the engine runs some configs of this model type and rope type, and refuses others"
    return {
        part: {"unmeasured": reason}
        for part, rule in of_parts.items()
        if part.split()[0] in types and "raises" in rule and not rule.get("key")
    }


def needs(driver, forms, form, of_parts, known):
    """{rope type: {path: what the engine raises without the key}}, of the first part of each rope
    type that the engine runs, beside the known ones."""
    found, seen = copy.deepcopy(known), set()
    for rope_type, part, made in stirred(forms):
        rule = of_parts.get(f"{rope_type} {part}")
        if rule is None or rope_type in seen or "raises" in rule or not made.get(form):
            continue
        seen.add(rope_type)
        for path in itertools.chain(*leaves(made[form])):
            raised = raised_without(driver, made[form], path)
            if raised:
                found.setdefault(rope_type, {}).setdefault(need(path), raised)
    return found


def need(path):
    """The path of a need: a key of the rope object may be in that of a type of layers."""
    return f"rope.{path.split('.')[-1]}" if path.startswith("rope.") else path


def uncontradicted(needed, run):
    """Needs without those keys that a config lacks which the engine runs."""
    found = {}
    for rope_type, keys in needed.items():
        alike = [config for config in run if rope_type_of(config) == rope_type]
        kept = {path: m for path, m in keys.items() if all(has(c, path) for c in alike)}
        found |= {rope_type: kept} if kept else {}
    return found


def has(config, path):
    inside, beside = leaves(config)
    text = text_of(config)
    rope = text.get(rope_key(text)) or {}
    named = ["rope.type"] if "type" in rope else []
    return path in [*map(need, inside), *beside, *named]


def beyond(driver, forms, form, of_parts):
    """{rope type: why not}, of rope types for which the engine does not do with a context of more
    than factor × original_max_position_embeddings what it does with the measured one."""
    found, seen = {}, set()
    for rope_type, part, made in stirred(forms):
        config, rule = made.get(form), of_parts.get(f"{rope_type} {part}")
        if rope_type in seen or rule != "same" or not config or rope_type not in ("yarn", "llama3"):
            continue
        seen.add(rope_type)
        longer = copy.deepcopy(config)
        text_of(longer)["max_position_embeddings"] = 8 * CONTEXT["max_position_embeddings"]
        try:
            again = judged(driver, longer)
        except (expected.NotARow, expected.posenc.Refused, KeyError, ValueError):
            continue
        if again != "same":
            reason = again.get("unmeasured") or again.get("raises") or again.get("code") or "absent"
            found[rope_type] = re.sub(r"position \d+", "the last position", reason)
    return found


def raised_without(driver, config, path):
    """What the engine raises for a config without a key that posenc can do without, or None."""
    left = changed(config, [[path, None]])
    try:
        return driver.ask(left, expected.lengths(expected.read(left))).get("raises")
    except (expected.NotARow, expected.posenc.Refused):
        return None
