"""Trains the classifier of lessons 08 and 12 and writes its weights, and the images that test it.

    python docs/digits/train.py        # writes proflab/lesson/digits.npz

The data are scikit-learn's digits: 1,797 images of 8 × 8 pixels from 0 to 16. Four fifths train,
the others test. scikit-learn is needed for this script alone; students load what it writes.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from proflab import Tensor, manual_seed, nn, no_grad
from proflab.lesson.digits import DATA
from proflab.optim import Adam

SEED, EPOCHS, BATCH = 8, 60, 64
TEST_IMAGES = 360


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training images, test images, training labels, test labels; pixels are uint8."""
    images, labels = load_digits(return_X_y=True)
    images, labels = images.astype(np.uint8), labels.astype(np.uint8)
    return train_test_split(
        images, labels, test_size=TEST_IMAGES, random_state=SEED, stratify=labels
    )


def train(images: np.ndarray, labels: np.ndarray) -> nn.Module:
    """Return a network of three linear layers, trained on these images."""
    manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    layers = [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)]
    model = nn.Sequential(*layers)
    optimizer = Adam(model.parameters(), lr=0.002)
    x, y = images.astype(np.float32) / 16, labels.astype(np.int64)
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(Tensor(x[chosen])), Tensor(y[chosen])).backward()
            optimizer.step()
    return model


def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that the network names right."""
    with no_grad():
        scores = model(Tensor(images.astype(np.float32) / 16)).numpy()
    return float((scores.argmax(axis=1) == labels).mean())


def main() -> None:
    """Train, say how well it went, and write the file."""
    train_images, test_images, train_labels, test_labels = split()
    model = train(train_images, train_labels)
    parameters = [p.detach().numpy().astype(np.float32) for p in model.parameters()]
    arrays = {f"{'wb'[at % 2]}{at // 2 + 1}": array for at, array in enumerate(parameters)}
    np.savez_compressed(DATA, **arrays, images=test_images, labels=test_labels)
    right = accuracy(model, test_images, test_labels)
    count = sum(array.size for array in parameters)
    print(f"{count:,} parameters, {right:.1%} of {len(test_labels)} images right")
    print(f"{DATA.name}: {DATA.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
