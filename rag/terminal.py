"""Records as a person reads them in a terminal: plain text, one thing a line."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from index.analysis import is_korean
from index.records import AskedQuestion, StoredDocument
from rag.ingest import Outcome
from rag.models import ListedModel, ModelInfo
from rag.records import (
    Answer,
    Certificate,
    HeldCollection,
    Hit,
    LibraryStatus,
    Report,
    SearchResult,
)

if TYPE_CHECKING:
    from index.verify import Verification
    from rag.reembed import Moved
    from rag.upkeep import Archived

_WIDTH = 96
_SNIPPET = 280  # characters of a passage
_LISTED = 20  # documents of a cluster
_EMPTY = "the library is empty: add documents with `attest add PATH`"
_CERTIFIED = {  # yes and no of what a certificate says
    "en": (
        ("needed", "not needed"),
        ("enough by itself", "not enough by itself"),
        ("the answer follows its facts", "the answer stays when its facts are changed"),
    ),
    "ko": (
        ("꼭 필요함", "없어도 됨"),
        ("이것만으로 충분함", "이것만으로는 부족함"),
        ("답이 출처의 사실을 따름", "사실을 바꾸어도 답이 그대로임"),
    ),
}


def with_markers(given: Answer) -> str:
    """The answer's text with [1] behind what is cited and a remark behind what is not borne out."""
    remark = " [근거 없음]" if is_korean(given.question) else " [not in the documents]"
    marks = [(cited.answer_end, f" [{cited.marker}]") for cited in given.citations]
    marks += [(end, remark) for _, end in given.unsupported]
    text = given.answer
    for end, mark in sorted(marks, reverse=True):
        text = text[:end] + mark + text[end:]
    return text


def answer(given: Answer) -> str:
    lines = [] if given.query is None else [_looked_for(given)]
    lines += [with_markers(given)]
    lines += [f"({note})" for note in given.notes]
    if given.citations:
        lines.append("")
    shown = set()
    for cited in given.citations:
        if cited.marker not in shown:
            shown.add(cited.marker)
            lines.append(f"[{cited.marker}] {cited.document.path}{_page(cited.page)}")
            lines += _indented(cited.quote)
            if cited.certificate is not None:
                lines.append(f"    ({_certified(cited.certificate, given.question)})")
    return "\n".join(lines)


def _certified(found: Certificate, question: str) -> str:
    """What the generator's likelihoods say of a source, in a few words."""
    needed, enough, follows = _CERTIFIED["ko" if is_korean(question) else "en"]
    words = [needed[not found.necessary], enough[not found.sufficient]]
    if found.follows is not None:
        words.append(follows[not found.follows])
    return " · ".join(words)


def _looked_for(given: Answer) -> str:
    """What a follow-up was understood to ask."""
    return f"({'찾은 질문' if is_korean(given.question) else 'looked for'}: {given.query})"


def search(result: SearchResult) -> str:
    if not result.hits:
        return _EMPTY if not result.words.chunks else "nothing found"
    blocks = []
    for hit in result.hits:
        parts = [f"score {hit.score:.3f}"]
        if hit.dense is not None:
            parts.append(f"meaning {hit.dense:.3f}")
        if hit.lexical is not None:
            parts.append(f"words {hit.lexical:.2f}")
        if hit.likelihood is not None:
            parts.append(f"likelihood {hit.likelihood:.2f}")
        chunk = hit.chunk
        head = f"{hit.rank}. {chunk.document.title}{_page(chunk.page)}  ({', '.join(parts)})"
        where = " › ".join((chunk.document.path, *chunk.heading))
        blocks.append(
            "\n".join([head, f"   {where}", *_indented(_snippet(chunk.text, result.query))])
        )
    blocks += [f"({note})" for note in result.notes]
    return "\n\n".join(blocks)


def explained(result: SearchResult) -> str:
    """As `search`, with how each hit came by its score."""
    weight = "" if result.weight is None else f"meaning counts {result.weight:.0%}, words the rest"
    blocks = [search(result), weight]
    for hit in result.hits:
        fused = "" if result.weight is None else f"{_way(hit)} {hit.score:.4f}, "
        dense = "not among the nearest" if hit.dense is None else f"{hit.dense:.4f}"
        lexical = "no word in common" if hit.lexical is None else f"{hit.lexical:.3f}"
        terms = ", ".join(hit.terms) or "none"
        blocks.append(
            f"{hit.rank}. {fused}meaning (cosine) {dense}, words (BM25) {lexical}\n"
            f"   words of the question in it: {terms}"
        )
    return "\n\n".join(block for block in blocks if block)


def _way(hit: Hit) -> str:
    """How the score of both sides together came about."""
    return "fused" if hit.likelihood is None else "fused and re-ranked"


def outcomes(done: Sequence[Outcome]) -> str:
    return "\n".join([*map(outcome, done), summary(done)])


def summary(done: Sequence[Outcome]) -> str:
    counts = Counter(one.status for one in done)
    return ", ".join(f"{n} {status}" for status, n in counts.items()) or "no files found"


def outcome(one: Outcome) -> str:
    tail = _chunks(one.chunks) if one.reason is None else one.reason
    warned = "".join(f"\n{'':12}note: {warning}" for warning in one.warnings)
    return f"{one.status:<12}{one.path}  ({tail}){warned}"


def documents(rows: Sequence[StoredDocument]) -> str:
    if not rows:
        return _EMPTY
    lines = [f"{'id':>5}  {'status':<12}{'chunks':>6}  title — path"]
    for row in rows:
        lines.append(f"{row.id:>5}  {row.status:<12}{row.chunks:>6}  {row.title} — {row.path}")
        notes = [row.reason] if row.reason else []
        notes += [f"{row.pending} chunks wait for their vectors"] if row.pending else []
        notes += [f"tags: {', '.join(row.tags)}"] if row.tags else []
        lines += [f"{'':27}{note}" for note in notes]
    return "\n".join(lines)


def report(made: Report) -> str:
    lines = [f"{made.n_documents} documents in {len(made.clusters)} clusters", *made.notes]
    for group in made.clusters:
        lines.append(f"\n{group.id}. {group.label}  ({group.size} {made.by}, {group.share_pct} %)")
        lines.append(f"   words: {', '.join(group.words)}")
        lines += [f"   - {row.title}" for row in group.documents[:_LISTED]]
        if len(group.documents) > _LISTED:
            lines.append(f"   … {len(group.documents) - _LISTED} more")
    if made.unclustered:
        lines.append(f"\nin no cluster  ({made.unclustered} {made.by}, {made.unclustered_pct} %)")
    if made.comparison is not None:
        lines.append("\nsince the earlier report")
        lines += [
            f"   {each.change:<6} {each.label}  {each.old_size} → {each.size}"
            for each in made.comparison.changes
        ]
    if made.file:
        lines.append(f"\nwritten to {made.file}")
    return "\n".join(lines)


def status(found: LibraryStatus) -> str:
    by_status = ", ".join(f"{n} {name}" for name, n in found.documents.items()) or "none"
    waiting = f", {found.pending} waiting (found by their words until then)"
    lines = [
        f"home         {found.home}",
        f"database     {found.database}",
        f"collection   {found.collection}",
        f"encoder      {found.encoder} {found.fingerprint or '(no vectors yet)'}",
        f"documents    {by_status}",
        f"chunks       {found.chunks}",
        f"vectors      {found.vectors}{waiting if found.pending else ''}",
        f"size         {_bytes(found.size_bytes)}",
        f"weight       {found.fusion_weight:g} (of meaning beside words)",
        f"questions    {found.questions} remembered"
        f"{'' if found.remember_questions else ' (switched off: no more are)'}",
    ]
    if found.adapter_fingerprint:
        lines.append(
            f"adapter      {found.adapter_fingerprint[:12]}, made {found.adapter_made or ''}"
        )
    if found.rerank_weight:
        lines.append(f"re-ranking   {found.rerank_weight:g} (of the generator's likelihood)")
    if found.former:
        lines.append(
            f"moving       {found.former} chunks of another model: a move is under way, or was "
            "left; `attest reembed MODEL` goes on with it, `attest rebuild` clears them away"
        )
    if found.wanted_encoder not in (None, found.encoder):
        lines.append(
            f"note         the settings name {found.wanted_encoder}: "
            f"`attest reembed {found.wanted_encoder}` moves the library to it"
        )
    return "\n".join(lines)


def verification(found: "Verification") -> str:
    lines = []
    for each in found.collections:
        documents = sum(each.documents.values())
        lines.append(
            f"{each.name}: {documents} documents, {each.chunks} chunks = {each.vectors} vectors"
            f"{f' + {each.pending} waiting' if each.pending else ''}; "
            f"indexes hold {each.dense} vectors, {each.lexical} texts"
            f"{f'; {each.former} chunks of another model' if each.former else ''}"
        )
    for problem in found.problems:
        where = f"{problem.collection}: " if problem.collection else ""
        lines.append(f"PROBLEM  {where}{problem.kind} ({problem.count}): {problem.detail}")
    if found.problems:
        lines.append(f"{len(found.problems)} problems: `attest rebuild` repairs what can be")
    else:
        lines.append("everything agrees")
    return "\n".join(lines)


def moved(step: "Moved") -> str:
    return f"{step.collection} answers by {step.new.name} now: {step.documents} documents"


def archived(made: "Archived") -> str:
    names = ", ".join(made.collections) or "none"
    return (
        f"{made.file}: collections {names}; {made.documents} documents, {made.chunks} chunks, "
        f"{f'{_questions(made.questions)}, ' if made.questions else ''}"
        f"{_talks(made.conversations) if made.conversations else ''}{_bytes(made.size_bytes)}"
    )


def history(asked: Sequence[AskedQuestion]) -> str:
    if not asked:
        return "no questions are remembered"
    lines = []
    for each in asked:
        judged = {"opened": each.opened, "up": each.up, "down": each.down}
        notes = ", ".join(f"{len(ids)} {kind}" for kind, ids in judged.items() if ids)
        day = each.asked_at.partition("T")[0]
        text = " ".join(each.text.split())
        lines.append(f"{each.times:>5}×  {day}  {text}{f'  ({notes})' if notes else ''}")
    lines.append(f"{_questions(len(asked))}, kept on this machine; --clear --yes forgets all")
    return "\n".join(lines)


def collections(held: Sequence[HeldCollection], default: str) -> str:
    lines = [
        f"{one.documents:>7,}  {one.encoder:<12}  {one.name}"
        f"{'  (default)' if one.name == default else ''}"
        for one in held
    ]
    return "\n".join(lines) or "no collection yet: the first document makes one"


def forgotten(n: int) -> str:
    return f"forgot {_questions(n)}"


def models(found: Sequence[ListedModel]) -> str:
    lines = []
    for model in found:
        state = "here" if model.pulled else "not pulled"
        default = ", default" if model.default else ""
        languages = _languages(model.languages)
        lines.append(
            f"{model.name:<12}{model.kind:<11}{languages:<14}{_bytes(model.bytes):>8}  "
            f"{model.licence:<12}{state}{default}"
        )
        lines.append(f"{'':12}{model.description}")
    return "\n".join(lines)


def model(info: ModelInfo) -> str:
    return "\n".join(
        [
            f"name         {info.name}",
            f"kind         {info.kind}",
            f"path         {info.path}",
            f"fingerprint  {info.fingerprint}",
            f"languages    {_languages(info.languages) or 'unknown'}",
            f"licence      {info.licence or 'unknown'}",
            f"parameters   {info.parameters:,}",
            f"size         {_bytes(info.bytes)}",
        ]
    )


def _languages(codes: Sequence[str]) -> str:
    return ", ".join(codes) if len(codes) <= 4 else f"{len(codes)} languages"


def _chunks(n: int) -> str:
    return "1 chunk" if n == 1 else f"{n:,} chunks"


def _talks(n: int) -> str:
    return "1 conversation, " if n == 1 else f"{n:,} conversations, "


def _questions(n: int) -> str:
    return "1 question" if n == 1 else f"{n:,} questions"


def _page(page: int | None) -> str:
    return "" if page is None else f", page {page}"


def _snippet(text: str, query: str) -> str:
    """The text if it is short, else the part of it around the longest word of the query in it."""
    flat = " ".join(text.split())
    if len(flat) <= _SNIPPET:
        return flat
    low = flat.lower()
    words = sorted(query.lower().split(), key=len, reverse=True)
    place = next((low.find(word) for word in words if word in low), 0)
    start = max(0, min(place - _SNIPPET // 4, len(flat) - _SNIPPET))
    start = flat.find(" ", start, start + 40) + 1 or start if start else 0
    end = start + _SNIPPET
    return f"{'…' if start else ''}{flat[start:end].strip()}{'…' if end < len(flat) else ''}"


def _indented(text: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(flat, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"
