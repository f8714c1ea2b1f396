"""What is forced onto lines: one of them comes out, as likely as the model finds it among them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from generator import Generator, Message, Writer
from generator.constrained import END, Quoted, Quoting, Trie, follow, room
from tests.generator.builders import (
    EOT,
    VOCABULARY,
    generator,
    loaded,
    prompt,
    scripted,
    spellings,
    tokenizer,
)
from transformer import LengthError, ModelError, Tokenizer

_LINES = ['Passage 1: "hello"', 'Passage 1: "hell"', 'Passage 2: "안녕."', "None holds it."]
_PROMPT = prompt(20)
_ENDS = (0, 2)
_ASK = [Message("user", "Who?")]
_START = len("user\nWho?\nassistant\n") + 3


class _Wild(Generator):
    """A generator whose logits are whatever they are told to be."""

    def __init__(self, scale: float, seed: int) -> None:
        super().__init__(generator().config)
        self.load_state_dict(generator().state_dict())
        self.scale, self.rng = scale, torch.Generator().manual_seed(seed)

    def logits(self, x: Tensor) -> Tensor:
        drawn = self.scale * torch.randn(*x.shape[:-1], VOCABULARY, generator=self.rng)
        drawn[..., torch.randint(VOCABULARY, (40,), generator=self.rng)] = float("-inf")
        return drawn


def _run(quoting: Quoting) -> Quoted:
    ended: list[Quoted] = []

    def read() -> Iterator[str]:
        ended.append((yield from quoting))

    assert set(read()) <= {""}
    return ended[0]


@torch.inference_mode()
def _follow(
    model: Generator,
    lines: Sequence[str],
    *,
    words: Tokenizer | None = None,
    decline: int | None = None,
    most: int = 1,
) -> Quoted:
    encode = (words or tokenizer()).encode
    cache = model.new_cache(len(_PROMPT) + room([encode(line) for line in lines], most))
    logits = model(torch.tensor([_PROMPT]), cache, last_only=True)[0, -1]
    return _run(
        follow(model, cache, logits, lines, encode=encode, ends=_ENDS, decline=decline, most=most)
    )


@torch.inference_mode()
def _logits(model: Generator, ids: Sequence[int]) -> Tensor:
    logits: Tensor = model(torch.tensor([[*_PROMPT, *ids]]))
    return logits[0, len(_PROMPT) - 1 :]


def _stepwise(model: Generator, lines: Sequence[Sequence[int]]) -> list[float]:
    """The share of each line, by a whole pass for each and a softmax over what may come."""
    shares = []
    for line in lines:
        share, rows = 1.0, _logits(model, line)
        for at in range(len(line) + 1):
            ways = {other[at] if at < len(other) else END
                    for other in lines if list(other[:at]) == list(line[:at])}  # fmt: skip
            scores = {
                way: rows[at, list(_ENDS)].logsumexp(0) if way == END else rows[at, way]
                for way in ways
            }
            mine = scores[line[at] if at < len(line) else END]
            share *= float((mine - torch.stack([*scores.values()]).logsumexp(0)).exp())
        shares.append(share)
    return shares


texts = st.lists(st.text("ab 가\"'\n.h", min_size=1, max_size=9), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 3), st.sampled_from([0.0, 1.0, 1e30]), st.integers(0, 9))
def test_whatever_the_logits_lines_come_out(
    drawn: list[str], most: int, scale: float, seed: int
) -> None:
    lines = list(dict.fromkeys(drawn))
    decline = seed % len(lines) if seed % 2 else None
    quoted = _follow(_Wild(scale, seed), lines, decline=decline, most=most)
    assert 1 <= len(quoted.chosen) <= min(most, len(lines))
    assert len(set(quoted.chosen)) == len(quoted.chosen) == len(quoted.log_probabilities)
    assert set(quoted.chosen) <= set(range(len(lines)))
    assert decline not in quoted.chosen[1:]
    assert sum(quoted.shares) == pytest.approx(1, abs=1e-4)
    words = tokenizer()
    assert all(words.decode(words.encode(lines[place])) == lines[place] for place in quoted.chosen)


@settings(max_examples=40, deadline=None)
@given(texts)
def test_a_trie_holds_its_lines_and_nothing_else(drawn: list[str]) -> None:
    lines = [tuple(tokenizer().encode(text)) for text in dict.fromkeys(drawn)]
    trie, held = Trie(lines), []

    def walk(node: int, before: tuple[int, ...]) -> None:
        for token, child in trie.children[node].items():
            assert (trie.tokens[child], trie.parents[child]) == (token, node)
            assert trie.depths[child] == len(before) + 1
            walk(child, (*before, token)) if token != END else held.append(before)

    walk(0, ())
    assert sorted(held) == sorted(lines)
    trunk = {0, *trie.trunk}
    assert all(trie.parents[node] in trunk for node in trunk)
    assert {n for n, ways in enumerate(trie.children) if len(ways) > 1} <= trunk


@pytest.mark.parametrize(
    "model", [generator(), generator(positions="learned", norm="layer")], ids=["rotary", "learned"]
)
def test_one_pass_gives_the_shares_of_one_step_after_another(model: Generator) -> None:
    tokens = [tokenizer().encode(line) for line in _LINES]
    quoted = _follow(model, _LINES, decline=3)
    expected = _stepwise(model, tokens)
    assert quoted.shares == pytest.approx(expected, abs=1e-5)
    assert quoted.decline_probability == pytest.approx(expected[3], abs=1e-5)
    first = _logits(model, tokens[0])[0]
    words = tokenizer()
    parting = first[[words.encode("None")[0], words.encode("Passage")[0]]].softmax(0)
    assert quoted.decline_probability == pytest.approx(float(parting[0]), abs=1e-5)


def test_log_probabilities_are_those_of_the_whole_softmax() -> None:
    model, words = generator(), tokenizer()
    quoted = _follow(model, _LINES, most=3)
    whole = words.encode("\n".join(_LINES[place] for place in quoted.chosen))
    rows = _logits(model, whole)[:-1].log_softmax(-1)
    total = float(rows.gather(1, torch.tensor(whole)[:, None]).sum())
    assert sum(quoted.log_probabilities) == pytest.approx(total, abs=1e-3)


def _saying(text: str, *, words: Tokenizer, size: int = VOCABULARY) -> Generator:
    script = [*words.encode(text), 2]
    return scripted(script, start=len(_PROMPT), max_tokens=220, vocabulary=size)


def test_what_the_model_would_say_is_what_comes() -> None:
    words = tokenizer()
    for place, line in enumerate(_LINES):
        quoted = _follow(_saying(line, words=words), _LINES, decline=3, most=3)
        assert quoted.chosen == (place,)


def test_lines_follow_one_another_until_the_model_ends() -> None:
    words = tokenizer()
    model = _saying("\n".join([_LINES[2], _LINES[0]]), words=words)
    assert _follow(model, _LINES, decline=3, most=3).chosen == (2, 0)
    assert _follow(model, _LINES, decline=3, most=2).chosen == (2, 0)
    assert _follow(model, _LINES, decline=3, most=1).chosen == (2,)


def test_a_break_may_be_one_token_with_what_stands_before_it() -> None:
    spelled = spellings(b'"\n')
    merged = ("h e", "l l", '" \u010a')
    words = Tokenizer.from_byte_level_bpe(spelled, merged, range(3), "llama-bpe")
    joined = '"a"\n"b"'
    assert len(words.encode(joined)) < len(words.encode('"a"')) + len(words.encode('\n"b"'))
    model = _saying(joined, words=words, size=words.size)
    quoted = _follow(model, ['"b"', '"a"', '"c"'], words=words, most=3)
    assert quoted.chosen == (1, 0)
    assert quoted.log_probabilities[1] < 0


def test_a_line_that_another_begins_with_can_be_chosen() -> None:
    words = tokenizer()
    for text in ("ab", "abc"):
        assert _follow(_saying(text, words=words), ["ab", "abc"]).chosen == (
            ["ab", "abc"].index(text),
        )


def test_declining_needs_more_than_half() -> None:
    model = generator()
    with torch.no_grad():
        model.embedding.weight.fill_(0)  # all logits alike
    lines = ["a1", "a2", "b1", "c"]
    even = _follow(model, lines, decline=3)
    assert even.decline_probability == pytest.approx(1 / 3)
    assert even.chosen == (2,)
    assert even.shares == pytest.approx((1 / 6, 1 / 6, 1 / 3, 1 / 3))
    assert _follow(model, ["c"], decline=0).chosen == (0,)


def test_lines_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="lines 1 and 3 are the same"):
        _follow(generator(), ["a", "b", "a"])
    with pytest.raises(ValueError, match="there are no lines"):
        _follow(generator(), [])


def test_broken_numbers_end_in_an_error() -> None:
    model = generator()
    with torch.no_grad():
        model.embedding.weight.fill_(float("nan"))
    with pytest.raises(ModelError, match="largest logit is nan"):
        _follow(model, _LINES)


def _writer(**changes: int) -> Writer:
    return Writer(loaded(generator(**{"max_tokens": 512} | changes), tokenizer()))


def test_a_writer_quotes_behind_its_prompt_and_keeps_what_it_read() -> None:
    words = tokenizer()
    model = scripted(
        [*words.encode(_LINES[1]), 2], start=_START, max_tokens=240, vocabulary=VOCABULARY
    )
    writer = Writer(loaded(model, words))
    assert _run(writer.quote(_ASK, _LINES, decline=3)).chosen == (1,)
    plain = _writer()
    read: list[int] = []
    plain.model.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].shape[1]))
    first, again = (_run(plain.quote(_ASK, _LINES, decline=3)) for _ in range(2))
    assert first.chosen == again.chosen
    assert_close(torch.tensor(first.shares), torch.tensor(again.shares))
    assert read[0] == _START
    assert read[2] < _START


def test_template_tokens_in_a_line_are_plain_text() -> None:
    writer = _writer()
    quoted = _run(writer.quote(_ASK, [f"a {EOT}", "b"]))
    assert len(quoted.shares) == 2
    assert writer.tokenizer.encode(EOT) == tokenizer().encode(EOT) != [0]


def test_closing_stops_between_two_passes() -> None:
    writer = _writer()
    passes: list[int] = []
    writer.model.register_forward_hook(lambda *_: passes.append(1))
    quoting = writer.quote(_ASK, _LINES)
    assert next(quoting) == ""
    quoting.close()
    assert len(passes) == 1
    assert list(quoting) == []


def test_lines_without_room_are_refused_before_anything_is_read() -> None:
    small = Writer(loaded(generator(max_tokens=512), tokenizer()), context=_START + 10)
    with pytest.raises(LengthError, match="no room for an answer of"):
        small.quote(_ASK, _LINES)
    needed = small.reserve(_LINES, 2)
    exact = Writer(loaded(generator(max_tokens=512), tokenizer()), context=_START + needed)
    assert len(_run(exact.quote(_ASK, _LINES, most=2)).chosen) <= 2


def test_a_writer_says_whether_it_was_taught() -> None:
    assert not _writer().grounded


def test_a_node_sees_itself_and_what_leads_to_it() -> None:
    trie = Trie([[1, 2, 3], [1, 2, 4], [1, 5]])
    seen = trie.seen(trie.trunk)
    assert seen.tolist() == [[True, False], [True, True]]
    assert all(a < b for a, b in pairwise(trie.trunk))
