"""A small language model and a program that runs it. The program is right, and it is slow."""

import math

import numpy as np

import proflab
from proflab import nn
from proflab.nn import functional as F

WORDS, WIDTH, HEADS, BLOCKS = 256, 64, 4, 3
LENGTH = 96  # no text has more tokens


class Block(nn.Module):
    """Hold the weights of attention and of a feed-forward part."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (
            nn.ModuleList(nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(HEADS))
            for _ in range(3)
        )
        self.down, self.up = nn.Linear(WIDTH, 8, bias=False), nn.Linear(8, WIDTH, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)


class Decoder(nn.Module):
    """Hold the weights of a language model."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)


def make_model():
    """Return the model with fresh weights."""
    return Decoder()


def embed(model, tokens):
    """Return a vector for each token and its place, (texts, tokens, WIDTH)."""
    return model.words(tokens) + model.places.weight[: tokens.shape[1]]


def normalized(x, norm):
    """Return x with mean 0 and variance 1 in each row, scaled and shifted."""
    return norm(x)


def gelu(x):
    """Return GELU of x, by its tanh formula."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + inner.tanh())


def attend(query, key, value):
    """Return causal attention, (..., tokens, width of a head)."""
    query, key, value = (each.to(np.float64) for each in (query, key, value))
    later = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).triu(1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(later, -math.inf)
    shares = (scores - scores.max(-1, keepdim=True)[0]).exp()
    return (shares / shares.sum(-1, keepdim=True) @ value).to(np.float32)


def heads_of(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
    texts, tokens, _ = x.shape
    found = F.linear(x, proflab.cat(weights)).reshape(texts, tokens, 3, HEADS, WIDTH // HEADS)
    query, key, value = found.permute(2, 0, 3, 1, 4).unbind(0)
    return attend(query, key, value).transpose(1, 2).reshape(texts, tokens, WIDTH)


def attention(x, block):
    """Return what attention adds to x."""
    found = heads_of(normalized(x, block.norm1), block)
    return F.linear(found, block.up.weight @ block.down.weight)


def feed_forward(x, block):
    """Return what the feed-forward part adds to x."""
    return block.narrow(gelu(block.wide(normalized(x, block.norm2))))


def logits(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    x = embed(model, tokens)
    for block in model.blocks:
        x = x + attention(x, block)
        x = x + feed_forward(x, block)
    return model.head(normalized(x, model.norm))[:, -1]


def slow(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    return proflab.cat([logits(model, tokens[i : i + 1]) for i in range(tokens.shape[0])])
