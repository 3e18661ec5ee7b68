"""Models learn: LeNet-5 the digits of scikit-learn, a small GPT a paragraph by heart."""

import numpy as np
import pytest

import proflab
from proflab import models, nn, optim
from proflab.nn import functional as F


@pytest.mark.whole
def test_lenet_learns_digits():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn ships the digits")
    digits = datasets.load_digits()
    proflab.manual_seed(0)
    images = np.zeros((len(digits.images), 1, 32, 32), np.float32)
    # 8×8 to 32×32 as LeNet wants it: each pixel a square of 3, in a border.
    images[:, 0, 4:28, 4:28] = digits.images.repeat(3, 1).repeat(3, 2) / 8 - 1
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1300], order[1300:]
    labels = digits.target.astype(np.int64)
    model = models.LeNet5()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(3):
        for start in range(0, len(train), 50):
            batch = train[start : start + 50]
            optimizer.zero_grad()
            logits = model(proflab.tensor(images[batch]))
            F.cross_entropy(logits, proflab.tensor(labels[batch])).backward()
            optimizer.step()
    model.eval()
    with proflab.no_grad():
        guesses = model(proflab.tensor(images[test])).argmax(1)
    accuracy = (guesses == proflab.tensor(labels[test])).float().mean().item()
    assert accuracy > 0.93


PARAGRAPH = "A measurement without its spread is a rumour. Run it again, warm, and say how often."


def test_a_small_gpt_overfits_a_paragraph_and_recites_it():
    proflab.manual_seed(0)
    letters = sorted(set(PARAGRAPH))
    tokens = np.array([[letters.index(c) for c in PARAGRAPH]], np.int64)
    model = models.GPT2(len(letters), len(PARAGRAPH), d_model=32, layers=2, heads=4)
    optimizer = optim.AdamW(model.parameters(), lr=8e-3, weight_decay=0.0)
    for _ in range(100):
        optimizer.zero_grad()
        logits = model(proflab.tensor(tokens[:, :-1]))
        loss = F.cross_entropy(logits.flatten(0, 1), proflab.tensor(tokens[0, 1:]))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert loss.item() < 0.1
    for use_cache in (True, False):
        said = model.generate(proflab.tensor(tokens[:, :12]), 50, use_cache=use_cache)
        assert "".join(letters[i] for i in said[0].tolist()) == PARAGRAPH[:62]


def test_generation_with_a_cache_runs_only_new_tokens():
    model = models.GPT2(50, 32, 16, 2, 2)
    tokens = proflab.randint(0, 50, (2, 5))
    lengths = []

    def h(call):
        if call.op == "embedding" and call.module_path == "wte":
            lengths.append(call.inputs[0].shape[1])
        return call()

    with proflab.dispatch.hook(h):
        cached = model.generate(tokens, 4)
        plain = model.generate(tokens, 4, use_cache=False)
    assert lengths == [5, 1, 1, 1, 5, 6, 7, 8]
    assert proflab.equal(cached, plain) and cached.shape == (2, 9)
    cache = model.new_cache()
    model(tokens, cache)
    assert cache[0]["k"].shape == (2, 2, 5, 8)


def test_batch_norm_remembers_what_it_saw():
    layer = nn.BatchNorm2d(3)
    x = proflab.randn(16, 3, 8, 8) * 2 + 5
    for _ in range(80):
        layer(x)
    np.testing.assert_allclose(layer.running_mean.numpy(), x.mean((0, 2, 3)).numpy(), rtol=1e-3)
    np.testing.assert_allclose(layer.running_var.numpy(), x.var((0, 2, 3)).numpy(), rtol=1e-3)
    assert layer.num_batches_tracked.item() == 80
    layer.eval()
    out = layer(x)
    assert abs(out.mean().item()) < 1e-2 and out.std().item() == pytest.approx(1, abs=1e-2)
