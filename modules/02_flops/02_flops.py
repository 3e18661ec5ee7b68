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
# ![Six models as bars of one length, each divided by what its FLOPs are spent on. Convolutions take nearly all in LeNet-5, MobileNetV2 and the ResNet, linear layers nearly all in the Transformers, attention between tokens a few percent.](where.png)
#
# At the end of this lesson you draw this picture with a counter of your own, which is right to the last FLOP, forward and backward, for models that you have never seen.
#
# **You will be able to**
#
# - count the FLOPs of matrix products, convolutions and attention from their shapes;
# - count any model, without running it, by watching its operations go by;
# - say what training costs, and when "three times the forward pass" is wrong;
# - find out what a published FLOP count, or a tool that prints one, has left out.
#
# **You need** lesson 01, and what a matrix product is.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import json
import math
from pathlib import Path

import numpy as np

import proflab
from proflab import Tensor, autograd, dispatch, example_input, meta, models, nn
from proflab.lesson import doubles, expect, expect_raises, plot
from proflab.lesson.demo import demo_size
from proflab.nn import functional as F

# %% [markdown]
# ## 1 · Rows times columns
#
# A *FLOP* is one floating-point operation. Nearly all of a neural network's are in products of matrices, where each number of the result is a row times a column: k multiplications, each with an addition into the sum. A multiply-add is two FLOPs. Some papers and tools count it as one and call that FLOPs too, or MACs: section 9 finds out who. **In this course FLOPs are 2 × the multiply-adds of matrix products and convolutions**, and an exact int.
#
# ![A matrix of m rows and k columns times one of k rows and n columns; one row, one column and the one number of the result that they make are dark.](matmul.png)
#
# **Predict.** GPT-2 small widens 32 texts of 512 tokens from 768 to 3,072 features, in each block. How many FLOPs is that? Would a processor of 100 billion FLOPs a second take a hundredth of a second, a tenth, a whole one? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "matmul_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_flops(m, k, n):
    """The FLOPs of a matrix product, (m, k) times (k, n).

    m, k, n: ints, at least 1. Returns an int. Raises ValueError when a size is below 1.
    """
    ### BEGIN SOLUTION
    if min(m, k, n) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k} and {n}")
    return 2 * m * k * n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_matmul_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("2 × 3 times 3 × 4", matmul_flops(2, 3, 4), 48, mistakes={"k − 1 additions": 40})
expect("GPT-2, 32 × 512 tokens", matmul_flops(32 * 512, 768, 3072), 77_309_411_328)
expect(
    "more than 2⁶³, every digit", matmul_flops(10**7 + 1, 10**7, 10**6), 200_000_020_000_000_000_000
)
expect_raises("no rows", lambda: matmul_flops(0, 3, 4), ValueError)
expect_raises("no columns", lambda: matmul_flops(2, 0, 4), ValueError)
expect_raises("two negative sizes", lambda: matmul_flops(2, -3, -4), ValueError)
### BEGIN HIDDEN TESTS
expect("and back", matmul_flops(32 * 512, 3072, 768), 77_309_411_328)
expect("a matrix times a vector", matmul_flops(7, 5, 1), 70)
expect("a column times a row", matmul_flops(6, 1, 9), 108)
expect(
    "every digit of a large one",
    matmul_flops(10**6, 10**8 + 3, 10**7),
    2_000_000_060_000_000_000_000,
)
expect_raises("k below 1", lambda: matmul_flops(2, -3, 4), ValueError)
expect_raises("n below 1", lambda: matmul_flops(5, 3, 0), ValueError)
expect_raises("two sizes below 1", lambda: matmul_flops(-2, -3, 4), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_matmul", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
sizes = demo_size(full=[64, 128, 256, 512, 1024, 2048, 4096], small=[64, 512, 4096])
lines = {
    "FLOPs": [(n, matmul_flops(n, n, n)) for n in sizes],
    "numbers in and out": [(n, 3 * n * n) for n in sizes],
}
plot.curves(lines, x="n, for n × n times n × n", y="count", log="xy", title="Work grows faster")

# %% [markdown]
# The larger the matrices, the more work there is for each number that has to be fetched: this gap is why large products run fast. Lesson 06 draws a roof from it.
#
# ## 2 · A linear layer, as often as there are rows
#
# A linear layer takes the last dimension. All the others, a batch, a text's tokens, an image's patches, only say how many rows it has. Its bias is added, not multiplied, so it is *elementwise* work: that is counted apart (section 6).
#
# **Predict.** A counter looks at the layer alone and reports 2 · in · out. By what factor is it wrong for a text of 1,024 tokens? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "linear_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_flops(input_shape, out_features):
    """The FLOPs of a linear layer on an input of this shape; the bias is not counted.

    input_shape: (..., in_features), a tuple or a list with any number of leading dimensions, also
        none; all are counted. out_features: int, at least 1. Returns an int.
    Raises ValueError when the shape is empty, or a size is below 1.
    """
    ### BEGIN SOLUTION
    *leading, in_features = input_shape or (0,)
    if min(in_features, out_features, *leading) < 1:
        raise ValueError(f"no linear layer to {out_features} takes the shape {input_shape}")
    return matmul_flops(math.prod(leading), in_features, out_features)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_linear_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
expect("one vector", linear_flops((128,), 64), 16_384)
expect(
    "a batch of 32",
    linear_flops((32, 128), 64),
    524_288,
    mistakes={"the batch is left out": 16_384, "a bias is counted": 526_336},
)
expect("GPT-2, 2 texts of 1,024", linear_flops((2, 1024, 768), 3072), 9_663_676_416)
expect("four leading dimensions", linear_flops((2, 3, 5, 7, 11), 13), 60_060)
expect_raises("an empty shape", lambda: linear_flops((), 5), ValueError)
expect_raises("an empty batch", lambda: linear_flops((0, 3, 5), 4), ValueError)
expect_raises("two negative sizes", lambda: linear_flops((-2, -3, 5), 4), ValueError)
expect_raises("no outputs", lambda: linear_flops((2, 3), 0), ValueError)
### BEGIN HIDDEN TESTS
expect("a shape as a list", linear_flops([4, 6], 5), 240)
expect("to one number", linear_flops((3, 9), 1), 54)
expect("five leading dimensions", linear_flops((2, 1, 3, 2, 5, 4), 7), 3_360)
expect_raises("no tokens", lambda: linear_flops((4, 0, 3), 2), ValueError)
expect_raises("no features", lambda: linear_flops((4, 0), 2), ValueError)
expect_raises("a negative width on both sides", lambda: linear_flops((4, -6), -5), ValueError)
expect_raises("fewer outputs than none", lambda: linear_flops((4, 6), -5), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_linear", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
counts = {
    "as if one row": linear_flops((768,), 3072),
    "a text of 128 tokens": linear_flops((128, 768), 3072),
    "a text of 1,024 tokens": linear_flops((1024, 768), 3072),
    "32 such texts": linear_flops((32, 1024, 768), 3072),
}
plot.bars(counts, unit="FLOPs", title="One and the same layer, 768 → 3072", log=True)

# %% [markdown]
# ## 3 · How many places a window has
#
# A convolution lays its filters on many places of the image. How many there are along one side follows from five numbers: a border of `padding` is added on both ends, the kernel's elements lie `dilation` apart, so that a window spans dilation · (kernel − 1) + 1, and it moves by `stride` as long as it fits.
#
# ![A row of eight squares with a border of one on each side, and below it the four places of a window of three that moves by two squares. The last square of the border is never reached.](windows.png)
#
# **Predict.** ResNet's first convolution: 224 × 224, kernel 7, stride 2, padding 3. What is the size of its output, and is it a whole number that you divided? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "pair", "locked": true, "schema_version": 3, "solution": false, "task": false}
def pair(value):
    """An int for both directions, or (vertical, horizontal), as a tuple of two."""
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{value} is neither a number nor a pair")
    return both


# %% nbgrader={"grade": false, "grade_id": "conv2d_output_shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_output_shape(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1):
    """The shape of a 2-d convolution's output, (batch, out_channels, height, width).

    input_shape: (batch, channels, height, width), a tuple or a list. kernel_size, stride, padding,
        dilation: ints, or pairs (vertical, horizontal), tuples or lists. Returns a tuple of ints.
    Raises ValueError when input_shape has not four sizes; when one of them, out_channels, a kernel
    size, a stride or a dilation is below 1; when padding is negative; when a tuple or list is no
    pair; and when the window does not fit into the padded image.
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
expect("not square", conv2d_output_shape((1, 3, 20, 30), 4, (3, 5)), (1, 4, 18, 26))
expect("dilated", conv2d_output_shape((2, 4, 9, 9), 4, 3, dilation=2), (2, 4, 5, 5))
expect("strides that leave a rest", conv2d_output_shape((1, 1, 10, 11), 1, 3, 4), (1, 1, 2, 3))
expect("lists for pairs", conv2d_output_shape([2, 1, 8, 8], 1, [3, 1], [1, 2]), (2, 1, 6, 4))
### BEGIN HIDDEN TESTS
each = conv2d_output_shape((3, 5, 17, 23), 7, (2, 5), (3, 2), (1, 0), (4, 2))
expect("each its own for each side", each, (3, 7, 5, 8))
expect("a kernel as large as the image", conv2d_output_shape((1, 2, 4, 6), 3, (4, 6)), (1, 3, 1, 1))
expect("a stride of 3", conv2d_output_shape((4, 2, 12, 13), 5, 2, 3), (4, 5, 4, 4))
expect("more padding than kernel", conv2d_output_shape((1, 1, 1, 1), 2, 1, 1, 3), (1, 2, 7, 7))
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_output_shape_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("a window that just fits", conv2d_output_shape((1, 1, 3, 3), 1, 5, padding=1), (1, 1, 1, 1))
expect_raises("one that does not", lambda: conv2d_output_shape((1, 1, 4, 4), 1, 5), ValueError)
expect_raises("no image", lambda: conv2d_output_shape((1, 4, 4), 1, 3), ValueError)
expect_raises("an empty batch", lambda: conv2d_output_shape((0, 1, 4, 4), 1, 3), ValueError)
expect_raises("no channels", lambda: conv2d_output_shape((1, 0, 4, 4), 1, 3), ValueError)
expect_raises("no outputs", lambda: conv2d_output_shape((1, 1, 4, 4), 0, 3), ValueError)
expect_raises("no stride", lambda: conv2d_output_shape((1, 1, 4, 4), 1, 3, (1, 0)), ValueError)
expect_raises("a stride of −1", lambda: conv2d_output_shape((1, 1, 4, 4), 1, 3, -1), ValueError)
expect_raises("padding", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, 1, -1), ValueError)
expect_raises("dilation", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, 1, 0, -1), ValueError)
expect_raises("three sizes", lambda: conv2d_output_shape((1, 1, 9, 9), 1, (3, 3, 3)), ValueError)
### BEGIN HIDDEN TESTS
expect_raises("dilated", lambda: conv2d_output_shape((1, 1, 4, 4), 1, 3, 1, 0, 2), ValueError)
expect_raises("one side", lambda: conv2d_output_shape((1, 1, 9, 2), 1, (3, 3)), ValueError)
expect_raises("a stride", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, (-2, 1)), ValueError)
expect_raises("one border", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, 1, (0, -2)), ValueError)
expect_raises("one size", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, [2]), ValueError)
expect_raises("no dilation", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 3, 1, 0, 0), ValueError)
expect_raises("no kernel", lambda: conv2d_output_shape((1, 1, 9, 9), 1, 0), ValueError)
expect_raises("all below 1", lambda: conv2d_output_shape((-1, -2, 9, 9), -3, 3), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · A filter at each place
#
# At each place, each filter multiplies and adds all that its window covers, in the channels of its group. So a convolution with few parameters can be a lot of work: each is used at every place, and in every image of the batch.
#
# **Predict.** AlexNet has 96 % of its parameters in its three linear layers (lesson 01). Where are its FLOPs? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "conv2d_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_flops(input_shape, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1):
    """The FLOPs of a 2-d convolution on an input of this shape, batch included, without bias.

    Arguments as for conv2d_output_shape; groups: int, at least 1, divides both channel numbers.
    Returns an int. Raises ValueError as conv2d_output_shape does, and for groups that do not fit.
    """
    ### BEGIN SOLUTION
    output = conv2d_output_shape(input_shape, out_channels, kernel_size, stride, padding, dilation)
    channels = input_shape[1]
    if groups < 1 or channels % groups or out_channels % groups:
        raise ValueError(f"{channels} and {out_channels} channels do not make {groups} groups")
    return 2 * math.prod(output) * channels // groups * math.prod(pair(kernel_size))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_conv2d_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("LeNet-5's first", conv2d_flops((1, 1, 32, 32), 6, 5), 235_200)
expect(
    "ResNet's first, 32 images",
    conv2d_flops((32, 3, 224, 224), 64, 7, stride=2, padding=3),
    7_552_892_928,
    mistakes={
        "the batch is left out": 236_027_904,
        "stride is ignored": 30_211_571_712,
    },
)
expect("not square", conv2d_flops((1, 3, 20, 30), 4, (3, 5)), 168_480)
### BEGIN HIDDEN TESTS
expect("image and kernel not square", conv2d_flops((2, 4, 9, 16), 6, (2, 7), 1, (0, 3)), 172_032)
expect("1 × 1", conv2d_flops((4, 256, 14, 14), 512, 1), 205_520_896)
expect("dilated, with stride", conv2d_flops((1, 2, 15, 15), 3, 3, 2, 1, 2), 5_292)
expect("pairs", conv2d_flops((3, 5, 17, 23), 7, (2, 5), (3, 2), (1, 0), (4, 2)), 84_000)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_flops_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect(
    "depthwise",
    conv2d_flops((1, 32, 112, 112), 32, 3, 1, 1, groups=32),
    7_225_344,
    mistakes={"groups are ignored": 231_211_008},
)
odd = [{"groups": 2}, {"groups": 0}, {"groups": -3}]
expect_raises("5 inputs, 2 groups", lambda: conv2d_flops((1, 5, 8, 8), 4, 3, **odd[0]), ValueError)
expect_raises("7 outputs, 2 groups", lambda: conv2d_flops((1, 6, 8, 8), 7, 3, **odd[0]), ValueError)
expect_raises("no groups", lambda: conv2d_flops((1, 6, 8, 8), 6, 3, **odd[1]), ValueError)
expect_raises("−3 groups", lambda: conv2d_flops((1, 6, 8, 8), 6, 3, **odd[2]), ValueError)
expect_raises("an empty batch", lambda: conv2d_flops((0, 6, 8, 8), 6, 3), ValueError)
expect_raises("no channels", lambda: conv2d_flops((1, 0, 8, 8), 6, 3), ValueError)
### BEGIN HIDDEN TESTS
expect(
    "AlexNet's second, by position", conv2d_flops((2, 96, 27, 27), 256, 5, 1, 2, 1, 2), 895_795_200
)
expect("more outputs than inputs", conv2d_flops((1, 4, 6, 6), 12, 3, groups=4), 3_456)
expect_raises("8 outputs", lambda: conv2d_flops((1, 6, 8, 8), 8, 3, groups=3), ValueError)
expect_raises("no batch", lambda: conv2d_flops((6, 8, 8), 6, 3), ValueError)
expect_raises("no outputs", lambda: conv2d_flops((1, 6, 8, 8), 0, 3, groups=3), ValueError)
expect_raises("too small", lambda: conv2d_flops((1, 6, 2, 8), 6, 3), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_conv2d", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
from built import conv2d_parameters, linear_parameters  # what you wrote in lesson 01

layers = [(3, 227, 96, 11, 4, 0, 1), (96, 27, 256, 5, 1, 2, 2), (256, 13, 384, 3, 1, 1, 1)]
layers += [(384, 13, 384, 3, 1, 1, 2), (384, 13, 256, 3, 1, 1, 2)]
alexnet = {"parameters": {}, "FLOPs, one image": {}}
for number, (i, size, o, kernel, stride, padding, groups) in enumerate(layers, start=1):
    flops = conv2d_flops((1, i, size, size), o, kernel, stride, padding, groups=groups)
    alexnet["parameters"][f"conv{number}"] = conv2d_parameters(i, o, kernel, groups=groups)
    alexnet["FLOPs, one image"][f"conv{number}"] = flops
full = [(9216, 4096), (4096, 4096), (4096, 1000)]
alexnet["parameters"]["fc6–8"] = sum(linear_parameters(i, o) for i, o in full)
alexnet["FLOPs, one image"]["fc6–8"] = sum(linear_flops((1, i), o) for i, o in full)
plot.shares(alexnet, unit="parameters or FLOPs", title="AlexNet, layer by layer")

# %% [markdown]
# 4 % of the parameters do 92 % of the work. Size and work are two things: to make AlexNet's file smaller one prunes its linear layers, to make it faster its convolutions.
#
# ## 5 · Attention, and a formula to distrust
#
# Self-attention is four linear layers from d to d, *the projections*, and two products between tokens: queries with keys make b · h matrices of s × s scores, and scores with values mix the values. In a *causal* model token i looks at tokens 1 to i only, so of s² scores s (s + 1) / 2 matter. Most code computes them all and throws half away, therefore we count all, unless asked.
#
# **Predict.** GPT-2 small: d = 768. From how many tokens on are the scores and the mix more work than the projections? What do twice as many heads change? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "attention_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_flops(batch, seq, d_model, heads, causal=False):
    """The FLOPs of multi-head self-attention: four projections, scores, and mix of the values.

    batch, seq (tokens), d_model (width), heads: ints, at least 1; heads divides d_model.
    causal: count of scores and mix only the pairs of a token with itself and those before it.
    Returns an int; no bias, no softmax. Raises ValueError for sizes that are not as said.
    """
    ### BEGIN SOLUTION
    if min(batch, seq, d_model, heads) < 1 or d_model % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d_model}, or a size is below 1")
    projections = 4 * linear_flops((batch, seq, d_model), d_model)
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    return projections + 2 * matmul_flops(batch * pairs, d_model, 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect(
    "GPT-2 small, 1,024 tokens",
    attention_flops(1, 1024, 768, 12),
    8_053_063_680,
    mistakes={
        "the projections are counted at half": 5_637_144_576,
        "scores or mix are missing": 6_442_450_944,
        "the output projection is missing": 6_845_104_128,
    },
)
expect("one token", attention_flops(1, 1, 64, 4), 33_024)
expect("BERT-base, 8 × 128", attention_flops(8, 128, 768, 12), 5_234_491_392)
expect_raises("5 heads for 64", lambda: attention_flops(1, 8, 64, 5), ValueError)
expect_raises("an empty batch", lambda: attention_flops(0, 8, 64, 4), ValueError)
expect_raises("−4 heads", lambda: attention_flops(1, 8, 64, -4), ValueError)
### BEGIN HIDDEN TESTS
expect("a batch of 5", attention_flops(5, 64, 512, 8), 713_031_680)
expect("one head", attention_flops(3, 7, 10, 1), 22_680)
expect("as many heads as features", attention_flops(3, 7, 10, heads=10), 22_680)
expect("long", attention_flops(1, 100_000, 12288, 96), 612_315_955_200_000)
expect_raises("no heads", lambda: attention_flops(1, 8, 64, 0), ValueError)
expect_raises("no tokens", lambda: attention_flops(1, 0, 64, 4), ValueError)
expect_raises("a negative batch", lambda: attention_flops(-1, 8, 64, 4), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attention_flops_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("causal, one token", attention_flops(1, 1, 64, 4, causal=True), 33_024)
expect(
    "causal, 1,024 tokens",
    attention_flops(1, 1024, 768, 12, causal=True),
    6_444_023_808,
    mistakes={
        "the pairs of a token with itself are missing, or halved": 6_442_450_944,
        "the projections are halved too": 4_026_531_840,
        "causal is ignored": 8_053_063_680,
    },
)
expect_raises("causal, 5 heads", lambda: attention_flops(1, 8, 64, 5, True), ValueError)
### BEGIN HIDDEN TESTS
expect("causal, an odd number", attention_flops(2, 5, 6, 3, True), 3_600)
expect("causal, 8 × 512", attention_flops(8, 512, 1024, 16, causal=True), 38_663_094_272)
expect_raises("causal, no width", lambda: attention_flops(1, 4, 0, 1, True), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
formulas = {
    "8·b·s·d² + 4·b·s²·d  counted as here": lambda b, s, d: (8 * b * s * d**2, 4 * b * s**2 * d),
    "4·b·s·d² + 2·b·s²·d  Swin, eq. 1": lambda b, s, d: (4 * b * s * d**2, 2 * b * s**2 * d),
    "8·b·s·d² + 2·b·s²·d  Kaplan, table 1": lambda b, s, d: (8 * b * s * d**2, 2 * b * s**2 * d),
    "4·b·s·d² + 4·b·s²·d  copied widely": lambda b, s, d: (4 * b * s * d**2, 4 * b * s**2 * d),
}
print(f"{'128 × 1,024 tokens, d = 768':<38}projections  scores, mix      all")
within = attention_flops(128, 1024, 768, 12) - 4 * linear_flops((128, 1024, 768), 768)
right = [4 * linear_flops((128, 1024, 768), 768), within]
for name, formula in formulas.items():
    parts = formula(128, 1024, 768)
    ratios = [parts[0] / right[0], parts[1] / right[1], sum(parts) / sum(right)]
    print(f"{name:<38}" + "".join(f"{ratio:>11.2f}×" for ratio in ratios))

# %% [markdown]
# All four are called FLOPs. The Swin paper counts multiply-adds, in both terms; Kaplan et al. (2020) have half of the pairs, which is what a causal model needs on average. Both can be converted. The last one counts its projections in multiply-adds and the rest in FLOPs: no unit makes it right, and how far it is off depends on s and d, so it is easily taken for another convention. A formula of two terms needs a test on two sizes.

# %% nbgrader={"grade": false, "grade_id": "demo_attention_share", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
lengths = demo_size(full=[128, 256, 512, 1024, 2048, 4096, 8192, 16384], small=[128, 16384])
between = {}
for name, d in {"d = 768": 768, "d = 1,600": 1600, "d = 12,288": 12288}.items():
    parts = [(s, 4 * linear_flops((s, d), d), attention_flops(1, s, d, 1)) for s in lengths]
    between[name] = [(s, 1 - projections / total) for s, projections, total in parts]
plot.curves(
    between, x="tokens", y="scores and mix, share of attention", log="x", show="{:.0%}".format,
    title="Between tokens",
)  # fmt: skip

# %% [markdown]
# Half of it at s = 2 d, however many heads there are. "Attention is quadratic" is true, and for a wide model at usual lengths it is the smaller part.
#
# ## 6 · Elementwise work
#
# What is left goes element by element: a bias is added, a ReLU taken, a row normalized. How many FLOPs is a `gelu`? It depends on how it is computed, on which processor, and nobody agrees. We fix numbers, say so, and never add them to the others.
#
# **Predict.** How much elementwise work is in a Transformer block, in percent of its matrix products? *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false}
# This course's convention: FLOPs for each element of the op's result.
ELEMENTWISE = {
    "add": 1, "mul": 1, "relu": 1, "bias": 1, "gelu": 8, "softmax": 5, "layer_norm": 8,
    "batch_norm": 2, "batch_norm_train": 8,  # in eval it is one multiply-add
}  # fmt: skip


# %% nbgrader={"grade": false, "grade_id": "elementwise_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def elementwise_flops(op, shape):
    """The FLOPs of an elementwise op whose result has this shape, by the table ELEMENTWISE.

    op: a key of the table. shape: a tuple of ints, at least 1; () is a single number.
    Returns an int. Raises ValueError for an op that is not in the table, and for a size below 1.
    """
    ### BEGIN SOLUTION
    if op not in ELEMENTWISE or any(size < 1 for size in shape):
        raise ValueError(f"{op!r} on {shape}: the table has {', '.join(ELEMENTWISE)}")
    return ELEMENTWISE[op] * math.prod(shape)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_elementwise_flops", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU", elementwise_flops("relu", (8, 16)), 128)
expect("softmax, 64 × 12 heads", elementwise_flops("softmax", (64, 12, 1024, 1024)), 4_026_531_840)
norms = [elementwise_flops(name, (5, 3)) for name in ("batch_norm", "batch_norm_train")]
expect("two modes", norms, [30, 120])
expect("a single number", elementwise_flops("gelu", ()), 8)
expect_raises("an op that is not in the table", lambda: elementwise_flops("sine", (4,)), ValueError)
expect_raises("a size of 0", lambda: elementwise_flops("add", (3, 0)), ValueError)
expect_raises("two negative sizes", lambda: elementwise_flops("mul", (-3, -2)), ValueError)
### BEGIN HIDDEN TESTS
shape, single = (7, 5, 3), ()
names = ["add", "mul", "bias", "gelu", "layer_norm", "batch_norm", "batch_norm_train"]
counts = [elementwise_flops(name, shape) for name in names]
expect("the whole table", counts, [105, 105, 105, 840, 840, 210, 840])
expect("one number's softmax", elementwise_flops("softmax", single), 5)
expect("a softmax", elementwise_flops("softmax", (2, 3, 5, 5)), 750)
expect_raises("no rows", lambda: elementwise_flops("gelu", (0, 4)), ValueError)
expect_raises("one negative size", lambda: elementwise_flops("add", (3, -1, 2)), ValueError)
expect_raises("no name", lambda: elementwise_flops("", (3, 2)), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
b, s, d, h = 1, 1024, 768, 12
block = {
    "linear layers": attention_flops(b, s, d, h) - 4 * b * s * s * d + 16 * b * s * d * d,
    "scores and mix": 4 * b * s * s * d,
    "softmax": elementwise_flops("softmax", (b, h, s, s)),
    "gelu": elementwise_flops("gelu", (b, s, 4 * d)),
    "2 layer norms": 2 * elementwise_flops("layer_norm", (b, s, d)),
    "biases": elementwise_flops("bias", (b, s, 9 * d)),
    "2 additions": 2 * elementwise_flops("add", (b, s, d)),
}
plot.bars(block, unit="FLOPs", title="A block of GPT-2 small, 1,024 tokens", log=True)

# %% [markdown]
# Less than one percent, all together, and so it is left out of FLOP counts. It is not left out of the time: lesson 06 shows why these few take a large part of it.
#
# ## 7 · Letters for dimensions
#
# `einsum` writes a product by naming dimensions. `"ij,jk->ik"` is a matrix product: j stands in both and not in the result, so it is multiplied and *summed*. A label of one operand alone, and not of the result, is summed before anything is multiplied. Each choice of the labels that are left costs a multiply-add. Where no label of both is summed, as in `"i,j->ij"`, there are products but no sums: that is elementwise work, and does not count here.
#
# **Predict.** Scores of attention are `"bhid,bhjd->bhij"`. Which labels multiply? And what does `"bi,bi->b"` cost? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "einsum_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def einsum_flops(equation, shapes):
    """The FLOPs of an einsum of one operand or two.

    equation: labels with "->", no spaces, no "...", no label twice in one part: "bij,jk->bik".
    shapes: a list of as many shapes as there are operands. Returns an int: 0 for one operand, and
    where no label that both have is summed. Raises ValueError for more operands than two.
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


# %% nbgrader={"grade": true, "grade_id": "test_einsum_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect("a matrix product", einsum_flops("ij,jk->ik", [(2, 3), (3, 4)]), 48)
expect("two vectors", einsum_flops("i,i->", [(100,), (100,)]), 200)
scores = einsum_flops("bhid,bhjd->bhij", [(8, 12, 1024, 64), (8, 12, 1024, 64)])
expect("scores, 8 texts of 1,024 tokens", scores, 12_884_901_888)
expect("products without a sum", einsum_flops("i,j->ij", [(5,), (6,)]), 0)
expect("one operand, summed", einsum_flops("ij->j", [(5, 6)]), 0)
expect("a label of one alone", einsum_flops("ijx,jk->ik", [(2, 3, 9), (3, 4)]), 48)
expect("the first label is summed", einsum_flops("ki,kj->ij", [(7, 2), (7, 3)]), 84)
expect_raises("three", lambda: einsum_flops("i,i,i->", [(2,), (2,), (2,)]), ValueError)
### BEGIN HIDDEN TESTS
expect("scores", einsum_flops("bhid,bhjd->bhij", [(2, 3, 5, 7), (2, 3, 6, 7)]), 2_520)
expect("one operand, turned", einsum_flops("ijk->kji", [(5, 6, 7)]), 0)
expect("elements", einsum_flops("ij,ij->ij", [(5, 6), (5, 6)]), 0)
expect("row by row", einsum_flops("bi,bi->b", [(5, 6), (5, 6)]), 60)
expect("one of each alone, none shared", einsum_flops("ix,jy->ij", [(2, 3), (4, 5)]), 0)
expect("two labels summed", einsum_flops("bcij,ijcf->bf", [(2, 3, 5, 7), (5, 7, 3, 11)]), 4_620)
expect("the other order", einsum_flops("jk,ij->ki", [(3, 4), (2, 3)]), 48)
expect("other letters", einsum_flops("Zq,aZ->qa", [(3, 4), (2, 3)]), 48)
expect_raises("four", lambda: einsum_flops("i,i,j,j->", [(2,), (2,), (3,), (3,)]), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · Any model, by watching it
#
# A formula for a whole model would have to know the model. Instead, let it run and watch. Every operation of proflab, whether a layer, a function or `@` made it, passes one point, and a hook placed there sees its name, its inputs and its attributes. On *meta* tensors, which have a shape and no data, nothing is computed.


# %% nbgrader={"grade": false, "grade_id": "demo_hook", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
def tell(call):
    print(f"{call.op:<8}{[t.shape for t in call.inputs]}  {call.attributes}")
    return call()


tiny = nn.Sequential(nn.Conv2d(3, 8, 3, padding="same"), nn.ReLU(), nn.Flatten(), nn.Linear(800, 5))
with dispatch.hook(tell):
    tiny(Tensor.meta((1, 3, 10, 10)))

# %% [markdown]
# So two things are needed: the FLOPs of one op, and a sum. An op that is in no list must not count as nothing. Counters that skip what they do not know are the reason for the next section's figures.
#
# Besides the four ops that you know there is fused attention, which makes two matrix products without showing them: `as_matmuls` unfolds it. And a product of two stacks of matrices broadcasts its leading dimensions, as numpy does; a vector is a matrix of one row on the left, of one column on the right.
#
# **Predict.** (3, 1, 4, 5) @ (2, 5, 6): how many matrix products is that? *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "ops", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Ops that neither multiply matrices nor convolve: elementwise work, sums, choices, moved data.
NO_PRODUCTS = frozenset(
    """
    add sub rsub mul div rdiv pow to clone maximum minimum where masked_fill clamp neg exp
    exp2 log log2 log10 log1p expm1 sqrt rsqrt reciprocal square abs sign floor ceil round
    trunc sin cos tan atan tanh sigmoid erf eq ne lt le gt ge logical_and logical_or
    logical_xor isnan isinf isfinite logical_not floor_divide remainder relu relu6 leaky_relu
    elu gelu silu hardswish softplus softmax log_softmax sum mean prod amax amin var logsumexp
    cumsum any all argmax argmin reshape permute expand getitem index index_put embedding
    gather scatter_add argsort nonzero cat split pad tril triu flip roll nll_loss layer_norm
    group_norm batch_norm max_pool2d avg_pool2d adaptive_avg_pool2d dropout
    """.split()
)


def as_matmuls(shapes):
    """The shapes of the two matrix products in fused attention: query @ keyᵀ, scores @ value."""
    query, key, value = shapes[:3]
    stack = np.broadcast_shapes(query[:-2], key[:-2])
    return (query, (*key[:-2], key[-1], key[-2])), ((*stack, query[-2], key[-2]), value)


# %% nbgrader={"grade": false, "grade_id": "op_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_flops(op, shapes, attributes):
    """The FLOPs of one op in the forward pass.

    op: its name. shapes: a list of its inputs' shapes. attributes: a dict of what else it got.
        matmul: two shapes of at least one dimension. linear: input, weight (out, in), perhaps bias.
        conv2d: input, weight (out, in / groups, height, width), perhaps bias; attributes stride,
        padding, dilation, groups. einsum: attribute equation. scaled_dot_product_attention: query,
        key, value, perhaps mask; in full also where causal.
    Returns an int, 0 for the ops in NO_PRODUCTS. Raises NotImplementedError with a message that
    names the op for any other.
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
expect("stacks", op_flops("matmul", [(3, 1, 4, 5), (2, 5, 6)], {}), 1_440)
expect("matrix times vector", op_flops("matmul", [(7, 5), (5,)], {}), 70)
settings = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 2}
expect("conv2d", op_flops("conv2d", [(2, 4, 8, 9), (6, 2, 3, 3), (6,)], settings), 12_096)
expect("einsum", op_flops("einsum", [(2, 3), (3, 4)], {"equation": "ij,jk->ik"}), 48)
fused, qkv = {"is_causal": True, "scale": 0.5}, [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 3)]
expect("fused attention, in full", op_flops("scaled_dot_product_attention", qkv, fused), 1_056)
expect("softmax", op_flops("softmax", [(2, 3)], {"dim": -1}), 0)
### BEGIN HIDDEN TESTS
expect("linear", op_flops("linear", [(2, 9, 8), (5, 8), (5,)], {}), 1_440)
expect("two vectors", op_flops("matmul", [(9,), (9,)], {}), 18)
expect("vector times stack", op_flops("matmul", [(5,), (3, 5, 6)], {}), 180)
expect("stack times vector", op_flops("matmul", [(2, 3, 4, 5), (5,)], {}), 240)
expect("a stack times one matrix", op_flops("matmul", [(2, 3, 4, 5), (5, 6)], {}), 1_440)
expect("linear on one vector", op_flops("linear", [(8,), (5, 8)], {}), 80)
letters = {"equation": "bij,kj->bik"}
expect("a batched einsum", op_flops("einsum", [(2, 3, 4), (5, 4)], letters), 240)
same = {"stride": (1, 1), "padding": (2, 2), "dilation": (2, 2), "groups": 6}
expect("depthwise", op_flops("conv2d", [(1, 6, 7, 7), (12, 1, 3, 3)], same), 10_584)
fused = {"is_causal": True, "scale": 0.5}
qkv = [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), (5, 7)]
expect("fused", op_flops("scaled_dot_product_attention", qkv, fused), 5_040)
shared = [(2, 4, 5, 8), (5, 8), (1, 1, 5, 8)]
expect("fused, shared keys", op_flops("scaled_dot_product_attention", shared, fused), 6_400)
moved = ["reshape", "embedding", "batch_norm", "mul", "sum", "cat", "max_pool2d", "dropout"]
expect("others", [op_flops(op, [(2, 3)], {}) for op in moved], [0, 0, 0, 0, 0, 0, 0, 0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_flops_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect("an addition", op_flops("add", [(4, 4), (4,)], {}), 0)
expect("an unknown op", doubles.refuses("fft", op_flops, "fft", [(8, 8)], {}), True)
image = [(2, 3, 8, 8), (4, 3, 3, 3)]
expect("nearly a known op", doubles.refuses("conv2d_", op_flops, "conv2d_", image, {}), True)
### BEGIN HIDDEN TESTS
shapes = [(2, 3, 8, 8), (4, 3, 3, 3)]
unknown = [doubles.refuses(op, op_flops, op, shapes, {}) for op in ("lstm_cell", "conv3d")]
nearly = [doubles.refuses(op, op_flops, op, shapes, {}) for op in ("Linear", "matmul_")]
expect("others", unknown, [True, True])
expect("nearly known ones", nearly, [True, True])
expect_raises("the exception", lambda: op_flops("scan", [(2, 3)], {}), NotImplementedError)
expect("a view", op_flops("permute", [(4, 5, 6)], {"dims": (2, 0, 1)}), 0)
### END HIDDEN TESTS

# %% [markdown]
# Now the sum. A model's count is *per sample*: the batch is cut to 1, so that a layer has one number whatever the batch. `meta_inputs` does that and refuses what is no model and no shape.
#
# **Predict.** A model calls one and the same linear layer three times. Parameters once; and FLOPs? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "meta_inputs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def meta_inputs(model, input_shape, per_sample, requires_grad=False):
    """The model's inputs without data, as a tuple; with per_sample, the batch of each cut to 1."""
    if not callable(model):
        raise ValueError(f"a {type(model).__name__} is no model: it cannot be called")
    inputs = example_input(model, input_shape, meta=True)
    made = []
    for x in inputs if isinstance(inputs, tuple) else (inputs,):
        shape = (1, *x.shape[1:]) if per_sample and x.shape else x.shape
        leaf = Tensor.meta(shape, x.dtype, requires_grad and x.is_floating_point())
        made.append(leaf.clone())  # what the model may change in place, as in a larger model
    return tuple(made)


# %% nbgrader={"grade": false, "grade_id": "count_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_flops(model, input_shape, per_sample=True):
    """The FLOPs of a model's forward pass: what its matrix products and convolutions cost.

    model: a Module, or anything that can be called; in the mode (train or eval) that it is in.
        A bare Tensor counts one FLOP for each of its elements, whatever the other arguments.
    input_shape: batch first; or a ready input, or a tuple of these for a model with several.
    per_sample: count one sample. False: count the shape as it is given.
    Returns an int. The model stays as it is. Raises NotImplementedError with a message that names
    an op for which there is no rule, ValueError for what is no model and for what is no shape.
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


# %% nbgrader={"grade": true, "grade_id": "test_count_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(128, 64)
expect("linear", count_flops(layer, (1, 128)), 16_384, mistakes={"the bias is counted": 16_448})
expect("per sample", count_flops(layer, (32, 128)), 16_384, mistakes={"the batch counts": 524_288})
expect("as given", count_flops(layer, (32, 128), per_sample=False), 524_288)
expect("a text", count_flops(nn.Linear(768, 3072), (1, 1024, 768)), 4_831_838_208)
expect("LeNet-5", count_flops(models.LeNet5(), (4, 1, 32, 32)), 833_040)
shared = nn.Linear(16, 16)
thrice = nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), shared)
expect("reused", count_flops(thrice, (2, 16)), 1_536, mistakes={"each layer counts once": 512})
expect("a Tensor", count_flops(Tensor.meta((4, 8)), (2, 3), False), 32)
expect("two inputs", count_flops(lambda x, y: x @ y, ((5, 2, 3), (5, 3, 4))), 48)
fused = count_flops(lambda x: F.scaled_dot_product_attention(x, x, x), (9, 5, 4))
expect("fused attention", fused, 400)
half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
half[0].weight.requires_grad = False
expect("a frozen layer", count_flops(half, (1, 4)), 48, mistakes={"frozen layers are left out": 16})
half[1] = nn.Linear(4, 8)
expect("the same model, changed", count_flops(half, (1, 4)), 96)


### BEGIN HIDDEN TESTS
class Odd(nn.Module):
    def __init__(self):
        self.inner = nn.ModuleList(
            [nn.Sequential(nn.Conv2d(4, 6, (1, 3), groups=2)), nn.Identity()]
        )
        self.attention = nn.MultiheadAttention(6, 3, dropout=0.1, batch_first=True)
        self.table = nn.Parameter(Tensor.meta((5, 6, 7)))

    def forward(self, x, scale):
        for layer in self.inner:
            x = layer(x)
        x, _ = self.attention(x.flatten(2).transpose(1, 2), need_weights=self.training)
        x = x[:, :5] @ self.table[0] * scale
        return proflab.einsum("btk,ti,...ik->bt", x, x[0, :, :6], self.table)


class MyLinear(nn.Linear):
    pass


odd = Odd()
shapes = ((3, 4, 4, 7), (3, 1, 1))
expect("everything at once", count_flops(odd, shapes), 17_640)
expect("in eval", count_flops(odd.eval(), shapes), 17_640)
expect("and as given", count_flops(odd, shapes, per_sample=False), 52_920)
expect("a subclass", count_flops(MyLinear(9, 4), (6, 2, 9)), 144)
expect("a function", count_flops(lambda x: F.linear(x, x) @ x, (1, 5)), 20)
expect("no products", count_flops(nn.Sequential(nn.ReLU(), nn.Softmax(-1)), (3, 9)), 0)
expect("a Tensor's elements", count_flops(Tensor([[1.0, 2.0, 3.0]]), (7, 3)), 3)
with meta():
    mobilenet, gpt2 = models.mobilenet_v2(), models.gpt2("small")
expect("MobileNetV2", count_flops(mobilenet, (8, 3, 224, 224)), 601_548_544)
expect("GPT-2", count_flops(gpt2, (2, 256), False), 131_328_638_976)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_flops_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
whiten = doubles.unknown_op("whiten")
strange = doubles.refuses("whiten", count_flops, lambda x: whiten(F.linear(x, x)), (1, 4))
expect("an unknown op", strange, True)
expect_raises("no model", lambda: count_flops(3, (1, 4)), ValueError)
model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3))
model.train()[0].bias.grad = Tensor([1.0, 2.0, 3.0])
expect("in training", count_flops(model, (5, 2, 6, 6)), 1_728)
expect(
    "it is still in training, and has run nothing",
    [model.training, model[1].running_mean.tolist()],
    [True, [0.0] * 3],
)
expect(
    "its gradients are as they were",
    [p.grad is not None for p in model.parameters()],
    [False, True, False, False],
)
expect("still in eval", [count_flops(model.eval(), (5, 2, 6, 6)), model.training], [1_728, False])


class Heads(nn.Module):
    def __init__(self):
        self.main, self.extra = nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x):
        return (self.main(x), self.extra(x)) if self.training else self.main(x)


expect("a head for training only", count_flops(Heads(), (1, 4)), 40)
expect("and without that", count_flops(Heads().eval(), (1, 4)), 16)
### BEGIN HIDDEN TESTS
normed = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm2d(2)).train()
expect("in training, two layers", count_flops(normed, (3, 2, 5, 6)), 480)
state = [normed[1].running_mean.tolist(), normed[1].num_batches_tracked.item(), normed.training]
expect("the model stays as it is", state, [[0.0, 0.0], 0, True])
expect("no gradients are left", [p.grad is None for p in normed.parameters()], [True] * 4)
rotate = doubles.unknown_op("rotate")
inside = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
inside.register_forward_hook(lambda module, inputs, result: rotate(result))
expect("deep inside", doubles.refuses("rotate", count_flops, inside, (9, 4)), True)
expect("and without it", count_flops(inside[0], (9, 4)), 32)
expect_raises("no shape", lambda: count_flops(nn.Linear(4, 4), (2.5, 4)), ValueError)
expect_raises("a negative batch", lambda: count_flops(nn.Linear(4, 4), (-2, 4)), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 9 · Every model in the table
#
# The file `counters.json`, beside this notebook, holds what seven tools printed for six models, with batches of 1 and of 8; torch's own counter is one of them. Yours against torch's:

# %% nbgrader={"grade": false, "grade_id": "zoo", "locked": true, "schema_version": 3, "solution": false, "task": false}
with meta():
    ZOO = {
        "LeNet-5": (models.LeNet5(), (1, 1, 32, 32)),
        "MobileNetV2": (models.mobilenet_v2(), (1, 3, 224, 224)),
        "ResNet-18": (models.resnet18(), (1, 3, 224, 224)),
        "ViT-Ti/16": (models.vit_tiny16(), (1, 3, 224, 224)),
        "BERT layer": (models.bert_layer(), (1, 128, 768)),
        "GPT-2 small": (models.gpt2("small"), (1, 128)),
        "GPT-2 small, not tied": (models.gpt2("small", tied=False), (1, 128)),
    }


def recorded():
    """What seven tools printed, one dict for each model and input shape."""
    return json.loads(Path("counters.json").read_text(encoding="utf-8"))["rows"]


# %% nbgrader={"grade": false, "grade_id": "demo_reference", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
for row in recorded():
    model, shape = ZOO[row["model"]][0], tuple(row["input_shape"])
    ours = count_flops(model, shape, per_sample=False)
    print(f"{row['model']:<22}{str(shape):<20}{ours:>16,}  {ours - row['forward']:+d}")

# %% [markdown]
# The last column is the difference. Where are all these FLOPs? A hook can sum by op as well.


# %% nbgrader={"grade": false, "grade_id": "demo_where", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
def by_kind(model, shape):
    kinds = {"conv2d": 0, "linear": 0, "matmul": 0}

    def add(call):
        flops = op_flops(call.op, [t.shape for t in call.inputs], call.attributes)
        kinds[call.op] = kinds.get(call.op, 0) + flops
        return call()

    with dispatch.hook(add):
        model(example_input(model, shape, meta=True))
    names = {"conv2d": "convolutions", "linear": "linear layers", "matmul": "between tokens"}
    return {name: kinds[op] for op, name in names.items()}


where = {name: by_kind(model, shape) for name, (model, shape) in list(ZOO.items())[:-1]}
plot.shares(where, unit="FLOPs of a forward pass", title="Where the FLOPs are")

# %% [markdown]
# The picture from the top, by your own rules. And what do the other tools say? Here is what each printed for GPT-2 small, under names such as FLOPs, MACs or mult-adds.

# %% nbgrader={"grade": false, "grade_id": "demo_counters", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
row = next(row for row in recorded() if row["model"] == "GPT-2 small")
printed = {"you": count_flops(*ZOO["GPT-2 small"])} | row["reported"]
plot.bars(
    printed, unit="as printed", title="GPT-2 small, 128 tokens", show=lambda n: f"{n / 1e9:.5g} G"
)

# %% nbgrader={"grade": false, "grade_id": "demo_deviations", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
double = ("fvcore", "thop", "ptflops", "torchinfo")  # multiply-adds
rows = recorded()
gpt2 = rows[8]
print(f"{'deviation':<24}" + "".join(f"{tool:>11}" for tool in rows[0]["reported"]))
for row in rows[:-2]:
    printed = {tool: n * (2 if tool in double else 1) for tool, n in row["reported"].items()}
    off = "".join(f"{n / row['forward'] - 1:>+11.2%}" for n in printed.values())
    print(f"{row['model']}, {row['input_shape'][0]}".ljust(24) + off)
more = gpt2["reported"]["fvcore"] - gpt2["forward"] // 2
print(
    f"fvcore, GPT-2 small: {more:,} too many; 5 · 25 layer norms · 128 · 768 = {5 * 25 * 128 * 768:,}"
)
less = gpt2["forward"] // 2 - gpt2["reported"]["thop"]
within = 12 * (attention_flops(1, 128, 768, 12) // 2 - 4 * 128 * 768**2)
print(
    f"thop: {less:,} too few; between tokens {within:,}, less 4 a norm {within - 4 * 25 * 128 * 768:,}"
)

# %% [markdown]
# Each deviation has a reason, and each is silent:
#
# - **Units.** Four report multiply-adds, and fvcore's column is named flops. The table has doubled them.
# - **Elementwise work mixed in,** by everybody's own convention: fvcore adds 5 an element of LayerNorm, calflops and DeepSpeed what you counted apart.
# - **What is not a module is not seen:** thop skips `@`, so attention between tokens is missing.
# - **Dimensions forgotten:** torchinfo counts a linear layer once, whatever the tokens: 98 % of GPT-2 is missing.
# - **Batch and sample mixed up:** with a batch of 8, ptflops counts modules per sample and functions for the batch.
# - **The winner has holes too.** torch's own counter (2.13.0), exact in this table, reports 0 for fused attention on a CPU, for `nn.MultiheadAttention` in eval, and for a matrix times a vector. Your counter has a rule for each, and what it has none for it names.

# %% [markdown]
# ## 10 · And back
#
# Training also needs gradients. For y = a @ b with the gradient g of y, the gradient of a is g @ bᵀ and that of b is aᵀ @ g: each a product of the same three sizes. The same holds for a convolution. So **each operand that needs a gradient costs the forward FLOPs once more**, and one that needs none costs nothing: a frozen weight, or the data.
#
# In fused attention there are two products to think of. The scores need a gradient when query, key, or a mask to be learned does. (Fused kernels compute the scores a second time in backward. That is their way of saving memory, not part of the gradient, and is not counted.)
#
# **Predict.** "Backward is twice forward." For which layer of a network is it once? For which networks is it next to nothing? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "gradient_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_flops(op, shapes, attributes, wanted):
    """The FLOPs of computing the gradients of one op's inputs.

    op, shapes, attributes: as for op_flops. wanted: a list of bools, one for each input, whether
    its gradient is computed. A bias and a mask have no product of their own.
    Returns an int. Raises NotImplementedError as op_flops does.
    """
    ### BEGIN SOLUTION
    if op == "scaled_dot_product_attention":
        first, second = as_matmuls(shapes)
        scores = any(wanted[:2]) or any(wanted[3:])
        total = (wanted[0] + wanted[1]) * op_flops("matmul", first, {})
        return total + (scores + wanted[2]) * op_flops("matmul", second, {})
    return sum(wanted[:2]) * op_flops(op, shapes, attributes)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gradient_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
rows = [(32, 512, 768), (3072, 768), (3072,)]
expect("linear, all", gradient_flops("linear", rows, {}, [True, True, True]), 154_618_822_656)
expect("its input is data", gradient_flops("linear", rows, {}, [False, True, True]), 77_309_411_328)
expect("frozen but for its bias", gradient_flops("linear", rows, {}, [False, False, True]), 0)
expect("a ReLU", gradient_flops("relu", [(9, 5)], {}, [True]), 0)
settings = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 4}
grouped = [(1, 4, 5, 5), (4, 1, 3, 3)]
expect("grouped", gradient_flops("conv2d", grouped, settings, [True, True]), 1_296)
name, qkv = "scaled_dot_product_attention", [(1, 4, 8), (1, 6, 8), (1, 6, 3), (4, 6)]
cases = [(1, 1, 1, 0), (1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 0, 0)]
counts = [gradient_flops(name, qkv, {"scale": 1.0}, [bool(n) for n in case]) for case in cases]
expect("fused: all, query, value, a learned mask, none", counts, [1_056, 528, 144, 144, 0])
refused = doubles.refuses("fft", gradient_flops, "fft", [(8,)], {}, [True])
expect("an unknown op", refused, True)
### BEGIN HIDDEN TESTS
few = [(9, 8), (5, 8), (5,)]
expect("linear", gradient_flops("linear", few, {}, [True, True, True]), 1_440)
expect("one vector", gradient_flops("matmul", [(5,), (3, 5, 6)], {}, [True, False]), 180)
settings = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 8}
grouped = [(2, 8, 6, 6), (8, 1, 3, 3), (8,)]
expect("depthwise", gradient_flops("conv2d", grouped, settings, [True, True, False]), 20_736)
letters = {"equation": "bij,kj->bik"}
expect("einsum", gradient_flops("einsum", [(2, 3, 4), (5, 4)], letters, [True, True]), 480)
qkv, fused = [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)], {"is_causal": False, "scale": 0.5}
cases = [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0)]
name = "scaled_dot_product_attention"
counts = [gradient_flops(name, qkv, fused, [bool(n) for n in case]) for case in cases]
expect("fused", counts, [10_080, 5_040, 5_040, 1_680, 8_400, 0])
learned = gradient_flops(name, [*qkv, (5, 7)], fused, [False, False, True, True])
expect("fused, with a learned mask", learned, 3_360)
refused = doubles.refuses("svd", gradient_flops, "svd", [(8, 8)], {}, [False])
expect("an unknown op of which nothing is wanted", refused, True)
### END HIDDEN TESTS

# %% [markdown]
# Which gradients a model computes, the engine knows: watch the backward pass. There `call.inputs` are the shapes of the forward's inputs, and `requires_grad` says whose gradient is being computed. `walk_back` starts it and leaves every `.grad` as it was. One thing more: if an op of the *forward* kind runs in the backward pass (`call.phase` says so), it is a model's own gradient rule or a recomputation, and costs what it costs.
#
# **Predict.** Of ResNet-18 all layers are frozen but the last. What does a training step cost, in forward passes? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "walk_back", "locked": true, "schema_version": 3, "solution": false, "task": false}
def tensors_in(output):
    """The tensors of a model's output: a Tensor, or a list, tuple or dict of outputs."""
    if isinstance(output, Tensor):
        return [output]
    if output is None or isinstance(output, (int, float)):
        return []
    parts = list(output.values()) if isinstance(output, dict) else output
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"no tensors can be found in a {type(output).__name__}")
    return [tensor for part in parts for tensor in tensors_in(part)]


def walk_back(model, output):
    """The backward pass from all tensors in `output`, to wherever they came from."""
    sums = [tensor.sum() for tensor in tensors_in(output) if tensor.requires_grad]
    if sums:
        parameters = model.parameters() if hasattr(model, "parameters") else ()
        autograd.grad(sum(sums), [p for p in parameters if p.requires_grad])


# %% nbgrader={"grade": false, "grade_id": "backward_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward_flops(model, input_shape, input_grad=False, per_sample=True):
    """The FLOPs of a model's backward pass, from all of its outputs.

    model, input_shape, per_sample: as for count_flops; 0 for a bare Tensor.
    input_grad: whether the gradient of the model's input is computed too, as in the middle of a
        larger model; integer inputs have none.
    Returns an int. The model stays as it is. Raises as count_flops does.
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
expect("input too", backward_flops(layer, (32, 128), input_grad=True), 32_768)
expect("as given", backward_flops(layer, (32, 128), per_sample=False), 524_288)
expect("LeNet-5", backward_flops(models.LeNet5(), (1, 1, 32, 32)), 1_430_880)
expect("a BERT layer", backward_flops(models.bert_layer(), (1, 128, 768), True), 3_724_541_952)
half = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
expect("first layer frozen", backward_flops(half, (5, 8)), 16, mistakes={"frozen counts": 96})
half[0].weight.requires_grad, half[2].weight.requires_grad = True, False
expect(
    "last layer frozen, no gradient left, still in training",
    [backward_flops(half, (5, 8)), half[0].weight.grad, half.training],
    [80, None, True],
)
fused = backward_flops(lambda x: F.scaled_dot_product_attention(x, x, x), (9, 5, 4), True)
expect("fused attention", fused, 800)
grouped = nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1))
expect("grouped", backward_flops(grouped, (2, 4, 5, 5)), 936)
loose = backward_flops(lambda x: [x @ x, (x @ x).detach()], (1, 3, 3), True)
expect("an output that needs none", loose, 108)
expect("a Tensor", backward_flops(Tensor([1.0, 2.0]), (2,)), 0)
whiten = doubles.unknown_op("whiten")
strange = doubles.refuses("whiten", backward_flops, lambda x: whiten(x), (1, 4), True)
expect("an unknown op", strange, True)
### BEGIN HIDDEN TESTS
part = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
part[2].weight.requires_grad = False
expect("the last weight frozen", backward_flops(part, (5, 8)), 80)
part[0].weight.requires_grad = part[0].bias.requires_grad = False
part[2].bias.requires_grad = False
expect("all frozen", backward_flops(part, (5, 8)), 0)
expect("all frozen, input", backward_flops(part, (5, 8), True), 80)
left = [part[0].weight.grad, part[0].weight.is_meta, part.training]
expect("what it was", left, [None, False, False])
grouped = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(), nn.Conv2d(8, 4, 1))
expect("depthwise", backward_flops(grouped, (2, 8, 6, 6)), 9_792)
attention = nn.MultiheadAttention(8, 2, batch_first=True)
fused = backward_flops(lambda x: attention(x, need_weights=False), (3, 5, 8), True)
expect("attention", [backward_flops(attention, (3, 5, 8), True), fused], [6_720, 6_720])
parts = backward_flops(
    lambda x, y: {"a": [x @ y], "b": (x @ y).detach()}, ((1, 2, 3), (1, 3, 4)), True
)
expect("outputs in a dict, one without a gradient", parts, 96)
tokens = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9, bias=False))
tokens.input_dtype = "int64"
expect("tokens", backward_flops(tokens, (2, 6), True), 864)
expect("another Tensor", backward_flops(Tensor([[3.0], [4.0]]), (2, 1), True), 0)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "training_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_flops(model, input_shape, input_grad=False, per_sample=True):
    """The FLOPs of a forward and a backward pass; all arguments as for backward_flops.

    Returns an int. Raises as count_flops does.
    """
    ### BEGIN SOLUTION
    forward = count_flops(model, input_shape, per_sample)
    return forward + backward_flops(model, input_shape, input_grad, per_sample)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_flops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
lenet, bert = models.LeNet5(), models.bert_layer()
expect(
    "LeNet-5",
    training_flops(lenet, (8, 1, 32, 32)),
    2_263_920,
    mistakes={"3 × forward": 2_499_120, "the batch is counted": 18_111_360},
)
expect("LeNet-5, 8 images", training_flops(lenet, (8, 1, 32, 32), per_sample=False), 18_111_360)
expect("a BERT layer inside a model", training_flops(bert, (1, 128, 768), True), 5_586_812_928)
for weight in lenet.parameters():
    weight.requires_grad = False
frozen = [training_flops(lenet, (8, 1, 32, 32)), lenet.training]
expect("LeNet-5 frozen, and still in training", frozen, [833_040, True])
whiten = doubles.unknown_op("whiten")
expect("an unknown op", doubles.refuses("whiten", training_flops, whiten, (1, 2)), True)
### BEGIN HIDDEN TESTS
with meta():
    resnet, gpt2 = models.resnet18(), models.gpt2("small")
expect(
    "ResNet-18, 3 images", training_flops(resnet, (3, 3, 224, 224), False, False), 31_945_236_480
)
expect("GPT-2 small, 96 tokens", training_flops(gpt2, (2, 96)), 72_173_666_304)
for name, parameter in resnet.named_parameters():
    parameter.requires_grad = name.startswith("fc.")
expect("ResNet-18, last layer", training_flops(resnet, (2, 3, 224, 224)), 3_629_170_688)
expect("a Tensor", training_flops(Tensor([[1.0, 2.0]]), (1, 2)), 2)
refused = doubles.refuses("warp", training_flops, doubles.unknown_op("warp"), (1, 2))
expect("another unknown op", refused, True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_training", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
print(f"{'':<22}{'forward':>16}{'and backward':>18}   ratio")
for row in recorded()[::2]:
    (model, shape), inside = ZOO[row["model"]], row["model"] == "BERT layer"
    forward, both = count_flops(model, shape), training_flops(model, shape, input_grad=inside)
    assert both == row["forward_backward"], row
    print(f"{row['model']:<22}{forward:>16,}{both:>18,}{both / forward:>8.3f}")
forward, both = (count(*ZOO["MobileNetV2"]) for count in (count_flops, training_flops))
print(f"{'MobileNetV2':<22}{forward:>16,}{both:>18,}{both / forward:>8.3f}")

# %% [markdown]
# All as recorded, forward and backward, and the rule of three is the limit for deep models: what is missing is the gradient of the data, at the first layer. MobileNetV2 has no such row in the file, for torch 2.13.0 reports 12.28 · 10⁹ there: its rule for a grouped convolution's weights forgets the groups.
#
# ## Reflect
#
# For large language models there is a shorter rule. Each parameter meets each token in one multiply-add, 2 FLOPs; backward doubles that twice over: a training of N parameters on D tokens is 6 · N · D FLOPs (Kaplan et al. 2020, section 2.1).


# %% nbgrader={"grade": false, "grade_id": "reflect_6nd", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_6nd(parameters, tokens):
    """The FLOPs of training a language model by the 6 · N · D rule.

    parameters (N), tokens (D): ints, at least 1. Returns an int, exact.
    Raises ValueError when one is below 1.
    """
    ### BEGIN SOLUTION
    if min(parameters, tokens) < 1:
        raise ValueError(f"parameters and tokens must be at least 1, not {parameters}, {tokens}")
    return 6 * parameters * tokens
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_6nd", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("GPT-3's sizes, 300 billion tokens", reflect_6nd(175 * 10**9, 300 * 10**9), 315 * 10**21)
expect("two and three", reflect_6nd(2, 3), 36, mistakes={"forward only": 12, "backward only": 24})
expect("every digit", reflect_6nd(10**11 + 3, 10**12 + 7), 600_000_000_022_200_000_000_126)
expect_raises("no tokens", lambda: reflect_6nd(5, 0), ValueError)
expect_raises("fewer parameters than none", lambda: reflect_6nd(-5, 3), ValueError)
expect_raises("both negative", lambda: reflect_6nd(-5, -5), ValueError)
### BEGIN HIDDEN TESTS
expect("GPT-2 small, one text", reflect_6nd(124_439_808, 1024), 764_558_180_352)
expect(
    "every digit of others", reflect_6nd(10**12 + 1, 10**11 + 9), 600_000_000_054_600_000_000_054
)
expect_raises("no parameters", lambda: reflect_6nd(0, 5), ValueError)
expect_raises("fewer tokens than none", lambda: reflect_6nd(7, -1), ValueError)
expect_raises("both below 1", lambda: reflect_6nd(-2, -9), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_6nd", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
from built import count_parameters  # what you wrote in lesson 01

lengths = demo_size(full=[32, 64, 128, 256, 512, 1024], small=[32, 1024])
ratios = {}
for size in demo_size(full=["small", "large", "xl"], small=["small", "xl"]):
    with meta():
        model = models.gpt2(size)
    count = count_parameters(model)
    points = [(s, training_flops(model, (1, s)) / reflect_6nd(count, s)) for s in lengths]
    ratios[f"GPT-2 {size}"] = points
plot.curves(
    ratios, x="tokens in a text", y="FLOPs / (6 · N · D)", log="x", show="{:.2f}".format,
    title="How far the rule is off",
)  # fmt: skip

# %% nbgrader={"grade": false, "grade_id": "demo_6nd_others", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
from built import count_parameters  # what you wrote in lesson 01

with meta():
    xl = models.gpt2("xl")
ratio = training_flops(xl, (1, 1024)) / reflect_6nd(count_parameters(xl), 1024)
print(f"FLOPs / (6 · N · D) for GPT-2 XL, 1,024 tokens: {ratio:.4f}")
for name in ("LeNet-5", "ResNet-18", "ViT-Ti/16"):
    model, shape = ZOO[name]
    ratio = training_flops(model, shape) / reflect_6nd(count_parameters(model), 1)
    print(f"FLOPs / 6 · N for an image and {name:<10}{ratio:>8.1f}")

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). A report says: "Our model of 1.5 billion parameters was trained on 40 billion tokens, which took 1.8 · 10²⁰ FLOPs."
#
# 1. Which rule, in which unit, gives that figure? What does 6 · N · D give?
# 2. For a GPT-2 XL that reads texts of 1,024 tokens: how far is 6 · N · D itself off, in which direction, and which two parts of the model are the reason? Calculate both.
# 3. You publish a FLOP count. What do you write beside it, so that nobody needs to ask what you meant?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_flops", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** *3 points:* 3 · N · D = 1.8 · 10²⁰, that is 6 · N · D in multiply-adds; in FLOPs 6 · N · D gives 3.6 · 10²⁰. *4 points:* 6 · N · D is too low by about 10 % (training_flops over reflect_6nd: 1.099), calculated with the counter, not estimated. Scores and mix use no parameters and add 12 · layers · d · s a token, 10.1 % of 6 · N; position vectors, norms and biases are parameters without a product and take off 0.2 %. (The tied token matrix is used once, as the output layer, and is right.) *3 points:* FLOPs or multiply-adds; forward or training, per sample, token or whole run, with sizes; what is left out (elementwise, causal half, recomputation); with which tool and version. Up to 2 points off for figures without a unit or a calculation.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A matrix product is 2 · m · k · n FLOPs; linear layers, convolutions and attention are that, with other names for the sizes.
# - Work is not size: a parameter of a convolution is used at every place, one of a linear layer at every row.
# - Watch a model's ops on meta tensors and any model can be counted, in milliseconds. What has no rule must say so.
# - Backward costs the forward FLOPs once for each operand that needs a gradient. Three times forward, and 6 · N · D, are its limits for large models.
# - A FLOP count means nothing without its unit, its batch, and what was left out.
#
# **Next.** FLOPs say what there is to do, not how long it takes. Lesson 03 measures time, and how sure one can be of it.
