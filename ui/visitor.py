"""Who looks at the page: whose conversations they see, in which language, of which collection."""

from dataclasses import dataclass
from urllib.parse import unquote

import gradio as gr

from rag.assistant import Assistant
from rag.conversations import Conversations
from rag.visitors import owner_of
from ui.locale import Language, Texts, texts

COOKIE = "attest_collection"  # where page.js leaves what a reader chose


@dataclass(frozen=True, slots=True)
class Visit:
    """One look at the page."""

    attest: Assistant  # at the collection that is looked at
    words: Texts
    whose: str  # owner of the conversations, as it is stored

    @classmethod
    def of(
        cls, assistant: Assistant, place: str, language: Language, request: gr.Request
    ) -> "Visit":
        return cls(assistant.at(place), texts(language), owner(request))

    @property
    def talks(self) -> Conversations:
        return Conversations(self.attest, self.whose)


def owner(request: gr.Request) -> str:
    """The owner of a visitor's conversations, as they are stored."""
    host = request.client.host if request.client else ""
    return owner_of(host, request.headers, request.cookies)


def chosen(assistant: Assistant, cookie: str | None) -> str:
    """The collection that a browser was left at, where there still is one of that name."""
    name = unquote(cookie or "")
    return name if name and assistant.exists(name) else assistant.settings.collection
