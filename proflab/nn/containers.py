"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Self

from proflab.nn.module import Module
from proflab.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterList", "Sequential"]


class _InOrder(Module):
    """Modules by their number."""

    def append(self, module: Module) -> Self:
        """Add a module at the end, and return what holds it."""
        setattr(self, str(len(self)), _checked(module, type(self).__name__))
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[index], _checked(module, type(self).__name__))


class Sequential(_InOrder):
    """Modules called one after the other. Takes modules, or one dict of named ones.

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> model(Tensor.meta((2, 4))).shape, len(model)
    ((2, 3), 2)
    """

    def __init__(self, *args: Module | dict[str, Module]):
        items: Iterable[tuple[str, object]]
        if len(args) == 1 and isinstance(args[0], dict):
            items = args[0].items()
        else:
            items = ((str(i), module) for i, module in enumerate(args))
        for name, module in items:
            setattr(self, name, _checked(module, "Sequential"))

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice):
        modules = list(self._modules.items())
        return type(self)(dict(modules[index])) if isinstance(index, slice) else modules[index][1]


class ModuleList(_InOrder):
    """A list of modules that its owner calls as it likes."""

    def __init__(self, modules: Iterable[Module] = ()):
        self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end, and return the list."""
        for module in modules:
            self.append(module)
        return self

    def __getitem__(self, index: int | slice):
        modules = list(self._modules.values())
        return ModuleList(modules[index]) if isinstance(index, slice) else modules[index]


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: dict[str, Module] | None = None):
        for name, module in (modules or {}).items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        setattr(self, name, _checked(module, "ModuleDict"))

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Module]:
        """Return the (name, module) pairs."""
        return self._modules.items()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Parameter] = ()):
        for value in values:
            self.append(value)

    def append(self, value: Parameter) -> ParameterList:
        """Add a parameter at the end, and return the list."""
        setattr(self, str(len(self)), value)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Parameter:
        return list(self._parameters.values())[index]


def _checked(module: object, owner: str) -> Module:
    if not isinstance(module, Module):
        raise TypeError(f"{owner}: {module!r} is no Module")
    return module
