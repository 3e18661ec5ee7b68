"""Lesson 09: right solutions in unusual style for graphs and plans of checkpoints."""

ALTERNATES = {
    "fuse": {
        "groups by number": """
            if not graph:
                raise ValueError("no nodes")
            seen, readers = {}, {}
            for name, inputs, _ in graph:
                if name in readers.get(name, ()) or name in seen or name in inputs:
                    raise ValueError("a name twice")
                seen[name] = None
                for tensor in {*inputs}:
                    readers.setdefault(tensor, []).append(name)
            place = {name: at for at, name in enumerate(seen)}
            number = {}
            for at, (name, inputs, kind) in enumerate(graph):
                for tensor in inputs:
                    if place.get(tensor, -1) > at:
                        raise ValueError("later")
                number[name] = at
                if kind != "elementwise":
                    continue
                for tensor in inputs:
                    if tensor in place and readers[tensor] == [name]:
                        number[name] = number[tensor]
                        break
            found = {}
            for name, at in number.items():
                found.setdefault(at, []).append(name)
            return [found[at] for at in sorted(found)]
        """,
        "followers are gathered": """
            nodes = {name: (list(dict.fromkeys(inputs)), kind) for name, inputs, kind in graph}
            if not graph or len(nodes) != len(graph):
                raise ValueError("names")
            done = set()
            for name, (inputs, _) in nodes.items():
                if any(t in nodes and t not in done for t in inputs):
                    raise ValueError("later")
                done.add(name)
            count = {}
            for inputs, _ in nodes.values():
                for tensor in inputs:
                    count[tensor] = count.get(tensor, 0) + 1
            host = {}
            for name, (inputs, kind) in nodes.items():
                mine = [t for t in inputs if t in nodes and count[t] == 1]
                host[name] = host[mine[0]] if mine and kind == "elementwise" else name
            firsts = [name for name in nodes if host[name] == name]
            return [[n for n in nodes if host[n] == first] for first in firsts]
        """,
        "one node at a time, from lists": """
            names = []
            for name, inputs, kind in graph:
                names.append(name)
            if len(names) == 0 or len(names) > len(set(names)):
                raise ValueError("names")
            groups = []
            for at in range(len(graph)):
                name, inputs, kind = graph[at]
                for tensor in inputs:
                    if tensor in names and names.index(tensor) >= at:
                        raise ValueError("order")
                target = None
                if kind == "elementwise":
                    for tensor in inputs:
                        others = [n for n, reads, _ in graph if tensor in reads and n != name]
                        if target is None and tensor in names and not others:
                            target = next(group for group in groups if tensor in group)
                if target is None:
                    target = []
                    groups.append(target)
                target.append(name)
            return groups
        """,
    },
    "graph_bytes": {
        "by tensor": """
            of = {}
            for number, group in enumerate(groups):
                for name in group:
                    if name in of:
                        raise ValueError("in two groups")
                    of[name] = number
            if set(of) != {name for name, _, _ in graph}:
                raise ValueError("groups")
            readers = {}
            for name, inputs, _ in graph:
                for tensor in inputs:
                    readers.setdefault(tensor, set()).add(of[name])
            total = 0
            for tensor in {*of, *readers}:
                if tensor not in sizes:
                    raise ValueError("sizes")
                reading = readers.get(tensor, set()) - {of.get(tensor)}
                total += sizes[tensor] * len(reading)
                if tensor in of and (reading or tensor not in readers):
                    total += sizes[tensor]
            return total
        """,
        "by group, with sets": """
            from collections import Counter

            computed = [name for name, _, _ in graph]
            if Counter(computed) != Counter(itertools.chain(*groups)):
                raise ValueError("groups")
            reads = {name: set(inputs) for name, inputs, _ in graph}
            try:
                [sizes[t] for t in {*computed, *itertools.chain(*reads.values())}]
            except KeyError as error:
                raise ValueError("sizes") from error

            def bytes_of(group):
                inside = set(group)
                read = set().union(*(reads[name] for name in group)) - inside
                others = set().union(*(reads[n] for n in computed if n not in inside))
                own = set().union(*(reads[name] for name in group))
                written = {name for name in inside if name in others or name not in own}
                return sum(sizes[t] for t in read) + sum(sizes[t] for t in written)

            return sum(bytes_of(group) for group in groups)
        """,
        "in numpy": """
            names = [name for name, _, _ in graph]
            flat = [name for group in groups for name in group]
            tensors = sorted({t for name, inputs, _ in graph for t in (name, *inputs)})
            if sorted(flat) != sorted(names) or not set(tensors) <= set(sizes):
                raise ValueError("groups or sizes")
            column = {t: at for at, t in enumerate(tensors)}
            read = np.zeros((len(groups), len(tensors)), bool)
            made = np.zeros_like(read)
            for at, group in enumerate(groups):
                for name, inputs, _ in graph:
                    if name in group:
                        made[at, column[name]] = True
                        read[at, [column[t] for t in inputs]] = True
            outside = read & ~made
            written = made & (outside.any(axis=0) | ~read.any(axis=0))
            weights = np.array([sizes[t] for t in tensors])
            return int((outside * weights).sum() + (written * weights).sum())
        """,
    },
    "checkpoint_plan": {
        "every plan, or the best of a search": """
            from functools import cache

            n = len(kept)
            if n == 0 or n != len(inputs):
                raise ValueError("layers")
            sums = [0, *itertools.accumulate(kept)]
            found = None
            spans = itertools.combinations(range(n + 1), 2)
            for limit in sorted({sums[b] - sums[a] - inputs[a] for a, b in spans}):

                @cache
                def cheapest(first, limit=limit):
                    if first == n:
                        return 0, ()
                    ways = [(math.inf, ())]
                    for end in range(first + 1, n + 1):
                        if sums[end] - sums[first] - inputs[first] <= limit:
                            cost, rest = cheapest(end)
                            ways.append((inputs[first] + cost, (first, *rest)))
                    return min(ways)

                cost, starts = cheapest(0)
                if found is None or cost + limit < found[0]:
                    found = cost + limit, starts
            return {"starts": list(found[1]), "peak": found[0]}
        """,
        "every way to cut, where there are few; else the search": """
            layers = len(kept)
            if layers == 0 or layers != len(inputs):
                raise ValueError("layers")

            def peak(starts):
                ends = [*starts[1:], layers]
                parts = [sum(kept[a:b]) - inputs[a] for a, b in zip(starts, ends)]
                return sum(inputs[a] for a in starts) + max(parts)

            if layers <= 16:
                cuts = itertools.product([False, True], repeat=layers - 1)
                plans = [[0, *(at + 1 for at, cut in enumerate(c) if cut)] for c in cuts]
                best = min(plans, key=lambda starts: (peak(starts), len(starts)))
                return {"peak": peak(best), "starts": best}
            best = math.inf, []
            for limit in range(1, sum(kept) + 1):
                least = [(0, ())] + [(math.inf, ())] * layers
                for end in range(1, layers + 1):
                    for a in range(end - 1, -1, -1):
                        if sum(kept[a:end]) - inputs[a] > limit:
                            break
                        least[end] = min(least[end], (least[a][0] + inputs[a], (*least[a][1], a)))
                best = min(best, (least[-1][0] + limit, list(least[-1][1])))
            return {"peak": best[0], "starts": best[1]}
        """,
        "fronts of input sum and largest segment": """
            if len(kept) < 1 or len(kept) != len(inputs):
                raise ValueError("layers")
            fronts = [{0: (0, [])}]
            for end in range(1, len(kept) + 1):
                ways = {}
                for first in range(end):
                    segment = sum(kept[first:end]) - inputs[first]
                    for cost, (largest, starts) in fronts[first].items():
                        now, most = cost + inputs[first], max(largest, segment)
                        if now not in ways or most < ways[now][0]:
                            ways[now] = most, [*starts, first]
                kept_ways, least = {}, math.inf
                for cost in sorted(ways):
                    if ways[cost][0] < least:
                        least = ways[cost][0]
                        kept_ways[cost] = ways[cost]
                fronts.append(kept_ways)
            peak, starts = min((cost + way[0], way[1]) for cost, way in fronts[-1].items())
            return {"peak": peak, "starts": starts}
        """,
    },
}
