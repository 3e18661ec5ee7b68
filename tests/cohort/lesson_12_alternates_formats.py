"""Unusual right solutions of lesson 12: narrow formats, and what a token costs."""

ALTERNATES = {
    "round_to": {
        "by frexp": """
            if exponent_bits < 1 or mantissa_bits < 0:
                raise ValueError("bits")
            bias = 2 ** (exponent_bits - 1) - 1
            E, M = divmod(2 ** (exponent_bits + mantissa_bits) - 1 - reserved, 2**mantissa_bits)
            top = (1 + M / 2**mantissa_bits) * 2.0 ** (E - bias)
            found = []
            for x in values:
                if x != x or abs(x) == math.inf:
                    raise ValueError(x)
                power = max(math.frexp(x)[1] - 1, 1 - bias) if x else 1 - bias
                step = 2.0 ** (power - mantissa_bits)
                found.append(math.copysign(min(round(abs(x) / step) * step, top), x))
            return found
        """,
        "a table and bisection": """
            import bisect
            if not all(map(math.isfinite, values)) or min(exponent_bits, mantissa_bits + 1) < 1:
                raise ValueError("values")
            m, bias = 2**mantissa_bits, 2 ** (exponent_bits - 1) - 1
            table = [(c % m) / m * 2.0 ** (1 - bias) if c < m
                     else (1 + c % m / m) * 2.0 ** (c // m - bias)
                     for c in range(2**exponent_bits * m - reserved)]

            def one(x):
                size = abs(x)
                if size >= table[-1]:
                    return table[-1]
                high = bisect.bisect_right(table, size)
                low = high - 1
                if size - table[low] == table[high] - size:
                    return table[low if low % 2 == 0 else high]
                return table[low] if size - table[low] < table[high] - size else table[high]

            return [one(x) if x >= 0 else -one(x) for x in values]
        """,
        "numpy": """
            x = np.asarray(values, dtype=np.float64)
            if not np.isfinite(x).all() or exponent_bits < 1 or mantissa_bits < 0:
                raise ValueError("values")
            codes = np.arange(2 ** (exponent_bits + mantissa_bits) - reserved)
            power, part = codes >> mantissa_bits, codes & (2**mantissa_bits - 1)
            bias = 2 ** (exponent_bits - 1) - 1
            numbers = np.where(
                power == 0,
                np.ldexp(part / 1.0, 1 - bias - mantissa_bits),
                np.ldexp(1 + part / 2.0**mantissa_bits, power - bias),
            )
            gap = np.abs(np.abs(x)[:, None] - numbers)
            best = gap.min(1, keepdims=True)
            first, odd = np.argmax(gap == best, 1), codes % 2
            second = np.minimum(first + 1, codes[-1])
            tie = (gap[np.arange(len(x)), second] == best[:, 0]) & (odd[first] == 1)
            return (np.sign(x) * numbers[np.where(tie, second, first)]).tolist()
        """,
    },
    "block_scaled": {
        "numpy, a function for each scale": """
            kinds = {"mxfp8": (8, 448.0, (4, 3, 1)), "mxfp4": (4, 6.0, (2, 1))}
            kinds["nvfp4"] = kinds["mxfp4"]
            if format not in kinds:
                raise ValueError(format)
            x = np.array(values, float)
            if x.size == 0 or block < 1 or not np.isfinite(x).all():
                raise ValueError("values")
            bits, largest, shape = kinds[format]
            t = float(np.abs(x).max()) / 2688

            def scale_of(part):
                a = float(np.abs(part).max())
                if not a:
                    return 1.0
                if format == "nvfp4":
                    return t * own_round([a / (6 * t)], 4, 3, 1)[0]
                power = math.frexp(a)[1] - math.frexp(largest)[1]
                if round_up and largest * 2.0**power < a:
                    power += 1
                if round_up and largest * 2.0 ** (power - 1) >= a:
                    power -= 1
                return 2.0**power

            parts = [x[at : at + block] for at in range(0, len(x), block)]
            scales = [scale_of(part) for part in parts]
            stored = []
            for scale, part in zip(scales, parts):
                y = own_round((part / scale).tolist(), *shape) if scale else [0.0] * len(part)
                stored.extend(scale * each for each in y)
            total = bits * x.size + 8 * len(parts) + (32 if format == "nvfp4" else 0)
            return {"values": stored, "bits": total / x.size, "scales": scales}
        """,
        "number by number": """
            if format not in ("mxfp8", "mxfp4", "nvfp4") or block <= 0 or len(values) == 0:
                raise ValueError("arguments")
            if any(x != x or x in (math.inf, -math.inf) for x in values):
                raise ValueError("finite")
            wide = format == "mxfp8"
            top = 448 if wide else 6
            t = max(abs(x) for x in values) / 6 / 448
            count = math.ceil(len(values) / block)
            scales = []
            for n in range(count):
                a = max(abs(x) for x in values[n * block : (n + 1) * block])
                if a == 0.0:
                    scales.append(1.0)
                elif format == "nvfp4":
                    (s,) = own_round([a / 6 / t], 4, 3, 1)
                    scales.append(t * s)
                else:
                    low = 2.0 ** ((math.frexp(a)[1] - 1) - (8 if wide else 2))
                    up = 2.0**-140
                    while round_up and up < a / top:
                        up *= 2
                    scales.append(up if round_up else low)
            found = []
            for n, x in enumerate(values):
                s = scales[n // block]
                shape = (4, 3, 1) if wide else (2, 1)
                one = own_round([x / s], *shape) if s else [0.0]
                found.append(s * one[0])
            bits = (8.0 if wide else 4.0) + 8 * count / len(values)
            return {"scales": scales, "values": found,
                    "bits": bits + 32 / len(values) * (format == "nvfp4")}
        """,
    },
    "cheapest_batch": {
        "by halving": """
            if deadline_ms <= 0 or dollars_per_hour <= 0 or watts <= 0 or context < 1:
                raise ValueError("range")
            weights = model.get("held_bytes", model["weights"] * model["bits"] / 8)
            if memory <= weights:
                return None

            def step_ms(users):
                return pass_ms(model, [(context - 1, 1) for _ in range(users)], hardware)

            low, high = 0, int((memory - weights) // (context * model["kv_bytes"]))
            while low < high:
                middle = (low + high + 1) // 2
                if step_ms(middle) <= deadline_ms:
                    low = middle
                else:
                    high = middle - 1
            if not low:
                return None
            seconds = step_ms(low) / 1000
            return dict(users=low, step_ms=1000 * seconds, tokens_per_second=low / seconds,
                        dollars_per_million=1e6 * dollars_per_hour * seconds / (3600 * low),
                        joules_per_token=watts * seconds / low)
        """,
        "from many down to one": """
            for number in (deadline_ms, dollars_per_hour, watts, context):
                if number <= 0:
                    raise ValueError(number)
            try:
                users = batch_limits(model, context, hardware, memory)["memory"]
            except ValueError:
                users = 0
            for n in range(users, 0, -1):
                ms = pass_ms(model, [(context - 1, 1)] * n, hardware)
                if ms > deadline_ms:
                    continue
                speed = n / ms * 1e3
                hour = speed * 3600
                return {"users": n, "step_ms": ms, "tokens_per_second": speed,
                        "joules_per_token": watts * 3600 / hour,
                        "dollars_per_million": dollars_per_hour * 1e6 / hour}
        """,
    },
    "reflect_service": {
        "in steps with names": """
            for key in ("input_rate", "output_rate", "nodes"):
                if not day[key] > 0:
                    raise ValueError(key)
            dollars_per_node_second = day["gpus_per_node"] * day["dollars_per_gpu_hour"] / 3600
            day_s = 24 * 60 * 60
            cost = dollars_per_node_second * day_s * day["nodes"]
            million = 10**6
            missed = day["input_tokens"] - day["hit_tokens"]
            income = (day["hit_tokens"] / million * day["hit_price"]
                      + missed / million * day["miss_price"]
                      + day["output_tokens"] / million * day["output_price"])
            node_seconds = (day["input_tokens"] / day["input_rate"]
                            + day["output_tokens"] / day["output_rate"])
            return dict(income=income, cost=cost, margin=(income - cost) / cost,
                        nodes_needed=node_seconds / day_s,
                        output_cost_per_million=million / day["output_rate"]
                        * dollars_per_node_second)
        """,
        "numpy": """
            rates = np.array([day["input_rate"], day["output_rate"], day["nodes"]], float)
            if (rates <= 0).any():
                raise ValueError("rates")
            tokens = np.array([day["hit_tokens"], day["input_tokens"] - day["hit_tokens"],
                               day["output_tokens"]], float)
            prices = np.array([day["hit_price"], day["miss_price"], day["output_price"]])
            hour = np.prod([day["gpus_per_node"], day["dollars_per_gpu_hour"]])
            found = {"cost": hour * 24 * day["nodes"], "income": tokens @ prices / 1e6}
            found["margin"] = found["income"] / found["cost"] - 1.0
            spent = np.array([tokens[:2].sum(), tokens[2]]) / rates[:2]
            found["nodes_needed"] = spent.sum() / 86_400
            found["output_cost_per_million"] = hour / (rates[1] * 3.6e-3)
            return found
        """,
    },
}
