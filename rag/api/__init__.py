"""The HTTP service: REST under /api, OpenAI-compatible under /v1, tools at /mcp, /health."""

from rag.api.app import create_app

__all__ = ["create_app"]
