"""From a table of examples to labels on texts, on tables, and on the documents of a library."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from encoder import checkpoint
from rag import Assistant, Settings
from rag.classifier_training import train
from rag.classifying import classify, label_library, open_classifier
from rag.cli import classifying as commands
from rag.errors import AttestError, Unreadable, UsageError
from rag.records import Within
from transformer import lora
from transformer.lora import LoraConfig
from transformer.runtime import seeded

LINES = [
    ("the lamp is broken and the battery is dead", "fault"),
    ("the screen is cracked, it does not start", "fault"),
    ("when does the shop open on Monday?", "question"),
    ("how long is the warranty?", "question"),
]
CONFIG = """
[data]
file = "examples.csv"

[classifier]
max_tokens = 48
batch = 8
held_out = 0.25

[classifier.lora]
rank = 4

[classifier.training]
steps = 40
learning_rate = 2e-2
precision = "float32"
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config beside its table."""
    folder = tmp_path_factory.mktemp("config")
    rows = "".join(f'"{text} {i}",{label}\n' for i in range(6) for text, label in LINES)
    (folder / "examples.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    return folder / "config.toml"


@pytest.fixture(scope="module")
def folder(config: Path, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained classifier."""
    home = tmp_path_factory.mktemp("home")
    settings = Settings(home=home, encoder=str(encoder_folder), threads=1)
    made = train(config, home / "classifier", settings)
    assert made.labels == ("fault", "question")
    assert (made.learned_from, made.held_out) == (18, 6)
    assert set(made.metrics) == {"accuracy", "macro_f1"}
    assert made.metrics["accuracy"] >= 0.8
    assert made.size_bytes == (home / "classifier" / "adapter.safetensors").stat().st_size
    return home / "classifier"


def test_a_text_gets_a_label(folder: Path, attest: Assistant) -> None:
    (said,) = classify(open_classifier(folder, attest.settings), LINES[0][0], attest)
    assert (said.label, said.path, said.line, said.cut) == ("fault", None, None, False)
    assert said.scores["fault"] == said.score > 0.5
    (long,) = classify(open_classifier(folder, attest.settings), LINES[0][0] * 3, attest)
    assert long.cut


def test_a_document_and_the_rows_of_a_table_get_labels(
    folder: Path, attest: Assistant, tmp_path: Path
) -> None:
    classifier = open_classifier(folder, attest.settings)
    note, table = tmp_path / "note.txt", tmp_path / "mail.jsonl"
    note.write_text("the screen is cracked", encoding="utf-8")
    lines = [json.dumps({"body": text}) for text, _ in LINES]
    table.write_text("\n".join(lines), encoding="utf-8")
    (said,) = classify(classifier, str(note), attest)
    assert (said.path, said.line, said.text) == (str(note), None, "the screen is cracked")
    found = classify(classifier, str(table), attest, text="body")
    assert [one.line for one in found] == [1, 2, 3, 4]
    assert [one.label for one in found] == [label for _, label in LINES]
    with pytest.raises(UsageError, match="no column 'text'; its columns are: body"):
        classify(classifier, str(table), attest)


def test_empty_and_missing_inputs_are_refused(
    folder: Path, attest: Assistant, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="the text is empty"):
        classify(open_classifier(folder, attest.settings), "  ", attest)
    with pytest.raises(Unreadable, match="nothing trained is there"):
        open_classifier(tmp_path / "nowhere", attest.settings)


def test_a_library_is_labelled_and_the_labels_filter_search(
    folder: Path, library: Assistant
) -> None:
    (first, *_) = library.documents()
    library.tag([first.id], add=["kind/former", "mine"])
    classifier = open_classifier(folder, library.settings)
    said = list(label_library(classifier, library, "kind"))
    assert len(said) == len(library.documents()) == 3
    for one in said:
        assert one.tag == f"kind/{one.label}"
        tags = library.find(one.id).tags
        assert [tag for tag in tags if tag.startswith("kind/")] == [one.tag]
    assert "mine" in library.find(first.id).tags
    hits = library.search("warranty", within=Within(tags=(said[0].tag or "",))).hits
    expected = {one.id for one in said if one.tag == said[0].tag}
    assert hits
    assert {hit.chunk.document.id for hit in hits} <= expected


def test_a_score_too_low_gets_no_tag_and_loses_the_old_one(
    folder: Path, library: Assistant
) -> None:
    classifier = open_classifier(folder, library.settings)
    list(label_library(classifier, library, "kind"))
    assert all(one.tag is None for one in label_library(classifier, library, "kind", least=1.0))
    assert not any(document.tags for document in library.documents())
    with pytest.raises(UsageError, match=r"least score \(2\)"):
        next(label_library(classifier, library, "kind", least=2))


def test_a_regression_tags_nothing(
    config: Path, settings: Settings, library: Assistant, tmp_path: Path
) -> None:
    rows = "".join(f'{{"text": "n {i}", "label": {i}}}\n' for i in range(12))
    table = tmp_path / "numbers.jsonl"
    table.write_text(rows, encoding="utf-8")
    sets = [f"data.file={table}", "classifier.task=regression", "classifier.training.steps=3"]
    made = train(config, tmp_path / "made", settings, overrides=sets)
    assert made.labels == ()
    with pytest.raises(UsageError, match="gives numbers, and tags are names"):
        next(label_library(open_classifier(tmp_path / "made", settings), library, "kind"))


@pytest.mark.parametrize(
    ("sets", "error", "told"),
    [
        (["data.text=body"], UsageError, "no column 'body'; its columns are: text, label"),
        (["data=3"], UsageError, r"data \(3\) must be a table"),
        (["clasifier.batch=3"], UsageError, "unknown setting clasifier: did you mean classifier"),
        (["classifier.batches=3"], UsageError, r"classifier\.batches: did you mean batch"),
        (["classifier.held_out=2.0"], UsageError, r"held_out \(2.0\)"),
        (["data.label=text"], AttestError, "24 of 24 labels have 1 example"),
        (["classifier.task=regression"], Unreadable, "line 2: 'fault' in the column 'label' is no"),
    ],
)
def test_what_cannot_be_learned_is_refused(
    config: Path,
    settings: Settings,
    tmp_path: Path,
    sets: list[str],
    error: type[AttestError],
    told: str,
) -> None:
    with pytest.raises(error, match=told):
        train(config, tmp_path / "made", settings, overrides=sets)
    assert not (tmp_path / "made").exists()


def test_labels_are_told_apart_as_people_read_them(
    settings: Settings, config: Path, tmp_path: Path
) -> None:
    labels = [1, 1.0, " 1 ", 1234567.0, 1234568.0, 0.5]
    rows = [json.dumps({"text": f"tea {i}", "label": label}) for i, label in enumerate(labels * 3)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    sets = [f"data.file={tmp_path / 'rows.jsonl'}", "classifier.training.steps=1"]
    made = train(config, tmp_path / "made", settings, overrides=sets)
    assert made.labels == ("0.5", "1", "1234567", "1234568")


def test_a_number_too_large_for_a_regression_is_named(
    settings: Settings, config: Path, tmp_path: Path
) -> None:
    row = f'{{"text": "tea", "label": {"9" * 400}}}'
    (tmp_path / "rows.jsonl").write_text(row, encoding="utf-8")
    sets = [f"data.file={tmp_path / 'rows.jsonl'}", "classifier.task=regression"]
    with pytest.raises(Unreadable, match=r"line 1: 9+ in the column 'label' is no number"):
        train(config, tmp_path / "made", settings, overrides=sets)


def test_an_adapter_that_names_no_encoder_is_refused(
    settings: Settings, encoder_folder: Path, tmp_path: Path
) -> None:
    model = checkpoint.load(encoder_folder).model
    lora.attach(model, LoraConfig(), rng=seeded(0))
    lora.save(model, tmp_path / "adapter.safetensors", base="0" * 16)
    with pytest.raises(Unreadable, match="does not name its encoder"):
        open_classifier(tmp_path, settings)


def test_a_document_that_is_removed_meanwhile_is_passed_over(
    folder: Path, library: Assistant
) -> None:
    classifier = open_classifier(folder, library.settings)
    told = label_library(classifier, library, "kind")
    first = next(told)
    gone = library.documents()[1]
    assert gone.id != first.id
    library.remove([gone.id])
    assert gone.id not in {one.id for one in told}
    assert [row.id for row in library.documents() if not row.tags] == []


def test_nothing_is_overwritten(config: Path, settings: Settings, folder: Path) -> None:
    with pytest.raises(AttestError, match="holds a finished model"):
        train(config, folder, settings)


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run one of the commands, over a fresh home on the tiny encoder."""
    app = typer.Typer()
    app.command("train")(commands.train_classifier)
    app.command("classify")(commands.classify)
    monkeypatch.setenv("ATTEST_HOME", str(settings.home))
    monkeypatch.setenv("ATTEST_ENCODER", settings.encoder)
    monkeypatch.setenv("ATTEST_THREADS", "1")

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


def test_the_commands_print_flat_json(
    command: Callable[..., Result], config: Path, folder: Path, library: Assistant, tmp_path: Path
) -> None:
    made = command("train", config, "-o", tmp_path / "a", "--json", "--set", "classifier.batch=4")
    body = json.loads(made.stdout)
    assert body["labels"] == ["fault", "question"]
    assert set(body) == {
        "folder",
        "encoder",
        "labels",
        "learned_from",
        "held_out",
        "cut",
        "steps",
        "minutes",
        "size_bytes",
        "metrics",
    }
    told = command("classify", "when does it open?", "--classifier", folder, "--json")
    (result,) = json.loads(told.stdout)["results"]
    assert set(result) == {"path", "line", "text", "label", "score", "scores", "cut"}
    tagged = command("classify", "--library", "--classifier", folder, "--as", "kind", "--json")
    body = json.loads(tagged.stdout)
    assert set(body["documents"][0]) == {"id", "path", "title", "label", "score", "cut", "tag"}
    assert sum(body["summary"].values()) == 3


def test_the_commands_print_lines_for_people(
    command: Callable[..., Result], folder: Path, library: Assistant
) -> None:
    told = command("classify", LINES[2][0], "--classifier", folder)
    assert "question  when does the shop open" in told.stdout
    tagged = command("classify", "--library", "--classifier", folder, "--as", "kind")
    assert "hours.txt" in tagged.stdout


@pytest.mark.parametrize("given", [(), ("tea", "--library", "--as", "x"), ("--library",)])
def test_a_text_or_the_library_is_asked(
    command: Callable[..., Result], folder: Path, given: tuple[str, ...]
) -> None:
    ran = command("classify", *given, "--classifier", folder)
    assert isinstance(ran.exception, UsageError)
