"""The page: Gradio over one assistant, mounted into the HTTP service. `python -m ui` serves it.

The name below loads on first use, so that a port that is taken is told before Gradio is loaded.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ui.app import mount

__all__ = ["mount"]

# Read when gradio is imported: nothing of this product calls home.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"


def __getattr__(name: str) -> Any:
    if name != "mount":
        raise AttributeError(f"module 'ui' has no attribute {name!r}")
    from ui.app import mount

    return mount
