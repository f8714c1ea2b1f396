"""A follow-up put into one whole question by a writer, where rules could only add words to it.

SmolLM2-135M got one of eight such questions right and repeated the earlier one in most others, so
that only larger writers are asked, and what they say is checked: it may say nothing that was not
said before.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from index.analysis import content_words
from rag import prompts

if TYPE_CHECKING:
    from generator import Writer
    from rag.remote import RemoteWriter

LEAST = 1_000_000_000  # parameters of a writer that is asked

_SYSTEM = (
    "You rewrite the last question of a conversation so that it can be understood by itself. "
    "Replace pronouns, add what is left out, keep its language, and add nothing else. "
    "Answer with the rewritten question only."
)
_TURNS = 3  # questions before that it is shown
_LONGEST = 300  # characters of a question


def rewritten(
    question: str, before: Sequence[str], ruled: str, writer: "Writer | RemoteWriter"
) -> str:
    """The writer's whole question, or what rules made of it where that is better or safer.

    Args:
        question: the follow-up
        before: the questions before it, the first asked first
        ruled: what rules made of it
        writer: who speaks its language
    """
    if not ruled.endswith(")"):
        return ruled
    from generator import Message, Sampling
    from transformer.runtime import seeded

    asked = "\n".join([*before[-_TURNS:], question])
    messages = [Message("system", _SYSTEM), Message("user", asked)]
    pieces = writer.stream(messages, Sampling(max_tokens=80), seeded(0))
    said = " ".join("".join(prompts.told(pieces)).split()).strip("\"'“” ")
    return said if is_faithful(said, question, before) else ruled


def is_faithful(said: str, question: str, before: Sequence[str]) -> bool:
    """Whether a rewritten question asks the same, and of nothing but what was spoken of."""
    own, new = set(content_words(question)), set(content_words(said))
    known = own.union(*(content_words(each) for each in before))
    adds = new - own
    return bool(adds) and own <= new and new <= known and len(said) <= _LONGEST
