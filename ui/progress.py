"""How files that are on their way into the library look: each with what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from index.records import StoredDocument
from rag.ingest import Outcome
from ui import render
from ui.intake import Arrival
from ui.locale import Texts

TAKEN = frozenset({"added", "updated", "unchanged", "duplicate", "indexed"})
_MOST = 200  # lines that are shown of files, and of what one archive holds


@dataclass(frozen=True, slots=True)
class _Part:
    """A document that came of a file."""

    path: str
    status: str
    chunks: int
    pending: int
    notes: tuple[str, ...]  # the reason, the warnings


def progress(arrivals: Sequence[Arrival], words: Texts) -> Markup:
    """Files that are being taken in, or have been."""
    over = all(arrival.ended for arrival in arrivals)
    parts = [part for arrival in arrivals for part in _parts(arrival)]
    chunks, pending = sum(part.chunks for part in parts), sum(part.pending for part in parts)
    if over:
        taken = sum(_is_taken(arrival) for arrival in arrivals)
        head, share = words("library.added", done=taken, total=len(arrivals)), 1.0
    else:
        read = sum(arrival.is_read for arrival in arrivals)
        head = words("library.adding", done=read, total=len(arrivals))
        ended = sum(arrival.ended for arrival in arrivals) / len(arrivals)
        ready = (chunks - pending) / chunks if chunks else 0.0
        share = (read / len(arrivals)) * (0.3 + 0.7 * max(ended, ready))
    vectors = words("library.vectors", done=f"{chunks - pending:,}", total=f"{chunks:,}")
    shown = sorted(arrivals, key=_is_taken) if over and len(arrivals) > _MOST else arrivals
    next_ = next((arrival for arrival in arrivals if not arrival.is_read), None)
    rows = _rows([_arrival(one, words, is_next=one is next_) for one in shown], words)
    return Markup(
        '<section class="a-progress"><h2 class="a-small" role="status">{}</h2>{}'
        '<i class="a-bar"><i style="width:{}%"></i></i><ul>{}</ul></section>'
    ).format(
        head,
        Markup('<p class="a-notes">{}</p>').format(vectors) if pending and not over else "",
        round(100 * share),
        rows,
    )


def badge(kind: str, state: str) -> Markup:
    return Markup('<span class="a-badge a-is-{}">{}</span>').format(kind, state)


def notes(lines: Sequence[str], words: Texts) -> Markup:
    """What a loader has to say of a file."""
    return Markup(" · ").join(render.told(line, words) for line in lines)


def _parts(arrival: Arrival) -> Iterator[_Part]:
    done = {outcome.path for outcome in arrival.outcomes}
    for outcome in arrival.outcomes:
        yield _of(outcome, 0)
    for row in arrival.rows:
        if row.path not in done:
            yield _of(row, row.pending)


def _of(one: Outcome | StoredDocument, pending: int) -> _Part:
    said = tuple(note for note in (one.reason, *one.warnings) if note)
    chunks = one.chunks if one.status in TAKEN else 0
    return _Part(one.path, one.status, chunks, pending, said)


def _is_taken(arrival: Arrival) -> bool:
    return any(outcome.status in TAKEN for outcome in arrival.outcomes)


def _arrival(arrival: Arrival, words: Texts, *, is_next: bool) -> Markup:
    parts = list(_parts(arrival))
    if len(parts) == 1 and not _is_inside(parts[0], arrival):
        return _row(arrival.name, parts[0], words)
    if not parts:
        state = "reading" if is_next else "waiting"
        return _line(arrival.name, badge(state, words(f"library.{state}")), "", "")
    return _archive(arrival, parts, words)


def _is_inside(part: _Part, arrival: Arrival) -> bool:
    return part.path.startswith(f"{arrival.path}/")


def _archive(arrival: Arrival, parts: Sequence[_Part], words: Texts) -> Markup:
    """An archive as one line, below which what it holds folds away."""
    taken = sum(part.status in TAKEN for part in parts)
    if not arrival.ended:
        state = badge("reading", words("library.reading"))
    elif taken == len(parts):
        state = badge("added", words("status.added"))
    else:
        state = badge("empty" if taken else "failed", words("library.partly"))
    inside = [_row(part.path.removeprefix(f"{arrival.path}/"), part, words) for part in parts]
    summary = words.count("library.members", len(parts), taken=f"{taken:,}")
    members = Markup(
        '<details data-key="{}"><summary>{}</summary><ul>{}</ul></details>'
    ).format(arrival.path, summary, _rows(inside, words))  # fmt: skip
    return _line(arrival.name, state, "", members)


def _row(name: str, part: _Part, words: Texts) -> Markup:
    state = badge(part.status, words(f"status.{part.status}"))
    if part.pending:
        state = badge("pending", words("status.pending"))
    details = [render.told(note, words) for note in part.notes]
    if part.chunks:
        details.insert(0, Markup("<span>{}</span>").format(words.count("passages", part.chunks)))
    return _line(name, state, Markup(" · ").join(details), "")


def _line(name: str, state: Markup, details: Markup | str, more: Markup | str) -> Markup:
    return Markup(
        '<li><span class="a-cut" title="{name}">{name}</span>{state}'
        "<small>{details}</small>{more}</li>"
    ).format(name=name, state=state, details=details, more=more)


def _rows(rows: Sequence[Markup], words: Texts) -> Markup:
    if len(rows) > _MOST:
        left = words("library.left", n=f"{len(rows) - _MOST:,}")
        rows = [*rows[:_MOST], Markup("<li><small>{}</small></li>").format(left)]
    return render.joined(rows)
