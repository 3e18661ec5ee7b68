# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 · What does it compute?
#
# ![Where the FLOPs of six models are, as bars of one length: nearly all in convolutions for LeNet-5, MobileNetV2 and ResNet-18, in linear layers for three Transformers, with 2 to 14 % between tokens.](where.png) <!-- with section 9 -->
#
# Seven popular tools were asked how much work GPT-2 small does for 128 tokens.
# They gave six answers, which differ by a factor of up to 123; half of that riddle is a unit.
# Anyone who plans a training run, compares two models or asks why a card reaches a tenth of its data sheet starts from such a number.
# In this lesson you write a counter that is right to the last FLOP, forward and backward, for models that you have never seen. <!-- with gradient_flops -->
# In this lesson you write a counter that is right to the last FLOP, for models that you have never seen. <!-- with count_flops, without gradient_flops -->
# It draws the picture above, and shows what each of the seven left out. <!-- with section 9 -->
#
# **You will be able to**
#
# - count the FLOPs of matrix products, convolutions and attention from their shapes; <!-- with conv2d_flops, attention_flops -->
# - count the FLOPs of matrix products and attention from their shapes; <!-- with attention_flops, without conv2d_flops -->
# - count the FLOPs of matrix products from their shapes; <!-- without attention_flops -->
# - count any model, without running it, by watching its operations;
# - say what a training step costs, and when that is not three forward passes;
# - find out what a published FLOP count has left out.
#
# **You need** lesson 01, matrix products, and for section 10 a first idea of gradients: training computes one for each parameter whose `requires_grad` is True. <!-- with gradient_flops -->
# **You need** lesson 01 and matrix products. <!-- without gradient_flops -->
# Arguments stay as they are.
#
# **You will not build** the shapes of convolutions, the rules of single ops and the backward pass of a whole model: they are given, in folded cells that you may read.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import numpy as np

import proflab
from proflab import Tensor, autograd, dispatch, example_input, meta, models, nn
from proflab.lesson import doubles, expect, expect_raises, expect_table, guesses, plot
from proflab.lesson.demo import demo_size
from proflab.nn import functional as F

# %% [markdown]
# ## 1 · Rows times columns
#
# A *FLOP* is one floating-point multiplication or addition.
# Nearly all FLOPs of a neural network are in matrix products.
#
# **Predict.** In each of its blocks, GPT-2 small widens the vector of every token from 768 to 3,072 features.
# How long does that take for 32 texts of 512 tokens, on a processor that does 100 billion FLOPs a second: about 8 milliseconds, 80 milliseconds, 0.8 seconds, 8 seconds?

# %% tags=["guess"]
guess_product_seconds = None  # your guess, in seconds


# %% [markdown]
# Each number of a product is a row times a column: k multiplications, each followed by an addition to the sum.
# Such a pair is a *multiply-add* and counts as two FLOPs.
# Some papers and tools count it as one, and call it a MAC (multiply-accumulate) or even a FLOP.
# **In this course FLOPs are 2 × the multiply-adds of matrix products and convolutions**, an exact int.
#
# ![A matrix of m rows and k columns times one of k rows and n columns. One row, one column and the number that they make are dark.](matmul.png)
#
# With m = 4, k = 6 and n = 5, as in the picture, the result has 20 numbers of 6 multiply-adds each: 120 multiply-adds, or 240 FLOPs.


# %% nbgrader={"grade": false, "grade_id": "matmul_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_flops(m, k, n):
    """Return the FLOPs of a matrix product, (m, k) times (k, n).

    m, k, n: ints, at least 1. Returns an int.

    >>> matmul_flops(4, 6, 5)
    240
    """
    ### BEGIN SOLUTION
    if min(m, k, n) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k} and {n}")
    return 2 * m * k * n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_matmul_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    matmul_flops,
    ("(2, 3) times (3, 4)", (2, 3, 4), 48, {"k − 1 additions": 40}),
    ("GPT-2's wider layer", (32 * 512, 768, 3072), 77_309_411_328),
    ("one number times one number", (1, 1, 1), 2),
    ("a count beyond 2⁶³", (10**7 + 1, 10**7, 10**6), 200_000_020_000_000_000_000),
)
### BEGIN HIDDEN TESTS
# vary: 32 in 21..48, 512 in 341..768
expect(
    "the way back, 3,072 to 768, costs as much",
    matmul_flops(32 * 512, 3072, 768),
    77_309_411_328,
)
# vary: 7 in 2..14, 5 in 2..10
expect("a matrix times a vector is a product with n = 1", matmul_flops(7, 5, 1), 70)
# vary: 6 in 2..12, 9 in 2..18
expect("a column times a row is a product with k = 1", matmul_flops(6, 1, 9), 108)
expect(
    "another count beyond 2⁶³ keeps every digit",
    matmul_flops(10**6, 10**8 + 3, 10**7),
    2_000_000_060_000_000_000_000,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_matmul_flops_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    matmul_flops,
    ("a size of 0", [(0, 3, 4), (2, 0, 4), (2, 3, 0)], ValueError),
    ("a size below 0", [(-2, 3, 4), (2, 3, -4)], ValueError),
    ("two negative sizes", [(2, -3, -4), (-2, 3, -4)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9
expect("sizes of 1 are in range", matmul_flops(1, 3, 1), 6)
# vary: 5 in 2..10
expect("one row is a matrix, too", matmul_flops(m=1, k=1, n=5), 10)
expect_raises("a negative k is refused", lambda: matmul_flops(2, -3, 4), ValueError)
expect_raises("n = 0 is refused", lambda: matmul_flops(5, 3, 0), ValueError)
expect_raises("two sizes below 1 are refused", lambda: matmul_flops(-2, -3, 4), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_matmul", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints how long the layer of your guess takes at 100 billion FLOPs a second.
seconds = matmul_flops(32 * 512, 768, 3072) / 100e9
guesses.compare("GPT-2's wider layer at 100 GFLOP/s", guess_product_seconds, seconds, unit="s")

# %% [markdown]
# A product of two (n, n) matrices has 2 · n³ FLOPs for 3 · n² numbers.
# The larger the matrices, the more work there is for each number that has to be fetched: this is why large products run fast (lesson 06).
#
# ## 2 · A linear layer and its rows
#
# A linear layer multiplies along the last dimension of its input.
# All others, such as the texts of a batch, the tokens of a text or the patches of an image, only add rows: an input of shape (32, 512, 768) is a matrix of 32 · 512 rows and 768 columns.
# The bias is added, not multiplied.
# It is *elementwise* work, which section 6 counts separately.
#
# A counter that looks at the layer alone finds 2 · in · out FLOPs, as if there were one row.
# For a text of 1,024 tokens it is wrong by a factor of 1,024.


# %% nbgrader={"grade": false, "grade_id": "linear_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_flops(input_shape, out_features):
    """Return the FLOPs of a linear layer on an input of this shape, without its bias.

    input_shape: (..., in_features), a tuple or a list with any number of leading dimensions, also
        none; all are counted. out_features: int, at least 1. Returns an int.
    Raises ValueError for an empty shape.

    >>> linear_flops((2, 3, 4), 5)
    240
    """
    ### BEGIN SOLUTION
    *leading, in_features = input_shape or (0,)
    if min(in_features, out_features, *leading) < 1:
        raise ValueError(f"no linear layer to {out_features} takes the shape {input_shape}")
    return matmul_flops(math.prod(leading), in_features, out_features)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_linear_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("one vector", linear_flops((128,), 64), 16_384)
expect("one feature, one output", linear_flops((1,), 1), 2)
batch = linear_flops((32, 128), 64)
expect("a batch of 32 vectors", batch, 524_288, mistakes={"the batch is left out": 16_384})
expect("2 texts of 1,024 tokens in GPT-2", linear_flops((2, 1024, 768), 3072), 9_663_676_416)
shape = [2, 3, 5, 7, 11]
expect("the same batch, other outputs", linear_flops((32, 128), 10), 81_920)
rows = linear_flops(shape, out_features=13)
expect("four leading dimensions, in a list", rows, 60_060, mistakes={"a bias is counted": 62_790})
expect("the list stays as it is", shape == [2, 3, 5, 7, 11], True)
large = linear_flops((10**7, 10**7), 10**6)
expect("a count beyond 2⁶³", large, 200_000_000_000_000_000_000)
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9, 6 in 2..12, 5 in 2..10
expect("a shape may be a list", linear_flops([4, 6], 5), 240)
# vary: 3 in 2..9, 9 in 2..18
expect("a layer may have one output", linear_flops((3, 9), 1), 54)
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9, 7 in 2..14
expect("all five leading dimensions add rows", linear_flops((2, 1, 3, 2, 5, 4), 7), 3_360)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_linear_flops_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    linear_flops,
    ("an empty shape", [((), 5), ([], 5)], ValueError),
    ("an empty batch, no features", [((0, 3, 5), 4), ((3, 0), 4), ((0,), 4)], ValueError),
    ("two negative sizes", [((-2, -3, 5), 4), ((3, -5), -4)], ValueError),
    ("no outputs, fewer", [((2, 3), 0), ((2, 3), -1)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9
expect("one row of one feature", linear_flops((1, 1), 3), 6)
expect("one output for each of four rows", linear_flops((4, 1), 1), 8)
expect_raises("texts without tokens are refused", lambda: linear_flops((4, 0, 3), 2), ValueError)
expect_raises("an input without features is refused", lambda: linear_flops((4, 0), 2), ValueError)
expect_raises(
    "two negative sizes are refused, also where one is the outputs",
    lambda: linear_flops((4, -6), -5),
    ValueError,
)
expect_raises(
    "a negative number of outputs is refused", lambda: linear_flops((4, 6), -5), ValueError
)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · How many places a window has
#
# A convolution applies its filters at many places of an image.
#
# **Predict.** ResNet-18's first layer moves a window of 7 × 7 pixels by two over an image of 224 × 224 that has a border of three.
# At how many places along one side does the window stop?

# %% tags=["guess"]
guess_places = None  # your guess: places along one side

# %% [markdown]
# Five numbers decide how many places there are along one side.
# A border of `padding` elements is added at both ends.
# The kernel's elements lie `dilation` apart, so that its window spans dilation · (kernel − 1) + 1 elements.
# And the window moves by `stride`, as long as it fits.
#
# ![A row of eight squares with a border of one on each side, and below it the four places of a window of three that moves by two squares.](windows.png)
#
# In the picture, a window at its first place leaves 8 + 2 · 1 − 3 = 7 squares to move over.
# Three steps of 2 fit, and with the first place that makes four.
# The last square is never reached.


# %% nbgrader={"grade": false, "grade_id": "pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
def pair(value):
    """Return an int for both directions, or (vertical, horizontal), as a tuple of two."""
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{value} is neither a number nor a pair")
    return both


# %% nbgrader={"grade": false, "grade_id": "conv2d_output_shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_output_shape(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1):
    """Return the shape of a 2-d convolution's output, (batch, out_channels, height, width).

    input_shape: (batch, channels, height, width), a tuple or a list. kernel_size, stride, padding,
        dilation: ints, or pairs (vertical, horizontal), tuples or lists. Returns a tuple of ints.
    Raises ValueError for what is no pair, or has not four sizes, and when the window does not fit
    into the padded image. Padding may be 0.

    >>> conv2d_output_shape((1, 3, 8, 8), 4, 3, stride=2, padding=1)
    (1, 4, 4, 4)
    """
    ### BEGIN SOLUTION
    if len(input_shape) != 4:
        raise ValueError(f"{input_shape} is not (batch, channels, height, width)")
    kernel_size, stride, padding, dilation = map(pair, (kernel_size, stride, padding, dilation))
    if min(*input_shape, out_channels, *kernel_size, *stride, *dilation) < 1 or min(padding) < 0:
        raise ValueError("sizes, strides and dilations are at least 1, and padding at least 0")
    sides = input_shape[2:], kernel_size, stride, padding, dilation
    places = []
    for size, k, s, p, d in zip(*sides, strict=True):
        room = size + 2 * p - (d * (k - 1) + 1)
        if room < 0:
            raise ValueError(
                f"a kernel of {k} with dilation {d} does not fit into {size} + 2 · {p}"
            )
        places.append(room // s + 1)
    return (input_shape[0], out_channels, *places)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_conv2d_output_shape", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect("LeNet-5's first", conv2d_output_shape((1, 1, 32, 32), 6, 5), (1, 6, 28, 28))
expect("ResNet's first", conv2d_output_shape((8, 3, 224, 224), 64, 7, 2, 3), (8, 64, 112, 112))
expect("its images, one pixel", conv2d_output_shape((8, 3, 224, 224), 9, 1), (8, 9, 224, 224))
expect("a kernel of 3 × 5", conv2d_output_shape((1, 3, 20, 30), 4, (3, 5)), (1, 4, 18, 26))
expect("a dilation of 2", conv2d_output_shape((2, 4, 9, 9), 4, 3, dilation=2), (2, 4, 5, 5))
expect("strides that leave a rest", conv2d_output_shape((1, 1, 10, 11), 1, 3, 4), (1, 1, 2, 3))
image, kernel, stride = [2, 2, 9, 12], [3, 2], [1, 2]
each = conv2d_output_shape(image, 3, kernel, stride, padding=[0, 1], dilation=(2, 3))
expect("a pair of each, vertical first, also as a list", each, (2, 3, 5, 6))
expect(
    "the lists stay as they are", [image, kernel, stride] == [[2, 2, 9, 12], [3, 2], [1, 2]], True
)
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9
each = conv2d_output_shape((3, 5, 17, 23), 7, (2, 5), (3, 2), (1, 0), (4, 2))
expect("each side has its own kernel, stride, padding and dilation", each, (3, 7, 5, 8))
whole = conv2d_output_shape((1, 2, 4, 6), 3, (4, 6))
expect("a kernel as large as the image has one place", whole, (1, 3, 1, 1))
expect(
    "a stride of 3 is rounded down on both sides",
    conv2d_output_shape((4, 2, 12, 13), 5, 2, 3),
    (4, 5, 4, 4),
)
expect(
    "padding may be larger than image and kernel",
    conv2d_output_shape((1, 1, 1, 1), 2, 1, 1, 3),
    (1, 2, 7, 7),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_output_shape_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
image, low = (1, 1, 9, 9), (1, 1, 9, 4)
expect_table(
    conv2d_output_shape,
    ("a window that just fits", ((1, 1, 3, 3), 1, 5, 1, 1), (1, 1, 1, 1)),
    ("three sizes, five, none", [((1, 9, 9), 1, 3), ((1, *image), 1, 3), ((), 1, 3)], ValueError),
    (
        "an empty batch; no channels, outputs or kernel",
        [
            ((0, 1, 4, 4), 1, 3),
            ((1, 0, 4, 4), 1, 3),
            (image, 0, 3),
            (image, -1, 3),
            (image, 1, (3, 0)),
            (image, 1, (0, 3)),
        ],
        ValueError,
    ),
    (
        "stride, padding and dilation out of range",
        [
            (image, 1, 3, (1, 0)),
            (image, 1, 3, -1),
            (image, 1, 3, 1, -1),
            (image, 1, 3, 1, (-1, 0)),
            (image, 1, 3, 1, 0, -1),
        ],
        ValueError,
    ),
    (
        "too wide if dilated; no pairs",
        [
            (low, 1, 3, 1, 0, 2),
            (image, 1, (3, 3, 3)),
            (image, 1, [3]),
            (image, 1, 3, [1, 1, 1]),
            (image, 1, 3, 1, 0, ()),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
small, large = (1, 1, 4, 4), (1, 1, 9, 9)
whole = conv2d_output_shape((2, 3, 7, 5), 4, (7, 5))
expect("a window as large as the image has one place", whole, (2, 4, 1, 1))
dilated = conv2d_output_shape((1, 2, 5, 7), 6, 3, 1, 0, 2)
expect("a dilated window that just fits", dilated, (1, 6, 1, 3))
expect_raises(
    "dilation widens the window, which then does not fit",
    lambda: conv2d_output_shape(small, 1, 3, 1, 0, 2),
    ValueError,
)
expect_raises(
    "the window has to fit on both sides",
    lambda: conv2d_output_shape((1, 1, 9, 2), 1, (3, 3)),
    ValueError,
)
expect_raises(
    "a negative vertical stride is refused",
    lambda: conv2d_output_shape(large, 1, 3, (-2, 1)),
    ValueError,
)
expect_raises(
    "negative padding on one side is refused",
    lambda: conv2d_output_shape(large, 1, 3, 1, (0, -2)),
    ValueError,
)
expect_raises(
    "a list of one is not a pair",
    lambda: conv2d_output_shape(large, 1, 3, [2]),
    ValueError,
)
expect_raises(
    "a dilation of 0 is refused",
    lambda: conv2d_output_shape(large, 1, 3, 1, 0, 0),
    ValueError,
)
expect_raises("a kernel of size 0 is refused", lambda: conv2d_output_shape(large, 1, 0), ValueError)
expect_raises(
    "negative sizes are refused, however many there are",
    lambda: conv2d_output_shape((-1, -2, 9, 9), -3, 3),
    ValueError,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_places", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the places along a side of 224 pixels, for the first layer of ResNet-18 and three others.
windows = {
    "7 wide, moved by 2, border of 3": (7, 2, 3),
    "3 wide, moved by 2, border of 1": (3, 2, 1),
}
windows |= {
    "3 wide, moved by 1, border of 1": (3, 1, 1),
    "7 wide, moved by 4, no border": (7, 4, 0),
}
places = {name: conv2d_output_shape((1, 3, 224, 224), 64, *w)[2] for name, w in windows.items()}
for name, count in places.items():
    print(f"{name:<34}{count:>4} places")
first = next(iter(places.values()))
guesses.compare("places along a side of ResNet-18's first layer", guess_places, first)

# %% [markdown]
# A stride of 2 halves the places along each side, and so leaves a quarter of the work.
#
# ## 4 · A filter at each place
#
# At each place, each filter multiplies and adds everything that its window covers, in the channels of its group.
# The same few parameters are used at every place of every image, so a small layer can be a lot of work.
# LeNet-5's first layer has 6 filters of 25 weights and 28 · 28 places: 117,600 multiply-adds, or 235,200 FLOPs.
#
# **Predict.** AlexNet has 96 % of its parameters in its three linear layers (lesson 01), and most of its work in its five convolutions.
# Which of its eight layers, conv1 to conv5 and fc6 to fc8, does the most work?

# %% tags=["guess"]
guess_most_work = None  # your guess, such as "fc8"


# %% nbgrader={"grade": false, "grade_id": "conv2d_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_flops(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1):
    """Return the FLOPs of a 2-d convolution on an input of this shape, batch included, no bias.

    Arguments as for conv2d_output_shape; groups: int, at least 1, divides both channel numbers.
    Returns an int. Raises ValueError as conv2d_output_shape does, and for groups that do not divide
    the channels.

    >>> conv2d_flops((1, 3, 8, 8), 4, 3, stride=2, padding=1)
    3456
    """
    ### BEGIN SOLUTION
    output = conv2d_output_shape(input_shape, out_channels, kernel_size, stride, padding, dilation)
    channels = input_shape[1]
    if groups < 1 or channels % groups or out_channels % groups:
        raise ValueError(f"{channels} and {out_channels} channels do not make {groups} groups")
    return 2 * math.prod(output) * channels // groups * math.prod(pair(kernel_size))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_conv2d_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect("LeNet-5's first", conv2d_flops((1, 1, 32, 32), 6, 5), 235_200)
resnet = conv2d_flops((32, 3, 224, 224), 64, 7, stride=2, padding=3)
expect("32 × ResNet's", resnet, 7_552_892_928, mistakes={"stride is ignored": 30_211_571_712})
expect("a window that just fits", conv2d_flops((1, 6, 8, 8), 6, 8), 4_608)
expect("a kernel of 3 × 5", conv2d_flops((1, 3, 20, 30), 4, (3, 5)), 168_480)
expect("a dilation of 2", conv2d_flops((1, 1, 9, 9), 1, 3, dilation=2), 450)
lists = [2, 2, 9, 12], 3, [3, 2], [1, 2], [0, 1], [2, 3]
expect("lists, with a pair of each", conv2d_flops(*lists), 4_320)
expect(
    "the lists stay as they are", lists == ([2, 2, 9, 12], 3, [3, 2], [1, 2], [0, 1], [2, 3]), True
)
large = conv2d_flops((4, 10**8 + 1, 99, 99), 10**8, (1, 2))
expect("a count beyond 2⁶³", large, 155_232 * 10**8 * (10**8 + 1))
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 4 in 2..9
expect(
    "neither image nor kernel need be square",
    conv2d_flops((2, 4, 9, 16), 6, (2, 7), 1, (0, 3)),
    172_032,
)
# vary: 4 in 2..9, 256 in 170..384, 14 in 9..21, 512 in 341..768
expect("a 1 × 1 kernel reads all channels", conv2d_flops((4, 256, 14, 14), 512, 1), 205_520_896)
expect("dilation and stride reduce the places", conv2d_flops((1, 2, 15, 15), 3, 3, 2, 1, 2), 5_292)
# vary: 3 in 2..9, 5 in 2..8, 17 in 11..25, 23 in 20..34, 7 in 2..14
expect(
    "each side has its own kernel, stride, padding and dilation",
    conv2d_flops((3, 5, 17, 23), 7, (2, 5), (3, 2), (1, 0), (4, 2)),
    84_000,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_flops_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
depthwise = (1, 32, 112, 112)
expect_table(
    conv2d_flops,
    (
        "depthwise",
        (depthwise, 32, 3, 1, 1, 1, 32),
        7_225_344,
        {"groups are ignored": 231_211_008},
    ),
    ("2 groups, more outputs", ((1, 4, 8, 8), 6, 3, 1, 0, 1, 2), 7_776),
)
### BEGIN HIDDEN TESTS
expect(
    "AlexNet's second layer has two groups",
    conv2d_flops((2, 96, 27, 27), 256, 5, 1, 2, 1, 2),
    895_795_200,
)
more = conv2d_flops((1, 4, 6, 6), 12, 3, groups=4)
expect("a depthwise layer may have more outputs than inputs", more, 3_456)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_flops_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
image, odd = (1, 6, 8, 8), (1, 5, 8, 8)
expect_table(
    conv2d_flops,
    ("2 groups of 5, of 7", [(odd, 4, 3, 1, 0, 1, 2), (image, 7, 3, 1, 0, 1, 2)], ValueError),
    ("no groups, −3", [(image, 6, 3, 1, 0, 1, 0), (image, 6, 3, 1, 0, 1, -3)], ValueError),
    (
        "no batch, no channels; three sizes, five",
        [((0, 6, 8, 8), 6, 3), ((1, 0, 8, 8), 6, 3), ((1, 8, 8), 6, 3), ((1, *image), 6, 3)],
        ValueError,
    ),
    (
        "a kernel of three; a window that does not fit",
        [(image, 6, (1, 3, 3)), (image, 6, [1, 3, 3]), (image, 6, 9), (image, 6, (1, 9))],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("a window as large as the image", conv2d_flops((1, 2, 3, 5), 4, (3, 5)), 240)
expect("one place, one channel, one filter", conv2d_flops((1, 1, 1, 1), 1, 1), 2)
expect_raises(
    "3 groups do not divide 8 outputs",
    lambda: conv2d_flops((1, 6, 8, 8), 8, 3, groups=3),
    ValueError,
)
expect_raises("an image needs four sizes", lambda: conv2d_flops((6, 8, 8), 6, 3), ValueError)
expect_raises(
    "no outputs are refused", lambda: conv2d_flops((1, 6, 8, 8), 0, 3, groups=3), ValueError
)
expect_raises(
    "a window that is too high is refused", lambda: conv2d_flops((1, 6, 2, 8), 6, 3), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_conv2d", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws where AlexNet's parameters are, and where its work is.
from built import conv2d_parameters, linear_parameters  # from lesson 01
from demos import CONVOLUTIONS, LINEAR

sizes, flops = {}, {}
for name, (image, *settings) in CONVOLUTIONS.items():
    sizes[name] = conv2d_parameters(image[1], *settings[:2], groups=settings[-1])
    flops[name] = conv2d_flops(image, *settings)
sizes["fc6–8"] = sum(linear_parameters(i, o) for i, o in LINEAR)
flops["fc6–8"] = sum(linear_flops((1, i), o) for i, o in LINEAR)
layers = flops | {f"fc{n}": linear_flops((1, i), o) for n, (i, o) in enumerate(LINEAR, start=6)}
del layers["fc6–8"]
guesses.compare("most of AlexNet's work", guess_most_work, max(layers, key=layers.get))
both = {"parameters": sizes, "FLOPs, one image": flops}
plot.shares(both, unit="parameters or FLOPs", title="AlexNet, layer by layer")

# %% [markdown]
# 4 % of the parameters do 92 % of the work.
# To make AlexNet's file smaller, prune its linear layers; to make it faster, change its convolutions.
#
# ## 5 · Attention, and a formula to distrust
#
# Self-attention consists of four linear layers from d to d, *the projections*, and of two products between tokens.
# The d features of a token are divided among h *heads*.
# In each head, queries times keys give a matrix of s × s *scores*, and scores times values give the *mix*.
# For one text of s = 4 tokens, d = 6 and 2 heads, the scores are two products of (4, 3) times (3, 4): 192 FLOPs.
#
# In a *causal* model, token i attends only to tokens 1 to i, so that s (s + 1) / 2 of the s² scores matter.
# Most code computes all of them and discards half.
# Therefore we count all, unless `causal=True` asks for those that matter.
#
# **Predict.** GPT-2 small has d = 768.
# From how many tokens on are scores and mix more work than the projections?

# %% tags=["guess"]
guess_attention_tokens = None  # your guess: how many tokens?


# %% nbgrader={"grade": false, "grade_id": "attention_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_flops(batch, seq, d_model, heads, causal=False):
    """Return the FLOPs of multi-head self-attention: four projections, scores, and mix.

    batch, seq (tokens), d_model (width), heads: ints, at least 1.
    causal: of scores and mix count only the pairs of a token with itself and those before it.
    Returns an int; no bias, no softmax. Raises ValueError if heads does not divide d_model.

    >>> attention_flops(1, 4, 6, 2)
    1536
    """
    ### BEGIN SOLUTION
    if min(batch, seq, d_model, heads) < 1 or d_model % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d_model}, or a size is below 1")
    projections = 4 * linear_flops((batch, seq, d_model), d_model)
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    return projections + 2 * matmul_flops(batch * pairs, d_model, 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    attention_flops,
    (
        "GPT-2 small",
        (1, 1024, 768, 12),
        8_053_063_680,
        {"the projections are halved": 5_637_144_576},
    ),
    ("BERT-base", (8, 128, 768, 12), 5_234_491_392, {"no output projection": 4_026_531_840}),
    ("one token", (1, 1, 64, 4), 33_024),
    ("all sizes 1", (1, 1, 1, 1), 12),
    ("a count beyond 2⁶³", (10**6, 10**6, 10**4, 100), 40_800 * 10**18),
)
### BEGIN HIDDEN TESTS
# vary: 5 in 2..10, 64 in 42..96, 512 in 256..768 by 128
expect("each text of a batch counts", attention_flops(5, 64, 512, 8), 713_031_680)
expect("one head costs as much as many", attention_flops(3, 7, 10, 1), 22_680)
expect("there may be as many heads as features", attention_flops(3, 7, 10, heads=10), 22_680)
expect("a long text keeps every digit", attention_flops(1, 100_000, 12288, 96), 612_315_955_200_000)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attention_flops_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *sizes: attention_flops(*sizes, causal=True),
    ("causal, one token", (1, 1, 64, 4), 33_024),
    (
        "causal, 3,000,001 texts of 100,001 tokens",
        (3_000_001, 100_001, 64, 4),
        3_849_946_982_387_233_024,
    ),
    ("causal, 2 texts of 3 tokens", (2, 3, 4, 2), 960, {"no token sees itself": 864}),
    (
        "causal, 1,024 tokens",
        (1, 1024, 768, 12),
        6_444_023_808,
        {"causal is ignored": 8_053_063_680},
    ),
)
### BEGIN HIDDEN TESTS
expect(
    "an odd number of tokens has a whole number of pairs", attention_flops(2, 5, 6, 3, True), 3_600
)
# vary: 8 in 2..16, 512 in 341..768, 1024 in 512..1_536 by 256
expect(
    "only scores and mix are fewer in a causal model",
    attention_flops(8, 512, 1024, 16, causal=True),
    38_663_094_272,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attention_flops_3", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}

# Formulas for attention that are wrong in one of their two terms are copied widely. A test at a
# usual size may not tell, so here are sizes at which one term or the other is nearly everything.
expect_table(
    attention_flops,
    (
        "8 tokens, 12,288 wide",
        (1, 8, 12288, 96),
        9_666_822_144,
        {"the projections are halved": 4_834_983_936},
    ),
    (
        "16,384 tokens, 64 wide",
        (1, 16384, 64, 4),
        69_256_347_648,
        {"scores and mix are halved": 34_896_609_280},
    ),
    ("as many tokens as 2 · d: two halves", (1, 1536, 768, 12), 14_495_514_624),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 2 in 2..9, 4096 in 2_048..6_144 by 1024
expect("in a wide model the projections are the work", attention_flops(3, 2, 4096, 32), 805_502_976)
# vary: 8192 in 5_461..12_288, 32 in 16..48 by 8
expect("in a long text scores and mix are", attention_flops(2, 8192, 32, 2), 17_314_086_912)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attention_flops_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    attention_flops,
    ("5 heads that do not divide 64", [(1, 8, 64, 5), (1, 8, 64, 5, True)], ValueError),
    ("no batch, no tokens", [(0, 8, 64, 4), (1, 0, 64, 2)], ValueError),
    ("no heads, −4", [(1, 8, 64, 0), (1, 8, 64, -4), (1, 8, 64, 0, True)], ValueError),
    ("no width, less than none", [(1, 8, 0, 4), (1, 8, -64, 4), (1, 8, 0, 4, True)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9
expect("one head of one feature", attention_flops(1, 2, 1, 1), 32)
expect("causal, two tokens of one feature", attention_flops(1, 2, 1, 1, causal=True), 28)
expect_raises("zero heads are refused", lambda: attention_flops(2, 5, 32, 0), ValueError)
expect_raises("a text without tokens is refused", lambda: attention_flops(1, 0, 64, 4), ValueError)
expect_raises("a negative batch is refused", lambda: attention_flops(-1, 8, 64, 4), ValueError)
expect_raises(
    "sizes are checked in a causal model too", lambda: attention_flops(1, 4, 0, 1, True), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints four formulas for attention beside yours, each of their terms by itself.
formulas = {
    "8·b·s·d² + 4·b·s²·d  counted as here": lambda b, s, d: (8 * b * s * d**2, 4 * b * s**2 * d),
    "4·b·s·d² + 2·b·s²·d  Swin, eq. 1": lambda b, s, d: (4 * b * s * d**2, 2 * b * s**2 * d),
    "8·b·s·d² + 2·b·s²·d  Kaplan, table 1": lambda b, s, d: (8 * b * s * d**2, 2 * b * s**2 * d),
    "4·b·s·d² + 4·b·s²·d  copied widely": lambda b, s, d: (4 * b * s * d**2, 4 * b * s**2 * d),
}
print(f"{'ratios, 128 × 1,024 tokens, d = 768':<38}projections  scores, mix      all")
right, both = 4 * linear_flops((128, 1024, 768), 768), attention_flops(128, 1024, 768, 12)
for name, formula in formulas.items():
    linear, between = formula(128, 1024, 768)
    ratios = linear / right, between / (both - right), (linear + between) / both
    print(f"{name:<38}" + "".join(f"{ratio:>11.2f}×" for ratio in ratios))

# %% [markdown]
# All four are called FLOPs.
# The [Swin paper](https://arxiv.org/abs/2103.14030) counts multiply-adds, in both terms.
# [Kaplan et al.](https://arxiv.org/abs/2001.08361) do not say which pairs they count; their row equals half of the pairs, which is what a causal model needs on average.
# The last formula counts its projections in multiply-adds and the rest in FLOPs.
# No unit makes it right, and how far it is off depends on s and d.
# Test a formula of two terms at two sizes.

# %% nbgrader={"grade": false, "grade_id": "demo_attention_share", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the share of attention that is scores and mix, by the length of the text.
from demos import mark_guess

lengths = demo_size(full=[128, 256, 512, 1024, 2048, 4096, 8192, 16384], small=[128, 16384])
between = {}
for d in (768, 1600, 12288):
    parts = [(s, 4 * linear_flops((s, d), d), attention_flops(1, s, d, 1)) for s in lengths]
    between[f"d = {d:,}"] = [(s, 1 - projections / both) for s, projections, both in parts]
even = next(s for s in range(1, 10**5) if attention_flops(1, s, 768, 1) / s >= 16 * 768**2)
guesses.compare("tokens at which half of attention is scores and mix", guess_attention_tokens, even)
look = {"x": "tokens", "y": "share of attention", "log": "x", "title": "Scores and mix"}
picture = plot.curves(between, show="{:.0%}".format, **look)
mark_guess(picture, guess_attention_tokens)

# %% [markdown]
# Scores and mix are half of the work at s = 2 · d, however many heads there are. "Attention is quadratic" is true, and yet in a wide model the quadratic part is usually the smaller one.
#
# ## 6 · Elementwise work
#
# The rest of a model works element by element: it adds a bias, applies a ReLU, normalizes a row.
# How many FLOPs is a `gelu`?
# That depends on how it is computed and on which processor, and there is no agreement.
# This course fixes a number for each op, and never adds these FLOPs to those of products.
#
# **Predict.** How much elementwise work does a block of GPT-2 small do for 1,024 tokens, in percent of its matrix products?

# %% tags=["guess"]
guess_elementwise_percent = None  # your guess, in percent

# %% nbgrader={"grade": false, "grade_id": "elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false}
# This course's convention: FLOPs for each element of the op's result.
ELEMENTWISE = {
    "add": 1,
    "mul": 1,
    "relu": 1,
    "bias": 1,
    "gelu": 8,
    "softmax": 5,
    "layer_norm": 8,
    "batch_norm": 2,
    "batch_norm_train": 8,  # in eval it is one multiply-add
}


# %% nbgrader={"grade": false, "grade_id": "elementwise_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def elementwise_flops(op, shape):
    """Return the FLOPs of an elementwise op whose result has this shape, by the table ELEMENTWISE.

    op: a key of the table. shape: a tuple of ints, at least 1; () is a single number.
    Returns an int.

    >>> elementwise_flops("gelu", (2, 3))
    48
    """
    ### BEGIN SOLUTION
    if op not in ELEMENTWISE or any(size < 1 for size in shape):
        raise ValueError(f"{op!r} on {shape}: the table has {', '.join(ELEMENTWISE)}")
    return ELEMENTWISE[op] * math.prod(shape)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_elementwise_flops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU of 8 × 16 elements", elementwise_flops("relu", (8, 16)), 128)
expect("softmax, 64 × 12 heads", elementwise_flops("softmax", (64, 12, 1024, 1024)), 4_026_531_840)
expect("batch norm in eval", elementwise_flops("batch_norm", (5, 3)), 30)
expect("batch norm in training", elementwise_flops("batch_norm_train", (5, 3)), 120)
expect("a single number", elementwise_flops("gelu", ()), 8)
large = elementwise_flops("add", (10**7, 10**7, 10**6))
expect("a count beyond 2⁶³", large, 100 * 10**18)
### BEGIN HIDDEN TESTS
# vary: 7 in 2..14, 3 in 2..9
shape, single = (7, 5, 3), ()
names = ["add", "mul", "bias", "gelu", "layer_norm", "batch_norm", "batch_norm_train"]
counts = [elementwise_flops(name, shape) for name in names]
expect("each op has the table's number", counts, [105, 105, 105, 840, 840, 210, 840])
expect("a single number has the shape ()", elementwise_flops("softmax", single), 5)
expect("every dimension counts, also the batch", elementwise_flops("softmax", (2, 3, 5, 5)), 750)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_elementwise_flops_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    elementwise_flops,
    ("one element", ("relu", (1,)), 1),
    ("not in the table", [("sine", (4,)), ("norm", (4,)), ("batch", (4,))], ValueError),
    ("a size of 0", [("add", (3, 0)), ("add", (0, 3))], ValueError),
    ("a size below 0, two", [("mul", (-3,)), ("mul", (-3, -2))], ValueError),
)
### BEGIN HIDDEN TESTS
expect("three elements of a layer norm", elementwise_flops("layer_norm", (1, 3)), 24)
# vary: 6 in 2..12
expect("a bias of one row", elementwise_flops(op="bias", shape=(1, 6)), 6)
expect_raises("a first size of 0 is refused", lambda: elementwise_flops("gelu", (0, 4)), ValueError)
expect_raises(
    "one negative size is refused", lambda: elementwise_flops("add", (3, -1, 2)), ValueError
)
expect_raises(
    "an empty name is not in the table", lambda: elementwise_flops("", (3, 2)), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the FLOPs of a block of GPT-2 small: products, and elementwise work.
row, wide, scores = (1024, 768), (1024, 4 * 768), (12, 1024, 1024)
linear = 4 * linear_flops(row, 768) + 2 * linear_flops(row, 4 * 768)
between = attention_flops(1, 1024, 768, 12) - 4 * linear_flops(row, 768)
products = {"linear layers": linear, "scores and mix": between}
rest = {"softmax": elementwise_flops("softmax", scores), "gelu": elementwise_flops("gelu", wide)}
rest["2 layer norms"] = 2 * elementwise_flops("layer_norm", row)
rest["biases"] = 5 * elementwise_flops("bias", row) + elementwise_flops("bias", wide)
rest["2 additions"] = 2 * elementwise_flops("add", row)
percent = 100 * sum(rest.values()) / sum(products.values())
guesses.compare("elementwise FLOPs of the block", guess_elementwise_percent, percent, unit="%")
plot.bars(products | rest, unit="FLOPs", title="A block of GPT-2 small, 1,024 tokens", log=True)

# %% [markdown]
# Together they are less than one percent, and so FLOP counts leave them out.
# The clock does not: lesson 06 shows why these few FLOPs take much of the time.
#
# **Take a break here.** What follows needs only `matmul_flops`, `linear_flops` and `conv2d_flops`.
#
# ## 7 · Letters for dimensions
#
# `einsum` describes a product by naming its dimensions.
# In `"ij,jk->ik"`, a matrix product, j stands in both operands and not in the result: numbers are multiplied along j and *summed*.
# Three rules give the FLOPs of two operands, and `einsum_flops` applies them:
#
# - Each combination of the labels' values costs one multiply-add. With i = 2, j = 3 and k = 4 there are 24, or 48 FLOPs.
# - A label that only one operand has, and that the result does not have, is summed before anything is multiplied. It does not count: in `"ijx,jk->ik"` the size of x does not matter.
# - If no label that both operands have is summed, as in `"i,j->ij"` or `"bi,bi->bi"`, there are products but no sums. That is elementwise work, and counts as 0 here.
#
# <details><summary>Hint 1: which letters multiply the work?</summary>
#
# Write down the labels of `"bhid,bhjd->bhij"`, and beside each the parts in which it stands: first operand, second operand, result.
# Which make the result larger?
# Which makes each of its numbers more work?
#
# </details>
# <details><summary>Hint 2: the shape of the answer</summary>
#
# You need a dict from each label to its size, and two sets: the labels that both operands have, and the labels of the result.
# Comparing them tells you whether the answer is 0.
# If it is not, the labels in either of them count.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "einsum_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def einsum_flops(equation, shapes):
    """Return the FLOPs of an einsum of one operand or two.

    equation: labels with "->", no spaces, no "...", no label twice in one part: "bij,jk->bik".
    shapes: a list of as many shapes as there are operands. Returns an int: 0 for one operand, and
    where no label that both have is summed. Raises ValueError for more than two operands.

    >>> einsum_flops("ij,jk->ik", [(4, 6), (6, 5)])
    240
    """
    ### BEGIN SOLUTION
    operands, out = equation.split("->")
    first, *others = operands.split(",")
    if len(others) > 1:
        raise ValueError(f"{equation} has more than two operands")
    shared = set(first) & set("".join(others))
    if shared <= set(out):
        return 0
    sizes = {}
    for labels, shape in zip((first, *others), shapes, strict=True):
        sizes |= zip(labels, shape, strict=True)
    return 2 * math.prod(sizes[label] for label in shared | set(out))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_einsum_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
one_label_each = [(2, 3), (4, 5)]
stack = (8, 12, 1024, 64)
expect_table(
    einsum_flops,
    ("a matrix product", ("ij,jk->ik", [(2, 3), (3, 4)]), 48),
    ("two vectors", ("i,i->", [(100,), (100,)]), 200),
    ("scores, 8 texts of 1,024 tokens", ("bhid,bhjd->bhij", [stack, stack]), 12_884_901_888),
    ("an outer product", ("i,j->ij", [(5,), (6,)]), 0),
    ("element by element", ("bi,bi->bi", [(5, 6), (5, 6)]), 0),
    ("one operand, summed", ("ij->j", [(5, 6)]), 0),
    ("a label of one operand alone", ("ijx,jk->ik", [(2, 3, 9), (3, 4)]), 48),
    ("only labels of one operand are summed", ("ix,jy->ij", one_label_each), 0),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 3 in 2..9, 5 in 2..10, 7 in 2..14, 6 in 2..12
scores = einsum_flops("bhid,bhjd->bhij", [(2, 3, 5, 7), (2, 3, 6, 7)])
# vary: 5 in 2..10, 6 in 2..12
alike = [(5, 6), (5, 6)]
expect("a batch and heads multiply the work of each product", scores, 2_520)
expect("turning one operand multiplies nothing", einsum_flops("ijk->kji", [(5, 6, 7)]), 0)
expect("products of elements, without a sum, count as 0", einsum_flops("ij,ij->ij", alike), 0)
expect("rows times rows are summed along the shared label", einsum_flops("bi,bi->b", alike), 60)
apart = einsum_flops("ix,jy->ij", [(2, 3), (4, 5)])
expect("sums before the product are no multiply-adds", apart, 0)
# vary: 2 in 2..9, 5 in 2..10, 7 in 2..14, 11 in 7..16
several = einsum_flops("bcij,ijcf->bf", [(2, 3, 5, 7), (5, 7, 3, 11)])
expect("three labels may be summed at once", several, 4_620)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_einsum_flops_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

shapes = [(2, 3), (3, 5)]
expect("by name", einsum_flops(equation="ij,jk->ki", shapes=shapes), 60)
expect("the list stays as it is", shapes == [(2, 3), (3, 5)], True)
expect_table(
    einsum_flops,
    ("the first label is summed", ("ki,kj->ij", [(7, 2), (7, 3)]), 84),
    ("two labels are summed", ("aij,ijb->ab", [(2, 3, 4), (3, 4, 5)]), 240),
    ("a count beyond 2⁶³", ("ij,jk->ik", [(10**7, 10**7), (10**7, 10**6)]), 200 * 10**18),
    ("three operands", [("i,i,i->", [(2,), (2,), (2,)])], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 5 in 2..10, 4 in 2..9
expect("the order of operands does not matter", einsum_flops("jk,ij->ki", [(3, 5), (4, 3)]), 120)
# vary: 3 in 2..9, 4 in 2..9, 7 in 2..14
expect("any letter is a label", einsum_flops("Zq,aZ->qa", [(3, 4), (7, 3)]), 168)
four = [(2,), (2,), (3,), (3,)]
expect_raises("four operands are refused", lambda: einsum_flops("i,i,j,j->", four), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_einsum", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints the FLOPs of five einsums by these rules.
equations = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ijx,jk->ik": [(2, 3, 9), (3, 4)],
    "i,i->": [(9,), (9,)],
}
equations |= {"i,j->ij": [(5,), (6,)], "bhid,bhjd->bhij": [(8, 12, 1024, 64), (8, 12, 1024, 64)]}
for equation, shapes in equations.items():
    print(f"{equation:<18}{einsum_flops(equation, shapes):>16,} FLOPs of {shapes}")

# %% [markdown]
# ## 8 · Any model, by watching it
#
# A *FLOP* is one floating-point multiplication or addition. <!-- without section 1 -->
# A *multiply-add*, one of each, is two FLOPs; this course counts those of matrix products and convolutions. <!-- without section 1 -->
#
# A formula for a whole model would have to know the model.
# Instead, watch it run.
# Every operation of proflab passes one point, whether a layer, a function or `@` started it.
# A *hook* at that point sees each operation's name, inputs and attributes.
# On *meta* tensors, which have a shape and no data, nothing is computed.


# %% nbgrader={"grade": false, "grade_id": "demo_hook", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints each op of a small model, as a hook sees it.
def tell(call):
    print(f"{call.op:<8}{[t.shape for t in call.inputs]}  {call.attributes}")
    return call()


tiny = nn.Sequential(nn.Conv2d(3, 8, 3, padding="same"), nn.ReLU(), nn.Flatten(), nn.Linear(800, 5))
with dispatch.hook(tell):
    tiny(Tensor.meta((1, 3, 10, 10)))

# %% [markdown]
# So a counter needs the FLOPs of one op, which `op_flops` returns, and a sum.
# Besides linear layers, convolutions, `@` and einsum it knows *fused attention*, one op with two matrix products inside: scores and mix.
# `as_matmuls` gives their shapes.
# A product of two stacks of matrices broadcasts its leading dimensions, as numpy does: (3, 1, 4, 5) @ (2, 5, 6) is six products of (4, 5) times (5, 6).
# A vector on the left is a matrix of one row, and a vector on the right is a matrix of one column.

# %% nbgrader={"grade": false, "grade_id": "ops", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Ops that neither multiply matrices nor convolve: elementwise work, sums, choices, moved data.
NO_PRODUCTS = frozenset(
    """abs adaptive_avg_pool2d add all amax amin any argmax argmin argsort atan avg_pool2d
    batch_norm cat ceil clamp clone cos cumsum div dropout elu embedding eq erf exp exp2
    expand expm1 flip floor floor_divide gather ge gelu getitem group_norm gt hardswish index
    index_put isfinite isinf isnan layer_norm le leaky_relu log log10 log1p log2 log_softmax
    logical_and logical_not logical_or logical_xor logsumexp lt masked_fill max_pool2d maximum
    mean minimum mul ne neg nll_loss nonzero pad permute pow prod rdiv reciprocal relu relu6
    remainder reshape roll round rsqrt rsub scatter_add sigmoid sign silu sin softmax softplus
    split sqrt square sub sum tan tanh to tril triu trunc var where""".split()
)


def as_matmuls(shapes):
    """Return the shapes of the two products in fused attention: query @ keyᵀ, scores @ value."""
    query, key, value = shapes[:3]
    stack = np.broadcast_shapes(query[:-2], key[:-2])
    return (query, (*key[:-2], key[-1], key[-2])), ((*stack, query[-2], key[-2]), value)


# %% nbgrader={"grade": false, "grade_id": "op_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_flops(op, shapes, attributes):
    """Return the FLOPs of one op in the forward pass.

    op: its name. shapes: a list of its inputs' shapes. attributes: a dict of its other arguments.
        matmul: two shapes of at least one dimension. linear: input, weight (out, in), perhaps bias.
        conv2d: input, weight (out, in / groups, height, width), perhaps bias; attributes stride,
        padding, dilation, groups. einsum: attribute equation. scaled_dot_product_attention: query,
        key, value, perhaps mask; counted in full also where it is causal.
    Returns an int, 0 for the ops in NO_PRODUCTS. Raises NotImplementedError with a message that
    names the op for any other.

    >>> op_flops("linear", [(2, 3), (4, 3)], {})
    48
    """
    ### BEGIN SOLUTION
    if op in NO_PRODUCTS:
        return 0
    if op == "linear":
        return 2 * math.prod(shapes[0]) * shapes[1][0]
    if op == "matmul":
        a, b = shapes
        a, b = (1, *a)[-max(2, len(a)) :], b if len(b) > 1 else (*b, 1)
        return 2 * math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * a[-2] * a[-1] * b[-1]
    if op == "conv2d":
        return conv2d_flops(shapes[0], shapes[1][0], shapes[1][2:], **attributes)
    if op == "einsum":
        return einsum_flops(attributes["equation"], shapes)
    if op == "scaled_dot_product_attention":
        return sum(op_flops("matmul", product, {}) for product in as_matmuls(shapes))
    raise NotImplementedError(f"op_flops has no rule for {op}")
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_op_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
texts = [(32, 512, 768), (3072, 768), (3072,)]
expect("linear with bias", op_flops("linear", texts, {}), 77_309_411_328)
expect("stacks broadcast", op_flops("matmul", [(3, 1, 4, 5), (2, 5, 6)], {}), 1_440)
rows = [op_flops("matmul", s, {}) for s in ([(5,), (5,)], [(5,), (3, 5, 6)], [(3, 4, 5), (5,)])]
expect("vector @ vector, vector @ stack, stack @ vector", rows, [10, 180, 120])
settings = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 2}
expect("conv2d", op_flops("conv2d", [(2, 4, 8, 9), (6, 2, 3, 3), (6,)], settings), 12_096)
pairs = {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 1], "groups": 1}
shapes = [(1, 2, 8, 9), (6, 2, 3, 3)]
expect("pairs as lists, no bias", op_flops("conv2d", shapes=shapes, attributes=pairs), 6_048)
kept = [len(shapes), sorted(pairs), pairs["stride"]]
expect("list and dict stay", kept == [2, ["dilation", "groups", "padding", "stride"], [2, 1]], True)
large = op_flops("matmul", [(10**6, 10**7), (10**6, 10**7, 10**6)], {})
expect("a count beyond 2⁶³", large, 20 * 10**24)
fused, qkv = {"is_causal": True, "scale": 0.5}, [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 3), (4, 6)]
expect("fused attention, in full", op_flops("scaled_dot_product_attention", qkv, fused), 1_056)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 9 in 2..18, 8 in 2..16, 5 in 2..10
few = [(2, 9, 8), (5, 8), (5,)]
expect("a linear layer counts every row", op_flops("linear", few, {}), 1_440)
# vary: 9 in 2..18
expect("two vectors make one number", op_flops("matmul", [(9,), (9,)], {}), 18)
# vary: 5 in 2..10, 3 in 2..9, 6 in 2..12
stack = op_flops("matmul", [(5,), (3, 5, 6)], {})
expect("a vector on the left is one row for each matrix", stack, 180)
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9, 5 in 2..10
stack = op_flops("matmul", [(2, 3, 4, 5), (5,)], {})
expect("a vector on the right is one column for each matrix", stack, 240)
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9, 5 in 2..10, 6 in 2..12
stack = op_flops("matmul", [(2, 3, 4, 5), (5, 6)], {})
expect("one matrix is used by a whole stack", stack, 1_440)
# vary: 8 in 2..16, 5 in 2..10
expect("a linear layer may get one vector", op_flops("linear", [(8,), (5, 8)], {}), 80)
letters = {"equation": "bij,kj->bik"}
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9, 5 in 2..10
expect("an einsum has a batch too", op_flops("einsum", [(2, 3, 4), (5, 4)], letters), 240)
same = {"stride": (1, 1), "padding": (2, 2), "dilation": (2, 2), "groups": 6}
# vary: 7 in 2..14
depthwise = op_flops("conv2d", [(1, 6, 7, 7), (12, 1, 3, 3)], same)
expect("a convolution's attributes all count", depthwise, 10_584)
fused = {"is_causal": True, "scale": 0.5}
# vary: 2 in 2..9, 3 in 2..9, 5 in 2..10, 8 in 2..16, 7 in 2..14
qkv = [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), (5, 7)]
masked = op_flops("scaled_dot_product_attention", qkv, fused)
expect("a mask in fused attention adds nothing", masked, 5_040)
# vary: 2 in 2..9, 4 in 2..9, 5 in 2..10, 8 in 2..16
shared = [(2, 4, 5, 8), (5, 8), (1, 1, 5, 8)]
shared = op_flops("scaled_dot_product_attention", shared, fused)
expect("keys that all heads share are multiplied for each head", shared, 6_400)
moved = ["reshape", "embedding", "batch_norm", "mul", "sum", "cat", "max_pool2d", "dropout"]
moved = [op_flops(op, [(2, 3)], {}) for op in moved]
expect("ops without products count as 0", moved, [0, 0, 0, 0, 0, 0, 0, 0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_flops_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect("an addition", op_flops("add", [(4, 4), (4,)], {}), 0)
expect("einsum", op_flops("einsum", [(2, 3), (3, 4)], {"equation": "ij,jk->ik"}), 48)
expect("an unknown op is named", doubles.refuses("fft", op_flops, "fft", [(8, 8)], {}), True)
image = [(2, 3, 8, 8), (4, 3, 3, 3)]
expect("so is nearly a known op", doubles.refuses("conv2d_", op_flops, "conv2d_", image, {}), True)
### BEGIN HIDDEN TESTS
shapes = [(2, 3, 8, 8), (4, 3, 3, 3)]
unknown = [doubles.refuses(op, op_flops, op, shapes, {}) for op in ("lstm_cell", "conv3d")]
nearly = [doubles.refuses(op, op_flops, op, shapes, {}) for op in ("Linear", "matmul_")]
expect("other unknown ops are named in the message", unknown, [True, True])
expect("a name that resembles a known op is unknown", nearly, [True, True])
expect_raises(
    "an unknown op raises NotImplementedError",
    lambda: op_flops("scan", [(2, 3)], {}),
    NotImplementedError,
)
expect("a view multiplies nothing", op_flops("permute", [(4, 5, 6)], {"dims": (2, 0, 1)}), 0)
### END HIDDEN TESTS

# %% [markdown]
# Now the sum.
# In many tools an op without a rule counts as 0; yours must refuse it, by name.
# A model's count is *per sample*: each input's batch is cut to 1, so that a model has one number whatever the batch.
# `meta_inputs` makes such inputs, and raises ValueError if it gets something that is not a model or not a shape.
# A layer that is called three times counts three times, although its parameters exist once.
#
# <details><summary>Hint 1: where does the sum live?</summary>
#
# The hook `tell` above prints each op, and then lets it run by `return call()`.
# What would it add, and to which variable, so that your function still has the sum when the model has ended?
#
# </details>
# <details><summary>Hint 2: the shape of the answer</summary>
#
# Answer for a bare Tensor first.
# Then define a hook inside your function that adds to a `nonlocal` total, and call the model once on the inputs of `meta_inputs`, within `dispatch.hook` and `proflab.no_grad()`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "meta_inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def meta_inputs(model, input_shape, per_sample, requires_grad=False):
    """Return the model's inputs without data, a tuple; with per_sample, the batch of each is 1."""
    if not callable(model):
        raise ValueError(f"a {type(model).__name__} is not a model: it cannot be called")
    inputs = example_input(model, input_shape, meta=True)
    made = []
    for x in inputs if isinstance(inputs, tuple) else (inputs,):
        shape = (1, *x.shape[1:]) if per_sample and x.shape else x.shape
        leaf = Tensor.meta(shape, x.dtype, requires_grad and x.is_floating_point())
        made.append(leaf.clone())  # which the model may change in place, as in a larger model
    return tuple(made)


# %% nbgrader={"grade": false, "grade_id": "count_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_flops(model, input_shape, per_sample=True):
    """Return the FLOPs of a model's forward pass: of its matrix products and convolutions.

    model: a Module, or anything that can be called; in the mode (train or eval) that it is in.
        A bare Tensor counts one FLOP for each of its elements, whatever the other arguments.
    input_shape: batch first; or a ready input, or a tuple of these for a model with several.
    per_sample: count one sample: each input has a batch of 1. False: count the whole batch.
    Returns an int. The model stays as it is. Raises NotImplementedError with a message that names
    an op for which there is no rule; ValueError if `model` or `input_shape` is not what it says.

    >>> count_flops(nn.Linear(6, 5), (4, 6))
    60
    """
    ### BEGIN SOLUTION
    if isinstance(model, Tensor):
        return model.numel()
    total = 0

    def add(call):
        nonlocal total
        total += op_flops(call.op, [t.shape for t in call.inputs], call.attributes)
        return call()

    inputs = meta_inputs(model, input_shape, per_sample)
    with proflab.no_grad(), dispatch.hook(add):
        model(*inputs)
    return total
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_count_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
layer, text, shared = nn.Linear(128, 64), nn.Linear(768, 3072), nn.Linear(16, 16)
thrice = nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), shared)
half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
half[0].weight.requires_grad = False
expect_table(
    count_flops,
    ("one sample of 32", (layer, (32, 128)), 16_384, {"the batch counts": 524_288}),
    ("all 32 samples", (layer, (32, 128), False), 524_288),
    ("a text", (text, (1, 1024, 768)), 4_831_838_208),
    ("LeNet-5", (models.LeNet5(), (4, 1, 32, 32)), 833_040),
    ("a reused layer", (thrice, (2, 16)), 1_536, {"each layer counts once": 512}),
    ("a Tensor", (Tensor.meta((4, 8)), (2, 3), False), 32),
    ("a frozen layer", (half, (1, 4)), 48, {"frozen layers are left out": 16}),
)
half[1] = nn.Linear(4, 8)
expect("the same model, changed", count_flops(half, (1, 4)), 96)


### BEGIN HIDDEN TESTS
class MyLinear(nn.Linear):
    pass


# vary: 9 in 2..18, 4 in 2..9, 2 in 2..9
expect("a subclass of a layer counts as its ops do", count_flops(MyLinear(9, 4), (6, 2, 9)), 144)
none = count_flops(nn.Sequential(nn.ReLU(), nn.Softmax(-1)), (3, 9))
expect("a model without products counts as 0", none, 0)
expect("a Tensor counts its elements", count_flops(Tensor([[1.0, 2.0, 3.0]]), (7, 3)), 3)
with meta():
    mobilenet, gpt2 = models.mobilenet_v2(), models.gpt2("small")
expect("MobileNetV2 for one image", count_flops(mobilenet, (8, 3, 224, 224)), 601_548_544)
expect(
    "GPT-2 small for two texts of 256 tokens", count_flops(gpt2, (2, 256), False), 131_328_638_976
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_count_flops_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def fused(x):
    return F.scaled_dot_product_attention(x, x, x)


def pairs(x):
    return x @ x.transpose(0, 1)


large = (1, 10**7, 10**7), (1, 10**7, 10**6)
whiten = doubles.unknown_op("whiten")
expect_table(
    count_flops,
    ("one feature, one output", (nn.Linear(1, 1), (1, 1)), 2),
    ("two inputs", (lambda x, y: x @ y, ((5, 2, 3), (5, 3, 4))), 48),
    ("a Tensor, of one sample, too", (Tensor.meta((3, 4)), (2, 3)), 12),
    ("a count beyond 2⁶³", (lambda x, y: x @ y, large), 200 * 10**18),
    ("fused attention", (fused, (9, 5, 4)), 400),
    ("each row times each row", (pairs, (4, 3)), 6, {"the batch's, divided by 4": 24}),
    ("the same, for the batch", (pairs, (4, 3), False), 96),
)
strange = doubles.refuses("whiten", count_flops, lambda x: whiten(F.linear(x, x)), (1, 4))
expect("an unknown op is named", strange, True)


### BEGIN HIDDEN TESTS
class Odd(nn.Module):
    def __init__(self):
        # vary: 3 in 2..5
        self.inner = nn.ModuleList(
            [nn.Sequential(nn.Conv2d(4, 6, (1, 3), groups=2)), nn.Identity()]
        )
        self.attention = nn.MultiheadAttention(6, 3, dropout=0.1, batch_first=True)
        # vary: 7 in 2..14
        self.table = nn.Parameter(Tensor.meta((5, 6, 7)))

    def forward(self, x, scale):
        for layer in self.inner:
            x = layer(x)
        x, _ = self.attention(x.flatten(2).transpose(1, 2), need_weights=self.training)
        x = x[:, :5] @ self.table[0] * scale
        return proflab.einsum("btk,jk->btj", x, self.table[1])


odd = Odd()
shapes = ((3, 4, 4, 7), (3, 1, 1))
expect(
    "a model of layers, functions, @ and einsum is counted in full",
    count_flops(odd, shapes),
    17_640,
)
expect("fused and unfused attention count the same", count_flops(odd.eval(), shapes), 17_640)
whole = count_flops(odd, shapes, per_sample=False)
expect("per_sample=False counts the batch of each input", whole, 52_920)
# vary: 5 in 2..10
expect("a function is counted as a model is", count_flops(lambda x: F.linear(x, x) @ x, (1, 5)), 20)
rotate = doubles.unknown_op("rotate")
inside = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
inside.register_forward_hook(lambda module, inputs, result: rotate(result))
found = doubles.refuses("rotate", count_flops, inside, (9, 4))
expect("an unknown op deep inside a model is named", found, True)
expect("a part of that model has a count", count_flops(inside[0], (9, 4)), 32)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_flops_3", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}


class TwiceInTraining(nn.Linear):
    def forward(self, x):
        return super().forward(super().forward(x) if self.training else x)


model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3))
model.train()[0].bias.grad = Tensor([1.0, 2.0, 3.0])
expect("a model in training", count_flops(model, (5, 2, 6, 6)), 1_728)
expect("it stays in training", model.training, True)
expect("its averages stay", model[1].running_mean.tolist(), [0.0, 0.0, 0.0])
none = [parameter.grad is None for parameter in model.parameters()]
expect("its gradients stay, too", none, [True, False, True, True])
expect("a model in eval", count_flops(model.eval(), (5, 2, 6, 6)), 1_728)
expect("it stays in eval", model.training, False)
modes = [count_flops(TwiceInTraining(4, 4).train(mode), (1, 4)) for mode in (True, False)]
expect("each mode has its own count", modes, [64, 32])
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9
normed = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm2d(2)).train()
# vary: 5 in 2..10
expect("the rows of a linear layer count in training", count_flops(normed, (3, 2, 5, 6)), 480)
state = [normed[1].running_mean.tolist(), normed[1].num_batches_tracked.item(), normed.training]
expect("a model's averages and mode stay as they are", state, [[0.0, 0.0], 0, True])
expect("counting leaves no gradients", [p.grad is None for p in normed.parameters()], [True] * 4)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_flops_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

relu = nn.ReLU()
expect_table(
    count_flops,
    ("what is not a model", [(3, (1, 4)), ("relu", (1, 4))], ValueError),
    ("what is not a shape", [(relu, (0, 4)), (relu, (3, -1))], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 7 in 2..14
expect("a single sample of one number", count_flops(nn.Linear(1, 7), (1, 1)), 14)
# vary: 13 in 8..19
expect("a model's single output counts", count_flops(nn.Linear(13, 1), (1, 13)), 26)
expect_raises(
    "a broken size is refused", lambda: count_flops(nn.Linear(4, 4), (2.5, 4)), ValueError
)
expect_raises(
    "a negative batch is refused", lambda: count_flops(nn.Linear(4, 4), (-2, 4)), ValueError
)
### END HIDDEN TESTS

# %% [markdown]
# ## 9 · Seven tools and yours
#
# The file `counters.json` holds what seven tools printed for six models, with batches of 1 and of 8.
#
# **Predict.** One of seven tools misses nearly all of GPT-2 small, which is why the largest answer is 123 times the smallest.
# By what factor do the other six differ, the largest over the smallest?

# %% tags=["guess"]
guess_tools_factor = None  # your guess: largest / smallest of six

# %% nbgrader={"grade": false, "grade_id": "demo_reference", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints your counts of six models beside those of torch's counter.
from demos import ZOO, recorded

print(f"{'model':<22}{'input':<20}{'your count':>16}  minus torch's")
for row in recorded():
    model, shape = ZOO[row["model"]][0], tuple(row["input_shape"])
    ours = count_flops(model, shape, per_sample=False)
    print(f"{row['model']:<22}{str(shape):<20}{ours:>16,}  {ours - row['forward']:+d}")

# %% [markdown]
# Not one FLOP of difference.
# Where are they all?
# A hook can also sum them by op, and so draw the picture from the top by the rules of `op_flops`.
# Then see what each tool printed for GPT-2 small, under names such as FLOPs and MACs.

# %% nbgrader={"grade": false, "grade_id": "demo_where", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws where the FLOPs of six models are.
from demos import KINDS, ZOO

where = {name: dict.fromkeys(KINDS.values(), 0) for name in list(ZOO)[:-1]}
for name, sums in where.items():

    def add(call, sums=sums):
        if call.op in KINDS:
            shapes = [t.shape for t in call.inputs]
            sums[KINDS[call.op]] += op_flops(call.op, shapes, call.attributes)
        return call()

    with dispatch.hook(add):
        ZOO[name][0](example_input(*ZOO[name], meta=True))
plot.shares(where, unit="FLOPs of a forward pass", title="Where the FLOPs are")

# %% nbgrader={"grade": false, "grade_id": "demo_counters", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what seven tools print for GPT-2 small.
from demos import ZOO, printed_for

printed = printed_for("GPT-2 small")
six = sorted(printed.values())[1:]
factor = six[-1] / six[0]
guesses.compare("largest over smallest of six counts of GPT-2 small", guess_tools_factor, factor)
counts = {"you": count_flops(*ZOO["GPT-2 small"])} | printed
plot.bars(counts, unit="as printed", title="GPT-2, 128 tokens", show=lambda n: f"{n / 1e9:.5g} G")

# %% nbgrader={"grade": false, "grade_id": "demo_deviations", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints how far each tool is off, in percent.
from demos import TOOLS, deviations

print(f"{'model, batch':<24}" + "".join(f"{tool:>11}" for tool in TOOLS))
for name, off in deviations().items():
    print(f"{name:<24}" + "".join(f"{share:>+11.2%}" for share in off))

# %% [markdown]
# Each deviation has a reason, and each is silent:
#
# - **Another unit.** The last four tools report multiply-adds, fvcore under the name flops. The table has doubled them.
# - **Elementwise work mixed in,** by conventions of their own: fvcore adds 5 for each element of a layer norm, calflops and DeepSpeed what section 6 counts separately. <!-- with section 6 -->
# - **Elementwise work mixed in,** by conventions of their own: fvcore adds 5 for each element of a layer norm, calflops and DeepSpeed count activations, too. <!-- without section 6 -->
# - **What is not a module is not seen.** thop misses `@`, and so attention between tokens.
# - **Dimensions forgotten.** torchinfo counts a linear layer once, however many tokens there are: 98 % of GPT-2 is missing.
# - **Batch and sample mixed up.** With a batch of 8, ptflops counts modules per sample and functions for the batch.
# - **Ops without a rule count as 0.** torch's own counter, exact in this table, does this in version 2.13.0 for fused attention on a CPU ([reported](https://github.com/pytorch/pytorch/issues/195460) since), for `nn.MultiheadAttention` in eval, and for a matrix times a vector. Yours has a rule for each of these.

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# from torch.utils.flop_counter import FlopCounterMode
#
# layer, x = torch.nn.Linear(768, 3072, device="meta"), torch.ones(512, 768, device="meta")
# with FlopCounterMode(display=False) as counter:
#     layer(x).sum().backward()
# print(f"{counter.get_total_flops():,}")
# ```
#
# [FlopCounterMode](https://docs.pytorch.org/docs/main/generated/torch.utils.flop_counter.FlopCounterMode.html) counts by module and op (`display=True` prints the table, if the package tabulate is there); the total is 4,831,838,208, one product forward and one backward.
# It hides that an op without a formula adds 0.

# %% [markdown]
# ## 10 · And back
#
# Training also needs gradients.
# For y = a @ b, let g be the gradient of y.
# Then the gradient of a is g @ bᵀ, and the gradient of b is aᵀ @ g.
# Each is a product of the same three sizes.
# The same holds for convolutions.
# So **each operand that needs a gradient costs the forward FLOPs once more**, and an operand that needs none, such as a frozen weight or the data, costs nothing.
# Inside a network, a layer of 524,288 FLOPs costs 2 · 524,288 backward; as the first layer, 524,288.
#
# Fused attention contains two such products.
# The scores, an operand of the second one, need a gradient when the query, the key or a learned mask does.
# (Fused kernels also compute the scores again, to save memory. That is not counted.)
#
# **Predict.** All layers of ResNet-18 are frozen except the last.
# How many forward passes does a training step cost, its own forward pass included?
#
# <details><summary>Hint 1: four operands of two products</summary>
#
# Draw fused attention as two boxes.
# Query and key enter the first; its result and the value enter the second.
# Which entries of `wanted` make each of these four arrows need a gradient?
#
# </details>
# <details><summary>Hint 2: the shape of the answer</summary>
#
# For most ops: the forward FLOPs times the number of their first two inputs that are wanted.
# For fused attention: two such terms, one for each product of `as_matmuls`.
# The first operand of the second product is wanted if any of three inputs is.
#
# </details>

# %% tags=["guess"]
guess_frozen_step = None  # your guess: forward passes


# %% nbgrader={"grade": false, "grade_id": "gradient_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_flops(op, shapes, attributes, wanted):
    """Return the FLOPs of computing the gradients of one op's inputs.

    op, shapes, attributes: as for op_flops. wanted: a list of bools, one for each input, True if
        its gradient is computed. A bias and a mask have no product of their own; but where a mask
        is wanted, any(wanted[3:]), the scores of fused attention need a gradient.
    Returns an int. Raises NotImplementedError as op_flops does, whatever is wanted.

    >>> gradient_flops("linear", [(2, 3), (4, 3)], {}, [False, True])
    48
    """
    ### BEGIN SOLUTION
    if op == "scaled_dot_product_attention":
        first, second = as_matmuls(shapes)
        scores = any(wanted[:2]) or any(wanted[3:])
        total = (wanted[0] + wanted[1]) * op_flops("matmul", first, {})
        return total + (scores + wanted[2]) * op_flops("matmul", second, {})
    return sum(wanted[:2]) * op_flops(op, shapes, attributes)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gradient_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
rows = [(32, 512, 768), (3072, 768), (3072,)]
settings = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 4}
grouped = [(1, 4, 5, 5), (4, 1, 3, 3)]
large = [(10**7, 10**7), (10**7, 10**6)]
expect_table(
    gradient_flops,
    ("linear, all", ("linear", rows, {}, [True, True, True]), 154_618_822_656),
    ("its input is data", ("linear", rows, {}, [False, True, True]), 77_309_411_328),
    ("frozen but for its bias", ("linear", rows, {}, [False, False, True]), 0),
    ("matmul", ("matmul", [(3, 1, 4, 5), (2, 5, 6)], {}, [True, False]), 1_440),
    ("a ReLU", ("relu", [(9, 5)], {}, [True]), 0),
    ("grouped conv2d", ("conv2d", grouped, settings, [True, True]), 1_296),
    ("a count beyond 2⁶³", ("matmul", large, {}, [True, True]), 400 * 10**18),
)
### BEGIN HIDDEN TESTS
# vary: 9 in 2..18, 8 in 2..16, 5 in 2..10
few = [(9, 8), (5, 8), (5,)]
expect(
    "input and weight cost a product each, the bias none",
    gradient_flops("linear", few, {}, [True, True, True]),
    1_440,
)
# vary: 5 in 2..10, 3 in 2..9, 6 in 2..12
vector = gradient_flops("matmul", [(5,), (3, 5, 6)], {}, [True, False])
expect("a vector's gradient costs the forward FLOPs", vector, 180)
settings = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 8}
# vary: 2 in 2..9, 6 in 4..12, 3 in 2..5
grouped = [(2, 8, 6, 6), (8, 1, 3, 3), (8,)]
depthwise = gradient_flops("conv2d", grouped, settings, [True, True, False])
expect("a grouped weight's gradient is divided among groups", depthwise, 20_736)
letters = {"equation": "bij,kj->bik"}
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9, 5 in 2..10
both = gradient_flops("einsum", [(2, 3, 4), (5, 4)], letters, [True, True])
expect("each operand of an einsum costs the forward FLOPs", both, 480)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gradient_flops_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}

name, qkv = "scaled_dot_product_attention", [(1, 4, 8), (1, 6, 8), (1, 6, 3), (4, 6)]
expect_table(
    lambda *wanted: gradient_flops(name, qkv, {"scale": 1.0}, [bool(each) for each in wanted]),
    ("query, key and value", (1, 1, 1, 0), 1_056),
    ("the query alone", (1, 0, 0, 0), 528),
    ("the key alone", (0, 1, 0, 0), 528),
    ("the value alone", (0, 0, 1, 0), 144),
    ("query and key", (1, 1, 0, 0), 912, {"the scores count twice": 1_056}),
    ("none", (0, 0, 0, 0), 0),
    ("a learned mask alone", (0, 0, 0, 1), 144),
)
without = gradient_flops(name, qkv[:3], {"scale": 1.0}, [False, False, True])
expect("the value alone, and no mask", without, 144)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 3 in 2..9, 5 in 2..10, 8 in 2..16, 7 in 2..14
qkv, fused = [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)], {"is_causal": False, "scale": 0.5}
cases = [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0)]
name = "scaled_dot_product_attention"
counts = [gradient_flops(name, qkv, fused, [bool(n) for n in case]) for case in cases]
expect(
    "a query or a key needs the scores' gradient, a value does not",
    counts,
    [10_080, 5_040, 5_040, 1_680, 8_400, 0],
)
learned = gradient_flops(name, [*qkv, (5, 7)], fused, [False, False, True, True])
expect("a learned mask needs the gradient of the scores", learned, 3_360)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gradient_flops_3", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}

wanted, shapes = [True, True, False], [(2, 3), (4, 3), (4,)]
expect("by name", gradient_flops("linear", shapes=shapes, attributes={}, wanted=wanted), 96)
expect("the shapes stay as they are", shapes == [(2, 3), (4, 3), (4,)], True)
expect("so does what is wanted", wanted, [True, True, False])
refused = [doubles.refuses("fft", gradient_flops, "fft", [(8,)], {}, [w]) for w in (True, False)]
expect("an unknown op that is wanted is named", refused[0], True)
expect("so is one that is not wanted", refused[1], True)
### BEGIN HIDDEN TESTS
refused = doubles.refuses("svd", gradient_flops, "svd", [(8, 8)], {}, [False])
expect("an unknown op is refused even if nothing is wanted", refused, True)
nearly = [doubles.refuses("Linear", gradient_flops, "Linear", [(2, 3), (4, 3)], {}, [True, True])]
expect("a name that resembles a known op is unknown", nearly, [True])
# vary: 2 in 2..9, 5 in 2..10, 3 in 2..9
expect(
    "a known op has a count beside unknown ones",
    gradient_flops("matmul", [(2, 5), (5, 3)], {}, [True, True]),
    120,
)
### END HIDDEN TESTS

# %% [markdown]
# The engine knows which gradients a model computes, so `backward_flops` watches its backward pass.
# There, `call.inputs` are meta tensors with the shapes of the forward pass, and each tensor's own `requires_grad` says whether its gradient is being computed.
# `walk_back` starts the backward pass, and leaves every `.grad` as it was.
# One more case: an op whose `call.phase` is `"forward"` may run during the backward pass, because a model computes something again or has its own gradient rule.
# It costs its forward FLOPs.


# %% nbgrader={"grade": false, "grade_id": "walk_back", "locked": true, "schema_version": 3, "solution": false, "task": false}
def tensors_in(output):
    """Return the tensors of a model's output: a Tensor, or a list, tuple or dict of outputs."""
    if isinstance(output, Tensor):
        return [output]
    if output is None or isinstance(output, (int, float)):
        return []
    parts = list(output.values()) if isinstance(output, dict) else output
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"no tensors can be found in a {type(output).__name__}")
    return [tensor for part in parts for tensor in tensors_in(part)]


def walk_back(model, output):
    """Run the backward pass from all tensors in `output`, to wherever they came from."""
    sums = [tensor.sum() for tensor in tensors_in(output) if tensor.requires_grad]
    if sums:
        parameters = model.parameters() if hasattr(model, "parameters") else ()
        autograd.grad(sum(sums), [p for p in parameters if p.requires_grad])


# %% nbgrader={"grade": false, "grade_id": "backward_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward_flops(model, input_shape, input_grad=False, per_sample=True):
    """Return the FLOPs of a model's backward pass, from all of its outputs.

    model, input_shape, per_sample: as for count_flops; 0 for a bare Tensor.
    input_grad: whether the gradient of the model's input is computed too, as in the middle of a
        larger model; integer inputs have none.
    An op that runs forward during the backward pass counts as op_flops says.
    Returns an int. The model stays as it is. Raises as count_flops does.

    >>> backward_flops(nn.Linear(6, 5), (4, 6))
    60
    """
    ### BEGIN SOLUTION
    if isinstance(model, Tensor):
        return 0
    total = 0

    def add(call):
        nonlocal total
        seen = call.op, [t.shape for t in call.inputs], call.attributes
        if call.phase == "backward":
            total += gradient_flops(*seen, [t.requires_grad for t in call.inputs])
        else:
            total += op_flops(*seen)
        return call()

    inputs = meta_inputs(model, input_shape, per_sample, requires_grad=input_grad)
    output = model(*inputs)
    with dispatch.hook(add):
        walk_back(model, output)
    return total
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_backward_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(128, 64)
expect("one layer", backward_flops(layer, (32, 128)), 16_384, mistakes={"2 × forward": 32_768})
expect("with its input's gradient", backward_flops(layer, (32, 128), input_grad=True), 32_768)
expect("all 32 samples", backward_flops(layer, (32, 128), per_sample=False), 524_288)
expect("LeNet-5", backward_flops(models.LeNet5(), (1, 1, 32, 32)), 1_430_880)
expect("a BERT layer", backward_flops(models.bert_layer(), (1, 128, 768), True), 3_724_541_952)
half = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
expect("first layer frozen", backward_flops(half, (5, 8)), 16, mistakes={"frozen counts": 96})
half[0].weight.requires_grad, half[2].weight.requires_grad = True, False
left = [backward_flops(half, (5, 8)), half[0].weight.grad, half.training]
expect("last weight frozen; no gradient stays, the mode does", left, [80, None, True])
fused = backward_flops(lambda x: F.scaled_dot_product_attention(x, x, x), (9, 5, 4), True)
expect("fused attention", fused, 800)
grouped = nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1))
expect("grouped", backward_flops(grouped, (2, 4, 5, 5)), 936)
large = backward_flops(lambda x: x @ x, (1, 10**7, 10**7), True)
expect("a count beyond 2⁶³", large, 4 * 10**21)
loose = backward_flops(lambda x: [x @ x, (x @ x).detach()], (1, 3, 3), True)
expect("an output that needs no gradient", loose, 108)
again = backward_flops(doubles.recomputed(lambda x: x @ x), (1, 3, 3), True)
expect("a product computed again", again, 162, mistakes={"it counts only once": 108})
tokens = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3))
tokens.input_dtype = "int64"
expect("tokens have no gradient", backward_flops(tokens, (2, 5), True), 240)
none = [backward_flops(Tensor([1.0, 2.0]), (2,)), backward_flops(Tensor.meta((4, 8)), (2,), True)]
expect("a Tensor, a table", none, [0, 0])
pairs = backward_flops(lambda x: x @ x.transpose(0, 1), (4, 3), input_grad=True)
expect("each row times each row", pairs, 12, mistakes={"the batch's, divided by 4": 48})
refused = doubles.refuses("whiten", backward_flops, doubles.unknown_op("whiten"), (1, 4), True)
expect("an unknown op is named", refused, True)
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9, 2 in 2..9
part = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
part[2].weight.requires_grad = False
expect("a frozen last weight still passes gradients on", backward_flops(part, (5, 8)), 80)
part[0].weight.requires_grad = part[0].bias.requires_grad = False
part[2].bias.requires_grad = False
expect("a frozen model has no backward pass", backward_flops(part, (5, 8)), 0)
expect("a frozen model passes its input's gradient on", backward_flops(part, (5, 8), True), 80)
left = [part[0].weight.grad, part[0].weight.is_meta, part.training]
expect("the model stays as it is", left, [None, False, False])
grouped = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(), nn.Conv2d(8, 4, 1))
# vary: 6 in 2..12
expect("a depthwise weight's gradient has groups too", backward_flops(grouped, (2, 8, 6, 6)), 9_792)
attention = nn.MultiheadAttention(8, 2, batch_first=True)
fused = backward_flops(lambda x: attention(x, need_weights=False), (3, 5, 8), True)
both = [backward_flops(attention, (3, 5, 8), True), fused]
expect("attention costs the same fused and unfused", both, [6_720, 6_720])
# vary: 2 in 2..9, 3 in 2..9, 4 in 2..9
parts = backward_flops(
    lambda x, y: {"a": [x @ y], "b": (x @ y).detach()}, ((1, 2, 3), (1, 3, 4)), True
)
expect("outputs in a dict all count, if they need a gradient", parts, 96)
# vary: 9 in 2..18, 4 in 2..9
words = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9, bias=False))
words.input_dtype = "int64"
# vary: 6 in 2..12
expect("integer inputs have no gradient", backward_flops(words, (2, 6), True), 864)
expect("a Tensor has no backward pass", backward_flops(Tensor([[3.0], [4.0]]), (2, 1), True), 0)
twice = doubles.recomputed(lambda x: x @ x @ x)
# vary: 2 in 2..9
expect("each recomputed product counts once more", backward_flops(twice, (1, 2, 2), True), 96)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "training_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_flops(model, input_shape, input_grad=False, per_sample=True):
    """Return the FLOPs of a forward and a backward pass; all arguments as for backward_flops.

    Returns an int. Raises as count_flops does.

    >>> training_flops(nn.Linear(6, 5), (4, 6))
    120
    """
    ### BEGIN SOLUTION
    forward = count_flops(model, input_shape, per_sample)
    return forward + backward_flops(model, input_shape, input_grad, per_sample)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_flops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
lenet, bert = models.LeNet5(), models.bert_layer()
one, batch = (training_flops(lenet, (8, 1, 32, 32), per_sample=each) for each in (True, False))
expect("LeNet-5, one image of 8", one, 2_263_920, mistakes={"3 × forward": 2_499_120})
expect("LeNet-5, all 8 images", batch, 18_111_360)
expect("a BERT layer inside a model", training_flops(bert, (1, 128, 768), True), 5_586_812_928)
large = training_flops(lambda x: x @ x, (1, 10**7, 10**7), True)
expect("a count beyond 2⁶³", large, 6 * 10**21)
for weight in lenet.parameters():
    weight.requires_grad = False
frozen = [training_flops(lenet, (8, 1, 32, 32)), lenet.training]
expect("LeNet-5 frozen, and still in training", frozen, [833_040, True])
counts = [training_flops(Tensor([1.0, 2.0]), (2,)), training_flops(Tensor.meta((4, 8)), (2, 3))]
expect("a Tensor, a table", counts, [2, 32])
pairs = training_flops(lambda x: x @ x.transpose(0, 1), (4, 3), input_grad=True)
expect("each row times each row", pairs, 18, mistakes={"the batch's, divided by 4": 72})
whiten = doubles.unknown_op("whiten")
expect("an unknown op is named", doubles.refuses("whiten", training_flops, whiten, (1, 2)), True)
### BEGIN HIDDEN TESTS
with meta():
    resnet, gpt2 = models.resnet18(), models.gpt2("small")
whole = training_flops(resnet, (3, 3, 224, 224), False, False)
expect("ResNet-18 for three images", whole, 31_945_236_480)
expect("GPT-2 small for a text of 96 tokens", training_flops(gpt2, (2, 96)), 72_173_666_304)
for name, parameter in resnet.named_parameters():
    parameter.requires_grad = name.startswith("fc.")
# vary: 224 in 149..336
last = training_flops(resnet, (2, 3, 224, 224))
expect("a trained last layer adds one product", last, 3_629_170_688)
expect("a Tensor counts its elements once", training_flops(Tensor([[1.0, 2.0]]), (1, 2)), 2)
refused = doubles.refuses("warp", training_flops, doubles.unknown_op("warp"), (1, 2))
expect("an op without a rule is named", refused, True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_training", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the FLOPs of a training step of each model, and its ratio to a forward pass.
from demos import ZOO, frozen_resnet18

print(f"{'':<22}{'forward':>16}{'and backward':>18}   ratio")
for name, (model, shape) in ZOO.items():
    forward, both = count_flops(model, shape), training_flops(model, shape, name == "BERT layer")
    print(f"{name:<22}{forward:>16,}{both:>18,}{both / forward:>8.3f}")
model, image = frozen_resnet18(), (1, 3, 224, 224)
step = training_flops(model, image) / count_flops(model, image)
guesses.compare("forward passes in a step of frozen ResNet-18", guess_frozen_step, step)

# %% [markdown]
# Where torch's counts are recorded (`forward_backward` in the file), these agree with them. "Three times forward" is the limit for deep models: the gradient of the data, at the first layer, is missing.
# MobileNetV2 is not in the file, for torch 2.13.0 reports 12.28 · 10⁹: its rule for a grouped convolution's weight forgets the groups.
#
# ## Reflect
#
# For language models there is a shorter rule.
# Each parameter meets each token in one multiply-add, or 2 FLOPs, and the backward pass costs twice as much.
# Training N parameters on D tokens takes 6 · N · D FLOPs.
#
# But which N?
# [Kaplan et al. (2020)](https://arxiv.org/abs/2001.08361) leave token and position embeddings out; [Hoffmann et al. (2022)](https://arxiv.org/abs/2203.15556) count all parameters.
# For GPT-2 small these are 85 and 124 million.
#
# **Predict.** GPT-2 small trains on texts of 1,024 tokens.
# What is your exact count, divided by 6 · N · D with Kaplan's N?
# It is 1 if the rule is exact.

# %% tags=["guess"]
guess_6nd_ratio = None  # your guess: exact FLOPs / (6 · N · D)


# %% nbgrader={"grade": false, "grade_id": "reflect_6nd", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_6nd(parameters, tokens):
    """Return the FLOPs of training a language model by the 6 · N · D rule.

    parameters (N), tokens (D): ints, at least 1. Returns an int, exact.

    >>> reflect_6nd(100, 2_000)
    1200000
    """
    ### BEGIN SOLUTION
    if min(parameters, tokens) < 1:
        raise ValueError(f"parameters and tokens must be at least 1, not {parameters}, {tokens}")
    return 6 * parameters * tokens
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_6nd", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    reflect_6nd,
    ("GPT-3, 300 billion tokens", (175 * 10**9, 300 * 10**9), 315 * 10**21),
    ("one of each", (1, 1), 6),
    ("two and three", (2, 3), 36, {"forward only": 12, "backward only": 24}),
    ("every digit", (10**11 + 3, 10**12 + 7), 600_000_000_022_200_000_000_126),
)
### BEGIN HIDDEN TESTS
expect("GPT-2 small on one text", reflect_6nd(124_439_808, 1024), 764_558_180_352)
# vary: 9 in 2..18
expect(
    "large counts keep every digit",
    reflect_6nd(10**12 + 1, 10**11 + 9),
    600_000_000_054_600_000_000_054,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_reflect_6nd_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

expect_table(
    reflect_6nd,
    ("no tokens, no parameters", [(5, 0), (0, 7)], ValueError),
    ("below 0, one or both", [(-5, 3), (5, -3), (-5, -5)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("one parameter and three tokens", reflect_6nd(1, 3), 18)
expect("seven parameters and one token", reflect_6nd(7, 1), 42)
expect_raises("no parameters are refused", lambda: reflect_6nd(0, 5), ValueError)
expect_raises("a negative number of tokens is refused", lambda: reflect_6nd(7, -1), ValueError)
expect_raises("two negative numbers are refused", lambda: reflect_6nd(-2, -9), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_6nd", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the exact FLOPs of training GPT-2 small over those of the rule.
from built import count_parameters  # from lesson 01
from demos import ZOO, mark_guess

lengths = demo_size(full=[32, 64, 128, 256, 512, 1024], small=[32, 1024])
model, ratios = ZOO["GPT-2 small"][0], {}
exact, every = {s: training_flops(model, (1, s)) for s in lengths}, count_parameters(model)
for whose, n in {"Kaplan's N": every - (50257 + 1024) * 768, "Hoffmann's N": every}.items():
    ratios[whose] = [(s, flops / reflect_6nd(n, s)) for s, flops in exact.items()]
    print(f"{whose:<13}{n:>12,}   exact / (6 · N · D): {ratios[whose][-1][1]:.3f} at 1,024 tokens")
kaplan = ratios["Kaplan's N"][-1][1]
guesses.compare("exact FLOPs of GPT-2 small over 6 · N · D", guess_6nd_ratio, kaplan)
look = {"x": "tokens in a text", "y": "exact FLOPs / (6 · N · D)", "title": "GPT-2 small"}
mark_guess(plot.curves(ratios, log="x", show="{:.2f}".format, **look), guess_6nd_ratio, axis="y")

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# A report says: "Our model of 1.5 billion parameters was trained on 40 billion tokens, which took 1.8 · 10²⁰ FLOPs."
#
# 1. Which rule, in which unit, gives that figure? What does 6 · N · D give?
# 2. GPT-2 XL reads texts of 1,024 tokens. How far off is 6 · N · D, once with Kaplan's N and once with Hoffmann's? In which direction, and which parts of the model are the reason? Calculate both.
# 3. You publish a FLOP count. What do you write beside it, so that nobody needs to ask what you meant?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_flops", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
#
# - *1 point:* The rule is 3 · N · D, or 6 · N · D counted in multiply-adds.
# - *1 point:* 3 · 1.5 · 10⁹ · 40 · 10⁹ = 1.8 · 10²⁰ is shown.
# - *1 point:* 6 · N · D = 3.6 · 10²⁰ FLOPs (`reflect_6nd`).
# - *1 point:* The exact count over the rule with Kaplan's N (1,475,561,600): 1.160 (a cell of the student's, as `demo_6nd`).
# - *1 point:* The same with Hoffmann's N (1,557,611,200): 1.099.
# - *1 point:* The rule is too low both times.
# - *1 point:* A reason, with a number: scores and mix have no parameters and add 12 · layers · d · s a token, 10.7 % or 10.1 % of 6 · N.
# - *1 point:* A reason, with a number: Kaplan's N leaves out the token matrix, which is also the output layer, 5.4 %.
# - *1 point:* Beside a count stand its unit, forward or training, and sample, token or run.
# - *1 point:* And two of these: which N; what is left out (elementwise, causal half, recomputation); sizes; tool and version.
#
# **A good answer (10).** Both quotients in one cell, both reasons in per cent.
#
# **A poor answer (2: items 1 and 3).** “They counted multiply-adds; 6 · N · D is 3.6 · 10²⁰ (cell). It is an approximation and off by some per cent because of attention. I would write FLOPs and the model.”
# (Attention without a number is not item 7.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can count any model to the last FLOP, without running it.
(
    f"MobileNetV2 takes {count_flops(*ZOO['MobileNetV2']):,} FLOPs for an image by your count,"
    f" GPT-2 small {count_flops(*ZOO['GPT-2 small']):,} for a text of 128 tokens."
)

# %% [markdown]
# ## Summary
#
# - A matrix product is 2 · m · k · n FLOPs. Linear layers, convolutions and attention are matrix products, with other names for the sizes. <!-- with matmul_flops -->
# - Work is not size: a convolution uses a parameter at every place, a linear layer in every row. <!-- with conv2d_flops -->
# - Watch a model's ops on meta tensors, and you can count any model. An op without a rule must be named. <!-- with count_flops -->
# - Backward costs the forward FLOPs once for each operand that needs a gradient. "Three times forward" and 6 · N · D are its limits for large models. <!-- with gradient_flops -->
# - A FLOP count means nothing without its unit, its batch, and what was left out. <!-- with section 9 -->
#
# <!-- with section 9 -->
# | what you see | the likely reason | what to do |
# |---|---|---|
# | a count is exactly half of yours | it counts multiply-adds | double it, and write the unit beside it |
# | a count is far too low | ops or dimensions are not seen | compare op by op; look for `@`, einsum and fused ops |
#
# **Next.** FLOPs say how much there is to do, not how long it takes. <!-- with lesson 03 -->
# Lesson 03 measures time, and how sure you can be of it. <!-- with lesson 03 -->
