"""Lesson 10: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "fma_lines": {
        "one a line": """
            if accumulators <= 0:
                raise ValueError("none")
            return "\\n".join(f"a{i} = fmaf(a{i}, x, y);" for i in range(accumulators)) + "\\n"
        """,
        "recursion": """
            if accumulators < 1:
                raise ValueError(accumulators)
            before = fma_lines(accumulators - 1) if accumulators > 1 else ""
            name = f"a{accumulators - 1}"
            return before + name + "=fmaf( x , " + name + ", y );"
        """,
        "from the last to the first": """
            if accumulators < 1:
                raise ValueError(accumulators)
            lines = []
            for number in reversed(range(accumulators)):
                lines.append("a%d = fmaf(a%d, x, y)" % (number, number))
            return "; ".join(lines) + ";"
        """,
    },
    "fma_flops": {
        "math.prod": """
            sizes = threads, fmas, accumulators
            if any(size <= 0 for size in sizes):
                raise ValueError(sizes)
            return math.prod(sizes) * 2
        """,
        "added to itself": """
            def fma_flops(threads, fmas, accumulators):
                for number in (threads, fmas, accumulators):
                    if not number >= 1:
                        raise ValueError(number)
                chain = fmas + fmas
                return threads * accumulators * chain
        """,
        "as a product of matrices": """
            return matmul_flops(threads, fmas, accumulators)
        """,
    },
    "stream_line": {
        "match": """
            match kernel:
                case "copy":
                    return "a = b;"
                case "scale":
                    return "a = b * s;"
                case "triad":
                    return "a = s * c + b;"
            raise ValueError(f"no kernel {kernel}")
        """,
        "put together, with fmaf": """
            names = ["copy", "scale", "triad"]
            right = ("b", "s*b", "fmaf(s, c, b)")[names.index(kernel)]
            return f"  a={right} ;\\n"
        """,
        "in brackets": """
            if kernel == "copy":
                return "a = (b);"
            if kernel == "scale":
                return "a = (s * (b));"
            if kernel != "triad":
                raise ValueError
            return "a = (b + (s * c));"
        """,
    },
    "stream_bytes": {
        "buffer by buffer": """
            if elements < 1 or itemsize < 1 or reads < 0 or writes < 0 or reads == writes == 0:
                raise ValueError("nothing moves")
            total = 0
            for _ in range(reads):
                total += elements * itemsize
            for _ in range(writes):
                total += elements * itemsize
            return total
        """,
        "read, then written": """
            buffer = elements * itemsize
            if any((elements <= 0, itemsize <= 0, reads < 0, writes < 0, not (reads or writes))):
                raise ValueError
            return buffer * reads + buffer * writes
        """,
    },
    "events_to_ms": {
        "arrays": """
            pairs = np.asarray(events, dtype=float).reshape(-1, 2)
            lengths = pairs[:, 1] - pairs[:, 0]
            kept = lengths[-(-len(lengths) // 5) :]
            how = {"best": np.min, "median": np.median}.get(reduce)
            if kept.size == 0 or (lengths < 0).any() or how is None:
                raise ValueError("pairs")
            return how(kept)
        """,
        "statistics": """
            import statistics
            if reduce not in {"best", "median"}:
                raise ValueError(reduce)
            drop = (len(events) + 4) // 5
            kept = []
            for number, (start, end) in enumerate(events):
                if end < start:
                    raise ValueError("backwards")
                if number >= drop:
                    kept.append(end - start)
            if not kept:
                raise ValueError("nothing left")
            return min(kept) if reduce == "best" else statistics.median(kept)
        """,
        "sorted": """
            lengths = [b - a for a, b in events]
            kept = sorted(lengths[len(lengths) - int(len(lengths) * 4 // 5) :]) if events else []
            if not kept or any(length < 0 for length in lengths):
                raise ValueError("events")
            if reduce == "best":
                return kept[0]
            if reduce == "median":
                return (kept[(len(kept) - 1) // 2] + kept[len(kept) // 2]) / 2
            raise ValueError(reduce)
        """,
    },
    "ceilings": {
        "lists, and max at the end": """
            from collections import defaultdict
            flops, bandwidth = defaultdict(list), defaultdict(list)
            best = lambda row: events_to_ms(row["events"], "best") / 1000
            for row in document["rows"].get("gemm") or []:
                flops[row["dtype"]].append(2 * row["m"] * row["k"] * row["n"] / best(row))
            for row in document["rows"].get("fma") or []:
                work = 2 * row["threads"] * row["fmas"] * row["accumulators"]
                flops[row["dtype"]].append(work / best(row))
            l2, most = document["card"]["l2_bytes"], 0
            for row in document["rows"].get("stream") or []:
                once = row["elements"] * (row["reads"] + row["writes"]) * row["itemsize"]
                rate = row["passes"] * once / best(row)
                if 2 * once <= l2:
                    bandwidth["l2"].append(rate)
                if once > most:
                    most, bandwidth["dram"] = once, []
                if once == most and once >= 4 * l2:
                    bandwidth["dram"].append(rate)
            if not flops or not bandwidth["dram"]:
                raise ValueError("nothing above")
            top = lambda lists: {name: max(rates) for name, rates in lists.items()}
            return {"bandwidth": top(bandwidth), "flops": top(flops)}
        """,
        "sorted, so that the best comes last": """
            rows, l2 = document["rows"], document["card"]["l2_bytes"]
            def rate(amount, row):
                return 1000 * amount / events_to_ms(row["events"], "best")
            found = [(rate(fma_flops(r["threads"], r["fmas"], r["accumulators"]), r), r["dtype"])
                     for r in rows.get("fma", ())]
            found += [(rate(matmul_flops(r["m"], r["k"], r["n"]), r), r["dtype"])
                      for r in rows.get("gemm", ())]
            moved = []
            streams = [(stream_bytes(r["elements"], r["reads"], r["writes"], r["itemsize"]), r)
                       for r in rows.get("stream", ())]
            streams.sort(key=lambda pair: -pair[0])
            for n, r in streams:
                memory = n == streams[0][0] and n / l2 >= 4
                level = "l2" if n / l2 <= 1 / 2 else "dram" if memory else None
                if level:
                    moved.append((rate(n * r["passes"], r), level))
            flops = {name: value for value, name in sorted(found)}
            bandwidth = {name: value for value, name in sorted(moved)}
            if len(flops) == 0 or bandwidth.get("dram") is None:
                raise ValueError("no roof")
            return dict(flops=flops, bandwidth=bandwidth)
        """,
    },
    "place": {
        "by intensity and ridge": """
            flops, nbytes, ms = (workload[key] for key in ("flops", "bytes", "ms"))
            if flops <= 0 or nbytes <= 0 or ms <= 0:
                raise ValueError("above 0")
            try:
                peak = roofs["flops"][workload["dtype"]]
            except KeyError as error:
                raise ValueError("no ceiling") from error
            bandwidth = roofs["bandwidth"]["dram"]
            intensity, ridge = flops / nbytes, peak / bandwidth
            attainable = min(peak, intensity * bandwidth)
            achieved = flops / ms * 1000
            if achieved < attainable / 4:
                wall = "overhead"
            elif 1 / 1.2 <= intensity / ridge <= 1.2:
                wall = "ridge"
            else:
                wall = "memory" if intensity < ridge else "compute"
            return {"wall": wall, "efficiency": achieved / attainable, "attainable": attainable,
                    "achieved": achieved, "intensity": intensity}
        """,
        "in numpy's floats": """
            if workload["dtype"] not in roofs["flops"]:
                raise ValueError(workload["dtype"])
            numbers = np.array([workload["flops"], workload["bytes"], workload["ms"]], dtype=float)
            if (numbers <= 0).any():
                raise ValueError(numbers)
            roofs = np.array([roofs["flops"][workload["dtype"]], roofs["bandwidth"]["dram"]])
            times, took = numbers[:2] / roofs, numbers[2] / 1e3
            names = np.array(["compute", "memory"])
            wall = str(names[times.argmax()])
            if times.max() <= 1.2 * times.min():
                wall = "ridge"
            if took > 4 * times.max():
                wall = "overhead"
            return {
                "intensity": numbers[0] / numbers[1], "achieved": numbers[0] / took,
                "attainable": numbers[0] / times.max(), "efficiency": times.max() / took,
                "wall": wall,
            }
        """,
    },
    "crossover": {
        "numpy's interpolation": """
            s, c, g = (np.asarray(each, dtype=float) for each in (sizes, cpu_ms, gpu_ms))
            if not s.shape == c.shape == g.shape or s.size < 2:
                raise ValueError("lengths")
            if min(s.min(), c.min(), g.min()) <= 0 or (np.diff(s) <= 0).any():
                raise ValueError("values")
            lead = np.log(c) - np.log(g)
            slower = np.flatnonzero(lead < 0)
            if slower.size == 0 or slower[-1] == s.size - 1:
                return None
            k = slower[-1]
            return np.exp(np.interp(0.0, lead[k : k + 2], np.log(s[k : k + 2])))
        """,
        "from the largest down": """
            if len({len(sizes), len(cpu_ms), len(gpu_ms)}) > 1 or len(sizes) < 2:
                raise ValueError("lengths")
            if any(number <= 0 for each in (sizes, cpu_ms, gpu_ms) for number in each):
                raise ValueError("above 0")
            if list(sizes) != sorted(set(sizes)):
                raise ValueError("order")
            if gpu_ms[-1] > cpu_ms[-1]:
                return None
            at = len(sizes) - 1
            while at >= 0 and gpu_ms[at] <= cpu_ms[at]:
                at -= 1
            if at < 0:
                return None
            low, high = math.log2(sizes[at]), math.log2(sizes[at + 1])
            a = math.log2(gpu_ms[at] / cpu_ms[at])
            b = math.log2(gpu_ms[at + 1] / cpu_ms[at + 1])
            return 2 ** (low + (high - low) * a / (a - b))
        """,
    },
    "gpu_mistakes": {
        "by hand, without place": """
            roofs = ceilings(document)
            result = []
            for row in document["rows"].get("trial") or ():
                took = events_to_ms(row["events"], "median")
                host = sorted(row["host_ms"])
                middle = (host[(len(host) - 1) // 2] + host[len(host) // 2]) / 2
                fastest = max(
                    row["flops"] / roofs["flops"][row["dtype"]],
                    row["bytes"] / roofs["bandwidth"]["dram"],
                )
                if took > middle:
                    result.append(f"{row['name']}: not synchronized")
                if row["host_ms"][0] / middle > 2:
                    result.append(f"{row['name']}: first call")
                if took / document["empty_ms"] < 10:
                    result.append(f"{row['name']}: too short")
                if fastest * 1000 > 1.1 * took:
                    result.append(f"{row['name']}: above the roof")
            return result
        """,
        "a generator of reasons": """
            import statistics
            roofs = ceilings(document)
            def reasons(row):
                ms = events_to_ms(row["events"], "median")
                typical = statistics.median(row["host_ms"])
                yield from ["not synchronized"] * (typical < ms)
                yield from ["first call"] * (row["host_ms"][0] > typical * 2)
                yield from ["too short"] * (ms < document["empty_ms"] * 10)
                work = {key: row[key] for key in ("flops", "bytes", "dtype")}
                if not ms or place(work | {"ms": ms}, roofs)["efficiency"] > 1.1:
                    yield "above the roof"
            rows = document["rows"]["trial"] if "trial" in document["rows"] else []
            return [row["name"] + ": " + reason for row in rows for reason in reasons(row)]
        """,
    },
    "reflect_launch": {
        "covariance over variance": """
            n = len(counts)
            if n != len(total_ms) or n < 2:
                raise ValueError("lengths")
            mean_x, mean_y = sum(counts) / n, sum(total_ms) / n
            spread = sum((x - mean_x) ** 2 for x in counts)
            if spread == 0:
                raise ValueError("equal")
            both = sum((x - mean_x) * (y - mean_y) for x, y in zip(counts, total_ms))
            return both / spread * 1000
        """,
        "lstsq": """
            if len(counts) != len(total_ms) or len(counts) < 2 or min(counts) == max(counts):
                raise ValueError("counts")
            matrix = np.column_stack([counts, np.ones(len(counts))])
            return np.linalg.lstsq(matrix, 1000 * np.array(total_ms), rcond=None)[0][0]
        """,
    },
    "reflect_speedup": {
        "seconds for one FLOP": """
            if any(number <= 0 for number in (speedup, gpu_peak, cpu_peak)):
                raise ValueError("above 0")
            slowest_gpu_seconds = 1 / gpu_peak
            share = (1 / cpu_peak) / (speedup * slowest_gpu_seconds)
            return share if share < 1 else 1
        """,
        "exact fractions": """
            from fractions import Fraction
            if speedup <= 0 or gpu_peak <= 0 or cpu_peak <= 0:
                raise ValueError("above 0")
            exact = Fraction(gpu_peak) / Fraction(speedup) / Fraction(cpu_peak)
            return float(min(exact, Fraction(1)))
        """,
    },
}
