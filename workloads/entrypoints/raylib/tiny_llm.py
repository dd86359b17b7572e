"""Small stand-ins for language models and their data, made on the spot. Needs transformers.

The models are a Qwen2 and a GPT-2 of some 10^5 random weights, with a tokenizer trained on made-up
rows; they have the form of the real ones, so the programs run unchanged on them.
"""

from __future__ import annotations

import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' "
    "+ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_GAMES = ("Mirror Moon", "Iron Tide", "Last Lantern", "Paper Kings", "Deep Orbit", "Salt Road")
_GENRES = ("puzzle", "racing", "strategy", "adventure")
_FORMS = (
    ("inform", "{name} is a {genre} game from {year}.", "name[{name}], genres[{genre}]"),
    ("request", "Do you like a {genre} game such as {name}?", "name[{name}], genres[{genre}]"),
    ("suggest", "Have you played {name}, from {year}?", "name[{name}], release_year[{year}]"),
)
SYSTEM = "Write the meaning of the sentence as a function with its attributes."


def rows(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yields made-up rows of the form of ViGGO's: a sentence, and its meaning as a function."""
    chance = random.Random(seed)
    for _ in range(count):
        facts = {
            "name": chance.choice(_GAMES),
            "genre": chance.choice(_GENRES),
            "year": str(chance.randint(1990, 2024)),
        }
        function, sentence, attributes = chance.choice(_FORMS)
        yield row(sentence.format(**facts), f"{function}({attributes.format(**facts)})")


def row(sentence: str, meaning: str) -> dict[str, Any]:
    """Returns a row as the programs read it."""
    return {
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": sentence},
            {"role": "assistant", "content": meaning},
        ]
    }


def dataset_info(name: str, file: str) -> dict[str, Any]:
    """Returns what LLaMA-Factory's dataset_info.json says of a file of such rows."""
    tags = {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
        "system_tag": "system",
    }
    entry = {"file_name": file, "formatting": "sharegpt", "columns": {"messages": "messages"}}
    return {name: {**entry, "tags": tags}}


def write_data(folder: pathlib.Path, train: int = 48, test: int = 12) -> None:
    """Writes dataset_info.json, train.jsonl and test.jsonl."""
    for name, count, seed in (("train", train, 1), ("test", test, 2)):
        lines = [json.dumps(r) for r in rows(count, seed)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    info = dataset_info("viggo", "train.jsonl")
    (folder / "dataset_info.json").write_text(json.dumps(info, indent=1))


def write_text(folder: pathlib.Path, lines: int = 200) -> None:
    """Writes a made-up text."""
    text = "\n".join(m["content"] for r in rows(lines, 3) for m in r["messages"][1:])
    (folder / "text.txt").write_text(text + "\n")


def tokenizer(folder: pathlib.Path) -> int:
    """Trains and writes a byte-level tokenizer with a chat template; returns its size."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    texts = [m["content"] for r in rows(200, 4) for m in r["messages"]]
    texts += ["system\n", "user\n", "assistant\n"]
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    wrapped.chat_template = CHAT_TEMPLATE
    wrapped.save_pretrained(folder)
    return len(wrapped)


def qwen(folder: pathlib.Path, seed: int = 0) -> None:
    """Writes a tiny Qwen2 with its tokenizer."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=tokenizer(folder),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=0,
    )
    Qwen2ForCausalLM(config).to(torch.float32).save_pretrained(folder)


def gpt2(folder: pathlib.Path, seed: int = 0) -> None:
    """Writes a tiny GPT-2 with its tokenizer."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=tokenizer(folder), n_positions=128, n_embd=32, n_layer=2, n_head=2
    )
    GPT2LMHeadModel(config).to(torch.float32).save_pretrained(folder)
