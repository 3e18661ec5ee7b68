"""Serve the known solutions beside; executed after the solved lesson."""


def by_size(layers, least):
    found, waiting = [], 0
    for at, (_, size) in enumerate(layers):
        waiting += size
        if waiting >= least or at == len(layers) - 1:
            found.append(at)
            waiting = 0
    return found


def step_of(cuts, layers, alpha_ms, ms_per_byte):
    now = free = waiting = 0
    for at, (ms, size) in enumerate(layers):
        now, waiting = now + ms, waiting + size
        if at in cuts:
            free, waiting = max(now, free) + alpha_ms + waiting * ms_per_byte, 0
    return max(now, free)
