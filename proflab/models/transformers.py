"""Transformers: ViT-Ti/16, a BERT layer, GPT-2. Attention is written out in matmuls."""

from __future__ import annotations

import math

from proflab import nn
from proflab.creation import arange, ones, zeros
from proflab.graph import no_grad
from proflab.nn import init
from proflab.nn.attention import check_heads
from proflab.ops.concat import cat
from proflab.tensor import Tensor


def _heads(x: Tensor, heads: int) -> Tensor:
    """Return (batch, length, width) as (batch, heads, length, width / heads)."""
    b, t, d = x.shape
    return x.view(b, t, heads, d // heads).transpose(1, 2)


def _merge(x: Tensor) -> Tensor:
    """Return (batch, heads, length, head width) as (batch, length, width)."""
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


class Mlp(nn.Module):
    """Two linear layers around a GELU; `approximate` as in nn.GELU."""

    def __init__(self, d_model: int, d_hidden: int, approximate: str = "none"):
        self.fc = nn.Linear(d_model, d_hidden)
        self.gelu = nn.GELU(approximate)
        self.proj = nn.Linear(d_hidden, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.gelu(self.fc(x)))


class SelfAttention(nn.Module):
    """Queries, keys and values from one projection; `causal`: no token sees a later one."""

    def __init__(self, d_model: int, heads: int, causal: bool = False):
        self.head_dim = check_heads("SelfAttention", d_model, heads)
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        """cache: keys and values of the tokens before these, extended here by those of these."""
        q, k, v = (_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        if cache is not None:
            if "k" in cache:
                k, v = cat([cache["k"], k], 2), cat([cache["v"], v], 2)
            cache["k"], cache["v"] = k, v
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(self.head_dim))
        queries, keys = scores.shape[-2:]
        if self.causal and queries > 1:
            later = ones(queries, keys, dtype=bool, device=x.device).triu(1 + keys - queries)
            scores = scores.masked_fill(later, -math.inf)
        return self.proj(_merge(scores.softmax(-1) @ v))


class Block(nn.Module):
    """Attention and feed-forward network, each behind a LayerNorm and beside a shortcut."""

    def __init__(self, d_model: int, heads: int, causal=False, approximate="none", eps=1e-5):
        self.ln1 = nn.LayerNorm(d_model, eps=eps)
        self.attn = SelfAttention(d_model, heads, causal)
        self.ln2 = nn.LayerNorm(d_model, eps=eps)
        self.mlp = Mlp(d_model, 4 * d_model, approximate)

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        x = x + self.attn(self.ln1(x), cache)
        return x + self.mlp(self.ln2(x))


class VisionTransformer(nn.Module):
    """Dosovitskiy et al. 2020; Ti is the smallest of Touvron et al. (batch, 3, 224, 224) in."""

    def __init__(
        self,
        image: int = 224,
        patch: int = 16,
        d_model: int = 192,
        layers: int = 12,
        heads: int = 3,
        num_classes: int = 1000,
    ):
        patches = (image // patch) ** 2
        self.patch_embed = nn.Conv2d(3, d_model, patch, stride=patch)
        self.cls_token = nn.Parameter(zeros(1, 1, d_model))
        self.pos_embed = nn.Parameter(zeros(1, patches + 1, d_model))
        self.blocks = nn.ModuleList(Block(d_model, heads, eps=1e-6) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.head = nn.Linear(d_model, num_classes)
        init.trunc_normal_(self.cls_token, std=0.02)
        init.trunc_normal_(self.pos_embed, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        x = cat([cls, x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def vit_tiny16(num_classes: int = 1000) -> VisionTransformer:
    """Return ViT-Ti/16: width 192, 12 layers, 3 heads, patches of 16 by 16."""
    return VisionTransformer(num_classes=num_classes)


class BertLayer(nn.Module):
    """One encoder layer of Devlin et al. 2018, LayerNorm after. (batch, length, d_model) in."""

    def __init__(self, d_model: int = 768, heads: int = 12, d_hidden: int = 3072):
        self.head_dim = check_heads("BertLayer", d_model, heads)
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)
        self.ln1 = nn.LayerNorm(d_model, eps=1e-12)
        self.mlp = Mlp(d_model, d_hidden)
        self.ln2 = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (_heads(f(x), self.heads) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(self.head_dim))
        x = self.ln1(x + self.out(_merge(scores.softmax(-1) @ v)))
        return self.ln2(x + self.mlp(x))


def bert_layer() -> BertLayer:
    """Return a layer of BERT-base: width 768, 12 heads."""
    return BertLayer()


class GPT2(nn.Module):
    """Radford et al. 2019. Tokens (batch, length) in, logits (batch, length, vocab_size) out.

    tied: the last layer's weight is the token embedding itself, as published.
    """

    input_dtype = "int64"  # creation.example_input asks for it, and for vocab_size

    def __init__(
        self,
        vocab_size: int = 50257,
        context: int = 1024,
        d_model: int = 768,
        layers: int = 12,
        heads: int = 12,
        tied: bool = True,
    ):
        check_heads("GPT2", d_model, heads)
        self.vocab_size, self.context = vocab_size, context
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(Block(d_model, heads, True, "tanh") for _ in range(layers))
        self.ln_f = nn.LayerNorm(d_model)
        # Tied, its own weight would only be thrown away: let it have no data.
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False, device="meta" if tied else None)
        if tied:
            self.lm_head.weight = self.wte.weight
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                init.zeros_(parameter)
            elif parameter.dim() == 2:
                # Residual branches add up: the last projection of each starts smaller.
                scale = math.sqrt(2 * layers) if name.endswith("proj.weight") else 1
                init.normal_(parameter, 0, 0.02 / scale)

    def forward(self, tokens: Tensor, cache: list[dict] | None = None) -> Tensor:
        """cache: one dict a block, as made by `new_cache`; then `tokens` are only the new ones."""
        past = cache[0]["k"].shape[2] if cache and "k" in cache[0] else 0
        length = tokens.shape[1]
        if past + length > self.context:
            raise ValueError(f"GPT2: {past + length} tokens exceed the context of {self.context}")
        positions = arange(past, past + length, device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for i, block in enumerate(self.blocks):
            x = block(x, cache[i] if cache else None)
        return self.lm_head(self.ln_f(x))

    def new_cache(self) -> list[dict]:
        """Return an empty KV cache, to hand to `forward` together with the first tokens."""
        return [{} for _ in self.blocks]

    def generate(self, tokens: Tensor, new_tokens: int, use_cache: bool = True) -> Tensor:
        """Return `tokens` (batch, length) followed by the most likely next ones, one at a time."""
        cache = self.new_cache() if use_cache else None
        with no_grad():
            todo = tokens
            for _ in range(new_tokens):
                logits = self(todo, cache)
                new = logits[:, -1].argmax(-1, keepdim=True)
                tokens = cat([tokens, new], 1)
                todo = new if use_cache else tokens
        return tokens


_GPT2_SIZES = {  # width, layers, heads
    "small": (768, 12, 12),
    "medium": (1024, 24, 16),
    "large": (1280, 36, 20),
    "xl": (1600, 48, 25),
}


def gpt2(size: str = "small", tied: bool = True) -> GPT2:
    """Return GPT-2 "small", "medium", "large" or "xl"; ValueError for any other size.

    tied: the last layer's weight is the token embedding itself, as published
    """
    if size not in _GPT2_SIZES:
        raise ValueError(f"gpt2: there is no size {size!r}, only {', '.join(_GPT2_SIZES)}")
    d_model, layers, heads = _GPT2_SIZES[size]
    return GPT2(d_model=d_model, layers=layers, heads=heads, tied=tied)
