"""Tokens a second: our generator beside llama.cpp and transformers, same weights and token ids."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from benchmarks import perplexity, speed
from benchmarks.passages import library_texts
from benchmarks.rounds import Missing, Timed
from benchmarks.table import Row, Table
from generator import Generator, Writer
from generator.decoding import decode_from
from generator.sampling import Sampling
from generator.speculate import Drafts
from generator.stepping import Stepper
from transformer import runtime
from transformer.runtime import seeded

LLAMA = "llama.cpp"
TRANSFORMERS = "transformers"
_PREFILL = 512
_HELD, _STEPS = 500, 64  # tokens in the context before the first step that counts, and steps
_TARGETS = {"prefill": {LLAMA: 2.5}, "decode": {LLAMA: 1.1}, "quote": {LLAMA: 2.5}}

Feed = Callable[[Sequence[int]], int]  # takes tokens in, gives the likeliest to follow
Begin = Callable[[], Feed]  # with an empty context


def measure(*, generator: Path, rounds: int, threads: int) -> Table:
    """Rates of taking in a prompt, of going on token by token, and of quoting with drafts.

    Args:
        generator: a .gguf file or its folder
        rounds: that count
        threads: of each contender
    """
    torch.set_num_threads(threads)
    writer = Writer.load(generator)
    text = "\n\n".join(library_texts())
    ids = writer.tokenizer.encode(text)
    begun = {
        LLAMA: cache(lambda: _llama(generator, text, ids, threads)),
        TRANSFORMERS: cache(lambda: _transformers(generator)),
    }

    def race(name: str, ours: Timed, timing: Callable[[Begin], Timed], work: int) -> list[Row]:
        peers = {peer: (lambda begin=begin: timing(begin())) for peer, begin in begun.items()}
        return speed.run(speed.Race("tok_per_s", work, ours, peers, _TARGETS.get(name, {})), rounds)

    prefill = race("prefill", _prefill(_attest(writer), ids), lambda b: _prefill(b, ids), _PREFILL)
    decode = race("decode", _decode(_attest(writer), ids), lambda b: _decode(b, ids), _STEPS)
    quote = race("quote", _quoting(writer, ids), lambda b: _decode(b, ids), _STEPS)
    return Table(
        "generation",
        f"Generation: {generator.name}, {threads} threads",
        (
            *_named(f"prefill {_PREFILL}, the time to a first token", prefill),
            *_named(f"decode {_STEPS} after {_HELD}", decode),
            *_named(f"quote {_STEPS} of {_HELD} with drafts", quote),
            *perplexity.rows(generator, text),
        ),
        (
            "all are fed the same token ids, and the highest logit is read after each time",
            "quoting: every token that is written stands in the prompt; peers decode one by one",
            _limits(writer, prefill, decode),
        ),
    )


def _limits(writer: Writer, prefill: Sequence[Row], decode: Sequence[Row]) -> str:
    """How near to what the machine can do at most."""
    matrices = [b for n, b in writer.model.named_buffers() if n.endswith(("packed", "grid"))]
    read = sum(matrix.nbytes for matrix in matrices)
    dtype = runtime.fast_dtype()
    flops = 2 * writer.parameters * prefill[0]["tok_per_s"].median  # type: ignore[union-attr]
    bandwidth = read * decode[0]["tok_per_s"].median  # type: ignore[union-attr]
    return (
        f"decoding reads {bandwidth / 1e9:.1f} GB/s of weights, "
        f"{bandwidth / _memory_peak():.0%} of what memory gives; prefill does "
        f"{flops / 1e9:.0f} GFLOP/s, {flops / runtime.matrix_peak(dtype):.0%} of the matrix peak"
    )


def _memory_peak() -> float:
    """Bytes a second that a sum over more than the caches hold reads at best."""
    numbers = torch.ones(128 << 20 >> 2)
    seconds = []
    for _ in range(7):
        began = perf_counter()
        numbers.sum()
        seconds.append(perf_counter() - began)
    return numbers.nbytes / min(seconds)


def _prefill(begin: Begin, ids: Sequence[int]) -> Timed:
    def run() -> float:
        feed = begin()
        began = perf_counter()
        feed(ids[:_PREFILL])
        return perf_counter() - began

    return run


def _decode(begin: Begin, ids: Sequence[int]) -> Timed:
    def run() -> float:
        feed = begin()
        feed(ids[:_HELD])
        began = perf_counter()
        for token in ids[_HELD : _HELD + _STEPS]:
            feed([token])
        return perf_counter() - began

    return run


def _attest(writer: Writer) -> Begin:
    stepper = Stepper(writer.model)

    def begin() -> Feed:
        held = writer.model.new_cache(_PREFILL + _STEPS)

        def feed(tokens: Sequence[int]) -> int:
            if len(tokens) > 1:
                return int(stepper.prefill(held, tokens).argmax())
            return int(stepper.step([held], tokens)[0].argmax())

        return feed

    return begin


class _Quoting(Stepper):
    """Says what it is told to, after all the work of saying it."""

    told: Sequence[int] = ()
    start = 0

    def step(self, caches, tokens):  # type: ignore[no-untyped-def]
        at = caches[0].length - self.start
        logits = super().step(caches, tokens)
        for row in range(len(tokens)):
            logits.numpy()[row, self.told[at + row + 1]] += 1e4  # a copy would wake threads
        return logits


def _quoting(writer: Writer, ids: Sequence[int]) -> Timed:
    """The prompt's own middle is written out, drafts and their verification as in an answer."""
    stepper = _Quoting(writer.model)
    prompt = ids[:_HELD]
    stepper.told, stepper.start = [*prompt[100:], *prompt], _HELD

    def run() -> float:
        held = writer.model.new_cache(_HELD + _STEPS)
        logits = stepper.prefill(held, prompt).clone()
        logits[stepper.told[0]] += 1e4
        drafts = Drafts(prompt) if stepper.rows > 1 else None
        sampling = Sampling(max_tokens=_STEPS)
        began = perf_counter()
        tokens = list(
            decode_from(stepper, held, logits, sampling, ends=(), rng=seeded(0), drafts=drafts)
        )
        taken = perf_counter() - began
        assert tokens == stepper.told[:_STEPS], "drafts change no token"
        return taken

    return run


def _llama(generator: Path, text: str, ids: Sequence[int], threads: int) -> Begin:
    """Its own defaults but for the threads; logits only of the last token that it is fed.

    Raises:
        Missing: it cannot read the model, or would be fed other tokens.
    """
    import llama_cpp

    model = llama_cpp.Llama(
        str(_gguf(generator)),
        n_ctx=1024,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    if model.tokenize(text.encode(), add_bos=False) != list(ids):
        raise Missing("it reads the text as other tokens, so that the work would differ")

    def feed(tokens: Sequence[int]) -> int:
        model.eval(tokens)
        row = llama_cpp.llama_get_logits_ith(model.ctx, -1)  # waits until it has computed
        return int(np.ctypeslib.as_array(row, shape=(model.n_vocab(),)).argmax())

    def begin() -> Feed:
        model.reset()  # type: ignore[no-untyped-call]
        return feed

    return begin


def _transformers(generator: Path) -> Begin:
    """The same numbers in the processor's fast format: it multiplies no fewer bits here.

    Raises:
        Missing: the model is of another shape than Llama's.
    """
    import transformers

    ours = Writer.load(generator, "fp32").model
    c = ours.config
    if c.positions != "rotary" or c.qkv_bias or c.qk_norm or not c.tied:
        raise Missing("the comparison is written for models of Llama's shape with a tied head")
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=c.vocab_size,
            hidden_size=c.d_model,
            intermediate_size=c.d_ff,
            num_hidden_layers=c.n_layers,
            num_attention_heads=c.n_heads,
            num_key_value_heads=c.n_kv_heads,
            head_dim=c.head_width,
            max_position_embeddings=c.max_tokens,
            rope_parameters={"rope_type": "default", "rope_theta": c.rotary_base},
            rms_norm_eps=c.norm_eps,
            tie_word_embeddings=True,
        )
    )
    model.load_state_dict(_as_llama(ours), strict=False)
    model = model.to(runtime.fast_dtype()).eval()  # type: ignore[arg-type]

    def begin() -> Feed:
        kept = transformers.DynamicCache()

        @torch.inference_mode()
        def feed(tokens: Sequence[int]) -> int:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its newer versions rename the argument
                said = model(torch.tensor([tokens]), past_key_values=kept, logits_to_keep=1)
            return int(said.logits[0, -1].argmax())

        return feed

    return begin


def _as_llama(model: Generator) -> dict[str, Tensor]:
    """Our parameters by the names of the Hugging Face library."""
    c, tensors = model.config, dict[str, Tensor]()
    kept = c.n_kv_heads * c.head_width
    for name, tensor in model.state_dict().items():
        name = name.replace("blocks.", "model.layers.").replace("attention.", "self_attn.")
        name = name.replace("attention_norm", "input_layernorm").replace("feed_forward.", "mlp.")
        name = name.replace("feed_forward_norm", "post_attention_layernorm")
        name = name.replace("out.weight", "o_proj.weight").replace("mlp.down", "mlp.down_proj")
        if "qkv" in name:
            sizes = [tensor.shape[0] - 2 * kept, kept, kept]
            parts = zip("qkv", torch.split_with_sizes(tensor, sizes), strict=True)
            tensors |= {name.replace("qkv", f"{part}_proj"): rows for part, rows in parts}
        elif "gate_up" in name:
            parts = zip(("gate_proj", "up_proj"), tensor.chunk(2), strict=True)
            tensors |= {name.replace("gate_up", part): rows for part, rows in parts}
        elif name in ("embedding.weight", "norm.weight"):
            tensors[f"model.{name}".replace("embedding", "embed_tokens")] = tensor
        else:
            tensors[name] = tensor
    return tensors


def _gguf(generator: Path) -> Path:
    files = [generator] if generator.is_file() else sorted(generator.glob("*.gguf"))
    if len(files) != 1:
        raise Missing(f"it reads one .gguf file; {generator} has {len(files)}")
    return files[0]


def _named(work: str, rows: Sequence[Row]) -> list[Row]:
    return [{**row, "name": f"{work}: {row['name']}"} for row in rows]
