"""Whose conversations a browser sees."""

import gradio as gr

from rag.visitors import owner_of


def owner(request: gr.Request) -> str:
    """The owner of a visitor's conversations, as they are stored."""
    host = request.client.host if request.client else ""
    return owner_of(host, request.headers, request.cookies)
