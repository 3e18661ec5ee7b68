"""The rest of engine_cases: convolution, pooling, norms, attention, losses."""

from __future__ import annotations

from engine_cases import CASES, Maker, case


@case("conv2d")
def _(m: Maker):
    groups, kh, kw = m.pick(1, 2), m.pick(1, 3), m.pick(1, 2)
    settings = {
        "stride": (m.pick(1, 2), m.pick(1, 3)),
        "padding": (m.pick(0, 2), m.pick(0, 1)),
        "dilation": (m.pick(1, 2), 1),
        "groups": groups,
    }
    x = m.values(m.pick(0, 2), groups * m.pick(1, 2), m.pick(5, 6), m.pick(2, 5))
    w = m.values(groups * m.pick(1, 2), x.shape[1] // groups, kh, kw)
    return [x, w, m.values(len(w))], lambda P, *t: P.nn.functional.conv2d(*t, **settings)


@case("conv2d depthwise same")
def _(m: Maker):
    channels, k = m.pick(1, 3), m.pick(1, 4)
    x, w = m.values(2, channels, 4, 5), m.values(channels, 1, k, 2)
    dilation = m.pick(1, 2)
    return [x, w], lambda P, x, w: P.nn.functional.conv2d(
        x, w, padding="same", groups=channels, dilation=dilation
    )


@case("conv1d")
def _(m: Maker):
    x, w = m.values(m.pick(0, 2), 2, m.pick(3, 5)), m.values(m.pick(1, 2), 2, m.pick(1, 3))
    padding = ["same", 1, 0][m.pick(0, 2)]
    return [x, w, m.values(len(w))], lambda P, *t: P.nn.functional.conv1d(*t, padding=padding)


@case("max_pool2d")
def _(m: Maker):
    k, s, p = m.pick(2, 3), m.pick(1, 3), m.pick(0, 1)
    ceil = bool(m.pick(0, 1))
    x = m.values(m.pick(0, 2), m.pick(1, 2), m.pick(4, 6), m.pick(4, 6))
    return [x], lambda P, x: P.nn.functional.max_pool2d(x, k, s, p, ceil_mode=ceil)


@case("avg_pool2d")
def _(m: Maker):
    k, s, p = m.pick(2, 3), m.pick(1, 3), m.pick(0, 1)
    ceil, include = bool(m.pick(0, 1)), bool(m.pick(0, 1))
    x = m.values(m.pick(0, 2), m.pick(1, 2), m.pick(4, 6), m.pick(4, 6))
    return [x], lambda P, x: P.nn.functional.avg_pool2d(
        x, k, s, p, ceil_mode=ceil, count_include_pad=include
    )


@case("adaptive_avg_pool2d")
def _(m: Maker):
    size = (m.pick(1, 3), m.pick(1, 3))
    x = m.values(m.pick(0, 2), 2, m.pick(3, 5), m.pick(3, 5))
    return [x], lambda P, x: P.nn.functional.adaptive_avg_pool2d(x, size)


@case("layer_norm")
def _(m: Maker):
    shape = m.shape(m.pick(1, 3), low=1)
    n = m.pick(1, len(shape))
    last = shape[-n:]
    return (
        [m.values(*shape), m.values(*last), m.values(*last)],
        lambda P, x, w, b: (
            P.nn.functional.layer_norm(x, last, w, b, 0.1) ** 2
            + P.nn.functional.layer_norm(x, last, None, None, 0.1)
        ),
    )


@case("rms_norm")
def _(m: Maker):
    shape = m.shape(m.pick(1, 3), low=1)
    return [m.values(*shape), m.values(shape[-1])], lambda P, x, w: P.nn.functional.rms_norm(
        x, (shape[-1],), w, 0.1
    )


@case("group_norm")
def _(m: Maker):
    groups, each = m.pick(1, 2), m.pick(1, 2)
    channels = groups * each
    x = m.values(m.pick(1, 2), channels, m.pick(2, 3), 2)
    return [
        x,
        m.values(channels),
        m.values(channels),
    ], lambda P, x, w, b: P.nn.functional.group_norm(x, groups, w, b, 0.1) ** 2


@case("batch_norm")
def _(m: Maker):
    channels, training = m.pick(1, 3), bool(m.pick(0, 1))
    x = m.values(m.pick(2, 3), channels, *m.shape(m.pick(0, 2), low=1))
    mean, var = m.values(channels), m.values(channels, low=0.5)

    def function(P, x, w, b):
        statistics = P.tensor(mean).to(x.dtype), P.tensor(var).to(x.dtype)
        return P.nn.functional.batch_norm(x, *statistics, w, b, training, 0.1, 0.1) ** 2

    return [x, m.values(channels), m.values(channels)], function


def _attention(m: Maker, kind: str):
    length, keys, e, v = m.pick(1, 3), m.pick(1, 3), m.pick(1, 3), m.pick(1, 3)
    stack = m.shape(m.pick(0, 2), low=1)
    q, k, w = (*stack, length, e), (*stack, keys, e), (*stack, keys, v)
    arrays = [m.values(*q), m.values(*k), m.values(*w)]
    mask = m.values(length, keys) > -0.5
    mask[:, 0] = True

    def function(P, *tensors):
        settings = {"is_causal": kind == "causal"}
        if kind == "boolean mask":
            settings["attn_mask"] = P.tensor(mask)
        return P.nn.functional.scaled_dot_product_attention(*tensors, **settings)

    if kind == "mask":
        arrays.append(m.values(length, keys))
    return arrays, function


for _kind in ("full", "causal", "mask", "boolean mask"):
    CASES[f"attention {_kind}"] = lambda m, kind=_kind: _attention(m, kind)


@case("cross_entropy")
def _(m: Maker):
    n, classes, rest = m.pick(1, 3), m.pick(1, 4), m.shape(m.pick(0, 1), low=1)
    target = m.integers(classes, n, *rest)
    settings = {
        "reduction": ("mean", "sum", "none")[m.pick(0, 2)],
        "label_smoothing": (0.0, 0.2)[m.pick(0, 1)],
    }
    return [m.values(n, classes, *rest)], lambda P, x: P.nn.functional.cross_entropy(
        x, P.tensor(target), **settings
    )


@case("cross_entropy weighted")
def _(m: Maker):
    n, classes = m.pick(1, 3), m.pick(2, 4)
    target, weight = m.integers(classes, n), m.values(classes, low=0.5)
    target[0] = classes - 1
    return [m.values(n, classes)], lambda P, x: P.nn.functional.cross_entropy(
        x, P.tensor(target), P.tensor(weight).to(x.dtype), ignore_index=0
    )


@case("cross_entropy probabilities")
def _(m: Maker):
    n, classes = m.pick(1, 3), m.pick(1, 4)
    return [
        m.values(n, classes),
        m.values(n, classes, low=0),
    ], lambda P, x, t: P.nn.functional.cross_entropy(x, t)


@case("losses")
def _(m: Maker):
    shape = m.shape(m.pick(1, 2), low=1)
    reduction = ("mean", "sum")[m.pick(0, 1)]
    target = (m.values(*shape) > 0).astype(float)

    def function(P, x, y):
        F = P.nn.functional
        t = P.tensor(target).to(x.dtype)
        return (
            F.mse_loss(x, y, reduction=reduction)
            + F.l1_loss(x, y, reduction=reduction)
            + F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7)
            + F.binary_cross_entropy_with_logits(x, t, reduction=reduction)
            + F.binary_cross_entropy(x.sigmoid(), t, reduction=reduction)
            + F.kl_div(F.log_softmax(x, -1), y.softmax(-1), reduction="batchmean")
            + F.nll_loss(F.log_softmax(x, 0).reshape(1, -1), P.tensor([0]), reduction=reduction)
        )

    return [m.values(*shape), m.values(*shape)], function


@case("interpolate")
def _(m: Maker):
    x, factor = m.values(1, 2, m.pick(1, 3), m.pick(1, 3)), m.pick(1, 3)
    return [x], lambda P, x: P.nn.functional.interpolate(x, scale_factor=factor) ** 2
