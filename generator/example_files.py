"""Conversations to learn from, out of files: an example a line, as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from generator.data import Example
from generator.prompts import Message, grounded
from transformer.errors import TrainingError

_FORM = (
    'must hold {"question", "answer"} and perhaps "system" and "passages", or {"messages"} of '
    '{"role", "content"} that end with an assistant\'s'
)


def read_examples(files: Sequence[Path]) -> list[Example]:
    """The examples of .jsonl files, in order.

    A line is `{"system", "passages", "question", "answer"}`, of which system and passages may be
    missing, or `{"messages": [{"role", "content"}, …]}`, of which the last answer is learned. Other
    keys are nobody's business.

    Raises:
        TrainingError: a file is missing or not UTF-8, or a line is no such object.
    """
    return [example for file in files for example in _examples(file)]


def _examples(file: Path) -> Iterator[Example]:
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _example(line, f"{file}, line {number}")
    except FileNotFoundError as error:
        raise TrainingError(f"{file}: no such file; name examples with data.examples") from error
    except UnicodeDecodeError as error:
        raise TrainingError(f"{file} cannot be read: save it as UTF-8 ({error})") from error
    except OSError as error:
        raise TrainingError(f"{file} cannot be read: {error}") from error


def _example(line: str, at: str) -> Example:
    try:
        row = json.loads(line)
        line.encode()
        return _conversation(row["messages"]) if "messages" in row else _grounded(row)
    except json.JSONDecodeError as error:
        raise TrainingError(f"{at} is not JSON: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TrainingError(f"{at} {_FORM}: {error!r}") from error


def _conversation(turns: Sequence[Mapping[str, Any]]) -> Example:
    *before, last = [Message(turn["role"], _text(turn["content"])) for turn in turns]
    if not before or last.role != "assistant":
        raise ValueError("the last of at least two messages must be an assistant's")
    return Example(tuple(before), _said(last.content))


def _grounded(row: Mapping[str, Any]) -> Example:
    passages = tuple(_text(each) for each in row.get("passages", ()))
    system, user = grounded(_text(row.get("system", "")), _text(row["question"]), passages)
    messages = (system, user) if system.content.strip() else (user,)
    return Example(messages, _said(_text(row["answer"])), passages)


def _said(answer: str) -> str:
    if not answer.strip():
        raise ValueError("the answer is empty")
    return answer


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # JSON can write half of a character, which no text holds
    return value
