"""The HTTP service: REST under /api, an OpenAI-compatible chat under /v1, /health."""

from rag.api.app import create_app

__all__ = ["create_app"]
