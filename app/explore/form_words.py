"""The words of the form: labels, help texts, titles of choices, and messages without names of fields."""

import re
from typing import Any, NamedTuple, get_args

from mgem_core import RunConfig
from mgem_core.learners import METHODS
from mgem_core.streams import BENCHMARKS

OPTIONS = {name: kind for method in METHODS.values() for name, (kind, _) in method.options.items()}  # of single methods
VISIBLE = {
    "benchmarks": "Benchmark",
    "domains": "Domains",
    "families": "Methods",
    "modules": "Modules",
    "splits": "Splits",
    "strengths": "Strengths q",
    "seeds": "Seeds",
}
IN_DRAWER = {"network": "Network", "device": "Device", "partition": "Custom partition"}
VALUE_OF_FIELD = {"benchmark": "benchmarks", "method": "families", "strength": "strengths", "seed": "seeds"}


class Choice(NamedTuple):
    """A field of RunConfig with a few named values."""

    label: str
    help: str
    titles: dict[str, str]  # value → its title; in a method's option, the value itself


CHOICES: dict[str, Choice] = {
    "order": Choice(
        "Order of the tasks",
        "As the benchmark lists them, such as rotations by rising angle, or in a random order that depends on the seed.",
        {"sorted": "as listed", "shuffled": "shuffled by the seed"},
    ),
    "trigger": Choice(
        "When to restrict",
        "A module is restricted only if the gradient conflicts with its memory, or at every step.",
        {"violation": "only on conflict (GEM's code)", "always": "every step"},
    ),
    "step_length": Choice(
        "Step length",
        "The length of z: as the dual problem gives it, or scaled to the length of the gradient.",
        {"free": "as solved", "gradient": "same as gradient"},
    ),
    "strength_kind": Choice(
        "The strength is",
        "A floor: the multiplier of every memory row is at least q, as in the paper. "
        "A margin: the step increases the alignment with every memory row to at least q.",
        {"dual-floor": "a floor of the multipliers", "margin": "a margin"},
    ),
    "strength_per": Choice(
        "The strength applies to",
        "Every split of a task's memory has the strength q, or the splits share it: q / K each.",
        {"split": "each split", "task": "all splits together"},
    ),
    "split_by": Choice(
        "Split the memory",
        "How the memory of a task is divided into splits.",
        {"random": "at random", "class": "by class", "order": "in order of arrival"},
    ),
}


def _described(name: str) -> str:
    text = str(RunConfig.model_fields[name].description)
    return text[:1].upper() + text[1:]


CHOICES |= {
    name: Choice(_described(name).partition(";")[0], _described(name), {value: value for value in get_args(kind)})
    for name, kind in OPTIONS.items()
    if kind not in (int, float)
}


def label(name: str) -> str:
    """Return the label of a form value."""
    labels = {**VISIBLE, **IN_DRAWER, **{name: choice.label for name, choice in CHOICES.items()}}
    return labels[name] if name in labels else _described(name).partition(";")[0]


def help_of_number(name: str) -> str | None:
    """Return what the description of a number adds to its label."""
    return _described(name) if ";" in _described(name) else None


def explain_on_page(sentence: str, values: dict[str, Any]) -> tuple[str, str]:
    """Translate a sentence about an invalid run, "field is value; reason.": return the form value and a message for it."""
    found = re.fullmatch(r"(\w+) is (.*?); (.*)\.", sentence, re.DOTALL)
    if found is None or found[1] not in RunConfig.model_fields:
        return "benchmarks", sentence
    field, value, reason = found.groups()
    name = VALUE_OF_FIELD.get(field, field)
    if name == "modules" and not re.fullmatch("[0-9]+", value):
        return "partition", f"{label('partition')}: {_explain_partition(values['partition'].strip(), reason)}."
    return name, f"{label(name)}: {_as_typed(value)} is not possible; {_in_words(reason)}."


def _explain_partition(given: str, reason: str) -> str:
    unknown = re.fullmatch("'(.*)' is no layer or tensor of this network; its parts are (.*)", reason)
    if unknown is None:
        return _in_words(re.sub("'(.*?)'", r"\1", reason))
    name, parts = unknown[1], unknown[2].split(", ")
    example = next((part for part in parts if part.startswith(name)), parts[0])
    entry = next((part.strip() for part in given.split(",") if part.partition("=")[0].strip() == name), name)
    dots = f"a prefix ends at a dot, for example {example}=0 for all names that begin with “{example}.”"
    return f"{entry} names no layer; {dots}. This network has {', '.join(parts)}"


def _as_typed(value: str) -> str:
    try:
        return f"{float(value):,.12g}"
    except ValueError:
        return value.strip("'\"")


def _in_words(reason: str) -> str:
    """Replace words of the command line by those of the page."""
    for words, ours in {
        "less than or equal to": "at most",
        "greater than or equal to": "at least",
        " iterations × ": " steps × ",
        "domains names": "the domains are",
    }.items():
        reason = reason.replace(words, ours)
    titles = {name: BENCHMARKS[name].title for name in sorted(BENCHMARKS, key=len, reverse=True)}
    return re.sub("|".join(map(re.escape, titles)), lambda match: titles[match[0]], reason)
