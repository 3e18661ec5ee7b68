"""Module: a function with parameters, made of other modules. The names are torch's.

Parameters, buffers and sub-modules are ordinary attributes: `vars(module)` is the only list of
them, so reading one costs nothing extra, and walking the tree is a loop over `vars`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from proflab import dispatch
from proflab.nn.parameter import Parameter
from proflab.tensor import Tensor


def _name(module: Module) -> str:
    """Return the name, inside the outermost module, of one that is about to be called.

    Mostly it is its caller's child, which is quickly found.
    """
    names = dispatch.paths
    if not dispatch.modules:
        names.clear()  # those of the call before, whose model's ids others may have by now
        names[id(module)] = ""
        return ""
    caller = dispatch.modules[-1][0]
    if id(caller) not in names:  # none of the model's modules: nor is what it calls
        return ""
    before = names[id(caller)] and f"{names[id(caller)]}."
    for name, value in vars(caller).items():
        if isinstance(value, Module):
            names.setdefault(id(value), before + name)
    if id(module) not in names:  # further inside, as in a ModuleList
        found = {id(m): name for name, m in dispatch.modules[0][0].named_modules()}
        names.update(found | names)
    return names.get(id(module), "")


class Module:
    """Base of all layers and models: write `__init__` and `forward`.

    >>> class Twice(nn.Module):
    ...     def __init__(self, size):
    ...         self.linear = nn.Linear(size, size)
    ...     def forward(self, x):
    ...         return self.linear(self.linear(x))
    >>> model = Twice(3)
    >>> [(name, p.shape) for name, p in model.named_parameters()]
    [('linear.weight', (3, 3)), ('linear.bias', (3,))]
    >>> model(proflab.ones(2, 3)).shape
    (2, 3)
    """

    # Of the class, so that a subclass need not call super().__init__().
    training = True
    _buffer_names: tuple[str, ...] = ()
    _transient: tuple[str, ...] = ()  # buffers that state_dict leaves out
    _pre_hooks: tuple[Callable, ...] = ()
    _hooks: tuple[Callable, ...] = ()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not dispatch.hooks:
            return self._call(*args, **kwargs)
        modules = dispatch.modules
        name = dispatch.paths.get(id(self)) if modules else None
        if name is None:
            name = _name(self)
        modules.append((self, name))
        try:
            return self._call(*args, **kwargs)
        finally:
            modules.pop()

    def _call(self, *args, **kwargs):
        for hook in self._pre_hooks:
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in self._hooks:
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Call hook(module, args, result) after each forward; what it returns is the new result."""
        self._hooks += (hook,)
        return Handle(self, "_hooks", hook)

    def register_forward_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, args) before each forward; what it returns replaces the arguments."""
        self._pre_hooks += (hook,)
        return Handle(self, "_pre_hooks", hook)

    # What it is made of

    @property
    def _parameters(self) -> dict[str, Parameter]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Parameter)}

    @property
    def _modules(self) -> dict[str, Module]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Module)}

    @property
    def _buffers(self) -> dict[str, Tensor]:
        return {k: vars(self)[k] for k in self._buffer_names if vars(self).get(k) is not None}

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Return the (name, module) pairs right inside this one, each module once."""
        seen = set()
        for name, child in self._modules.items():
            if id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
        """Return the modules right inside this one, each once."""
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Return (name, module) of this one, named "", and of all inside it, each once."""
        found: list[tuple[str, Module]] = []
        self._collect(found, set() if memo is None else memo, prefix, remove_duplicate)
        return iter(found)

    def _collect(self, found: list, memo: set[int], path: str, remove_duplicate: bool) -> None:
        """Add this module and all inside it to `found`: a list, since generators in each other
        take long for a deep model.
        """
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        found.append((path, self))
        for name, value in vars(self).items():
            if isinstance(value, Module):
                inside = f"{path}.{name}" if path else name
                value._collect(found, memo, inside, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """Return this module and all inside it, each once."""
        return (module for _, module in self.named_modules())

    def _named_members(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool):
        every = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        owners = every if recurse else iter([(prefix, self)])
        seen = set()
        for path, owner in owners:
            for name, value in getattr(owner, kind).items():
                if id(value) not in seen:
                    yield _join(path, name), value
                if remove_duplicate:
                    seen.add(id(value))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Return (name, parameter), each parameter once, under the first of its names."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Return the parameters of this module and of all inside it, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Return (name, buffer), each buffer once, under the first of its names."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Return the buffers of this module and of all inside it, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set a tensor that belongs to the module's state but is not learnt.

        persistent: False to leave it out of state_dict
        """
        setattr(self, name, tensor)
        self._buffer_names += (name,)
        if not persistent:
            self._transient += (name,)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Set a parameter by its name, or None."""
        setattr(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Set a module by its name, or None."""
        setattr(self, name, module)

    def get_submodule(self, target: str) -> Module:
        """Return a module inside this one by its path: "blocks.3.attn"."""
        module = self
        for name in filter(None, target.split(".")):
            module = getattr(module, name)
        return module

    # Its state

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """Return all parameters and buffers by name, detached; shared ones under each name."""
        state = OrderedDict()
        for path, module in self.named_modules(remove_duplicate=False):
            members = {**module._parameters, **module._buffers}
            for name, tensor in members.items():
                if name not in module._transient:
                    state[_join(path, name)] = tensor.detach()
        return state

    def load_state_dict(self, state_dict: dict, strict: bool = True) -> None:
        """Copy values in by name. RuntimeError on a missing or unexpected name or shape."""
        own = self.state_dict()
        missing, unexpected = own.keys() - state_dict.keys(), state_dict.keys() - own.keys()
        if strict and (missing or unexpected):
            raise RuntimeError(
                f"load_state_dict: missing {sorted(missing)}, unexpected {sorted(unexpected)}"
            )
        for name in own.keys() & state_dict.keys():
            if own[name].shape != tuple(state_dict[name].shape):
                raise RuntimeError(
                    f"load_state_dict: {name} is {own[name].shape} here and "
                    f"{tuple(state_dict[name].shape)} there"
                )
            array = own[name].array
            if isinstance(array, np.ndarray):
                np.copyto(array, np.asarray(state_dict[name]))

    def train(self, mode: bool = True) -> Module:
        """Set `training` in this module and all inside it, and return it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Set `training` to False in this module and all inside it, and return it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Ask for the gradients of all parameters, or no longer; return the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to 0."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad.zero_()

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Call fn on each module inside, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args, dtype=None, device=None) -> Module:
        """Convert floating-point parameters and buffers to a dtype. Devices: only "cpu"."""
        for arg in args:
            if isinstance(arg, (np.dtype, type)):
                dtype = arg
            else:
                device = arg
        if device is not None and str(device) != "cpu":
            raise ValueError(f"to: there is no device {device!r} here, only 'cpu'")
        if dtype is not None:
            for tensor in [*self.parameters(), *self.buffers()]:
                if tensor.is_floating_point():
                    tensor.data = tensor.detach().to(dtype)
        return self

    def cpu(self) -> Module:
        """Return the module itself: there is no other device."""
        return self

    def float(self) -> Module:
        """Convert parameters and buffers to float32, and return the module."""
        return self.to(np.float32)

    def double(self) -> Module:
        """Convert parameters and buffers to float64, and return the module."""
        return self.to(np.float64)

    def half(self) -> Module:
        """Convert parameters and buffers to float16, and return the module."""
        return self.to(np.float16)

    # How it looks

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self._modules.items()
        ]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"

    def __getattr__(self, name: str):
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


class Handle:
    """Handle of a registered hook: `remove()` takes the hook off again."""

    def __init__(self, module: Module, kind: str, hook: Callable):
        self.module, self.kind, self.hook = module, kind, hook

    def remove(self) -> None:
        """Take the hook off again."""
        left = tuple(h for h in getattr(self.module, self.kind) if h is not self.hook)
        setattr(self.module, self.kind, left)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc) -> None:
        self.remove()


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
