"""Serve the known solutions beside; executed after the solved lesson."""


def at_least_1(*numbers):
    if min(numbers) < 1:
        raise ValueError("at least 1")


def checked_warp(addresses, itemsize):
    if itemsize not in (1, 2, 4, 8, 16) or not 1 <= len(addresses) <= 32:
        raise ValueError("no such warp")
    if any(address < 0 or address % itemsize for address in addresses):
        raise ValueError("no such address")


def checked_words(words):
    if not 1 <= len(words) <= 32 or min(words) < 0:
        raise ValueError("no such words")


def checked_block(threads, registers, shared):
    if min(threads, registers) < 1 or shared < 0:
        raise ValueError("no such block")


def up(number, step):
    return -(-number // step) * step


def share(card, places, **needs):
    return (
        min([card["blocks"]] + [card[k] // n for k, n in needs.items() if n])
        * places
        / card["threads"]
    )


def lengths_of(events, reduce="best"):
    lengths = [end - start for start, end in events]
    if reduce not in ("best", "median") or len(lengths) < 2 or min(lengths) < 0:
        raise ValueError("events")
    return lengths


def reduced(lengths, reduce):
    return min(lengths) if reduce == "best" else float(np.median(lengths))


def roofs_with(
    document,
    reduce="best",
    fma=2,
    gemm=2,
    passes=True,
    l2=0.5,
    dram=4,
    largest=True,
    pick=max,
    kinds=("fma", "gemm", "stream"),
    drop_writes=False,
    itemsize=None,
    seconds=1e3,
    size=None,
    closed=True,
    working=None,
    same_type=None,
    need=True,
    warm=False,
):
    roofs = {"flops": {}, "bandwidth": {}}
    rows = document["rows"]

    def put(kind, name, amount, row):
        if warm:
            ms = min(end - start for start, end in row["events"])
        else:
            ms = events_to_ms(row["events"], reduce)
        rate = amount / ms * seconds
        roofs[kind][name] = pick(rate, roofs[kind][name]) if name in roofs[kind] else rate

    for row in rows.get("fma", []) if "fma" in kinds else []:
        work = row["threads"] * row["fmas"] * row["accumulators"]
        put("flops", same_type or row["dtype"], fma * work, row)
    for row in rows.get("gemm", []) if "gemm" in kinds else []:
        put("flops", same_type or row["dtype"], gemm * row["m"] * row["k"] * row["n"], row)

    def moves(row):
        buffers = row["reads"] + (0 if drop_writes else row["writes"])
        return row["elements"] * buffers * (itemsize or row["itemsize"])

    def works(row):
        return working(row, moves(row)) if working else moves(row)

    most = max((works(row) for row in rows.get("stream", [])), default=0)
    for row in rows.get("stream", []):
        total = moves(row) * row["passes"] if passes else moves(row)
        share = works(row) / (size or document["card"]["l2_bytes"])
        if share < l2 or closed and share == l2:
            put("bandwidth", "l2", total, row)
        elif (not largest or works(row) == most) and (share > dram or closed and share == dram):
            put("bandwidth", "dram", total, row)
    if need and (not roofs["flops"] or "dram" not in roofs["bandwidth"]):
        raise ValueError("no roof")
    return roofs


def placed_with(
    workload,
    ceilings,
    dtype=None,
    level="dram",
    limit=4,
    ridge=1.2,
    check=True,
    efficiency=None,
    seconds=1e3,
):
    work = [workload["flops"], workload["bytes"], workload["ms"]]
    if check and (min(work) <= 0 or workload["dtype"] not in ceilings["flops"]):
        raise ValueError("workload")
    peak, bandwidth = ceilings["flops"][dtype or workload["dtype"]], ceilings["bandwidth"][level]
    computing, moving, time = work[0] / peak, work[1] / bandwidth, work[2] / seconds
    longer, shorter = max(computing, moving), min(computing, moving)
    wall = "compute" if computing > moving else "memory"
    if limit and time > limit * longer:
        wall = "overhead"
    elif longer <= ridge * shorter:
        wall = "ridge"
    return {
        "intensity": work[0] / work[1],
        "achieved": work[0] / time,
        "attainable": work[0] / longer,
        "efficiency": longer / time if efficiency is None else efficiency(longer / time),
        "wall": wall,
    }


def mistakes_with(
    document,
    host=None,
    first=2,
    short=10,
    roof=1.1,
    reduce="median",
    order=None,
    whole="median",
    join=": ",
    zero=True,
    every=True,
):
    roofs, found = ceilings(document), []
    for row in document["rows"].get("trial", []):
        ms = events_to_ms(row["events"], reduce)
        if whole == "median":
            middle = float(np.median(row["host_ms"]))
        else:
            middle = whole(row["host_ms"])
        above = ms == 0 if zero else False
        if ms > 0:
            above = place({**row, "ms": ms}, roofs)["efficiency"] > roof
        reasons = {
            "not synchronized": middle < ms if host is None else host(row, middle, ms),
            "first call": row["host_ms"][0] > first * middle,
            "too short": ms < short * document["empty_ms"],
            "above the roof": above,
        }
        names = [name for name in order or reasons if reasons[name]]
        found += [row["name"] + join + name for name in (names if every else names[:1])]
    return found


def curves_checked(sizes, cpu_ms, gpu_ms):
    if not 2 <= len(sizes) == len(cpu_ms) == len(gpu_ms) or min(*sizes, *cpu_ms, *gpu_ms) <= 0:
        raise ValueError("sizes and times")
    if any(b <= a for a, b in zip(sizes, sizes[1:])):
        raise ValueError("order")
    return [math.log(cpu / gpu) for cpu, gpu in zip(cpu_ms, gpu_ms)]


def last_slower(ahead):
    slower = [at for at, lead in enumerate(ahead) if lead < 0]
    return slower[-1] if slower and slower[-1] < len(ahead) - 1 else None


def in_log(sizes, ahead, at):
    share = ahead[at] / (ahead[at] - ahead[at + 1])
    return float(sizes[at] * (sizes[at + 1] / sizes[at]) ** share)


def told_apart(gb_s, gflop_s, watts):
    if not len(gb_s) == len(gflop_s) == len(watts):
        raise ValueError("lengths")
    matrix = np.array([[f, g, 1.0] for f, g in zip(gflop_s, gb_s)]).reshape(-1, 3)
    if np.linalg.matrix_rank(matrix) < 3:
        raise ValueError("not told apart")
    return matrix, np.array(watts, float)


def priced(matrix, watts, costs, pico=1e3):
    flop, byte, constant = (float(cost) for cost in costs)
    off = [float(each) for each in watts - matrix @ np.array(costs)]
    return {"flop": pico * flop, "byte": pico * byte, "constant": constant, "off": off}


def fitted(matrix, watts):
    return np.linalg.lstsq(matrix, watts, rcond=None)[0]


KEPT = {}
solved_fma_flops = fma_flops
solved_stream_bytes = stream_bytes
solved_events_to_ms = events_to_ms
solved_ceilings = ceilings
solved_place = place
solved_crossover = crossover
solved_gpu_mistakes = gpu_mistakes
solved_reflect_launch = reflect_launch
solved_reflect_speedup = reflect_speedup
solved_fma_lines = fma_lines
solved_stream_line = stream_line


def rounded(value, digits):
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    return round(value, digits) if isinstance(value, float) else value


solved_warp_sectors = warp_sectors
solved_bank_conflicts = bank_conflicts
solved_occupancy = occupancy
