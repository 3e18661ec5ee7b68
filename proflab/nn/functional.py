"""The functional forms of nn."""


def __getattr__(name: str):
    raise AttributeError(f"proflab.nn.functional has no {name!r}; docs/torch.md lists what it has")
