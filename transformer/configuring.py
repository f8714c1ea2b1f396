"""Config files: TOML into frozen dataclasses. An unknown key or another type is an error."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from transformer.errors import ConfigError

T = TypeVar("T")

_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def read(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The tables of a TOML file, with `a.b=value` settings put over them.

    Args:
        path: the file
        overrides: values are written as in TOML; a bare word is text

    Raises:
        ConfigError: the file cannot be read, or a setting does not read `a.b=value`.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    for given in overrides:
        _override(table, given)
    return table


def sized(table: dict[str, Any], part: str) -> dict[str, Any]:
    """The tables, with the vocabulary's size also in that of the model.

    Args:
        table: of a run that trains a vocabulary in [tokenizer], if it has one
        part: the model's table, if there is one

    Raises:
        ConfigError: the model's table has a size of its own.
    """
    shape, vocabulary = table.get(part), table.get("tokenizer")
    if not isinstance(shape, dict):
        return table
    if "vocab_size" in shape:
        raise ConfigError(f"{part}.vocab_size is tokenizer.size: leave it out")
    size = vocabulary.get("size") if isinstance(vocabulary, dict) else None
    return table | {part: {"vocab_size": max(1, size) if isinstance(size, int) else 1, **shape}}


def _override(table: dict[str, Any], given: str) -> None:
    name, equals, text = given.partition("=")
    *path, last = name.strip().split(".")
    if not equals or not all([*path, last]):
        raise ConfigError(f"{given!r} must read key=value, such as pretrain.training.steps=100")
    for key in path:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{given!r}: {key} is a value, no table")
    table[last] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """A dataclass from a table; tables in it become the dataclasses of its fields, lists tuples.

    Args:
        kind: the dataclass
        table: a value for each field that has no default
        where: the table's name, for messages

    Raises:
        ConfigError: a key is unknown or missing, or a value is of another type or is refused.
    """
    assert is_dataclass(kind)
    known = {field.name: field for field in fields(kind)}
    for name in table:
        require_known(name, known, where)
    hints = get_type_hints(kind)
    values = {n: _typed(value, hints[n], _within(where, n)) for n, value in table.items()}
    if missing := [n for n, field in known.items() if n not in table and not _optional(field)]:
        raise ConfigError(f"{where or 'the config'} lacks {', '.join(missing)}")
    try:
        return kind(**values)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}" if where else str(error)) from error


def require_known(name: str, known: Mapping[str, object] | Sequence[str], where: str) -> None:
    """Raise ConfigError for a name that is none of the known, with the one that was meant."""
    if name in known:
        return
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
    raise ConfigError(f"unknown setting {_within(where, name)}: {hint}")


def _within(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _optional(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value as its field's type wants it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _of_union(value, [a for a in arguments if a is not NoneType], where)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool) != isinstance(arguments[0], bool):
            raise ConfigError(
                f"{where} ({value!r}) must be one of {', '.join(map(str, arguments))}"
            )
        return value
    if origin is tuple:
        return _items(value, arguments, where)
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise ConfigError(f"{where} ({value!r}) must be a table: [{where}]")
        return build(hint, value, where)
    return _plain(value, hint, where)


def _of_union(value: Any, hints: Sequence[Any], where: str) -> Any:
    for hint in hints[:-1]:
        try:
            return _typed(value, hint, where)
        except ConfigError:
            continue
    return _typed(value, hints[-1], where)


def _items(value: Any, hints: Sequence[Any], where: str) -> tuple[Any, ...]:
    any_number = len(hints) == 2 and hints[1] is Ellipsis
    if any_number and not isinstance(value, list | dict):
        value = [value]  # a list of one, as it is easily written behind --set
    if not isinstance(value, list):
        raise ConfigError(f"{where} ({value!r}) must be a list")
    if any_number:
        hints = [hints[0]] * len(value)
    if len(hints) != len(value):
        raise ConfigError(f"{where} holds {len(value)} values and must hold {len(hints)}")
    return tuple(
        _typed(item, hint, f"{where}[{i}]")
        for i, (item, hint) in enumerate(zip(value, hints, strict=True))
    )


def _plain(value: Any, hint: Any, where: str) -> Any:
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
        return value
    raise ConfigError(f"{where} ({value!r}) must be {_NAMES.get(hint, hint.__name__)}")


def require_choice(name: str, value: str, choices: Any) -> None:
    """Refuse a value that is none of a `Literal`'s, for a frozen config's own check.

    Raises:
        ValueError: it names the value and the choices.
    """
    if value not in get_args(choices):
        known = ", ".join(get_args(choices))
        raise ValueError(f"{name} ({value!r}) must be one of {known}")
