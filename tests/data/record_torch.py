"""Record what torch computes for the cases in tests/: `python tests/data/record_torch.py`.

Needs torch 2.13.0; the tests need only the files this writes beside itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))

from engine_cases import CASES, Maker  # noqa: E402
from expression_cases import EXPRESSIONS, names  # noqa: E402
from layer_cases import (  # noqa: E402
    LAYERS,
    OPTIMIZERS,
    fill,
    fill_parameters,
    model_input,
    run_optimizer,
)

SAMPLES = 2


def record_ops() -> dict[str, np.ndarray]:
    """Result and gradients of each op's case, in float64, stored as float32."""
    recorded = {}
    for name, build in CASES.items():
        for i in range(SAMPLES):
            arrays, function = build(Maker(f"{name} {i}"))
            tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
            out = function(torch, *tensors)
            weights = Maker("weights").values(*out.shape)
            (out * torch.tensor(weights)).sum().backward()
            recorded[f"{name}|{i}|out"] = out.detach().numpy()
            for j, tensor in enumerate(tensors):
                grad = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
                recorded[f"{name}|{i}|grad{j}"] = grad.numpy()
    return recorded


def record_layers() -> dict[str, np.ndarray]:
    """Result, input gradient and sums of parameter gradients of each layer's case."""
    recorded = {}
    for name, (make, inputs, settings) in LAYERS.items():
        module = make(torch)
        for mode in ("train", "eval"):
            getattr(module, mode)()
            fill(torch, module)
            tensors = [torch.tensor(x) for x in inputs(Maker(name))]
            for tensor in tensors:
                tensor.requires_grad_(tensor.dtype == torch.float32)
            out = module(*tensors, **settings(torch))
            out = out[0] if isinstance(out, tuple) else out
            out.square().sum().backward()
            recorded[f"{name}|{mode}|out"] = out.detach().numpy()
            if tensors[0].grad is not None:
                recorded[f"{name}|{mode}|grad"] = tensors[0].grad.numpy()
            sums = [p.grad.abs().sum().item() for p in module.parameters()]
            recorded[f"{name}|{mode}|parameters"] = np.array(sums)
    return recorded


def record_optimizers() -> dict[str, np.ndarray]:
    return {name: run_optimizer(torch, *case) for name, case in OPTIMIZERS.items()}


def record_ported() -> dict[str, np.ndarray]:
    """Result and sums of gradients of the models in torch_style_models.py, as they stand."""
    import torch_style_models

    recorded = {}
    for cls, arguments, shape in torch_style_models.EXAMPLES:
        model = cls(*arguments)
        fill_parameters(torch, model)
        out = model(model_input(torch, cls.__name__, shape))
        out.square().sum().backward()
        recorded[f"{cls.__name__}|out"] = out.detach().numpy()
        grads = [
            (p.grad if p.grad is not None else p * 0).abs().sum().item() for p in model.parameters()
        ]
        recorded[f"{cls.__name__}|grads"] = np.array(grads)
    return recorded


def record_expressions() -> dict[str, np.ndarray]:
    """Each expression's value, under its text and its dtype."""
    recorded = {}
    for text in EXPRESSIONS:
        value = eval(text, names(torch))
        value = value.detach() if isinstance(value, torch.Tensor) else torch.tensor(value)
        recorded[f"{text}|{str(value.dtype).removeprefix('torch.')}"] = value.numpy()
    return recorded


def save(name: str, recorded: dict[str, np.ndarray]) -> None:
    """One vector of all numbers, and the names and shapes by which to cut it up."""
    index = json.dumps([[key, list(value.shape)] for key, value in recorded.items()])
    values = np.concatenate([v.astype(np.float32).ravel() for v in recorded.values()])
    np.savez_compressed(HERE / name, index=np.array(index), values=values)
    print(f"{name}: {len(recorded)} arrays, {(HERE / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    if not torch.__version__.startswith("2.13.0"):
        sys.exit(f"the recorded values are those of torch 2.13.0, this is {torch.__version__}")
    torch.manual_seed(0)
    save("torch_ops.npz", record_ops())
    save("torch_layers.npz", record_layers())
    save("torch_optimizers.npz", record_optimizers())
    save("torch_ported.npz", record_ported())
    save("torch_expressions.npz", record_expressions())
