"""Lesson 12: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "pass_ms": {
        "through predict_ms": """
            from built import predict_ms
            if len(sequences) == 0 or overhead_ms < 0:
                raise ValueError("nothing")
            if min(c for c, n in sequences) < 0 or min(n for c, n in sequences) <= 0:
                raise ValueError("sequences")
            new = sum(n for c, n in sequences)
            pairs = sum(c + 1 + i for c, n in sequences for i in range(n))
            def row(flops, read, written=0):
                return {"op": "part", "matmul_flops": flops, "elementwise_flops": 0,
                        "bytes_read": read, "bytes_written": written}
            rows = [
                row(2 * model.get("active", model["weights"]) * new,
                    model["weights"] * model["bits"] / 8),
                row(pairs * model["pair_flops"], sum(c for c, n in sequences) * model["kv_bytes"],
                    new * model["kv_bytes"]),
            ]
            return predict_ms(rows, hardware, 0.0) + overhead_ms
        """,
        "numpy": """
            pairs = np.array(sequences, dtype=float).reshape(-1, 2)
            if pairs.size == 0 or overhead_ms < 0:
                raise ValueError("nothing")
            cached, new = pairs.T
            if (cached < 0).any() or (new < 1).any():
                raise ValueError("sequences")
            weights = model["weights"]
            active = model["active"] if "active" in model else weights
            looks = float(new @ cached + (new * (new + 1) / 2).sum())
            roofs = np.array([hardware.peak_flops, hardware.bandwidth])
            work = np.array([
                [2 * active * new.sum(), weights * model["bits"] / 8],
                [looks * model["pair_flops"], pairs.sum() * model["kv_bytes"]],
            ])
            return 1e3 * (work / roofs).max(axis=1).sum() + overhead_ms
        """,
        "by hand, a text at a time": """
            if not len(sequences) or not overhead_ms >= 0:
                raise ValueError("nothing")
            flops = looked = moved = 0
            for cached, new in sequences:
                if cached < 0 or new < 1:
                    raise ValueError((cached, new))
                flops += 2 * new * model.get("active", model["weights"])
                looked += new * (2 * cached + new + 1) / 2
                moved += (cached + new) * model["kv_bytes"]
            read = model["weights"] / 8 * model["bits"]
            fast, wide = hardware.peak_flops / 1000, hardware.bandwidth / 1000
            first = flops / fast if flops / fast > read / wide else read / wide
            looked *= model["pair_flops"]
            return first + max(looked / fast, moved / wide) + overhead_ms
        """,
    },
    "batch_limits": {
        "from pass_ms": """
            weights = model["weights"] * model["bits"] / 8
            held = model["held_bytes"] if "held_bytes" in model else weights
            if context < 1 or memory <= held:
                raise ValueError("memory")
            free = dict(model, kv_bytes=0, pair_flops=0)
            read_ms = 1000 * weights / hardware.bandwidth
            many = 10**6
            per_user_ms = pass_ms(free, [(0, many)], hardware) / many
            users = 0
            text = context * model["kv_bytes"]
            users = int((memory - held) / text)
            while held + (users + 1) * text <= memory:
                users += 1
            while held + users * text > memory:
                users -= 1
            return {"memory": users, "compute": read_ms / per_user_ms, "cache": weights / text}
        """,
        "the ridge": """
            if context < 1 or memory <= 0:
                raise ValueError("range")
            active, stored = model.get("active") or model["weights"], model["weights"]
            ridge = hardware.peak_flops / hardware.bandwidth
            left = memory - model.get("held_bytes", stored * model["bits"] / 8)
            if left <= 0:
                raise ValueError("no memory")
            return dict(
                compute=ridge * stored / active * model["bits"] / 16,
                cache=stored * model["bits"] / (8 * context * model["kv_bytes"]),
                memory=math.floor(left / (context * model["kv_bytes"])),
            )
        """,
    },
    "simulate_serving": {
        "a heap of events": """
            import heapq
            if slots < 1 or (chunk is not None and chunk < 1):
                raise ValueError("nothing")
            if any(a < 0 or min(p, n) < 1 for a, p, n in requests):
                raise ValueError("requests")
            events = [(a, i) for i, (a, p, n) in enumerate(requests)]
            heapq.heapify(events)
            active, clock = {}, 0.0
            first, last = {}, {}
            while events or active:
                if not active and events[0][0] > clock:
                    clock = events[0][0]
                open_ = continuous or not active
                while open_ and events and events[0][0] <= clock and len(active) < slots:
                    _, i = heapq.heappop(events)
                    active[i] = [0, requests[i][1], requests[i][2]]  # read, to read, to write
                budget = math.inf if chunk is None else chunk
                step = {}
                for i, (read, to_read, to_write) in active.items():
                    if to_read:
                        now = int(min(to_read, budget))
                        budget -= now
                        if now:
                            step[i] = (read, now)
                    else:
                        step[i] = (read, 1)
                clock += step_ms(list(step.values()))
                for i, (_, now) in step.items():
                    state = active[i]
                    state[0] += now
                    if state[1]:
                        state[1] -= now
                    if not state[1]:
                        state[2] -= 1
                        first.setdefault(i, clock)
                        last[i] = clock
                        if not state[2]:
                            del active[i]
            return [
                {
                    "done_ms": last[i] - a,
                    "first_ms": first[i] - a,
                    "per_token_ms": (last[i] - first[i]) / max(1, n - 1),
                }
                for i, (a, p, n) in enumerate(requests)
            ]
        """,
        "a generator for each request": """
            if slots <= 0 or chunk == 0 or (chunk or 1) < 0:
                raise ValueError("nothing")
            for a, p, n in requests:
                if a < 0 or p <= 0 or n <= 0:
                    raise ValueError("request")

            def life(prompt, new):
                read = 0
                while read < prompt:
                    room = yield ("prompt", read, prompt - read)
                    read += room
                for at in range(new - 1):
                    yield ("token", prompt + at, 1)

            line = sorted(enumerate(requests), key=lambda pair: pair[1][0])
            seats, clock, stamps = [], 0.0, {i: [] for i in range(len(requests))}
            while line or seats:
                if not seats:
                    clock = max(clock, line[0][1][0])
                    free = slots
                else:
                    free = slots - len(seats) if continuous else 0
                while free and line and line[0][1][0] <= clock:
                    i, (a, p, n) = line.pop(0)
                    its = life(p, n)
                    seats.append([i, its, next(its)])
                    free -= 1
                left, held = chunk, []
                for seat in seats:
                    kind, cached, want = seat[2]
                    if kind == "prompt" and left is not None:
                        want = min(want, left)
                        left -= want
                    if want:
                        held.append((seat, kind, cached, want))
                clock = clock + step_ms([(cached, want) for _, _, cached, want in held])
                for seat, kind, cached, want in held:
                    whole = kind == "token" or want == seat[2][2]
                    if whole:
                        stamps[seat[0]].append(clock)
                    try:
                        seat[2] = seat[1].send(want)
                    except StopIteration:
                        seats.remove(seat)
            rows = []
            for i, (a, p, n) in enumerate(requests):
                t = stamps[i]
                gaps = np.diff(t)
                rows.append({
                    "first_ms": float(t[0] - a),
                    "per_token_ms": float(gaps.mean()) if n > 1 else 0.0,
                    "done_ms": float(t[-1] - a),
                })
            return rows
        """,
    },
    "best_draft": {
        "the largest rate": """
            if not (0 <= accept <= 1 and draft_ms >= 0 and most >= 1):
                raise ValueError("range")

            def tokens(k):
                return float(sum(accept**i for i in range(k + 1)))

            def rate(k):
                return tokens(k) / (k * draft_ms + verify_ms(k + 1))

            k = max(range(most + 1), key=rate)
            return {"k": k, "tokens": tokens(k), "speedup": rate(k) * verify_ms(1)}
        """,
        "numpy": """
            if not (0 <= accept <= 1) or draft_ms < 0 or most < 1:
                raise ValueError("range")
            k = np.arange(most + 1)
            tokens = np.cumsum(float(accept) ** k)
            took = np.array([n * draft_ms + verify_ms(int(n) + 1) for n in k])
            speed = tokens / took * verify_ms(1)
            speed[0] = 1.0
            best = int(np.argmax(speed))
            return {"k": best, "tokens": float(tokens[best]), "speedup": float(speed[best])}
        """,
        "by the probability of each number": """
            if accept < 0 or accept > 1 or draft_ms < 0 or most < 1:
                raise ValueError("range")
            step, rounds = verify_ms(1), [(1.0, 0, 1.0)]
            for k in range(1, most + 1):
                each = [(1 - accept) * accept**n for n in range(k)] + [accept**k]
                tokens = sum((n + 1) * chance for n, chance in enumerate(each))
                rounds.append((step * tokens / (draft_ms * k + verify_ms(k + 1)), -k, tokens))
            top = max(rounds)[0]
            speedup, k, tokens = next(row for row in rounds if row[0] >= top * (1 - 1e-12))
            return dict(k=-k, tokens=tokens, speedup=speedup)
        """,
    },
    "draft_acceptance": {
        "numpy": """
            p, q = np.array(target, float), np.array(draft, float)
            if p.size == 0 or p.shape != q.shape or (p < 0).any() or (q < 0).any():
                raise ValueError("range")
            if not np.isclose(p.sum(), 1) or not np.isclose(q.sum(), 1):
                raise ValueError("sum")
            rest = np.clip(p - q, 0, None)
            if np.allclose(p, q, atol=1e-12):
                return 1.0, None
            return float(np.minimum(p, q).sum()), (rest / rest.sum()).tolist()
        """,
        "a word at a time": """
            if len(target) != len(draft) or not target:
                raise ValueError("lengths")
            if any(x < 0 for x in (*target, *draft)):
                raise ValueError("range")
            if any(abs(math.fsum(each) - 1) > 1e-6 for each in (target, draft)):
                raise ValueError("sum")
            accepted = 0.0
            for p, q in zip(target, draft):
                accepted += q * min(1.0, p / q) if q else 0.0
            rest = [p - min(p, q) for p, q in zip(target, draft)]
            whole = math.fsum(rest)
            if whole < 1e-12:
                return (1.0, None)
            return (accepted, [each / whole for each in rest])
        """,
    },
    "moe_parameters": {
        "expert by expert": """
            if shared < 0 or tokens < 1 or layers < 1 or expert < 1:
                raise ValueError("range")
            if not 1 <= chosen <= experts:
                raise ValueError("chosen")
            missed = 1.0
            for _ in range(tokens):
                missed *= (experts - chosen) / experts
            read = sum(expert * (1 - missed) for _ in range(experts)) * layers
            return {"touched": read + shared, "active": expert * chosen * layers + shared,
                    "total": expert * experts * layers + shared}
        """,
        "by the mean number of experts so far": """
            if min(expert, layers, experts, chosen, tokens) < 1 or shared < 0 or chosen > experts:
                raise ValueError("range")
            seen = 0.0
            for _ in range(tokens):
                seen += chosen * (experts - seen) / experts
            one = layers * expert
            return dict(total=shared + one * experts, active=shared + one * chosen,
                        touched=shared + one * seen)
        """,
    },
}
