"""The same scenario on every engine that the library can lie on: what one does, all do.

An engine is a line of `ENGINES`: where the database is, which settings choose the rest, and with
which flags a folder is taken in.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from index import Catalog
from index.conversations import Conversations
from rag import Assistant, Settings
from rag.cli import main
from tests.builders import spelling_encoder
from tests.index.postgres import Server

_SAMPLES = Path(__file__).parents[2] / "samples"
_QUESTIONS = 12  # of the samples, in both languages
_TOP = 10

WARRANTY = (
    "# Warranty\n\nThe warranty of the lamp lasts {months} months from delivery.\n\n"
    "## Batteries\n\nBatteries are covered for 6 months. Keep the receipt.\n"
)
DOCUMENTS = {
    "warranty.md": WARRANTY.format(months=24),
    "hours.txt": "The workshop opens at 8:30 on weekdays. On Saturday it stays closed.\n",
    "휴가.md": "# 휴가 규정\n\n연차는 15일이며 3월에 새로 생긴다. 병가는 하루 단위로 쓴다.\n",
}


@dataclass(frozen=True, slots=True)
class Engine:
    """Where a library lies."""

    postgresql: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)  # {home} stands for the home
    sync: tuple[str, ...] = ()  # flags of `attest sync`
    agreeing: int = _TOP  # of the first ten hits, as the embedded default has them


_MILVUS = Engine(True, {"index": "milvus", "milvus_uri": "{home}.db"}, agreeing=9)
_RAY = ("--engine", "ray")

ENGINES = {
    "sqlite": Engine(),
    "postgresql": Engine(postgresql=True),
    "postgresql-milvus": _MILVUS,
    "sqlite-ray": Engine(sync=_RAY),
    "postgresql-milvus-ray": replace(_MILVUS, sync=_RAY),
}
# Ray takes a while to start, and warns of itself.
_BESIDE_RAY = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
_PARAMETERS = [
    pytest.param(name, marks=_BESIDE_RAY if engine.sync else []) for name, engine in ENGINES.items()
]


@dataclass(frozen=True, slots=True)
class Home:
    """A library on an engine, used by the command line as a person would."""

    settings: Settings
    sync: tuple[str, ...]
    _main: Callable[[Sequence[str]], tuple[int, str, str]]

    def run(self, *arguments: str | Path, code: int = 0) -> str:
        """What a command prints; it must end with this code."""
        ended, out, err = self._main([*map(str, arguments), "--home", str(self.settings.home)])
        assert ended == code, err
        return out

    def json(self, *arguments: str | Path) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def names(self, query: str) -> list[str]:
        """The files that a search by words finds."""
        hits = self.json("search", query, "--mode", "lexical")["hits"]
        return [Path(hit["document"]["path"]).name for hit in hits]

    def catalog(self) -> Catalog:
        return Catalog(self.settings.home, self.settings.database_url)


Make = Callable[[str, Engine], Home]


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One to begin with, and one to move to."""
    folder = tmp_path_factory.mktemp("encoders")
    return spelling_encoder(folder / "one"), spelling_encoder(folder / "two", seed=7, d_model=24)


@pytest.fixture
def make(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    encoders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Make]:
    """A fresh home on an engine."""
    databases: list[tuple[Server, str]] = []

    def home(name: str, engine: Engine) -> Home:
        folder = tmp_path / name
        given = {key: value.format(home=folder) for key, value in engine.settings.items()}
        given |= {"encoder": str(encoders[0]), "threads": "1"}
        if engine.postgresql:
            server: Server = request.getfixturevalue("server")
            databases.append((server, server.create()))
            given["database_url"] = server.url(databases[-1][1])

        def run(arguments: Sequence[str]) -> tuple[int, str, str]:
            with monkeypatch.context() as patched:
                for key, value in given.items():
                    patched.setenv(f"ATTEST_{key.upper()}", value)
                with pytest.raises(SystemExit) as ended:
                    main(arguments)
            assert isinstance(ended.value.code, int)
            return ended.value.code, *capsys.readouterr()

        values: dict[str, Any] = {"home": folder, **given}
        return Home(Settings(**values), engine.sync, run)

    yield home
    for server, database in databases:
        server.drop(database)


@pytest.fixture(params=_PARAMETERS)
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for name, text in DOCUMENTS.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def test_a_library_lives_on_the_engine(
    engine: Engine, make: Make, folder: Path, encoders: tuple[Path, Path], tmp_path: Path
) -> None:
    home = make("home", engine)
    _fill(home, folder)
    _change(home, folder)
    report = home.json("report", "-o", tmp_path / "report.html")
    assert report["n_documents"] == 2
    assert "Warranty" in (tmp_path / "report.html").read_text("utf-8")
    assert home.json("reembed", encoders[1])["finished"] is True
    _ask(home, "How long does the warranty of the lamp last?", "36 months", "warranty.md")
    _verify(home)
    _learn(home)
    _carry(home, make, engine, tmp_path)


def _fill(home: Home, folder: Path) -> None:
    added = home.json("sync", folder, *home.sync)["documents"]
    assert {row["status"] for row in added} == {"added"}
    assert len(added) == len(DOCUMENTS)
    again = home.json("sync", folder, *home.sync)
    assert again["summary"] == {"unchanged": len(DOCUMENTS)}
    _ask(home, "How long does the warranty of the lamp last?", "24 months", "warranty.md")
    assert home.names("연차") == ["휴가.md"]
    _verify(home)


def _change(home: Home, folder: Path) -> None:
    (folder / "warranty.md").write_text(WARRANTY.format(months=36), encoding="utf-8")
    assert home.json("sync", folder, *home.sync)["summary"] == {"updated": 1, "unchanged": 2}
    _ask(home, "How long does the warranty of the lamp last?", "36 months", "warranty.md")
    assert home.names("24") == []
    (folder / "hours.txt").unlink()
    pruned = home.json("sync", folder, "--prune", *home.sync)
    assert pruned["summary"] == {"unchanged": 2, "removed": 1}
    assert "hours.txt" not in home.names("workshop weekdays Saturday")
    _verify(home)


def _ask(home: Home, question: str, said: str, name: str) -> None:
    answer = home.json("ask", question, "--mode", "extract")
    assert said in answer["answer"]
    citation = next(each for each in answer["citations"] if said in each["quote"])
    assert Path(citation["document"]["path"]).name == name
    with home.catalog() as catalog:
        text = catalog.text(citation["document"]["id"])
    assert text[citation["start"] : citation["end"]] == citation["quote"]


def _verify(home: Home) -> None:
    found = home.json("verify")
    assert found["problems"] == []
    (state,) = found["collections"]
    assert state["chunks"] == state["vectors"] == state["dense"] == state["lexical"] > 0


def _learn(home: Home) -> None:
    """What a library comes to hold by its use."""
    with home.catalog() as catalog:
        stored = catalog.collection("default")
        (document, _) = catalog.documents("default")
        chunk = catalog.chunk_ids(document.id)[0]
        model = stored.model.fingerprint
        report = {"better": [{"question": "무엇?", "change": 0.5}]}
        given = {"base": model, "kind": "query", "data": b"\0\1\2", "report": report}
        key = catalog.add_adapter("default", fingerprint="taught", **given)
        catalog.use_adapter("default", key)
        catalog.judge("default", "How long?", chunk, "up")
        catalog.tag(document.id, add=["보증", "lamp"])
        catalog.set_rerank_weight("default", 0.2)
        fitted = {"threshold": 0.4, "scale": 2.0}
        catalog.calibrate("default", encoder=model, generator="", fitted=fitted)
        catalog.keep_evaluation("default", "answers", {"cited_pct": 98.5, "말": "x"})
        talks = Conversations(catalog.database)
        answer = {"citations": [{"chunk_id": chunk, "document": {"id": document.id}}]}
        _, message = talks.ask("default", "", "얼마나?", title="얼마나?")
        talks.settle(message, "answered", "36 months", answer)


def _carry(home: Home, make: Make, engine: Engine, folder: Path) -> None:
    """Into a database of the other kind and back again, by the command line."""
    held = _held(home)
    with home.catalog() as catalog:
        asked = catalog.asked("default")
    there = make("there", Engine(postgresql=False))
    back = make("back", engine)
    for n, (source, target) in enumerate(((home, there), (there, back))):
        archive = folder / f"{n}.zip"
        source.run("export", archive, "--with-history")
        taken = target.json("import", archive)
        assert taken["questions"] == len(asked)
        assert taken["conversations"] == 1
        assert _held(target) == held
        _verify(target)
    assert back.names("warranty") == home.names("warranty") == ["warranty.md"]


def _held(home: Home) -> list[object]:
    """All that a library holds, without the numbers that its database gave."""
    with home.catalog() as catalog:
        stored, adapter = catalog.collection("default"), catalog.active_adapter("default")
        assert adapter is not None
        talks = Conversations(catalog.database)
        held: list[object] = [
            replace(stored, id=0, uid="", adapter_id=None),
            replace(adapter, id=0),
            catalog.calibrations("default"),
            catalog.evaluations("default"),
        ]
        for row in catalog.documents("default"):
            chunks = catalog.chunks_of(row.id)
            held += [replace(row, id=0), catalog.text(row.id)]
            held += [(c.text, c.start, c.end, c.page, c.heading, c.tokens) for c in chunks]
            held += [(k, v.tobytes()) for k, v in sorted(catalog.known_vectors(row.id).items())]
        for question in catalog.asked("default"):
            texts = [chunk.text for chunk in catalog.chunks(question.up)]
            held.append((question.text, question.times, question.asked_at, texts))
        for head in talks.listed("default", ""):
            messages = talks.read(head.uid, "")[1]
            held += [head.title, head.made_at, [(m.question, m.text, m.state) for m in messages]]
            cited = [each for m in messages for each in (m.answer or {})["citations"]]
            held += [[chunk.text for chunk in catalog.chunks([c["chunk_id"]])] for c in cited]
    return held


@pytest.fixture(scope="module")
def expected(
    tmp_path_factory: pytest.TempPathFactory, encoders: tuple[Path, Path]
) -> list[list[object]]:
    """The first hits of the sample questions on the embedded default."""
    home = tmp_path_factory.mktemp("embedded") / "home"
    return _hits(Settings(home=home, encoder=str(encoders[0]), threads=1))


@pytest.mark.parametrize("name", ["postgresql", "postgresql-milvus"])
def test_the_hits_are_those_of_the_embedded_default(
    name: str, make: Make, expected: list[list[object]]
) -> None:
    engine = ENGINES[name]
    found = _hits(make("home", engine).settings)
    for ours, theirs in zip(found, expected, strict=True):
        assert len(set(ours) & set(theirs)) >= engine.agreeing


def _hits(settings: Settings) -> list[list[object]]:
    lines = (_SAMPLES / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line)["question"] for line in lines[:: len(lines) // _QUESTIONS]]
    with Assistant.open(settings) as attest:
        attest.add(*sorted(_SAMPLES.glob("library/*/*.md")))
        found = [attest.search(question, k=_TOP).hits for question in asked]
    return [[(Path(h.chunk.document.path).name, h.chunk.start) for h in hits] for hits in found]
