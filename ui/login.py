"""The page that asks for the password, in the reader's language."""

from importlib import resources

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from rag.api.gate import LOGIN
from rag.assistant import Assistant
from ui.locale import COOKIE, Texts, choose, texts


def add_login(app: FastAPI, assistant: Assistant) -> None:
    """Put it before the page of a service, whose gate then leads there."""
    setting = assistant.settings.language

    @app.get(LOGIN, include_in_schema=False)
    def login(request: Request) -> HTMLResponse:
        accepted = request.headers.get("accept-language")
        words = texts(choose(setting, request.cookies.get(COOKIE), accepted))
        return HTMLResponse(page(words), headers={"cache-control": "no-store"})

    app.state.login = True


def page(words: Texts) -> str:
    """Style and script inline: the gate lets nothing else through before the password."""
    source = resources.files("ui").joinpath("static/login.html").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(source).render(words=words)
