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
# ![Four blocks of coloured squares, one for each size of GPT-2; one square is a million parameters. Token and position vectors are a third of the smallest model and a twentieth of the largest, which is twelve times larger.](gpt2_sizes.png)
#
# At the end of this lesson you draw this picture of GPT-2 from a formula of your own, without building any of the four models.
#
# **You will be able to**
#
# - count the parameters of linear layers, convolutions, attention and any model, exactly;
# - turn a count into memory, and say which megabyte you mean;
# - say where in a model its parameters are, and check a published size.
#
# **You need** Python functions, a little numpy, and a first idea of what a layer of a neural network does.
#
# Each section has an idea, a prediction, a small function to write, and a cell that tests it. Predict before you compute: it is the wrong guess that makes the right number stay. Predictions are not graded, and neither are cells that only draw. Work from top to bottom.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

from proflab import Tensor, meta, models, nn
from proflab.lesson import doubles, expect, expect_raises, plot
from proflab.lesson.demo import demo_size

# %% [markdown]
# ## 1 · A matrix and a bias
#
# A *parameter* is a number that training adjusts. A linear layer keeps its parameters in two tensors: a weight, with one number for each pair of an input and an output, and a bias, with one number for each output.
#
#     y = x Wᵀ + b        W: (out, in)        b: (out,)
#
# From 3 features to 2, that is 2 · 3 = 6 weights and 2 biases, together 8.
#
# **Predict.** GPT-2 small widens 768 features to 3,072 in each of its blocks. How many parameters has that one layer? Are a tenth of them biases, a hundredth, a thousandth? *Your prediction:*
#
# **Write** `linear_parameters`. Its docstring says what is asked; how you get there is yours. Where it lists an error, raise it with a sentence that would help you at midnight: `raise ValueError("out_features must be at least 1, not 0")`.
#
# **How `expect` compares.** Where the answer is a whole number, 8.0 is not 8: divide with `//` instead of `/`. A whole number of numpy's is one, too, and a whole number may stand where a float is expected. A float may differ from the tenth digit on; it must not be rounded. A list, a tuple and a one-dimensional array are the same if their items are. The hidden cases compare in the same way.


# %% nbgrader={"grade": false, "grade_id": "linear_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_parameters(in_features, out_features, bias=True):
    """The number of parameters of a linear layer, torch.nn.Linear in shape and default.

    in_features, out_features: ints, at least 1. bias: whether the layer has one.
    Returns an int. Raises ValueError when a size is below 1. (Sizes of other types are not tested.)
    """
    ### BEGIN SOLUTION
    if min(in_features, out_features) < 1:
        raise ValueError(f"sizes must be at least 1, not {in_features} and {out_features}")
    return in_features * out_features + (out_features if bias else 0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_linear_parameters", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect("3 → 2", linear_parameters(3, 2), 8)
expect("768 → 3072", linear_parameters(768, 3072), 2_362_368)
expect("768 → 3072 without bias", linear_parameters(768, 3072, bias=False), 2_359_296)
expect("more than 2³²", linear_parameters(100_000, 70_000), 7_000_070_000)
expect_raises("a negative size", lambda: linear_parameters(-1, 2), ValueError)
expect_raises("no outputs", lambda: linear_parameters(2, 0), ValueError)
expect_raises("no inputs, no bias", lambda: linear_parameters(0, 5, bias=False), ValueError)
expect_raises("two negative sizes", lambda: linear_parameters(-3, -4), ValueError)
### BEGIN HIDDEN TESTS
expect("3072 → 768", linear_parameters(3072, 768), 2_360_064)
expect("no bias, by position", linear_parameters(100, 7, False), 700)
expect("every digit", linear_parameters(90_001, 80_000, bias=True), 7_200_160_000)
expect_raises("no inputs", lambda: linear_parameters(0, 3), ValueError)
expect_raises("fewer outputs than none", lambda: linear_parameters(4, -2), ValueError)
expect_raises("both below 0", lambda: linear_parameters(-2, -2, False), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_linear", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
counts = {
    "LeNet-5 (1998), last layer": linear_parameters(84, 10),
    "ResNet-18 (2015), classifier": linear_parameters(512, 1000),
    "GPT-2 small (2019), feed-forward": linear_parameters(768, 3072),
    "AlexNet (2012), fc6": linear_parameters(9216, 4096),
    "VGG-16 (2014), fc6": linear_parameters(25088, 4096),
    "GPT-3 (2020), feed-forward": linear_parameters(12288, 49152),
}
plot.bars(counts, title="One linear layer each", log=True)

# %% [markdown]
# On a logarithmic axis each grid line is ten times the one before: a single layer of GPT-3 outweighs all of AlexNet and VGG-16 together.
#
# ## 2 · A filter that slides
#
# A convolution has a small filter for each output channel. The filter is as deep as its input has channels, and the *same* filter is laid on every place of the image, so the image's size does not enter. From 64 to 128 channels with 3 × 3 kernels: 128 filters of 64 · 3 · 3 numbers, and 128 biases.
#
# With `groups=g` the channels are dealt into g groups, and a filter reads only the input channels of its own group. With as many groups as channels, each filter reads one channel: a *depthwise* convolution, on which networks for phones are built. AlexNet (2012) used two groups in three of its layers because it did not fit on one graphics card of 3 GB: a half went to each of two cards.
#
# ![Eight input channels joined to eight output channels, three times. One group: all joined with all, 64 lines. Two groups: each half joined with its half, 32 lines. Eight groups: each input joined with one output, 8 lines.](groups.png)
#
# **Predict.** 256 channels to 256, 3 × 3, no bias: how many parameters with 1 group, how many with 256? AlexNet has five convolutions and three linear layers: which hold more of its parameters? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "conv2d_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
    """The number of parameters of a 2-d convolution, torch.nn.Conv2d in shape and default.

    in_channels, out_channels, groups: ints, at least 1.
    kernel_size: an int for a square kernel, or (height, width), each at least 1.
    Returns an int: 9408, not 9408.0. Raises ValueError when one of these is below 1, when a kernel
    given as a tuple or list has not two sizes, and when groups does not divide both channels.
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


# %% nbgrader={"grade": true, "grade_id": "test_conv2d_parameters", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
expect("64 → 128, 3 × 3", conv2d_parameters(64, 128, 3), 73_856)
expect("ResNet's first, no bias", conv2d_parameters(3, 64, 7, bias=False), 9_408)
expect("3 × 5, not square", conv2d_parameters(8, 16, (3, 5)), 1_936)
expect("a list", conv2d_parameters(8, 16, [5, 3]), 1_936)
expect("depthwise", conv2d_parameters(9, 9, 3, False, 9), 81, mistakes={"groups are ignored": 729})
expect("two groups", conv2d_parameters(6, 4, 3, groups=2), 112)
expect("more than 2³²", conv2d_parameters(40_000, 30_000, 2, False), 4_800_000_000)
### BEGIN HIDDEN TESTS
expect("1 × 1", conv2d_parameters(256, 512, 1), 131_584)
expect("1 × 7, as a list", conv2d_parameters(192, 192, [1, 7], bias=False), 258_048)
expect("two groups with bias", conv2d_parameters(96, 256, 5, groups=2), 307_456)
expect("more outputs, grouped", conv2d_parameters(32, 64, 3, groups=32), 640)
expect("fewer outputs, grouped", conv2d_parameters(64, 16, (3, 2), True, 8), 784)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_conv2d_parameters_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("6 → 9 in 3 groups works", conv2d_parameters(6, 9, 1, groups=3), 27)
expect_raises("10 channels, 3 groups", lambda: conv2d_parameters(10, 9, 3, groups=3), ValueError)
expect_raises("10 outputs, 3 groups", lambda: conv2d_parameters(9, 10, 3, groups=3), ValueError)
expect_raises("no groups", lambda: conv2d_parameters(4, 4, 3, groups=0), ValueError)
expect_raises("groups below 0", lambda: conv2d_parameters(4, 4, 3, groups=-2), ValueError)
expect_raises("a kernel of size 0", lambda: conv2d_parameters(3, 8, 0), ValueError)
expect_raises("a kernel below 0", lambda: conv2d_parameters(3, 8, -3), ValueError)
expect_raises("three kernel sizes", lambda: conv2d_parameters(3, 8, (3, 3, 3)), ValueError)
expect_raises("one in a list", lambda: conv2d_parameters(3, 8, [3]), ValueError)
expect_raises("no inputs", lambda: conv2d_parameters(0, 8, 3), ValueError)
expect_raises("no outputs", lambda: conv2d_parameters(3, 0, 3), ValueError)
expect_raises("both below 0", lambda: conv2d_parameters(-3, -8, 3), ValueError)
### BEGIN HIDDEN TESTS
expect_raises("inputs no multiple", lambda: conv2d_parameters(7, 8, 3, groups=4), ValueError)
expect_raises("outputs no multiple", lambda: conv2d_parameters(8, 6, 1, groups=4), ValueError)
expect_raises("no inputs in 2 groups", lambda: conv2d_parameters(0, 8, 3, groups=2), ValueError)
expect_raises("no outputs in 2 groups", lambda: conv2d_parameters(8, 0, 3, groups=2), ValueError)
expect_raises("no groups at all", lambda: conv2d_parameters(6, 6, (1, 3), groups=0), ValueError)
expect_raises("a flat kernel", lambda: conv2d_parameters(3, 8, (3, 0)), ValueError)
expect_raises("two sizes below 0", lambda: conv2d_parameters(3, 8, (-1, -3)), ValueError)
expect_raises("four kernel sizes", lambda: conv2d_parameters(3, 8, [3, 3, 3, 3]), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_conv2d", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
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
plot.bars(counts, title=f"AlexNet: {sum(counts.values()):,} parameters")

# %% [markdown]
# Call your function for the 256 channels, too. AlexNet's convolutions hold next to none of its parameters, yet do nearly all of the work: lesson 02 counts it. Size and work are two things.
#
# ## 3 · Attention
#
# Attention makes a query, a key and a value of each token's vector, mixes the values, and projects the result once more. That is four linear layers from `d_model` to `d_model` (Vaswani et al. 2017, section 3.2.2). The mixing is arithmetic between tokens and has no parameters. In a Transformer block two more linear layers follow, the feed-forward part, from d to 4 d and back.
#
# **Predict.** What happens to the number of parameters when 12 heads become 24? When the text is twice as long? When `d_model` doubles? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "attention_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_parameters(d_model, bias=True):
    """The number of parameters of multi-head self-attention: query, key, value and output layers.

    d_model: int, at least 1, the width of a token's vector, which the heads share out.
    bias: whether each of the four has one. Returns an int. Raises ValueError for d_model below 1.
    """
    ### BEGIN SOLUTION
    return 4 * linear_parameters(d_model, d_model, bias)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_parameters", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
expect(
    "768",
    attention_parameters(768),
    2_362_368,
    mistakes={"the output layer is missing": 1_771_776, "all biases are missing": 2_359_296},
)
expect("64 without bias", attention_parameters(64, bias=False), 16_384)
expect("more than 2³²", attention_parameters(50_000), 10_000_200_000)
expect_raises("no width", lambda: attention_parameters(0), ValueError)
expect_raises("a width below 0", lambda: attention_parameters(-4), ValueError)
expect_raises("no width, no bias", lambda: attention_parameters(0, bias=False), ValueError)
### BEGIN HIDDEN TESTS
expect("GPT-2 XL, 1600", attention_parameters(1600), 10_246_400)
expect("512 without bias, by position", attention_parameters(512, False), 1_048_576)
expect_raises("a negative width, no bias", lambda: attention_parameters(-8, False), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
widths = demo_size(full=[192, 384, 768, 1600, 4096, 12288], small=[192, 768, 12288])
block = {
    "feed-forward": [
        (d, linear_parameters(d, 4 * d) + linear_parameters(4 * d, d)) for d in widths
    ],
    "attention": [(d, attention_parameters(d)) for d in widths],
}
plot.curves(block, x="d_model", y="parameters", title="A block, ViT-Ti to GPT-3", log="xy")

# %% [markdown]
# Where both axes are logarithmic, a power is a straight line, and its slope the exponent: two grid lines up for each one to the right. The feed-forward part is twice the attention, at any width.
#
# ## 4 · Any model
#
# Formulas end where the next new layer begins, but a model knows its tensors: `model.parameters()` yields them one by one, and such a tensor `p` has `p.shape`, `p.numel()`, `p.dtype` and `p.requires_grad`. Two things make counting more than a sum:
#
# - **Tied weights.** GPT-2 turns tokens into vectors with a matrix, and vectors into tokens with the *same* matrix. One tensor, two uses: it is stored, trained and counted once. Some models yield it twice.
# - **Frozen weights.** Fine-tuning often trains the last layer only, and sets `requires_grad = False` elsewhere. Frozen parameters have no gradient, but take up memory like all others.
#
# A large model need not be built to be counted: under `with meta():` each tensor has a shape and a dtype, and no data.
#
# **Predict.** GPT-2 small has 124 million parameters. Its vocabulary has 50,257 tokens, of 768 numbers each. By what part would it grow if its output layer had a matrix of its own? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "count_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_parameters(model, trainable_only=False):
    """The number of parameters of a model: the elements of its tensors, each tensor once.

    model: anything with .parameters(), which yields Tensors, perhaps the same object more than
        once. (Different tensors all count, also equal ones.) A bare Tensor has none: 0.
    trainable_only: leave out frozen ones, whose requires_grad is False.
    Returns an int. The model stays as it is, and may be another the next time. Raises ValueError for what is neither a Tensor nor has .parameters().
    """
    ### BEGIN SOLUTION
    if isinstance(model, Tensor):
        return 0
    if not hasattr(model, "parameters"):
        raise ValueError(f"a {type(model).__name__} is no model: it has no .parameters()")
    once = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() for p in once if p.requires_grad or not trainable_only)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_count_parameters", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
expect("linear, 10 → 5", count_parameters(nn.Linear(10, 5)), 55)
expect("LeNet-5", count_parameters(models.LeNet5()), 61_706)
wte = Tensor.meta((50257, 768))
tied = doubles.Weights(wte=wte, norm=Tensor.meta((768,)), head=wte)
expect(
    "tied weights",
    count_parameters(tied),
    38_598_144,
    mistakes={"tied weights are counted twice": 77_195_520},
)
alike = [Tensor([0.0, 0.0]), Tensor([0.0, 0.0]), Tensor(2.5)]
expect("equal, but not the same", count_parameters(doubles.OnlyParameters(*alike)), 5)
expect("BatchNorm's averages are no parameters", count_parameters(nn.BatchNorm2d(3)), 6)
wide = doubles.OnlyParameters(Tensor.meta((70_000, 70_000)))
expect("more than 2³²", count_parameters(wide), 4_900_000_000)
### BEGIN HIDDEN TESTS
with meta():
    gpt2, mobilenet = models.gpt2("small"), models.mobilenet_v2()
expect("GPT-2 small", count_parameters(gpt2), 124_439_808)
expect("MobileNetV2", count_parameters(mobilenet), 3_504_872)
twins = doubles.OnlyParameters(Tensor.meta((4, 4)), Tensor.meta((4, 4)), Tensor.meta((2, 3, 5)))
expect("two tensors of one shape", count_parameters(twins), 62)
equal = doubles.OnlyParameters(Tensor([0.0, 0.0]), Tensor([0.0, 0.0]), Tensor(2.5))
expect("equal tensors, and a single number", count_parameters(equal), 5)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_count_parameters_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
half = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
expect(
    "first layer frozen, all", count_parameters(half), 46, mistakes={"frozen ones are left out": 10}
)
expect(
    "first layer frozen, trainable",
    count_parameters(half, trainable_only=True),
    10,
    mistakes={"trainable_only is ignored": 46, "the frozen ones are counted": 36},
)
half[0].bias.requires_grad = True
expect(
    "its bias, too; still in training",
    [count_parameters(half, trainable_only=True), half.training],
    [14, True],
)
expect("a ReLU has none", count_parameters(nn.ReLU()), 0)
expect("nor has a Tensor", count_parameters(Tensor([[1.0, 2.0]])), 0)
expect_raises("a shape is no model", lambda: count_parameters((10, 5)), ValueError)
### BEGIN HIDDEN TESTS
with meta():
    tuned = models.resnet18()
for name, parameter in tuned.named_parameters():
    parameter.requires_grad = name.startswith("fc.")
expect("ResNet-18, last layer trained, all", count_parameters(tuned), 11_689_512)
expect("ResNet-18, last layer trained", count_parameters(tuned, True), 513_000)
shared = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
both = doubles.OnlyParameters(shared, Tensor([1.0, 1.0]), shared)
expect("tied and trainable", count_parameters(both, trainable_only=True), 3)
expect("a Tensor that is trained", count_parameters(shared, trainable_only=True), 0)
expect_raises("None is no model", lambda: count_parameters(None), ValueError)
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
counts = {name: count_parameters(model) for name, model in ZOO.items()}
plot.bars(counts, title="Whole models", log=True, show="{:,.0f}".format)

# %% [markdown]
# The two small GPT-2s differ by one matrix. Built for real, the largest model would have filled nearly 6 GB.
#
# ## 5 · From numbers to bytes
#
# A parameter's *dtype* says how many bytes it takes: float32 four, float16 two, int8 one. A model may mix them.
#
# And a megabyte? To the SI and to makers of disks it is 10⁶ bytes, to most tools that show memory 1024² = 1,048,576, properly a mebibyte. They differ by 5 %, at the giga by 7 %, and nearly all write "MB" for both. **In this course a MB is 1024² bytes and a GB is 1024³.** Section 8 finds out who meant what.
#
# **Predict.** Do the weights of a model of 7 billion parameters fit on a graphics card with 24 GB in float32? In float16? In int8 on a phone with 8 GB? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "parameter_memory_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def parameter_memory_mb(model, dtype=None):
    """The memory that a model's parameters take, in MB of 1024² bytes; each tensor once.

    model: as for count_parameters; 0.0 for a bare Tensor and for a model without parameters.
    dtype: None, and each parameter counts at its own dtype; or the one in which all would be
        stored, as numpy takes it: "float16", np.float16, np.dtype("int8").
    Returns a float, not rounded. Raises ValueError for a dtype that numpy does not know
    ("float17"), and for what is no model.
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


# %% nbgrader={"grade": true, "grade_id": "test_parameter_memory_mb", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(768, 3072)
expect("its own", parameter_memory_mb(layer), 9.01171875, mistakes={"None is float64": 18.0234375})
expect("all in float16", parameter_memory_mb(layer, "float16"), 4.505859375)
expect("all in float64", parameter_memory_mb(layer, np.float64), 18.0234375)
layer.weight.requires_grad = False
expect(
    "frozen",
    parameter_memory_mb(layer),
    9.01171875,
    mistakes={"frozen parameters are left out": 3072 / 2**18},
)
layer.weight = nn.Parameter(Tensor.meta((1024, 1024)))
expect("another weight", parameter_memory_mb(layer), 4 + 3072 / 2**18)
mixed = [Tensor.meta((1024, 1024), kind) for kind in (np.float32, np.float16, np.int8)]
model = doubles.OnlyParameters(*mixed)
expect("4, 2, 1 bytes each", parameter_memory_mb(model), 7.0, mistakes={"all float32": 12.0})
twice = doubles.OnlyParameters(mixed[0], mixed[1], mixed[0])
expect("tied", parameter_memory_mb(twice), 6.0, mistakes={"tied weights are counted twice": 10.0})
expect("tied, in int8", parameter_memory_mb(twice, "int8"), 2.0)
### BEGIN HIDDEN TESTS
expect("the same in float64", parameter_memory_mb(model, np.float64), 24.0)
expect("every digit", parameter_memory_mb(nn.Linear(3, 1)), 16 / 1024**2)
expect("the same in int8", parameter_memory_mb(model, np.dtype("int8")), 3.0)
with meta():
    gpt2 = models.gpt2("small")
expect("GPT-2 small", parameter_memory_mb(gpt2), 124_439_808 * 4 / 1024**2)
weight = Tensor.meta((512, 1024), np.float16)
tied = doubles.Weights(wte=weight, scale=Tensor.meta((1024, 256), np.float64), head=weight)
expect(
    "tied and mixed",
    parameter_memory_mb(tied),
    3.0,
    mistakes={"tied weights are counted twice": 4.0},
)
expect("tied and mixed, in int8", parameter_memory_mb(tied, "int8"), 0.75)
frozen = nn.Linear(511, 512)
frozen.weight.requires_grad = False
expect(
    "frozen parameters",
    parameter_memory_mb(frozen),
    1.0,
    mistakes={"frozen parameters are left out": 512 * 4 / 1024**2},
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_memory_mb_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("1024 × 1023 + 1024 in int8", parameter_memory_mb(nn.Linear(1023, 1024), "int8"), 1.0)
expect("a ReLU", parameter_memory_mb(nn.ReLU()), 0.0)
expect("a bare Tensor", parameter_memory_mb(Tensor([1.0, 2.0])), 0.0)
expect_raises("a shape is no model", lambda: parameter_memory_mb((10, 5)), ValueError)
expect_raises("no such dtype", lambda: parameter_memory_mb(nn.Linear(2, 2), "float17"), ValueError)
### BEGIN HIDDEN TESTS
expect("another Tensor", parameter_memory_mb(Tensor([[3.0]])), 0.0)
expect("a bare Tensor at a dtype", parameter_memory_mb(Tensor([1.0, 2.0]), "float64"), 0.0)
expect_raises("not a dtype", lambda: parameter_memory_mb(nn.Linear(2, 2), "fp-16"), ValueError)
expect_raises("a number is no model", lambda: parameter_memory_mb(3), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# Which weights fit into which memory? A mark is a model at a dtype, and fits wherever a line is to the right of it. That is the least that a device needs: lesson 04 adds what running and training take. (numpy has no int4, two parameters in a byte; the cell halves int8.)

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
names = demo_size(full=["MobileNetV2", "ResNet-50", "GPT-2 small", "GPT-2 XL"], small=["GPT-2 XL"])
shown = {name: ZOO[name] for name in names}
for billions in (7, 70):
    shown[f"{billions} billion"] = doubles.OnlyParameters(Tensor.meta((billions * 10**9,)))
sizes = {
    name: {dtype: parameter_memory_mb(model, dtype) for dtype in ("float32", "float16", "int8")}
    for name, model in shown.items()
}
for row in sizes.values():
    row["int4"] = row["int8"] / 2
memory_gb = {"Raspberry Pi Zero": 0.5, "phone": 8, "RTX 4090": 24, "A100": 80}
lines = {f"{name}, {gb:g} GB": gb * 1024 for name, gb in memory_gb.items()}
plot.ladder(sizes, lines, unit="MB of 1024² bytes", title="Weights against memory")

# %% [markdown]
# ## 6 · Where are they?
#
# A total says nothing about what to do with it. To make a model smaller, look at its tensors, the largest first.
#
# **Predict.** ResNet-18 has a first convolution, four stages of 64, 128, 256 and 512 channels, each with four 3 × 3 convolutions, and a classifier from 512 to 1000. What share of its parameters is in each? Put numbers from 0 to 1 where you have a feeling; they will be open diamonds in the picture below.

# %%
guess = {"conv1": None, "layer1": None, "layer2": None, "layer3": None, "layer4": None, "fc": None}


# %% nbgrader={"grade": false, "grade_id": "parameter_table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def parameter_table(model):
    """Where a model's parameters are: a row for each tensor, the largest first.

    model: anything with .named_parameters(), which yields (name, Tensor), perhaps the same object
        under several names: it has one row, under the first. A bare Tensor: [].
    Returns a list of dicts with keys name, shape (tuple), count (int), share (float, of all, 0 to
    1). Rows of the same count stay in the order in which they were yielded.
    Raises ValueError for what is neither a Tensor nor has .named_parameters().
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


# %% nbgrader={"grade": true, "grade_id": "test_parameter_table", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
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
expect("shares", [row["share"] for row in parameter_table(two)], [0.75, 0.25])
thirds = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(2, 1, bias=False))
expect("not rounded", [row["share"] for row in parameter_table(thirds)], [2 / 3, 1 / 3])
alike = doubles.Weights(b=Tensor.meta((2, 3)), c=Tensor.meta((7,)), a=Tensor.meta((6,)))
expect(
    "equal counts stay in order", [row["name"] for row in parameter_table(alike)], ["c", "b", "a"]
)
two[0].weight.requires_grad = False
expect("frozen tensors, too", [row["count"] for row in parameter_table(two)], [12, 4])
two[1] = nn.Linear(2, 3, bias=False)
expect("another layer", [row["count"] for row in parameter_table(two)], [6, 4])
twelve = nn.Sequential(*[nn.Linear(1, 1) for _ in range(6)])
expect("all twelve tensors", len(parameter_table(twelve)), 12)
### BEGIN HIDDEN TESTS
lenet, conv = models.LeNet5(), nn.Conv2d(4, 8, (3, 5), groups=2)
expect("LeNet-5, ten tensors", len(parameter_table(lenet)), 10)
expect("its largest", parameter_table(lenet)[0]["count"], 48_000)
expect("its largest share", parameter_table(lenet)[0]["share"], 48_000 / 61_706)
expect("the sum of its shares", sum(row["share"] for row in parameter_table(lenet)), 1.0)
expect("shapes", [row["shape"] for row in parameter_table(conv)], [(8, 2, 3, 5), (8,)])
equal = doubles.Weights(b=Tensor.meta((2, 2)), c=Tensor.meta((9,)), a=Tensor.meta((4,)))
expect("equal counts", [row["name"] for row in parameter_table(equal)], ["c", "b", "a"])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_parameter_table_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
wte = Tensor.meta((6, 2))
tied = doubles.Weights(norm=Tensor.meta((4,)), wte=wte, head=wte)
expect("one row for two names", [row["name"] for row in parameter_table(tied)], ["wte", "norm"])
expect("their shares", [row["share"] for row in parameter_table(tied)], [0.75, 0.25])
expect("a ReLU has no rows", parameter_table(nn.ReLU()), [])
expect_raises("a list is no model", lambda: parameter_table([1, 2]), ValueError)
### BEGIN HIDDEN TESTS
once = Tensor.meta((9, 3))
both = doubles.Weights(a=once, b=Tensor.meta((5,)), c=once)
expect("shares of tied weights", [row["share"] for row in parameter_table(both)], [27 / 32, 5 / 32])
expect("a Tensor has no rows", parameter_table(Tensor([1.0])), [])
frozen = nn.Linear(4, 2)
frozen.weight.requires_grad = False
expect("frozen tensors have rows", [row["count"] for row in parameter_table(frozen)], [8, 2])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
shares = {stage: 0.0 for stage in ("conv1", "layer1", "layer2", "layer3", "layer4", "fc")}
for row in parameter_table(ZOO["ResNet-18"]):
    stage = row["name"].split(".")[0]
    if stage in shares:
        shares[stage] += row["share"]
unit = "share of all parameters"
plot.bars(shares, unit=unit, title="ResNet-18", show="{:.0%}".format, guess=guess)

# %% [markdown]
# Twice the channels on both sides is four times the parameters, so the last stage outweighs all the rest.
#
# ## 7 · A model from four numbers
#
# GPT-2 is so regular that its vocabulary, its context (how many positions it can tell apart), its width d and its number of blocks say how large it is. It has (Radford et al. 2019, section 2.3, with sizes as in the released code):
#
# - a vector of d numbers for each token of the vocabulary, and one for each position;
# - blocks, each with attention and with two linear layers from d to 4 d and back, all with bias;
# - a LayerNorm, of d weights and d biases, before each attention, before each pair of linear layers, and after the last block;
# - an output layer without bias, whose weight is the token vectors' matrix.
#
# ![The matrices of a GPT-2 block drawn to scale: for attention four squares of d by d, for the feed-forward layers one rectangle of d by 4 d and one of 4 d by d, together twice the area.](block.png)
#
# **Predict.** GPT-2 XL has 48 blocks of width 1600, GPT-3 has 96 of width 12,288. How many times as many parameters is that: 16, 60, 110 or 240? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "gpt2_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpt2_parameters(vocab_size, context, d_model, layers):
    """The number of parameters of a GPT-2 of these sizes, its shared matrix counted once.

    vocab_size, context (positions), d_model (width), layers (blocks): ints, at least 1.
    Returns an int. Raises ValueError when a size is below 1.
    """
    ### BEGIN SOLUTION
    if min(vocab_size, context, d_model, layers) < 1:
        raise ValueError("vocab_size, context, d_model and layers must be at least 1")
    norm = 2 * d_model
    feed_forward = linear_parameters(d_model, 4 * d_model) + linear_parameters(4 * d_model, d_model)
    block = attention_parameters(d_model) + feed_forward + 2 * norm
    return (vocab_size + context) * d_model + layers * block + norm
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gpt2_parameters", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
expect(
    "small",
    gpt2_parameters(50257, 1024, 768, 12),
    124_439_808,
    mistakes={
        "tied weights are counted twice": 163_037_184,
        "the LayerNorm after the last block is missing": 124_438_272,
        "the position vectors are missing": 123_653_376,
        "4 d are missing in each block: two LayerNorms, or a bias": 124_402_944,
        "each block has two LayerNorms": 124_421_376,
    },
)
expect("medium", gpt2_parameters(50257, 1024, 1024, 24), 354_823_168)
expect("the smallest", gpt2_parameters(1, 1, 1, 1), 29)
expect("more than 2³²", gpt2_parameters(50257, 2048, 4096, 40), 8_269_443_072)
expect_raises("no blocks", lambda: gpt2_parameters(50257, 1024, 768, 0), ValueError)
expect_raises("no context", lambda: gpt2_parameters(50257, 0, 768, 12), ValueError)
expect_raises("a context below 0", lambda: gpt2_parameters(50257, -1, 768, 12), ValueError)
expect_raises("two sizes below 0", lambda: gpt2_parameters(-9, 8, -4, 2), ValueError)
### BEGIN HIDDEN TESTS
expect("large", gpt2_parameters(50257, 1024, 1280, 36), 774_030_080)
expect("XL", gpt2_parameters(50257, 1024, 1600, 48), 1_557_611_200)
expect("sizes of GPT-3", gpt2_parameters(50257, 2048, 12288, 96), 174_604_259_328)
expect("a tiny one", gpt2_parameters(5, 3, 2, 1), 94)
expect_raises("no vocabulary", lambda: gpt2_parameters(0, 1024, 768, 12), ValueError)
expect_raises("a negative context", lambda: gpt2_parameters(50257, -7, 768, 12), ValueError)
expect_raises("no width", lambda: gpt2_parameters(50257, 1024, 0, 12), ValueError)
expect_raises("all below 0", lambda: gpt2_parameters(-5, -5, -5, -5), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
sizes = {"small": (768, 12), "medium": (1024, 24), "large": (1280, 36), "XL": (1600, 48)}
parts = {}
for size, (d, blocks) in sizes.items():
    parts[size] = {"vectors": (50257 + 1024) * d, "attention": blocks * attention_parameters(d)}
    rest = gpt2_parameters(50257, 1024, d, blocks) - sum(parts[size].values())
    parts[size]["feed-forward, norms"] = rest
plot.waffle(parts, square=10**6, unit="one million parameters", title="GPT-2 in four sizes")

# %% [markdown]
# The picture from the top of the lesson, by your formula: vectors grow with the width alone, blocks with its square and with their number. (GPT-3 is built of the same parts: try `gpt2_parameters(50257, 2048, 12288, 96)`.)
#
# Does the paper agree with you? Its table 2 says 117 M, 345 M, 762 M and 1542 M.

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2_paper", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
for size, millions in {"small": 117, "medium": 345, "large": 762, "xl": 1542}.items():
    with meta():
        count = count_parameters(models.gpt2(size))
    print(f"{size:<6} {count:>13,}   paper {millions:>4} M ({millions * 1e6 / count - 1:+.1%})")

# %% [markdown]
# "Our original parameter counts were wrong due to an error", says the README of the released code, which calls the models 124M, 355M, 774M and 1558M. The old names are still about. A published count is a claim, and this one takes a line to check.
#
# ## 8 · Whose megabyte?
#
# Published sizes are claims too: AlexNet 240 MB and SqueezeNet 4.8 MB (SqueezeNet paper, table 2), VGG-16 528 MB (Keras, list of applications), ResNet-18 44.7 MB (torchvision, list of weights), GPT-2 small 548 MB (Hugging Face, file of weights). All are float32. Which MB are 10⁶ bytes, and which 1024²?
#
# **Predict.** Put 10⁶ or 1024² to each; one of them is neither. *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "demo_megabytes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
claims = {
    "AlexNet": (240, 60_965_224),
    "SqueezeNet": (4.8, 1_248_424),
    "VGG-16": (528, 138_357_544),
    "ResNet-18": (44.7, count_parameters(ZOO["ResNet-18"])),
    "GPT-2 small": (548, count_parameters(ZOO["GPT-2 small"])),
}
print("            published     10⁶ bytes      1024² bytes")
for name, (published, count) in claims.items():
    units = [4 * count / unit for unit in (10**6, 1024**2)]
    text = [f"{mb:8.2f} ({published / mb - 1:+.1%})" for mb in units]
    print(f"{name:<12}{published:>9}  {'  '.join(text)}")

left = 548_105_171 - 4 * count_parameters(ZOO["GPT-2 small"])
masks = 12 * 1024 * 1024 * 4
print(f"GPT-2, left over without them   {left:>11,} bytes")
print(f"12 masks, 1024 × 1024, float32  {masks:>11,} bytes")
print(f"the file's table of contents    {left - masks:>11,} bytes")

# %% [markdown]
# Keras and torchvision mean 1024² (ResNet's file is a little larger than its parameters, for it also holds the running averages of its batch normalization, which are not trained). The SqueezeNet paper, known for "50× fewer parameters", has one of each in a table.
#
# And GPT-2? Its file has 548,105,171 bytes, from which the last lines take the parameters away. Each of the 12 blocks was saved with its causal mask: a triangle of ones and zeros, a tenth of the download, and not one parameter. An exact count finds such things; "about 500 MB" never does.
#
# ## Reflect
#
# Will it fit? Make that a function, then try it on your own phone and the model that you would like to have on it.


# %% nbgrader={"grade": false, "grade_id": "reflect_deployment", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
    """Whether a model's weights fit into a device's memory.

    parameters: int, at least 1. bytes_per_parameter: above 0; 0.5 is 4 bits.
    memory_gb: above 0, in GB of 1024³ bytes.
    Returns a dict: model_mb (float, in MB of 1024² bytes, not rounded) and fits (bool; True also
        when they fill the memory to the last byte). Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if parameters < 1 or bytes_per_parameter <= 0 or memory_gb <= 0:
        raise ValueError("parameters, bytes_per_parameter and memory_gb must be positive")
    model_mb = parameters * bytes_per_parameter / 1024**2
    return {"model_mb": model_mb, "fits": model_mb <= memory_gb * 1024}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_deployment", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
expect("float32", reflect_deployment(2**30, 4, 3), {"model_mb": 4096.0, "fits": False})
expect("float16", reflect_deployment(2**30, 2, 3), {"model_mb": 2048.0, "fits": True})
expect("4 bits", reflect_deployment(5 * 2**30, 0.5, 3), {"model_mb": 2560.0, "fits": True})
expect("full to the last byte", reflect_deployment(3 * 2**30, 0.5, 1.5)["fits"], True)
expect("one byte too many", reflect_deployment(3 * 2**30 + 1, 0.5, 1.5)["fits"], False)
expect("over 10⁹, under 1024³ bytes", reflect_deployment(1_060_000_000, 1, 1)["fits"], True)
expect("not rounded", reflect_deployment(2**20 + 1, 1, 1 / 64)["model_mb"], 1 + 2**-20)
expect_raises("no memory", lambda: reflect_deployment(10, 4, 0), ValueError)
expect_raises("memory below 0", lambda: reflect_deployment(10, 4, -1), ValueError)
expect_raises("no bytes a parameter", lambda: reflect_deployment(10, 0, 1), ValueError)
expect_raises("bytes below 0", lambda: reflect_deployment(10, -2, 1), ValueError)
expect_raises("no parameters", lambda: reflect_deployment(0, 4, 1), ValueError)
expect_raises("fewer than none", lambda: reflect_deployment(-3, 4, 1), ValueError)
### BEGIN HIDDEN TESTS
expect("half bytes", reflect_deployment(7 * 2**30, 0.5, 3), {"model_mb": 3584.0, "fits": False})
expect("just full", reflect_deployment(2**30, 2, memory_gb=2)["fits"], True)
expect("a byte more", reflect_deployment(2**30 + 1, 1, memory_gb=1)["fits"], False)
expect("under 1024³ bytes", reflect_deployment(1_050_000_000, 1, 1)["fits"], True)
expect("16 MB", reflect_deployment(11_689_512, 1, 1 / 64)["model_mb"], 11_689_512 / 1024**2)
expect_raises("negative memory", lambda: reflect_deployment(10, 4, -0.5), ValueError)
expect_raises("no bytes", lambda: reflect_deployment(7, 0.0, 2), ValueError)
expect_raises("negative bytes", lambda: reflect_deployment(10, -0.5, 1), ValueError)
expect_raises("negative parameters", lambda: reflect_deployment(-8, 1, 1), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). The SqueezeNet paper compares AlexNet's 240 MB with SqueezeNet's 4.8 MB and reports a reduction by 50×.
#
# 1. Which megabyte is each of the two, and how do you know?
# 2. What is the reduction in one unit, and does the paper's point stand?
# 3. You publish a table of model sizes. Which columns has it, so that nobody needs to ask what you meant? Why is a model's size not yet the memory that a device needs to run it?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_parameters", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** *3 points:* AlexNet's 240 is 243.9 · 10⁶ bytes, rounded down (232.6 in 1024²); SqueezeNet's 4.8 is 4.76 · 1024² (4.99 in 10⁶); shown by computing both. *2 points:* 60,965,224 / 1,248,424 = 48.8×, the same in any unit; the point stands, the figure is 2 % too good. *3 points:* columns that cannot be misread: the exact count, the dtype, bytes or MiB, and what is counted (tied weights once; buffers or not; file or tensors). *2 points:* running needs activations and workspace, training also gradients and optimizer state, and the system takes its part. Up to 2 points off for figures without a unit or a calculation.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A linear layer has in · out weights and out biases; a convolution a filter of in / groups · height · width for each output channel, whatever the image; attention four linear layers, however many heads.
# - A model's tensors count once each. Frozen ones have no gradient, but take memory.
# - Memory is the count times the dtype's bytes. Say which megabyte; here it is 1024² bytes.
# - Widths enter squared, depth and vocabulary linearly, so a large model's parameters are elsewhere than a small one's.
# - A published number is a claim: check its arithmetic first.
#
# **Next.** AlexNet's convolutions are few parameters and most of the work. Lesson 02 counts that work. What you wrote here is the first part of your profiler, and later lessons import it.
