"""Optimizers: from gradients to new parameters, in place. Names, defaults and order as in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from proflab.nn.parameter import Parameter
from proflab.tensor import Tensor

Params = Iterable[Parameter] | Iterable[dict]  # parameters, or groups of them with settings


class Optimizer:
    """Holds groups of parameters, each with its settings, and a state of arrays a parameter."""

    def __init__(self, params: Params, defaults: dict):
        name = type(self).__name__
        if isinstance(params, Tensor) or not isinstance(params, Iterable):
            kind = type(params).__name__  # a Tensor's rows would be optimized, and thrown away
            raise TypeError(f"{name}: params is a {kind}: pass model.parameters(), or a list")
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(f"{name}: there are no parameters to optimize")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.defaults = defaults
        self.param_groups: list[dict] = []
        self.state: dict[Tensor, dict] = {}  # a tensor's hash is its identity (tensor.py)
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict) -> None:
        """Add a dict with "params", and settings where they differ from the defaults."""
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"{type(self).__name__}: {type(p).__name__} is no parameter")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to 0."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient; return what `closure`, if given, returned."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and not p.is_meta:
                    sign = -1 if group.get("maximize") else 1
                    self.update(p.array, sign * p.grad.array, self.state.setdefault(p, {}), group)
        return loss

    def update(self, p: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        """Write the new values of one parameter into `p`: the rule of a subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no update")


def _check(owner: str, **values: float) -> None:
    for name, value in values.items():
        if value < 0 or name.startswith("beta") and value >= 1:
            raise ValueError(f"{owner}: {name} is {value}")


class SGD(Optimizer):
    """p -= lr · v, where v is the gradient, or with momentum v = momentum · v + gradient.

    >>> w = nn.Parameter(Tensor([1.0]))
    >>> optimizer = proflab.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()  # the slope at 1 is 2
    >>> optimizer.step()
    >>> w.tolist()
    [0.800000011920929]
    """

    def __init__(self, params: Params, lr: float = 1e-3, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, *,
                 maximize: bool = False):  # fmt: skip
        _check("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening):
            raise ValueError("SGD: nesterov needs a momentum and no dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        })  # fmt: skip

    def update(self, p, grad, state, group) -> None:
        momentum = group["momentum"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * p
        if momentum:
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = grad.copy()
            else:
                state["momentum_buffer"] *= momentum
                state["momentum_buffer"] += (1 - group["dampening"]) * grad
            v = state["momentum_buffer"]
            grad = grad + momentum * v if group["nesterov"] else v
        p -= group["lr"] * grad


class Adam(Optimizer):
    """p -= lr · m / (√v + eps): m, v running means of the gradient and its square.

    Both unbiased (Kingma and Ba 2015)."""

    decoupled = False  # is weight decay applied to the parameter itself (AdamW)?

    def __init__(self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 maximize: bool = False):  # fmt: skip
        name = type(self).__name__
        _check(name, lr=lr, eps=eps, weight_decay=weight_decay, beta1=betas[0], beta2=betas[1])
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize,
        })  # fmt: skip

    def update(self, p, grad, state, group) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        if not state:
            state.update(step=0, exp_avg=np.zeros_like(p), exp_avg_sq=np.zeros_like(p))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = np.zeros_like(p)
        state["step"] += 1
        if decay and self.decoupled:
            p *= 1 - lr * decay
        elif decay:
            grad = grad + decay * p
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean *= beta1
        mean += (1 - beta1) * grad
        square *= beta2
        square += (1 - beta2) * grad * grad
        if group["amsgrad"]:
            square = np.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        correction1, correction2 = (1 - beta ** state["step"] for beta in (beta1, beta2))
        root = np.sqrt(square) / math.sqrt(correction2)
        root += group["eps"]
        p -= lr / correction1 * mean / root


class AdamW(Adam):
    """Adam, with weight decay applied to the parameters themselves (Loshchilov, Hutter 2019)."""

    decoupled = True

    def __init__(self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False):  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


if not TYPE_CHECKING:  # to a checker, what is not there is an error

    def __getattr__(name: str):
        raise AttributeError(f"proflab.optim has no {name!r}; docs/torch.md lists what it has")
