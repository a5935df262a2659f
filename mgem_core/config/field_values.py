"""Parse the fields of a run that may be text, a number or a list: modules, strength, domains."""

from collections.abc import Mapping
from typing import Any, get_args

from mgem_core.restriction import partition


def parse_modules(value: Any) -> Any:
    """Accept 4, "4", "layers", "tensors", {"fc1": 0, …} or "fc1=0,fc2=0,fc3=1"."""
    if isinstance(value, str) and value.strip() in get_args(partition.Each):
        return value.strip()
    if isinstance(value, str) and "=" in value:
        parts = [part.partition("=") for part in value.split(",")]
        value = {name.strip(): module for name, _, module in parts}
        if len(value) < len(parts):
            raise ValueError("it names a layer or tensor twice; give each one module")
    if isinstance(value, Mapping):
        numbers = {str(name): whole_number(module) for name, module in value.items()}
        if any(number is None or number < 0 for number in numbers.values()):
            raise ValueError("it must map every layer or tensor to a module number, like fc1=0,fc2=0,fc3=1")
        return numbers
    if (number := whole_number(value)) is None:
        raise ValueError('it must be a whole number, "layers", "tensors", or a mapping like fc1=0,fc2=0,fc3=1')
    return number


def whole_number(value: Any) -> int | None:
    """Convert a value or text to a whole number; return None if it is not one."""
    try:
        return None if isinstance(value, bool) or float(value) != int(value) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def parse_strength(value: Any) -> Any:
    """Accept 0.5, "0.5", or one number per past task: (0.5, 0.1), "0.5,0.1"."""
    given = value.split(",") if isinstance(value, str) and "," in value else value
    try:
        numbers = [float(one) for one in given] if isinstance(given, list | tuple) else [float(given)]
    except (TypeError, ValueError, OverflowError):  # OverflowError: a whole number that no float can hold
        numbers = [float("nan")]
    if not numbers or not all(0 <= number <= 1e6 for number in numbers):
        raise ValueError("it must be a number from 0 to a million, or one such number per past task, like 0.5,0.1")
    return tuple(numbers) if isinstance(given, list | tuple) else numbers[0]


def parse_domains(value: Any) -> Any:
    """Accept "mnist+usps", "mnist,usps" or ["mnist", "usps"]; in sweeps, commas separate values, so only "+" works."""
    if (names := domain_names(value)) is None:
        raise ValueError("it must be names of domains, like mnist+usps")
    return "+".join(names)


def domain_names(value: Any) -> list[str] | None:
    """Return the names in a value of the field `domains`; None if it is not a valid value."""
    names = value.replace(",", "+").split("+") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return None
    return [name.strip() for name in names if name.strip()]


def split_values(text: str) -> list[str]:
    """Split several values of one option at commas, or at ; if a value contains commas, as in fc1=0,fc2=1."""
    return text.split(";" if ";" in text or "=" in text else ",")
