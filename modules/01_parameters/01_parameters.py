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
# # 01 · What does a model weigh?
#
# ![Four blocks of coloured squares, one for each size of GPT-2; one square is a million parameters. Token and position vectors are a third of the smallest model and a twentieth of the largest, which is twelve times larger.](gpt2_sizes.png) <!-- with gpt2_parameters -->
#
# Will a model fit on your graphics card, or on a phone?
# How long does its download take?
# Which part would you shrink first?
# All three answers start from its number of parameters.
# Published numbers are often wrong: the paper on GPT-2 gives its smallest model 117 million parameters, and it has 124 million; the paper on SqueezeNet seems to mix two kinds of megabyte in one table.
# After this lesson you compute such numbers yourself, to the last digit. <!-- with count_parameters -->
# You also draw the picture above from a formula of your own. <!-- with gpt2_parameters -->
#
# **You will be able to**
#
# - count the parameters of linear layers, convolutions, attention and any model, exactly; <!-- with conv2d_parameters, attention_parameters -->
# - count the parameters of linear layers, convolutions and any model, exactly; <!-- with conv2d_parameters, without attention_parameters -->
# - count the parameters of linear layers and any model, exactly; <!-- without conv2d_parameters -->
# - turn a count into memory, and say which megabyte you mean;
# - say where in a model its parameters are, and check a published size.
#
# **You need** Python functions and classes, a little numpy, and a first idea of what a layer of a neural network does.
# No lesson comes before this one.
#
# Each section has an idea, a prediction, a small function to write, and a cell that tests the function.
# Work from top to bottom.
# **Predict before you compute:** put a number in place of `None` in the cells that ask for your guess.
# Guesses are not graded; later cells set yours beside the answer.
# A wrong guess helps most, because it makes the right number stay in your mind.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

from proflab import Tensor, meta, models, nn
from proflab.lesson import doubles, expect, expect_raises, expect_table, guesses, plot

# %% [markdown]
# ## 1 · A matrix and a bias
#
# A *parameter* is a number that training adjusts.
# A linear layer computes each of its outputs from all of its inputs.
#
# **Predict.** In each of its blocks, GPT-2 small widens 768 features to 3,072 with a linear layer.
# How many parameters does that one layer have, roughly: ten thousand, a hundred thousand, two million, fifty million?

# %% tags=["guess"]
guess_linear = None  # your guess: a number of parameters


# %% [markdown]
# A linear layer keeps its parameters in two tensors: a weight, with one number for each pair of an input and an output, and a bias, with one number for each output.
#
#     y = x Wᵀ + b        W: (out, in)        b: (out,)
#
# A layer from 3 features to 2 has 2 · 3 = 6 weights and 2 biases, which makes 8 parameters.
#
# **Write** `linear_parameters`.
# Its docstring says what the function must do; how you do it is up to you.
# Sizes below 1 are errors: raise them with a sentence that would help you at midnight, `raise ValueError("out_features must be at least 1, not 0")`.
#
# **How to read a test cell.** `expect("3 → 2", linear_parameters(3, 2), 8)` has a label, your result, and the expected value.
# `mistakes=` lists wrong values that have a known cause: if you return one of them, the message names the cause.
#
# **How `expect` compares.** Where a whole number is expected, 8.0 is not 8, so divide with `//` instead of `/`.
# A whole number of numpy's type is accepted, but convert it with `int()`: numpy's integers overflow at 2⁶³.
# The reverse is fine: where 8.0 is expected, 8 passes.
# Do not round floats: they must agree to about nine digits.
# Lists, tuples and one-dimensional arrays are equal if their items are.
# `expect_table` tries one function on several rows: a label, the arguments, and the result or the error.
# **Arguments stay as they are:** none of your functions changes a list, an array or a model that it is given.
# When you hand in your notebook, hidden cases compare in the same way, with other sizes and models.


# %% nbgrader={"grade": false, "grade_id": "linear_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_parameters(in_features, out_features, bias=True):
    """Return the number of parameters of a linear layer, an int.

    in_features, out_features: ints, at least 1. (Sizes of other types are not tested.)
    bias: True if the layer has a bias. The default is that of torch.nn.Linear.

    >>> linear_parameters(10, 4, bias=False)
    40
    """
    ### BEGIN SOLUTION
    if min(in_features, out_features) < 1:
        raise ValueError(f"sizes must be at least 1, not {in_features} and {out_features}")
    return in_features * out_features + (out_features if bias else 0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_linear_parameters", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("3 → 2", linear_parameters(3, 2), 8)
expect("768 → 3072", linear_parameters(768, 3072), 2_362_368)
expect("768 → 3072 without bias", linear_parameters(768, 3072, bias=False), 2_359_296)
expect("one input, one output, no bias", linear_parameters(1, 1, False), 1)
expect("more than 2⁶³ parameters", linear_parameters(10**14 + 1, 10**6, False), 10**20 + 10**6)
### BEGIN HIDDEN TESTS
# vary: 3072 in 2_048..4_608, 768 in 512..1_152
expect(
    "there is one bias for each output, not for each input", linear_parameters(3072, 768), 2_360_064
)
# vary: 100 in 90..900, 7 in 3..80
expect("without a bias only the weights count", linear_parameters(100, 7, False), 700)
# vary: 90001 in 90_001..99_999, 80000 in 80_000..99_999
expect(
    "a large count is exact to the last digit",
    linear_parameters(90_001, 80_000, bias=True),
    7_200_160_000,
)
# vary: 30000000000001 in 30_000_000_000_001..90_000_000_000_000, 700000 in 700_000..900_000
expect(
    "a count beyond 64 bits is exact, too",
    linear_parameters(30_000_000_000_001, 700_000),
    21_000_000_000_001_400_000,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_linear_parameters_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    linear_parameters,
    ("a negative size", [(-1, 2), (2, -1), (-3, -4)], ValueError),
    ("no outputs, no inputs", [(2, 0), (0, 5, False)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("two inputs are two weights", linear_parameters(2, 1, bias=False), 2)
# vary: 4 in 2..9
expect("one input is enough", linear_parameters(1, 4, bias=False), 4)
expect_raises("a layer needs at least one input", lambda: linear_parameters(0, 3), ValueError)
expect_raises(
    "a negative number of outputs is an error", lambda: linear_parameters(4, -2), ValueError
)
expect_raises(
    "two negative sizes are an error, with or without bias",
    lambda: linear_parameters(-2, -2, False),
    ValueError,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_linear", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the parameters of six linear layers, LeNet-5 to GPT-3.
counts = {
    "LeNet-5 (after 1998), last layer": linear_parameters(84, 10),
    "ResNet-18 (2015), classifier": linear_parameters(512, 1000),
    "GPT-2 small (2019), feed-forward": linear_parameters(768, 3072),
    "AlexNet (2012), fc6": linear_parameters(9216, 4096),
    "VGG-16 (2014), fc6": linear_parameters(25088, 4096),
    "GPT-3 (2020), feed-forward": linear_parameters(12288, 49152),
}
small = "GPT-2 small (2019), feed-forward"
guesses.compare("parameters of GPT-2 small's 768 → 3,072 layer", guess_linear, counts[small])
plot.bars(counts, title="One linear layer each", log=True, guess={small: guess_linear})

# %% [markdown]
# The axis is logarithmic: each labelled step is ten times the one before.
# A single layer of GPT-3 has three times as many parameters as AlexNet and VGG-16 have together, with all their layers.
# And hardly any of these parameters are biases: in GPT-2's layer, one in 769.
#
# ## 2 · A filter that slides
#
# A convolution has one small filter for each output channel.
# The filter is as deep as the input has channels, and the *same* filter is applied at every position of the image, so the size of the image does not matter.
# From 64 to 128 channels with 3 × 3 kernels there are 128 filters of 64 · 3 · 3 = 576 numbers each, and 128 biases: 128 · 576 + 128 = 73,856 parameters.
#
# With `groups=g` the channels are divided into g groups, and a filter reads only the input channels of its own group.
# If there are as many groups as channels, each filter reads a single channel.
# That is a *depthwise* convolution, on which networks for phones are built.
# [AlexNet](https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural-networks) (2012) used two groups in three of its layers because it did not fit on one graphics card of 3 GB: each of two cards computed one half.
#
# ![Eight input channels joined to eight output channels, three times. One group: all joined with all, 64 lines. Two groups: each half joined with its half, 32 lines. Eight groups: each input joined with one output, 8 lines.](groups.png)
#
# **Predict.** AlexNet has five convolutions, followed by three linear layers.
# What share of its parameters do the five convolutions hold together?

# %% tags=["guess"]
guess_alexnet_convolutions = None  # your guess, in percent


# %% nbgrader={"grade": false, "grade_id": "conv2d_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
    """Return the number of parameters of a 2-d convolution, an int: 9408, not 9408.0.

    in_channels, out_channels, groups: ints, at least 1.
    kernel_size: an int for a square kernel, or a tuple or list (height, width); each at least 1.
    bias: True if each output channel has a bias. The defaults are those of torch.nn.Conv2d.
    Raises ValueError also when a tuple or list does not hold exactly two sizes, and when groups
    does not divide both in_channels and out_channels.

    >>> conv2d_parameters(3, 8, (1, 5))
    128
    """
    ### BEGIN SOLUTION
    pair = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    if len(pair) != 2 or min(in_channels, out_channels, groups, *pair) < 1:
        raise ValueError("all sizes must be at least 1, and a kernel has two: height and width")
    if in_channels % groups or out_channels % groups:
        raise ValueError(f"{in_channels} and {out_channels} channels do not make {groups} groups")
    filter_size = in_channels // groups * pair[0] * pair[1]
    return out_channels * (filter_size + (1 if bias else 0))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_conv2d_parameters", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("64 → 128, 3 × 3", conv2d_parameters(64, 128, 3), 73_856)
expect("ResNet's first layer, no bias", conv2d_parameters(3, 64, 7, bias=False), 9_408)
expect("AlexNet's first layer, 11 × 11", conv2d_parameters(3, 64, 11), 23_296)
expect("a kernel of 3 × 5", conv2d_parameters(8, 16, (3, 5)), 1_936)
kernel = [5, 3]
expect("a kernel given as a list", conv2d_parameters(8, 16, kernel), 1_936)
expect("the list stays as it is", kernel, [5, 3])
expect("one number", conv2d_parameters(1, 1, 1, False), 1)
expect("more than 2⁶³", conv2d_parameters(2 * 10**9, 3 * 10**9, 2, False), 24 * 10**18)
### BEGIN HIDDEN TESTS
# vary: 256 in 20..300, 512 in 301..600
expect("a 1 × 1 kernel has one number per input channel", conv2d_parameters(256, 512, 1), 131_584)
# vary: 192 in 128..288, 7 in 2..14
expect(
    "height and width may differ, in a list too",
    conv2d_parameters(192, 192, [1, 7], bias=False),
    258_048,
)
# vary: 4001 in 4_001..9_999, 30001 in 30_001..39_999
expect(
    "a large count is exact to the last digit",
    conv2d_parameters(4_001, 30_001, (3, 2)),
    720_234_007,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_parameters_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    conv2d_parameters,
    ("depthwise", (9, 9, 3, False, 9), 81, {"groups are ignored": 729}),
    ("depthwise, 960 channels", (960, 960, 5, False, 960), 24_000),
    ("two groups", (6, 4, 3, True, 2), 112),
    ("6 → 9 in 3 groups", (6, 9, 1, True, 3), 27),
    ("8 → 24, a filter for each channel and output", (8, 24, (1, 3), True, 8), 96),
)
### BEGIN HIDDEN TESTS
# vary: 96 in 32..192 by 2, 256 in 64..512 by 2, 5 in 3..9
expect(
    "groups divide the weights, not the biases", conv2d_parameters(96, 256, 5, groups=2), 307_456
)
# vary: 3 in 2..9
expect(
    "with groups there may be more outputs than inputs",
    conv2d_parameters(32, 64, 3, groups=32),
    640,
)
# vary: 64 in 32..96 by 16, 3 in 2..9, 2 in 2..9
expect(
    "with groups there may be fewer outputs than inputs",
    conv2d_parameters(64, 16, (3, 2), True, 8),
    784,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_parameters_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    conv2d_parameters,
    ("groups do not divide", [(10, 9, 3, True, 3), (9, 10, 3, True, 3)], ValueError),
    ("no groups, fewer than none", [(4, 4, 3, True, 0), (4, 4, 3, True, -2)], ValueError),
    ("a kernel without two sizes", [(3, 8, (3, 3, 3)), (3, 8, [3]), (3, 8, ())], ValueError),
    (
        "a size below 1, or one side of a kernel",
        [
            (3, 8, 0),
            (3, 8, -3),
            (3, 8, (0, 3)),
            (3, 8, [3, 0]),
            (0, 8, 3),
            (3, 0, 3),
            (-3, -8, 3),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9
expect("a single channel and filter", conv2d_parameters(1, 1, (1, 2), False), 2)
# vary: 3 in 2..9
expect("as many groups as channels", conv2d_parameters(3, 3, 1, False, 3), 3)
expect_table(
    conv2d_parameters,
    ("the input channels must divide into the groups", [(7, 8, 3, True, 4)], ValueError),
    ("the output channels must divide into the groups", [(8, 6, 1, True, 4)], ValueError),
    (
        "no channels are an error, with groups too",
        [(0, 8, 3, True, 2), (8, 0, 3, True, 2)],
        ValueError,
    ),
    ("there must be at least one group", [(6, 6, (1, 3), True, 0)], ValueError),
    ("both kernel sizes must be at least 1", [(3, 8, (3, 0)), (3, 8, (-1, -3))], ValueError),
    ("a list of four kernel sizes is an error", [(3, 8, [3, 3, 3, 3])], ValueError),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_conv2d", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the parameters of AlexNet's eight layers.
counts = {
    "conv1": conv2d_parameters(3, 96, 11),
    "conv2": conv2d_parameters(96, 256, 5, groups=2),
    "conv3": conv2d_parameters(256, 384, 3),
    "conv4": conv2d_parameters(384, 384, 3, groups=2),
    "conv5": conv2d_parameters(384, 256, 3, groups=2),
    "fc6": linear_parameters(256 * 6 * 6, 4096),
    "fc7": linear_parameters(4096, 4096),
    "fc8": linear_parameters(4096, 1000),
}
total = sum(counts.values())
share = 100 * sum(count for name, count in counts.items() if name.startswith("conv")) / total
guesses.compare("AlexNet's convolutions", guess_alexnet_convolutions, share, unit="%")
plot.bars(counts, title=f"AlexNet: {total:,} parameters")

# %% [markdown]
# AlexNet's convolutions hold few of its parameters, yet they do nearly all of its work, as lesson 02 will show.
# Size and work are two different things.
#
# To see what groups are worth, call your function for 256 channels to 256, 3 × 3, with 1 group and with 256.
#
# ## 3 · Attention
#
# A block of a Transformer has two parts: *attention*, in which each token looks at the others, and a *feed-forward* part, in which each token is worked on by itself.
#
# **Predict.** In a block of GPT-2, which has more parameters, attention or the feed-forward part, and how many times as many?

# %% tags=["guess"]
guess_feed_forward = None  # your guess: feed-forward over attention, such as 0.5 or 3


# %% [markdown]
# From the vector of each token, attention makes three others: a query, a key and a value.
# It mixes the values, according to how well queries and keys match, and projects the result once more.
# That makes four linear layers from `d_model` to `d_model` ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2.2).
# The mixing is arithmetic between tokens and has no parameters.
# *Multi-head* attention cuts queries, keys and values into h slices of d_model / h numbers, the *heads*, and mixes each slice on its own; the four layers stay as they are.
#
# The feed-forward part has two more linear layers: from d to 4 d, and back.


# %% nbgrader={"grade": false, "grade_id": "attention_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_parameters(d_model, bias=True):
    """Return the number of parameters of multi-head self-attention, an int.

    These are the parameters of its four linear layers: query, key, value and output.
    d_model: int, at least 1, the width of a token's vector.
    bias: True if each of the four layers has a bias.

    >>> attention_parameters(2)
    24
    """
    ### BEGIN SOLUTION
    return 4 * linear_parameters(d_model, d_model, bias)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_parameters", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect(
    "width 768",
    attention_parameters(768),
    2_362_368,
    mistakes={"the output layer is missing": 1_771_776, "all biases are missing": 2_359_296},
)
both = [attention_parameters(64, bias=False), attention_parameters(64)]
expect("width 64, without bias and with", both, [16_384, 16_640])
expect("more than 2³² parameters", attention_parameters(50_000), 10_000_200_000)
### BEGIN HIDDEN TESTS
# vary: 1600 in 70..3_000
expect("each of the four layers has a weight and a bias", attention_parameters(1600), 10_246_400)
# vary: 512 in 341..768
expect("without biases only the four weights count", attention_parameters(512, False), 1_048_576)
# vary: 50001 in 50_001..90_001
expect("a wide layer keeps every digit", attention_parameters(50_001), 10_000_600_008)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attention_parameters_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    attention_parameters,
    ("width 1", (1, False), 4),
    ("no width, a width below 0", [(0,), (-4,), (0, False)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("width 2 has four weights of four numbers", attention_parameters(2, False), 16)
expect("width 3 has four weights of nine numbers", attention_parameters(3, False), 36)
expect_raises(
    "a negative width is an error, without bias too",
    lambda: attention_parameters(-8, False),
    ValueError,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws both parts of a block against its width.
widths = [192, 384, 768, 1600, 4096, 12288]
block = {
    "feed-forward": [
        (d, linear_parameters(d, 4 * d) + linear_parameters(4 * d, d)) for d in widths
    ],
    "attention": [(d, attention_parameters(d)) for d in widths],
}
times = block["feed-forward"][2][1] / block["attention"][2][1]
guesses.compare("the feed-forward part over attention, at width 768", guess_feed_forward, times)
plot.curves(block, x="d_model", y="parameters", title="A block, ViT-Ti to GPT-3", log="xy")

# %% [markdown]
# At any width, from *ViT-Ti* to GPT-3, the feed-forward part has about twice the parameters of attention.
# Neither changes when 12 heads become 24, or when the text becomes twice as long.
# The weights grow with the square of the width, the biases with the width itself, so twice the width gives not quite four times the parameters.
# On two logarithmic axes, a power of d is a straight line, and its slope is the exponent: here, ten times the width is a hundred times the parameters.
#
# ## 4 · Any model
#
# A formula fits one kind of layer.
# But every model knows its own tensors: `model.parameters()` yields them one by one, and each such tensor `p` has `p.shape`, `p.numel()` (its number of elements), `p.dtype` and `p.requires_grad`.
# Two things make counting more than a sum:
#
# - **Tied weights.** GPT-2 turns tokens into *token vectors* with a matrix, and turns vectors back into tokens with the *same* matrix. It is one tensor with two uses, so it is stored, trained and counted once. torch's `parameters()` yields such a tensor once; a model of your own may yield it twice.
# - **Frozen weights.** Training computes a *gradient* for each parameter: the direction in which to adjust it. *Fine-tuning*, more training for a new task, often changes only the last layer, with `requires_grad = False` for all other parameters. *Frozen parameters* get no gradient, but they take up memory like all others.
#
# You need not build a large model to count it: under `with meta():` each tensor has a shape and a dtype, but no data.
#
# **Predict.** Someone fine-tunes ResNet-18: only its last layer, a linear one from 512 features to 1,000 classes, is trained; the layers before it, some twenty convolutions, are frozen.
# What share of the model's parameters is trained?

# %% tags=["guess"]
guess_trained = None  # your guess, in percent


# %% [markdown]
# The test cells of this exercise use small stand-ins for models: `doubles.Weights(wte=…, head=…)` is a model with just these named tensors, and `doubles.OnlyParameters(…)` one with tensors that have no names.
# `Tensor.meta((50257, 768))` makes a tensor without data.
#
# <details><summary>Hint 1: two tensors hold the same numbers. How do you tell whether they are one tensor?</summary>
#
# Think of two closed boxes with equal contents.
# You cannot tell by looking into them.
# In Python, `a == b` compares contents; `a is b` asks whether there are two names for one object.
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# Collect the tensors in a dict whose key identifies the object, so that an object that comes twice has one entry.
# `id(object)` is such a key.
# Then sum over the entries.
# A bare Tensor has no `.parameters()`, so handle it before you ask for them.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "count_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_parameters(model, trainable_only=False):
    """Return the number of parameters of a model, an int: all elements of its tensors.

    model: anything with .parameters(), which yields Tensors, perhaps the same object more than
        once: it counts once. Different tensors all count, even if they hold equal numbers.
        A bare Tensor is accepted, too; it has no .parameters(), and its count is 0.
    trainable_only: True leaves out frozen parameters, those whose requires_grad is False.
    Do not change the model, and do not keep results: it may have changed before the next call.
    Raises ValueError for anything else without .parameters().

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    ### BEGIN SOLUTION
    if isinstance(model, Tensor):
        return 0
    if not hasattr(model, "parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .parameters()")
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() for p in once if p.requires_grad or not trainable_only)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_count_parameters", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect("linear, 10 → 5", count_parameters(nn.Linear(10, 5)), 55)
expect("LeNet-5", count_parameters(models.LeNet5()), 61_706)
expect("BatchNorm's averages are not parameters", count_parameters(nn.BatchNorm2d(3)), 6)
expect("a ReLU has no parameters", count_parameters(nn.ReLU()), 0)
expect("a bare Tensor counts 0", count_parameters(Tensor([[1.0, 2.0]])), 0)
wide = doubles.OnlyParameters(Tensor.meta((70_000, 70_000)))
expect("more than 2³² parameters", count_parameters(wide), 4_900_000_000)
### BEGIN HIDDEN TESTS
with meta():
    mobilenet, resnet = models.mobilenet_v2(), models.resnet50()
expect("every layer of a deep network counts", count_parameters(mobilenet), 3_504_872)
expect("each tensor counts all of its elements", count_parameters(resnet), 25_557_032)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_parameters_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
wte = Tensor.meta((50257, 768))
tied = doubles.Weights(wte=wte, norm=Tensor.meta((768,)), head=wte)
expect(
    "tied weights",
    count_parameters(tied),
    38_598_144,
    mistakes={"tied weights are counted twice": 77_195_520},
)
alike = [Tensor([0.0, 0.0]), Tensor([0.0, 0.0]), Tensor(2.5)]
expect("equal tensors are not the same tensor", count_parameters(doubles.OnlyParameters(*alike)), 5)
again = doubles.OnlyParameters(alike[0], alike[2], alike[0], alike[2])
expect("two tensors, each of them twice", count_parameters(again), 3)
both = doubles.OnlyParameters(*[Tensor([1.0, 2.0, 3.0], requires_grad=True)] * 2)
expect("tied and trained", count_parameters(both, trainable_only=True), 3)
### BEGIN HIDDEN TESTS
with meta():
    gpt2 = models.gpt2("small")
expect("a whole GPT-2 counts its tied matrix once", count_parameters(gpt2), 124_439_808)
# vary: 4 in 2..9, 3 in 2..9, 5 in 2..10
twins = doubles.OnlyParameters(Tensor.meta((4, 4)), Tensor.meta((4, 4)), Tensor.meta((2, 3, 5)))
expect("two tensors of one shape are two tensors", count_parameters(twins), 62)
equal = doubles.OnlyParameters(Tensor([0.0, 0.0]), Tensor([0.0, 0.0]), Tensor([2.5, 1.0]))
expect("two tensors with equal numbers are two tensors", count_parameters(equal), 6)
shared = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
both = doubles.OnlyParameters(shared, Tensor([1.0, 1.0]), shared)
expect(
    "a tied tensor counts once among the trainable ones, too",
    count_parameters(both, trainable_only=True),
    3,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_parameters_3", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
half = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
expect(
    "first layer frozen: all", count_parameters(half), 46, mistakes={"frozen ones are left out": 10}
)
expect(
    "first layer frozen: trainable",
    count_parameters(half, trainable_only=True),
    10,
    mistakes={"trainable_only is ignored": 46, "the frozen ones are counted": 36},
)
half[0].bias.requires_grad = True
expect("its bias thawed: trainable", count_parameters(half, trainable_only=True), 14)
kept = [half.training, [p.requires_grad for p in half.parameters()]]
expect("the model stays as it is", kept, [True, [False, True, True, True]])
### BEGIN HIDDEN TESTS
with meta():
    tuned = models.resnet18()
for name, parameter in tuned.named_parameters():
    parameter.requires_grad = name.startswith("fc.")
expect("frozen parameters count unless trainable_only is True", count_parameters(tuned), 11_689_512)
expect("trainable_only leaves frozen parameters out", count_parameters(tuned, True), 513_000)
for parameter in tuned.parameters():
    parameter.requires_grad = False
expect(
    "a model that is frozen as a whole has nothing to train",
    count_parameters(tuned, trainable_only=True),
    0,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_parameters_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    count_parameters,
    ("a shape, a number, a list: no models", [((10, 5),), (3,), ([1.0],)], ValueError),
)
### BEGIN HIDDEN TESTS
expect_raises("None is not a model", lambda: count_parameters(None), ValueError)
expect_raises(
    "what is no model is none among the trainable ones, too",
    lambda: count_parameters("resnet18", trainable_only=True),
    ValueError,
)
# vary: 3 in 2..9, 5 in 2..10
one = doubles.OnlyParameters(Tensor.meta((3, 5)))
expect("whatever has .parameters() is a model", count_parameters(one), 15)
# vary: 2 in 2..9, 7 in 2..14
two = doubles.Weights(a=Tensor.meta((2, 7)), b=Tensor.meta((7,)))
expect("a model may have names for its tensors", count_parameters(two), 21)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "zoo", "locked": true, "schema_version": 3, "solution": false, "task": false}
with meta():
    ZOO = {
        "LeNet-5": models.LeNet5(),
        "MobileNetV2": models.mobilenet_v2(),
        "ViT-Ti/16": models.vit_tiny16(),
        "ResNet-18": models.resnet18(),
        "ResNet-50": models.resnet50(),
        "GPT-2 small": models.gpt2("small"),
        "GPT-2 small, not tied": models.gpt2("small", tied=False),
        "GPT-2 XL": models.gpt2("xl"),
    }

# %% nbgrader={"grade": false, "grade_id": "demo_count", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the parameters of eight whole models.
counts = {name: count_parameters(model) for name, model in ZOO.items()}
with meta():
    tuned = models.resnet18()
for name, parameter in tuned.named_parameters():
    parameter.requires_grad = name in ("fc.weight", "fc.bias")
trained = 100 * count_parameters(tuned, trainable_only=True) / count_parameters(tuned)
guesses.compare("ResNet-18's last layer", guess_trained, trained, unit="% of its parameters")
plot.bars(counts, title="Whole models", log=True, show="{:,.0f}".format)

# %% [markdown]
# The two small GPT-2s differ by one matrix, which is 31 % of the smaller one.
# Had the largest model been built with its data, it would have filled nearly 6 GB.

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# from torch import nn
#
# tokens_in, tokens_out = nn.Embedding(5000, 64), nn.Linear(64, 5000, bias=False)
# tokens_out.weight = tokens_in.weight
# model = nn.Sequential(tokens_in, tokens_out)
# print(sum(p.numel() for p in model.parameters()), "in parameters()")
# print(sum(t.numel() for t in model.state_dict().values()), "in state_dict()")
# ```
#
# [`Module.parameters()`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters) yields the tied matrix once, so this one line is how most people count.
# It hides what `state_dict()`, the dict that is saved, shows: there the tied matrix is listed twice, beside *buffers* such as running averages, which are saved but not trained.

# %% [markdown]
# **Take a break here.** What follows needs only `linear_parameters`, `attention_parameters` and `count_parameters`.
#
# ## 5 · From numbers to bytes
#
# A parameter's *dtype* (data type) says how many bytes it takes: four for float32, two for float16, one for int8.
# A model may mix them.
#
# And how large is a megabyte?
# In the SI, and for makers of disks, it is 10⁶ bytes.
# In most tools that show memory it is 1024² = 1,048,576 bytes, properly called a mebibyte.
# The two differ by 5 %, the two gigabytes by 7 %, and nearly everyone writes "MB" for both.
# **In this course a MB is 1024² bytes and a GB is 1024³.** Section 8 finds out who meant which.
#
# The linear layer of section 1 has 2,362,368 float32 parameters.
# They take 4 · 2,362,368 = 9,449,472 bytes, which is 9.45 · 10⁶ bytes and 9.01 MB.
#
# **Predict.** How much memory do the weights of a model with 7 billion parameters take in float16?
# Would they fit on a graphics card with 24 GB?
# And in int8 on a phone with 8 GB?

# %% tags=["guess"]
guess_seven_billion = None  # your guess for float16, in GB of 1024³ bytes


# %% nbgrader={"grade": false, "grade_id": "parameter_memory_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def parameter_memory_mb(model, dtype=None):
    """Return the memory that a model's parameters take, in MB of 1024² bytes: a float, not rounded.

    model: as for count_parameters. Each tensor counts once, frozen ones included. A bare Tensor
        and a model without parameters take 0.0.
    dtype: None counts each parameter at its own dtype. Anything else is the dtype in which all of
        them would be stored, in any form that numpy takes: "float16", np.float16, np.dtype("int8").
    Raises ValueError for a dtype that numpy does not know ("float17"), and for anything that is
    not a model.

    >>> parameter_memory_mb(nn.Linear(1023, 1024), "int8")
    1.0
    """
    ### BEGIN SOLUTION
    try:
        itemsize = np.dtype(dtype).itemsize if dtype is not None else None
    except TypeError:
        raise ValueError(f"numpy knows no dtype {dtype!r}") from None
    if count_parameters(model) == 0:
        return 0.0
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() * (itemsize or p.dtype.itemsize) for p in once) / 1024**2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_parameter_memory_mb", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
with meta():
    layer = nn.Linear(768, 3072)
expect(
    "own dtype", parameter_memory_mb(layer), 9.01171875, mistakes={"None is float64": 18.0234375}
)
expect("all in float16", parameter_memory_mb(layer, dtype="float16"), 4.505859375)
expect("all in float64", parameter_memory_mb(layer, np.float64), 18.0234375)
expect("all as truth values", parameter_memory_mb(layer, bool), 2.2529296875)
expect("not rounded", parameter_memory_mb(nn.Linear(3, 2)), 32 / 1024**2)
mixed = [Tensor.meta((1024, 1024), kind) for kind in (np.float32, np.float16, np.int8)]
model = doubles.OnlyParameters(*mixed)
expect("4, 2, 1 bytes each", parameter_memory_mb(model), 7.0, mistakes={"all float32": 12.0})
expect("a ReLU", parameter_memory_mb(nn.ReLU()), 0.0)
expect("a bare Tensor", parameter_memory_mb(Tensor([1.0, 2.0])), 0.0)
### BEGIN HIDDEN TESTS
expect("one dtype for all replaces each tensor's own", parameter_memory_mb(model, np.float64), 24.0)
# vary: 3 in 2..9
expect("the result is not rounded", parameter_memory_mb(nn.Linear(3, 1)), 16 / 1024**2)
expect("a dtype object of numpy's works, too", parameter_memory_mb(model, np.dtype("int8")), 3.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_memory_mb_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(255, 1024)
layer.weight.requires_grad = False
expect(
    "a frozen weight",
    parameter_memory_mb(layer),
    1.0,
    mistakes={"frozen parameters are left out": 1024 / 2**18},
)
layer.weight = nn.Parameter(Tensor.meta((1024, 1024)))
expect("the same layer with another weight", parameter_memory_mb(layer), 4 + 1024 / 2**18)
mixed = [Tensor.meta((1024, 1024), kind) for kind in (np.float32, np.float16)]
twice = doubles.OnlyParameters(mixed[0], mixed[1], mixed[0])
expect("tied", parameter_memory_mb(twice), 6.0, mistakes={"tied weights are counted twice": 10.0})
expect("tied, in int8", parameter_memory_mb(twice, "int8"), 2.0)
kinds = [str(tensor.dtype) for tensor in twice.parameters()]
expect("the tensors stay as they are", kinds, ["float32", "float16", "float32"])
### BEGIN HIDDEN TESTS
with meta():
    gpt2 = models.gpt2("small")
expect(
    "a whole GPT-2 without data has its size", parameter_memory_mb(gpt2), 124_439_808 * 4 / 1024**2
)
weight = Tensor.meta((512, 1024), np.float16)
tied = doubles.Weights(wte=weight, scale=Tensor.meta((1024, 256), np.float64), head=weight)
expect(
    "a tied tensor counts once, at its own dtype",
    parameter_memory_mb(tied),
    3.0,
    mistakes={"tied weights are counted twice": 4.0},
)
expect("a tied tensor counts once, at another dtype", parameter_memory_mb(tied, "int8"), 0.75)
frozen = nn.Linear(511, 512)
frozen.weight.requires_grad = False
expect(
    "frozen parameters take memory like all others",
    parameter_memory_mb(frozen),
    1.0,
    mistakes={"frozen parameters are left out": 512 * 4 / 1024**2},
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_memory_mb_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    parameter_memory_mb,
    ("a shape is not a model", [((10, 5),), ((10, 5), "int8")], ValueError),
    ("no such dtype", [(nn.Linear(2, 2), "float17")], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 1023 in 682..1_534, 2048 in 1_365..3_072
expect(
    "a MB has 1024² bytes", parameter_memory_mb(nn.Linear(1023, 2048, device="meta"), "int8"), 2.0
)
with meta():
    three = nn.Linear(255, 3072)
expect("a model of three megabytes", parameter_memory_mb(three), 3.0)
expect("half of it in float16", parameter_memory_mb(three, "float16"), 1.5)
expect("a bare Tensor takes 0.0 at any dtype", parameter_memory_mb(Tensor([3.0]), "float64"), 0.0)
expect_raises(
    "a dtype that numpy does not know is an error",
    lambda: parameter_memory_mb(nn.Linear(2, 2), "fp-16"),
    ValueError,
)
expect_raises("a number is not a model", lambda: parameter_memory_mb(3), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# Which weights fit into which memory?
# In the next picture each mark is a model at a dtype, and the model fits into every memory whose line is to the right of the mark.
# That is the least that a device needs: lesson 04 adds what running and training take.
# (numpy has no int4, which puts two parameters into a byte; the cell halves int8.)

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws models at four dtypes against the memory of four devices.
import demos  # what only this lesson draws: demos.py, beside this notebook

shown = {name: ZOO[name] for name in ("MobileNetV2", "ResNet-50", "GPT-2 small", "GPT-2 XL")}
shown |= {f"{n} billion": doubles.OnlyParameters(Tensor.meta((n * 10**9,))) for n in (7, 70)}
sizes = {
    name: {dtype: parameter_memory_mb(model, dtype) for dtype in ("float32", "float16", "int8")}
    for name, model in shown.items()
}
for row in sizes.values():
    row["int4"] = row["int8"] / 2
in_gb = sizes["7 billion"]["float16"] / 1024
guesses.compare("7 billion parameters in float16", guess_seven_billion, in_gb, unit="GB")
memory_gb = {"Raspberry Pi Zero": 0.5, "phone": 8, "RTX 4090": 24, "A100": 80}
lines = {f"{name}, {gb:g} GB": gb * 1024 for name, gb in memory_gb.items()}
demos.ladder(sizes, lines, unit="MB of 1024² bytes", title="Weights against memory")

# %% [markdown]
# ## 6 · Where are they?
#
# A total does not tell you what to do about it.
# To make a model smaller, look at its tensors, the largest first.
#
# **Predict.** ResNet-18 has a first convolution (conv1), four stages (layer1 to layer4) of 64, 128, 256 and 512 channels, each with four 3 × 3 convolutions, and a classifier from 512 to 1000 (fc).
# What share of all parameters is in the last stage, layer4?
# Your guess will be the open diamond in the picture below.

# %% tags=["guess"]
guess_last_stage = None  # your guess: a share, from 0 to 1


# %% nbgrader={"grade": false, "grade_id": "parameter_table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def parameter_table(model):
    """Return where a model's parameters are: a list of rows, one for each tensor, largest first.

    model: anything with .named_parameters(), which yields (name, Tensor), perhaps the same object
        under several names: it has one row, under its first name. A bare Tensor has no rows: [].
    A row is a dict with the keys name, shape (a tuple), count (an int) and share (a float from 0
        to 1: the part of all parameters, not rounded). Rows with equal counts stay in the order in
        which the model yields them. Frozen tensors have rows, too.
    Raises ValueError for anything else without .named_parameters().

    >>> parameter_table(nn.Linear(4, 1, bias=False))
    [{'name': 'weight', 'shape': (1, 4), 'count': 4, 'share': 1.0}]
    """
    ### BEGIN SOLUTION
    if isinstance(model, Tensor):
        return []
    if not hasattr(model, "named_parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .named_parameters()")
    rows = {}
    for name, p in model.named_parameters():
        rows.setdefault(id(p), {"name": name, "shape": p.shape, "count": p.numel()})
    total = sum(row["count"] for row in rows.values())
    for row in rows.values():
        row["share"] = row["count"] / total
    return sorted(rows.values(), key=lambda row: row["count"], reverse=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_parameter_table", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect(
    "3 → 1",
    parameter_table(nn.Linear(3, 1)),
    [
        {"name": "weight", "shape": (1, 3), "count": 3, "share": 0.75},
        {"name": "bias", "shape": (1,), "count": 1, "share": 0.25},
    ],
)
two = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 6, bias=False))
expect("the largest first", [row["name"] for row in parameter_table(two)], ["1.weight", "0.weight"])
thirds = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(2, 1, bias=False))
expect("not rounded", [row["share"] for row in parameter_table(thirds)], [2 / 3, 1 / 3])
alike = doubles.Weights(b=Tensor.meta((2, 3)), c=Tensor.meta((7,)), a=Tensor.meta((6,)))
expect(
    "equal counts stay in order", [row["name"] for row in parameter_table(alike)], ["c", "b", "a"]
)
twelve = nn.Sequential(*[nn.Linear(1, 1) for _ in range(6)])
expect("all twelve tensors", len(parameter_table(twelve)), 12)
expect("a ReLU has no rows", parameter_table(nn.ReLU()), [])
expect("a bare Tensor has no rows", parameter_table(Tensor([1.0, 2.0])), [])
### BEGIN HIDDEN TESTS
# vary: 5 in 4..7
lenet, conv = models.LeNet5(), nn.Conv2d(4, 8, (3, 5), groups=2)
expect("every tensor of a model has a row", len(parameter_table(lenet)), 10)
expect("the largest tensor comes first", parameter_table(lenet)[0]["count"], 48_000)
expect("a share is the part of all parameters", parameter_table(lenet)[0]["share"], 48_000 / 61_706)
expect("the shares sum to 1", sum(row["share"] for row in parameter_table(lenet)), 1.0)
expect(
    "a shape is the tensor's own",
    [row["shape"] for row in parameter_table(conv)],
    [(8, 2, 3, 5), (8,)],
)
# vary: 9 in 5..30
equal = doubles.Weights(b=Tensor.meta((2, 2)), c=Tensor.meta((9,)), a=Tensor.meta((4,)))
expect(
    "rows with equal counts stay in the model's order",
    [row["name"] for row in parameter_table(equal)],
    ["c", "b", "a"],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_table_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
wte = Tensor.meta((6, 2))
tied = doubles.Weights(norm=Tensor.meta((4,)), wte=wte, head=wte)
expect("one row for two names", [row["name"] for row in parameter_table(tied)], ["wte", "norm"])
expect("shares of tied weights", [row["share"] for row in parameter_table(tied)], [0.75, 0.25])
two = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 6, bias=False))
two[0].weight.requires_grad = False
expect("frozen tensors have rows", [row["count"] for row in parameter_table(two)], [12, 4])
expect("the model stays as it is", [p.requires_grad for p in two.parameters()], [False, True])
two[1] = nn.Linear(2, 3, bias=False)
expect("the same model with another layer", [row["count"] for row in parameter_table(two)], [6, 4])
### BEGIN HIDDEN TESTS
# vary: 9 in 3..18, 3 in 2..9
once = Tensor.meta((9, 3))
both = doubles.Weights(a=once, b=Tensor.meta((5,)), c=once)
expect(
    "a tied tensor enters the shares once",
    [row["share"] for row in parameter_table(both)],
    [27 / 32, 5 / 32],
)
# vary: 4 in 2..9, 2 in 2..9
frozen = nn.Linear(4, 2)
frozen.weight.requires_grad = False
expect(
    "frozen tensors have rows like all others",
    [row["count"] for row in parameter_table(frozen)],
    [8, 2],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_table_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    parameter_table,
    ("a list and a shape are not models", [([1, 2],), ((10, 5),)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 2 in 2..9
expect("one tensor has one row", len(parameter_table(nn.Linear(3, 2, bias=False))), 1)
# vary: 3 in 2..9, 2 in 2..9
expect("its share is all", parameter_table(nn.Linear(3, 2, bias=False))[0]["share"], 1.0)
expect("a bare Tensor of any size has no rows", parameter_table(Tensor([1.0])), [])
expect_raises("a number is not a model", lambda: parameter_table(3), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the share of each stage of ResNet-18.
shares = {stage: 0.0 for stage in ("conv1", "layer1", "layer2", "layer3", "layer4", "fc")}
for row in parameter_table(ZOO["ResNet-18"]):
    stage = row["name"].split(".")[0]
    if stage in shares:
        shares[stage] += row["share"]
guesses.compare("share of ResNet-18 in layer4", guess_last_stage, shares["layer4"])
guessed = {"layer4": guess_last_stage}
unit = "share of all parameters"
plot.bars(shares, unit=unit, title="ResNet-18", show="{:.0%}".format, guess=guessed)

# %% [markdown]
# A convolution with twice the channels on both sides has four times the parameters.
# So the last stage outweighs everything else, and that is where to start:
#
# | the largest single part | for example | what makes the model smaller |
# |---|---|---|
# | the matrix of token vectors | GPT-2 small: 31 % in one tensor, 39 of 124 M | a smaller vocabulary; tie the matrix to the output layer if it is not tied yet |
# | linear layers behind convolutions | AlexNet: 96 % | average each channel to one number first, as ResNet does: fc has 4 % |
# | the widest stage | ResNet-18: 72 % | groups and *depthwise convolutions*, as in [MobileNetV2](https://arxiv.org/abs/1801.04381); fewer channels there |
# | blocks, evenly | GPT-2 XL: 95 % | fewer bytes per parameter (section 5); fewer or narrower blocks |
#
# ## 7 · A model from four numbers
#
# GPT-2 is so regular that four numbers tell its size: its vocabulary, its context (how many positions it can tell apart), its width d, and its number of blocks.
# It consists of ([Radford et al. 2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), section 2.3, with sizes as in the [released code](https://github.com/openai/gpt-2)):
#
# - a vector of d numbers for each token of the vocabulary, and one for each position;
# - blocks, each with attention and with two linear layers from d to 4 d and back, all with bias;
# - *layer norms*, which rescale each vector and have d weights and d biases: one before each attention, one before each pair of linear layers, and one after the last block;
# - an output layer without bias, whose weight is the matrix of token vectors.
#
# ![The matrices of a GPT-2 block drawn to scale: for attention four squares of d by d, for the feed-forward layers one rectangle of d by 4 d and one of 4 d by d, together twice the area.](block.png)
#
# **Predict.** GPT-2 XL has 48 blocks of width 1,600; GPT-3 has 96 blocks of width 12,288.
# How many times as many parameters does GPT-3 have?

# %% tags=["guess"]
guess_gpt3 = None  # your guess: 16, 60, 110 or 240 times?


# %% [markdown]
# <details><summary>Hint 1: which of the four numbers does each part depend on?</summary>
#
# Make a list: the token vectors depend on the vocabulary and d; the position vectors on the context and d; a block on d only.
# What is there once, and what is there once in every block?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# (vocabulary + context) · d, plus layers · (attention + two linear layers + two layer norms), plus one last layer norm.
# You have functions for attention and for linear layers already.
# The output layer adds nothing.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "gpt2_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt2_parameters(vocab_size, context, d_model, layers):
    """Return the number of parameters of a GPT-2 of these sizes, an int.

    vocab_size, context (positions), d_model (width), layers (blocks): ints, at least 1.
    The matrix that token vectors and output layer share counts once.

    >>> gpt2_parameters(1, 1, 2, 1)
    82
    """
    ### BEGIN SOLUTION
    if min(vocab_size, context, d_model, layers) < 1:
        raise ValueError("vocab_size, context, d_model and layers must be at least 1")
    norm = 2 * d_model
    feed_forward = linear_parameters(d_model, 4 * d_model) + linear_parameters(4 * d_model, d_model)
    block = attention_parameters(d_model) + feed_forward + 2 * norm
    return (vocab_size + context) * d_model + layers * block + norm
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gpt2_parameters", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect(
    "GPT-2 small",
    gpt2_parameters(50257, 1024, 768, 12),
    124_439_808,
    mistakes={
        "tied weights are counted twice": 163_037_184,
        "the layer norm after the last block is missing": 124_438_272,
        "the position vectors are missing": 123_653_376,
        "4 d are missing in each block: two layer norms, or a bias": 124_402_944,
        "a layer norm is missing in each block": 124_421_376,
    },
)
expect("GPT-2 medium", gpt2_parameters(50257, 1024, d_model=1024, layers=24), 354_823_168)
### BEGIN HIDDEN TESTS
# vary: 50257 in 40_000..60_000, 1024 in 700..1_500, 1280 in 900..1_900, 36 in 24..54
expect(
    "blocks grow with the square of the width, vectors with the width",
    gpt2_parameters(50257, 1024, 1280, 36),
    774_030_080,
)
expect(
    "the largest GPT-2 is counted to the last digit",
    gpt2_parameters(50257, 1024, 1600, 48),
    1_557_611_200,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpt2_parameters_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("the smallest possible", gpt2_parameters(1, 1, 1, 1), 29)
expect("two blocks of width 2", gpt2_parameters(7, 3, 2, 2), 172)
deep = gpt2_parameters(1, 1, 10**9, 1000)
expect("a thousand blocks, more than 2⁶³", deep, 12_000_000_013_004_000_000_000)
### BEGIN HIDDEN TESTS
expect(
    "the formula holds at the size of GPT-3",
    gpt2_parameters(50257, 2048, 12288, 96),
    174_604_259_328,
)
# vary: 5 in 2..10, 3 in 2..9, 2 in 2..9
expect("in a tiny model each bias and each layer norm matters", gpt2_parameters(5, 3, 2, 1), 94)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpt2_parameters_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    gpt2_parameters,
    ("no blocks, no context", [(50257, 1024, 768, 0), (50257, 0, 768, 12)], ValueError),
    ("no tokens, no width", [(0, 512, 64, 2), (997, 512, 0, 2)], ValueError),
    ("sizes below 0", [(50257, -1, 768, 12), (-9, 8, -4, 2), (-9, -8, 4, 2)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("three tokens, width 1", gpt2_parameters(3, 1, 1, 1), 31)
expect("one token, one position, width 3", gpt2_parameters(1, 1, 3, 1), 159)
expect("two positions, width 1", gpt2_parameters(1, 2, 1, 2), 55)
expect_raises("a model needs a vocabulary", lambda: gpt2_parameters(0, 1024, 768, 12), ValueError)
expect_raises(
    "a negative context is an error", lambda: gpt2_parameters(50257, -7, 768, 12), ValueError
)
expect_raises("a model needs a width", lambda: gpt2_parameters(50257, 1024, 0, 12), ValueError)
expect_raises(
    "four negative sizes are an error", lambda: gpt2_parameters(-5, -5, -5, -5), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws GPT-2 in four sizes, a square for each million of parameters.
import demos

sizes = {"small": (768, 12), "medium": (1024, 24), "large": (1280, 36), "XL": (1600, 48)}
parts = {}
for size, (d, blocks) in sizes.items():
    parts[size] = {"vectors": (50257 + 1024) * d, "attention": blocks * attention_parameters(d)}
    rest = gpt2_parameters(50257, 1024, d, blocks) - sum(parts[size].values())
    parts[size]["feed-forward, norms"] = rest
gpt3 = gpt2_parameters(50257, 2048, 12288, 96) / gpt2_parameters(50257, 1024, 1600, 48)
guesses.compare("from GPT-2 XL to GPT-3", guess_gpt3, gpt3, unit="times")
demos.waffle(parts, square=10**6, unit="one million parameters", title="GPT-2 in four sizes")

# %% [markdown]
# This is the picture from the top of the lesson, drawn by your formula.
# Vectors grow only with the width; blocks grow with its square, and with their number.
# (GPT-3 is built from the same parts.)
#
# Does the paper agree with you?
# Its table 2 says 117 M, 345 M, 762 M and 1542 M.

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2_paper", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints your counts beside those of the paper.
for size, millions in {"small": 117, "medium": 345, "large": 762, "xl": 1542}.items():
    with meta():
        count = count_parameters(models.gpt2(size))
    print(f"{size:<6} {count:>13,}   paper {millions:>4} M ({millions * 1e6 / count - 1:+.1%})")

# %% [markdown]
# "Our original parameter counts were wrong due to an error", says the README of the released code, which calls the models 124M, 355M, 774M and 1558M.
# You will still find the old names in use.
# A published count is a claim, and it takes one line to check.
#
# ## 8 · Whose megabyte?
#
# Published sizes are claims, too: 240 MB for AlexNet and 4.8 MB for SqueezeNet ([SqueezeNet paper](https://arxiv.org/abs/1602.07360), table 2), 528 MB for VGG-16 ([Keras](https://keras.io/api/applications/), list of applications), 44.7 MB for ResNet-18 ([torchvision](https://docs.pytorch.org/vision/stable/models.html), list of weights), 548 MB for GPT-2 small ([Hugging Face](https://huggingface.co/openai-community/gpt2/tree/main), file of weights).
# All are for float32.
# Which of them count a MB as 10⁶ bytes, and which as 1024²?
# One is off by more than 10 % in both.
#
# **Predict.** How many of the five are nearer to 10⁶ bytes than to 1024²?
# Compute one of them by hand.

# %% tags=["guess"]
guess_decimal = None  # your guess: a number from 0 to 5


# %% nbgrader={"grade": false, "grade_id": "demo_megabytes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints five published sizes in both megabytes.
claims = {"AlexNet": (240, 60_965_224), "SqueezeNet": (4.8, 1_248_424)}
claims["VGG-16"] = 528, 138_357_544
claims["ResNet-18"] = 44.7, count_parameters(ZOO["ResNet-18"])
claims["GPT-2 small"] = 548, count_parameters(ZOO["GPT-2 small"])
print("            published     10⁶ bytes      1024² bytes")
decimal = 0
for name, (published, count) in claims.items():
    units = [4 * count / unit for unit in (10**6, 1024**2)]
    decimal += abs(published / units[0] - 1) < abs(published / units[1] - 1)
    text = [f"{mb:8.2f} ({published / mb - 1:+.1%})" for mb in units]
    print(f"{name:<12}{published:>9}  {'  '.join(text)}")
guesses.compare("nearer to 10⁶ bytes", guess_decimal, decimal, unit="of the five")


# %% [markdown]
# Keras and torchvision mean 1024² bytes.
# (ResNet's file is a little larger than its parameters: it also holds the running averages of batch normalization, which are not trained.)
# The SqueezeNet paper is known for "50× fewer parameters".
# In its table, 240 fits 10⁶ bytes within 1.6 %, but 1024² bytes only within 3.2 %; 4.8 fits 1024² bytes within 0.8 %, but 10⁶ bytes only within 3.9 %.
# What follows from that is the question of the essay.
#
# And GPT-2?
# Its file has 548,105,171 bytes.

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2_file", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints what GPT-2's file holds beside its parameters.
left = 548_105_171 - 4 * count_parameters(ZOO["GPT-2 small"])
masks = 12 * 1024 * 1024 * 4
print(f"the file without parameters    {left:>11,} bytes")
print(f"12 masks, 1024 × 1024, float32 {masks:>11,} bytes")
print(f"the file's table of contents   {left - masks:>11,} bytes")

# %% [markdown]
# Each of the 12 blocks was saved with its mask, a triangle of ones and zeros that keeps a token from looking ahead.
# That is a tenth of the download, and not one parameter.
# An exact count finds such things; "about 500 MB" never does.
#
# ## Reflect
#
# Will it fit?
# Write a function that answers, then try it on your own phone and a model that you would like to have on it.


# %% nbgrader={"grade": false, "grade_id": "reflect_deployment", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
    """Return how large a model's weights are, and if they fit into a device's memory: a dict.

    parameters: int, at least 1. bytes_per_parameter: above 0; 0.5 stands for 4 bits.
    memory_gb: above 0, in GB of 1024³ bytes.
    The dict's keys are model_mb (a float, in MB of 1024² bytes, not rounded) and fits (a bool, also
        True when the weights fill the memory to the last byte).

    >>> reflect_deployment(2**20, 2, 1)
    {'model_mb': 2.0, 'fits': True}
    """
    ### BEGIN SOLUTION
    if parameters < 1 or bytes_per_parameter <= 0 or memory_gb <= 0:
        raise ValueError("parameters, bytes_per_parameter and memory_gb must be positive")
    model_mb = parameters * bytes_per_parameter / 1024**2
    return {"model_mb": model_mb, "fits": model_mb <= memory_gb * 1024}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_deployment", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect("float32", reflect_deployment(2**30, 4, 3), {"model_mb": 4096.0, "fits": False})
expect("float16", reflect_deployment(2**30, 2, memory_gb=3), {"model_mb": 2048.0, "fits": True})
expect("4 bits", reflect_deployment(5 * 2**30, 0.5, 3), {"model_mb": 2560.0, "fits": True})
expect("not rounded", reflect_deployment(2**20 + 1, 1, 1 / 64)["model_mb"], 1 + 2**-20)
### BEGIN HIDDEN TESTS
# vary: 7 in 7..20
expect(
    "a parameter may take half a byte",
    reflect_deployment(7 * 2**30, 0.5, 3),
    {"model_mb": 3584.0, "fits": False},
)
# vary: 11689512 in 8_000_000..17_000_000
expect(
    "a MB has 1024² bytes, and nothing is rounded",
    reflect_deployment(11_689_512, 1, 1 / 64)["model_mb"],
    11_689_512 / 1024**2,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_reflect_deployment_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *arguments: reflect_deployment(*arguments)["fits"],
    ("full to the last byte", (3 * 2**30, 0.5, 1.5), True),
    ("one byte too many", (3 * 2**30 + 1, 0.5, 1.5), False),
    ("over 10⁹, under 1024³ bytes", (1_060_000_000, 1, 1), True),
    ("140 GB in 141", (70 * 2**30, 2, 141), True),
)
### BEGIN HIDDEN TESTS
expect(
    "weights that fill the memory exactly fit; one byte more does not",
    [reflect_deployment(2**30 + more, 1, memory_gb=1)["fits"] for more in (0, 1)],
    [True, False],
)
# vary: 1050000000 in 1_010_000_000..1_070_000_000
# vary: 1080000000 in 1_075_000_000..1_095_000_000
expect(
    "a GB has 1024³ bytes, not 10⁹",
    [reflect_deployment(n, 1, 1)["fits"] for n in (1_050_000_000, 1_080_000_000)],
    [True, False],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_reflect_deployment_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    reflect_deployment,
    ("one parameter", (1, 1, 1), {"model_mb": 2**-20, "fits": True}),
    ("one bit for each", (2**23, 0.125, 1), {"model_mb": 1.0, "fits": True}),
    ("no memory, memory below 0", [(10, 4, 0), (10, 4, -1)], ValueError),
    (
        "no bytes for a parameter, bytes below 0",
        [(10, 0, 1), (10, -2, 1), (10, -2, -1)],
        ValueError,
    ),
    ("no parameters, fewer than none", [(0, 4, 1), (-3, 4, 1), (-3, -4, 1)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("one parameter of 4 bytes", reflect_deployment(1, 4, 1)["model_mb"], 2**-18)
# vary: 4 in 2..9
little = reflect_deployment(2, 4, 2**-20)
expect("a little memory is memory", little, {"model_mb": 2**-17, "fits": True})
expect_table(
    reflect_deployment,
    ("negative memory is an error", [(10, 4, -0.5)], ValueError),
    ("a parameter takes more than 0 bytes", [(7, 0.0, 2), (10, -0.5, 1)], ValueError),
    ("a negative count is an error", [(-8, 1, 1)], ValueError),
)
### END HIDDEN TESTS

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# The SqueezeNet paper compares AlexNet's 240 MB with SqueezeNet's 4.8 MB and reports a reduction by 50×.
#
# 1. Which megabyte is each of the two, and how do you know?
# 2. What is the reduction in one unit, and does the paper's point stand?
# 3. You publish a table of model sizes. Which columns does it need, so that nobody has to ask what you meant? Why is a model's size not yet the memory that a device needs to run it?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_parameters", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
#
# - *1 point:* AlexNet in both units: 243.9 · 10⁶ bytes and 232.6 · 1024² bytes (`demo_megabytes`).
# - *1 point:* So its 240 is most likely 10⁶ bytes: 1.6 % off, against 3.2 % in 1024².
# - *1 point:* SqueezeNet in both units: 4.99 and 4.76 (`demo_megabytes`).
# - *1 point:* So its 4.8 is most likely 1024² bytes: 0.8 % off, against 3.9 % in 10⁶.
# - *1 point:* The reduction in one unit: 60,965,224 / 1,248,424 = 48.8 (a cell of the student's).
# - *1 point:* The point stands; 50 is 2 % too good.
# - *1 point:* The table names the exact count and the dtype.
# - *1 point:* The table names the unit of its bytes, 10⁶ or 1024².
# - *1 point:* The table says what is counted: tied weights once, buffers or not, or file against tensors.
# - *1 point:* Running needs more: one thing of inference (activations, workspace) and one of training (gradients, optimizer state) or of the system.
#
# **A good answer (10).** Two lines of arithmetic for each of the paper's figures, the quotient, three columns, two further needs.
#
# **A poor answer (1: item 10).** “The paper rounds; 240 / 4.8 = 50, so it is right. A table needs MB and accuracy. A phone needs RAM for the gradients and for activations.”
# ### END SOLUTION

# %% tags=["milestone"]
# You can weigh any model, without its data and to the last parameter.
(
    f"MobileNetV2 has {count_parameters(ZOO['MobileNetV2']):,} parameters by your count,"
    f" GPT-2 XL {count_parameters(ZOO['GPT-2 XL']):,}:"
    f" {4 * count_parameters(ZOO['GPT-2 XL']) / 1024**3:.2f} GB in float32."
)

# %% [markdown]
# ## Summary
#
# - A linear layer has in · out weights and out biases. <!-- with linear_parameters -->
# - A convolution has one filter of in / groups · height · width numbers for each output channel, whatever the size of the image. <!-- with conv2d_parameters -->
# - Attention has four linear layers, however many heads. <!-- with attention_parameters -->
# - Each tensor of a model counts once, however many names it has. Frozen parameters get no gradient, but they take memory. <!-- with count_parameters -->
# - Memory is the count times the bytes of the dtype. Say which megabyte you mean; here it is 1024² bytes. <!-- with parameter_memory_mb -->
# - Blocks grow with the square of the width; token vectors grow only with the width. So a large model has its parameters in other places than a small one. <!-- with gpt2_parameters -->
# - A published number is a claim: check its arithmetic first. <!-- with reflect_deployment -->
#
# **Next.** AlexNet's convolutions hold few parameters and do most of the work. <!-- with conv2d_parameters, lesson 02 -->
# Lesson 02 counts that work. <!-- with conv2d_parameters, lesson 02 -->
# **Next.** Lesson 02 counts the work that a model does. <!-- with lesson 02, without conv2d_parameters -->
# What you wrote here is the first part of your profiler, and later lessons import it.
