"""What classifiers say, as JSON and as a person reads it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rag.classifier_training import TrainedClassifier
from rag.classifying import ClassifiedDocument, ClassifiedText

Json = dict[str, Any]
_SNIPPET = 60  # characters of a text


def trained(made: TrainedClassifier) -> Json:
    return {**asdict(made), "labels": list(made.labels), "metrics": dict(made.metrics)}


def trained_text(made: TrainedClassifier) -> str:
    figures = ", ".join(f"{name} {value:.3f}" for name, value in made.metrics.items())
    lines = [
        f"{made.folder}: {made.size_bytes / 1e6:.1f} MB, on {made.encoder}",
        f"learned from {made.learned_from} examples in {made.steps} steps, "
        f"{made.minutes:.1f} minutes",
        f"on {made.held_out} held out: {figures}",
    ]
    if made.labels:
        lines.append(f"labels: {', '.join(made.labels)}")
    if made.cut:
        lines.append(f"note: {made.cut} texts were over the limit; their beginnings were read")
    return "\n".join(lines)


def texts(found: Sequence[ClassifiedText]) -> Json:
    return {"results": [{**asdict(one), "scores": dict(one.scores)} for one in found]}


def texts_text(found: Sequence[ClassifiedText]) -> str:
    return "\n".join(_line(one) for one in found)


def documents(found: Sequence[ClassifiedDocument]) -> Json:
    return {
        "documents": [asdict(one) for one in found],
        "summary": dict(Counter(one.tag or "untagged" for one in found)),
    }


def documents_text(found: Sequence[ClassifiedDocument]) -> str:
    lines = [f"{one.score:5.3f}  {one.tag or '-':<24}{one.path}{_note(one.cut)}" for one in found]
    counts = Counter(one.tag or "untagged" for one in found)
    total = ", ".join(f"{n} {tag}" for tag, n in counts.most_common())
    return "\n".join([*lines, total or "the library holds no document to classify"])


def _line(one: ClassifiedText) -> str:
    label = f"{one.score:.3f}" if one.label is None else f"{one.score:.3f}  {one.label}"
    flat = " ".join(one.text.split())
    shown = flat if len(flat) <= _SNIPPET else f"{flat[:_SNIPPET]}…"
    where = "" if one.line is None else f"line {one.line}: "
    return f"{label}  {where}{shown}{_note(one.cut)}"


def _note(cut: bool) -> str:
    return "  (its beginning; it is over the limit)" if cut else ""
