"""The command that lets a library know what it does not hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag.cli.options import Collection, Home, Json, assistant, show

if TYPE_CHECKING:
    from rag.calibrated import Calibrated


def calibrate(collection: Collection = None, home: Home = None, as_json: Json = False) -> None:
    """Fit to the library when questions are declined, and how sure an answer is."""
    from rag.adapting_progress import watching
    from rag.declining import calibrate_both

    with assistant(home, collection) as attest, watching() as watch:
        made = calibrate_both(attest, watch=watch)
    show(made, as_json, record, text)


def record(made: Sequence["Calibrated"]) -> dict[str, Any]:
    """As programs read it: what is common, and each fit."""
    return {
        "collection": made[0].collection,
        "documents": made[0].documents,
        "thumbs": made[0].thumbs,
        "moved_by_thumbs": made[0].moved_by_thumbs,
        "fits": [
            {
                "encoder": fit.encoder,
                "generator": fit.generator or None,
                **{key: value for key, value in fit.figures().items() if key != "documents"},
            }
            for fit in made
        ],
    }


def text(made: Sequence["Calibrated"]) -> str:
    """As a person reads it."""
    lines = []
    for fit in made:
        by = "with the generator" if fit.generator else "by evidence alone"
        lines.append(
            f"calibrated {fit.collection} {by}: {fit.left_out} questions whose document was left "
            f"out, {fit.left_out_declined_pct:g} % declined; {fit.questions} questions that it "
            f"holds, {fit.held_answered_pct:g} % answered (AUROC {fit.auroc:.2f})"
        )
        if fit.swapped_declined_pct is not None:
            lines.append(
                f"  {fit.swapped} with a number or name that is not theirs: "
                f"{fit.swapped_declined_pct:g} % declined"
            )
    moved = "moved the threshold" if made[0].moved_by_thumbs else "are too few to move it yet"
    lines.append(f"{made[0].thumbs} questions with thumbs {moved}")
    return "\n".join(lines)
