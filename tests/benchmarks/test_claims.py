"""What the sentences must be, what the figures mean, and that both sides of each are the same."""

import json
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from typer.main import get_command
from typer.testing import CliRunner

from benchmarks import ablation, claims, heat, kinds, pronouns, senses
from benchmarks.contexts import gather
from benchmarks.inside import Language, cosines, find, look
from benchmarks.table import Table
from encoder import EmbeddingConfig, Encoder, EncoderConfig, scratch_config
from encoder.checkpoint import EncoderCheckpoint, save
from encoder.config import Positions
from tests.builders import BERT_SPECIALS, randomised, wordpiece
from transformer import Tokenizer
from transformer.attention import Attention
from transformer.block import Block
from transformer.runtime import seeded

LANGUAGES: tuple[Language, ...] = ("en", "ko")
ROOT = Path(__file__).parents[2]
LETTERS = [chr(c) for c in range(33, 127)]


def spelling(
    *, positions: Positions = "rotary", pre_norm: bool = True, words: tuple[str, ...] = ()
) -> EncoderCheckpoint:
    """An encoder of two layers over letters and a few whole words."""
    tokens = [*LETTERS, *(f"##{letter}" for letter in LETTERS), *words]
    config = EncoderConfig(
        vocab_size=len(tokens) + len(BERT_SPECIALS),
        d_model=16,
        n_layers=2,
        n_heads=2,
        d_ff=24,
        max_tokens=128,
        positions=positions,
        pre_norm=pre_norm,
    )
    model = randomised(Encoder(config), seeded(0)).eval()
    return EncoderCheckpoint(
        model, Tokenizer(wordpiece(tokens)), EmbeddingConfig(max_tokens=128), ""
    )


@pytest.fixture(scope="module")
def loaded() -> EncoderCheckpoint:
    return spelling()


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "none"])
@torch.inference_mode()
def test_looking_inside_changes_nothing(positions: Positions, pre_norm: bool) -> None:
    loaded = spelling(positions=positions, pre_norm=pre_norm)
    model, text = loaded.model, "The Pizza, hot."
    seen = look(loaded, text)
    tokens = torch.tensor(loaded.tokenizer.encode_for_model([text]))
    assert len(seen.places) == tokens.shape[1]
    assert_close(seen.layers[0], model.embedding(tokens)[0])
    assert_close(seen.layers[-1], model(tokens)[0])
    first = model.blocks[0]
    assert isinstance(first, Block)
    assert isinstance(first.attention, Attention)
    x, rotation = model.embed(tokens), model.rotation(tokens.shape[1])
    read = first.attention_norm(x) if pre_norm else x
    _, _, v = first.attention.project(read, rotation)
    mixed = (seen.attention[0] @ v).transpose(1, 2).flatten(2)
    assert_close(first.attention.out(mixed), first.attention(read, rotation=rotation))


def test_a_word_is_the_mean_of_its_pieces_and_is_attended_to_by_their_sum(
    loaded: EncoderCheckpoint,
) -> None:
    text = "ab, (cde)"
    seen = look(loaded, text)
    reader, read = find(text, "ab"), find(text, "CDE")
    assert (reader, read) == ((0, 2), (5, 8))
    assert (seen.pieces(reader), seen.pieces(read)) == ([1, 2], [5, 6, 7])
    assert_close(seen.word(read), seen.layers[:, 5:8].mean(dim=1))
    expected = seen.attention[:, :, 1:3, 5:8].sum(dim=-1).mean(dim=-1)
    assert_close(seen.weight(reader, read), expected)
    everything = sum(seen.weight(reader, (start, start + 1)) for start in (0, 1, 2, 4, 5, 6, 7, 8))
    assert isinstance(everything, torch.Tensor)
    around = seen.attention[:, :, 1:3][..., [0, -1]].sum(dim=-1).mean(dim=-1)
    assert_close(everything + around, torch.ones(2, 2))


@pytest.mark.parametrize(("text", "times"), [("a bank", 0), ("Great, how great", 2)])
def test_a_word_must_stand_in_its_sentence_once(text: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"'great' stands {times} times in"):
        find(text, "great")


@pytest.mark.parametrize(("language", "least"), [("en", 25), ("ko", 18)])
def test_senses_are_two_by_two_sentences_late_and_early(language: Language, least: int) -> None:
    words = senses.read(language)
    assert len({word.word for word in words}) == len(words) >= least
    for word in words:
        assert [len(sense) for sense in word.senses] == [2, 2]
        for late, early in word.senses:
            from_end, from_start = len(late) - find(late, word.word)[1], find(early, word.word)[0]
            assert from_end <= 8, late  # a verb, in Korean
            assert from_start <= 4, early


@pytest.mark.parametrize(("language", "n"), [("en", 50), ("ko", 10)])
def test_twins_differ_behind_the_pronoun_alone(language: Language, n: int) -> None:
    twins = pronouns.read(language)
    assert len({each.shared for each in twins}) == len(twins) == n
    known = {"en": {"it", "they", "he", "she"}, "ko": {"그것은", "그녀는"}}[language]
    for each in twins:
        first, second = each.nouns
        start, end = each.pronoun
        assert first < second < each.pronoun
        assert each.shared[start:end] in known
        assert all(text.startswith(each.shared) for text in each.texts)
        assert each.about_first != each.about_second


@pytest.mark.parametrize("language", LANGUAGES)
def test_pairs_of_a_kind_are_of_different_words(language: Language) -> None:
    pairs = kinds.read(language)
    words = [word for pair in pairs for word in pair[1:]]
    assert len(set(words)) == len(words) >= 60
    parts = [pair.part for pair in pairs]
    assert all(parts.count(part) > 1 for part in parts)  # or none could stand beside it


def test_swapped_sentences_hold_the_same_words() -> None:
    for line in claims._SWAPS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        left, right = (sorted(re.findall(r"\w", row[side].lower())) for side in ("left", "right"))
        assert left == right
        assert row["left"] != row["right"]


def test_a_sense_is_compared_across_forms_alone(loaded: EncoderCheckpoint) -> None:
    word = senses.read("en")[0]
    within, across = senses.within_and_across(loaded, word)
    (late, early), (late_too, early_too) = (
        [look(loaded, text).word(find(text, word.word)) for text in sense] for sense in word.senses
    )
    expected = cosines(late, early) + cosines(late_too, early_too)
    assert within == pytest.approx((expected / 2).numpy())
    expected = cosines(late, early_too) + cosines(late_too, early)
    assert across == pytest.approx((expected / 2).numpy())


def test_a_static_vector_knows_no_sense(loaded: EncoderCheckpoint) -> None:
    table = senses.measure({"one": loaded, "two": loaded}, "en")
    names = [row["name"] for row in table.rows]
    assert names[:5] == [
        "one, static",
        "one, layer 1",
        "one, layer 2",
        "one, output, homonym",
        "one, output, irony",
    ]
    assert len(names) == 10
    static, first = table.rows[:2]
    assert static["within"] == static["across"] == pytest.approx(100)
    assert (static["difference"], static["right_%"]) == (0, 50)
    assert isinstance(first["within"], float)
    assert first["within"] < 100


def test_nearer_within_is_a_difference_over_zero() -> None:
    row = senses._row("x", np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.7, 0.6]))
    assert row["difference"] == pytest.approx(20)
    assert row["right_%"] == 100
    assert isinstance(row["low"], float)
    assert row["low"] > 0


def test_right_and_shift_of_known_weights() -> None:
    taken = np.array(
        [
            [[0.3, 0.1], [0.1, 0.3]],  # follows the ending
            [[0.3, 0.1], [0.3, 0.1]],  # always the first
            [[0.1, 0.3], [0.3, 0.1]],  # always the wrong one
            [[0.2, 0.2], [0.2, 0.2]],  # level
        ]
    )
    assert pronouns.right(taken).tolist() == [1, 0.5, 0, 0.5]
    assert pronouns.shift(taken) == pytest.approx([0.5, 0, -0.5, 0])
    row = pronouns._row("x", taken)
    assert (row["right_%"], row["first_%"], row["decided"], row["p"]) == (50, 50, 2, 1)


def test_few_decided_pairs_are_told_from_chance_by_their_number() -> None:
    taken = np.full((50, 2, 2), 0.5)
    taken[:6, 0, 0] = taken[:6, 1, 1] = 0.9  # six pairs right in both, all others level
    row = pronouns._row("x", taken)
    assert (row["right_%"], row["decided"]) == (56, 6)
    assert row["p"] == pytest.approx(2 / 2**6, abs=0.01)
    taken[:1] = taken[:1, ::-1]  # one of them wrong in both
    row = pronouns._row("x", taken)
    assert row["p"] == pytest.approx(2 * (1 + 6) / 2**6, abs=0.02)
    assert row["low"] == pytest.approx(50, abs=1.5)


def test_heads_of_the_first_layer_cannot_know_the_ending() -> None:
    loaded = spelling(words=("it", "they", "he", "she"))
    taken = np.stack([pronouns.weights(loaded, twins) for twins in pronouns.read("en")])
    assert taken.shape == (50, 2, 2, 2, 2)
    assert (pronouns.right(taken)[:, 0] == 0.5).all()
    assert pronouns.shift(taken)[:, 0] == pytest.approx(0, abs=1e-5)
    assert np.abs(pronouns.shift(taken)[:, 1]).max() > 1e-3  # those of the second may


def test_the_best_head_is_measured_where_it_was_not_chosen() -> None:
    taken = np.full((8, 2, 2, 3, 2), 0.5)
    taken[::2, 0, 0, 0, 0] = taken[::2, 1, 0, 0, 1] = 0.9  # head 1.1 is right in one half
    taken[1::2, 0, 1, 2, 0] = taken[1::2, 1, 1, 2, 1] = 0.9  # head 2.3 in the other
    assert pronouns.best_head(taken[::2]) == (0, 0)
    assert pronouns.best_head(taken[1::2]) == (1, 2)
    row = pronouns._best_head("x", taken)
    assert (row["right_%"], row["heads"]) == (50, "2.3, 1.1")
    taken[:, 0, 1, 1, 0] = taken[:, 1, 1, 1, 1] = 0.95  # as right, and surer: head 2.2
    row = pronouns._best_head("x", taken)
    assert (row["right_%"], row["heads"]) == (100, "2.2, 2.2")


def test_all_attention_of_a_word_is_told_and_drawn(loaded: EncoderCheckpoint) -> None:
    text = "the <b> and the it"
    table = pronouns.attended({"model": loaded}, text, find(text, "it"))
    assert table.columns == ["name", "the", "b", "and", "the (2)", "it", "(signs)"]
    for row in table.rows:
        assert sum(v for v in row.values() if isinstance(v, float)) == pytest.approx(100)
    drawing = heat.drawn(table)
    assert drawing.count("fill-opacity") == 2 * 6
    assert "What “it” attends to: the &lt;b&gt; and the it" in drawing
    assert 'fill-opacity="1.000"' in drawing
    with pytest.raises(ValueError, match="no number in the table is over 0"):
        heat.drawn(Table("empty", "Empty", ()))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Sentences with two pairs of the list, and others for chance to draw from."""
    words = ("city", "town", "king", "queen", "marble", "ladder")
    lines = [
        f"They saw {a} word{i} {word} there."
        for word in words
        for i, a in enumerate(["a", "the"] * 3)
    ]
    lines += ["Once, river banks were seen.", "No cat"]
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_words_of_a_kind_stand_beside_chance_and_their_part_of_speech(texts: Path) -> None:
    loaded = spelling(words=("city", "town", "king", "queen", "marble", "ladder"))
    with torch.no_grad():
        for twins in (("city", "town"), ("king", "queen")):
            ids = [loaded.tokenizer.id_of(word) for word in twins]
            assert None not in ids
            loaded.model.embedding.weight[ids[1]] = loaded.model.embedding.weight[ids[0]]
    table = kinds.measure({"model": loaded}, texts, "en")
    static, first, second, example = table.rows
    assert [row["name"] for row in table.rows] == [
        "model, static",
        "model, layer 1",
        "model, layer 2",
        "model, output, great/awesome",
    ]
    assert static["pairs"] == 2
    assert static["alike"] == pytest.approx(100)
    assert example["pairs"] == 1
    for row in (static, first, second):
        for against in ("random", "part"):
            over = row[f"over_{against}"]
            alike, other = row["alike"], row[against]
            assert isinstance(alike, float)
            assert isinstance(other, float)
            assert over == pytest.approx(alike - other)
            assert alike > other
    assert "looked up in texts.txt: 2 of 40 pairs" in table.notes
    assert "river/lake" in table.notes[-1]


def test_random_words_are_as_frequent_and_in_no_pair(texts: Path) -> None:
    lines, rng = texts.read_text(encoding="utf-8").splitlines(), np.random.default_rng(0)
    contexts = gather(lines, lambda sentence: "ladder" not in sentence, rng)
    assert contexts.counts["town"] == 6
    assert {text[slice(*span)] for text, span in contexts.of["town"]} == {"town"}
    assert contexts.counts["river"] == 1
    assert "river" not in contexts.of
    assert "ladder" not in contexts.counts
    found = kinds.cases(contexts, kinds.read("en"), 3, rng)
    assert [case.pair.first for case in found] == ["city", "king"]
    assert [case.random for case in found] == [("marble",), ("marble",)]
    assert [case.part for case in found] == [("queen",), ("town",)]


def test_a_text_without_the_words_leaves_the_example(
    loaded: EncoderCheckpoint, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("Nothing of it stands here.\n", encoding="utf-8")
    table = kinds.measure({"model": loaded}, texts, "en")
    assert [row["name"] for row in table.rows] == ["model, output, great/awesome"]
    assert "0 of 40 pairs" in table.notes[-2]


def _folder(loaded: EncoderCheckpoint, folder: Path) -> Path:
    save(loaded, folder)
    return folder


def test_without_positions_order_is_lost(tmp_path: Path) -> None:
    folders = {
        name: _folder(spelling(positions=name), tmp_path / name)
        for name in ("none", "sinusoidal", "learned", "rotary")
    }
    table = claims.order(folders, "en")
    without, *others = table.rows
    assert without["swapped"] == pytest.approx(100, abs=1e-3)
    assert without["Squatch_and_pizza"] == pytest.approx(100, abs=1e-3)
    for row in others:
        assert isinstance(row["Squatch_and_pizza"], float)
        assert row["Squatch_and_pizza"] < 99.9
        assert isinstance(row["high"], float)
        assert row["high"] < 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_is_made_kept_and_drawn(
    loaded: EncoderCheckpoint, texts: Path, tmp_path: Path, language: Language
) -> None:
    before, after = (_folder(loaded, tmp_path / name) for name in ("pretrained", "finished"))
    figures, drawing = tmp_path / "figures.json", tmp_path / "it.svg"
    arguments = [str(after), "--before", str(before), "--language", language]
    arguments += ["--data", str(tmp_path / "no"), "--svg", str(drawing), "--json", str(figures)]
    if language == "en":
        arguments += ["--texts", str(texts)]
    ran = CliRunner().invoke(claims.app, arguments, catch_exceptions=False)
    assert ran.exit_code == 0
    found = json.loads(figures.read_text(encoding="utf-8"))
    looked_up = ["kinds"] if language == "en" else []
    assert list(found) == ["senses", *looked_up, "pronouns", "attended", "order"]
    for table in found.values():
        models = {re.split(r",| ", row["name"])[0] for row in table["rows"]}
        assert models == {"before", "after"}
        assert table["title"] in ran.output
    assert drawing.read_text(encoding="utf-8").startswith("<svg")


def test_a_folder_without_an_encoder_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["claims", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        claims.main()
    assert ended.value.code == 1
    assert re.fullmatch(r"claims: .*config\.json.*\n", capsys.readouterr().err)


def _commands(prefix: str) -> list[list[str]]:
    """The lines of the tutorial that hold this, without what stands before it, split as a shell
    splits them."""
    lines = (ROOT / "docs/tutorials/from-nothing.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line.split(prefix)[1]) for line in lines if prefix in line]


def test_the_tutorial_trains_by_configs_that_can_be_read() -> None:
    commands = _commands(" train encoder ")
    assert len(commands) >= 6
    for config, *rest in commands:
        settings = [word for flag, word in pairwise(rest) if flag == "--set"]
        assert settings
        scratch_config.read(ROOT / config, settings)


@pytest.mark.parametrize("measuring", [ablation, claims])
def test_the_tutorial_measures_by_options_that_are_there(measuring: ModuleType) -> None:
    options = {o for p in get_command(measuring.app).params for o in p.opts}
    commands = _commands(f"-m {measuring.__name__} ")
    assert commands
    for words in commands:
        assert {word for word in words if word.startswith("--")} <= options
