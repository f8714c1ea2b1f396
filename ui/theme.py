"""How the page looks and the little that it does by itself: all of it comes from this machine."""

from importlib import resources
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.themes import Color
from gradio.themes.utils.fonts import LocalFont

_STATIC = Path(str(resources.files("ui"))) / "static"
FAVICON = _STATIC / "favicon.svg"

# For every listener: the page shows its own waiting states, and none of it is a public API.
_QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
# For those that answer piece by piece: no visitor waits for another one's answer to end.
STREAMED = _QUIET | {"concurrency_limit": None}
# For all others: a plain request. Gradio's client can lose a queued event that begins in the
# moment in which another one ends.
DIRECT = _QUIET | {"queue": False}

# A button with data-send sends its data to the listener of the component that it stands in.
CLICKS = """
element.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-send]');
    if (button) trigger('click', {title: '', ...button.dataset, value: button.dataset.send});
});
"""
# What was unfolded stays so when a component shows something new.
KEEPS = "watch('value', () => window.attest.kept(element));"
# Thumbs that were pressed stay so likewise, and are told to the listener too.
JUDGED = f"""{CLICKS}
element.addEventListener('thought', (event) => trigger('click', event.detail));
{KEEPS}
"""
# A name that is written and ended by Enter is submitted.
TALKS = f"""{CLICKS}
element.addEventListener('named', (event) => trigger('submit', event.detail));
{KEEPS}
"""
# In the list, a line that is written and ended by Enter is sent as well.
LISTED = f"""{CLICKS}
element.addEventListener('keydown', (event) => {{
    const tag = window.attest.tagged(event);
    if (tag) trigger('click', tag);
}});
{KEEPS}
"""
# A search goes with what was chosen in the form beside it.
FILTERED = "(query, _, ...rest) => [query, window.attest.filters(), ...rest]"
# An upload reaches Python under a name without special characters: the true ones go beside it.
NAMED = "(files, _, ...rest) => [files, files.map((file) => file.orig_name), ...rest]"
NAMED_ONE = "(file, _, ...rest) => [file, [file.orig_name], ...rest]"
FOLLOWS = "watch('value', () => window.attest.follow(element));"
SHOWN = "(language) => window.attest.shown(language, true)"
SWITCHED = "(language) => window.attest.switched(language)"

_INK = Color(
    "#f7f8fa", "#eff1f5", "#e2e6ed", "#cdd3dd", "#98a1b0", "#687284", "#4b5465", "#363e4d",
    "#222936", "#161b25", "#0f131a", name="ink",
)  # fmt: skip
_BLUE = Color(
    "#eef3ff", "#dfe8ff", "#c3d4fe", "#9db8fc", "#7396f6", "#4d76e6", "#2f5bd0", "#264bad",
    "#233f8c", "#20366f", "#142146", name="blue",
)  # fmt: skip
_FONTS = (
    LocalFont("IBM Plex Sans", weights=(400, 700)),  # Gradio's 600 lacks most letters
    "system-ui", "-apple-system", "Segoe UI", "Apple SD Gothic Neo", "Pretendard",
    "Noto Sans KR", "Noto Sans CJK KR", "Malgun Gothic", "sans-serif",
)  # fmt: skip


def theme() -> gr.themes.Base:
    return gr.themes.Base(
        primary_hue=_BLUE,
        neutral_hue=_INK,
        font=_FONTS,
        font_mono=("ui-monospace", "Consolas", "monospace"),
        radius_size=gr.themes.sizes.radius_md,
    ).set(
        body_background_fill="#fbfbfc",
        body_background_fill_dark="*neutral_950",
        block_border_width="0px",
        block_shadow="none",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_500",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
    )


def head() -> str:
    """Style and script, inline: the page is whole without any other address."""
    return "".join(
        f"<{tag}>{(_STATIC / name).read_text(encoding='utf-8')}</{tag}>"
        for tag, suffix in (("style", ".css"), ("script", ".js"))
        for name in _in_order(suffix)
    )


def _in_order(suffix: str) -> list[str]:
    """What all of the page shares goes first; then each view's own file."""
    names = sorted(path.name for path in _STATIC.iterdir() if path.suffix == suffix)
    return sorted(names, key=lambda name: not name.startswith("page."))
