"""Lesson 05: right recorders in unusual style, which must keep all points."""

from cohort.lesson_05_alternates_passes import ALTERNATES as PASSES
from cohort.lesson_05_times import ALTERNATES as TIMES

ALTERNATES = {
    "op_bytes": {
        "by storage, as in lesson 04": """
            def looked_at(tensors):
                whole = {}
                for t in {id(t): t for t in tensors}.values():
                    whole[t.storage] = whole.get(t.storage, 0) + t.nbytes
                return {s: min(n, s.nbytes) for s, n in whole.items()}

            back = call.phase == "backward"
            read = looked_at([*present(call.grad), *call.saved] if back else call.inputs)
            made = looked_at(present(result))
            written = sum(made[s] for s in made.keys() - read.keys())
            if not back and call.op in TABLES:
                read[call.inputs[TABLES[call.op]].storage] = written
            return (sum(read.values()), written) if written else (0, 0)
        """,
        "tables first": """
            made = present(result)
            if call.phase == "forward" and call.op in TABLES:
                others = [t for i, t in enumerate(call.inputs) if i != TABLES[call.op]]
                written = sum(t.nbytes for t in made)
                return written + sum(bytes_by_memory(others).values()), written
            sources = list(call.inputs)
            if call.phase == "backward":
                sources = present(call.grad)
                sources.extend(call.saved)
            places = {memory_of(t) for t in sources}
            fresh = bytes_by_memory([t for t in made if memory_of(t) not in places])
            if sum(fresh.values()) == 0:
                return (0, 0)
            return sum(bytes_by_memory(sources).values()), sum(fresh.values())
        """,
        "numpy's ints": """
            if call.phase == "forward":
                read = bytes_by_memory(call.inputs)
            else:
                read = bytes_by_memory(present(call.grad) + call.saved)
            written = np.int64(0)
            for place, count in bytes_by_memory(present(result)).items():
                if place not in read:
                    written += count
            if written == 0:
                return np.int64(0), np.int64(0)
            if call.op in TABLES and call.phase == "forward":
                read[memory_of(call.inputs[TABLES[call.op]])] = written
            return [np.sum(list(read.values())), written]
        """,
    },
    "op_facts": {
        "step by step": """
            facts = dict(op=call.op, module=call.module_path, phase=call.phase)
            facts["input_shapes"] = tuple(t.shape for t in call.inputs)
            back = call.phase == "backward"
            like = tensors_in(call.grad if back else result)[0]
            facts["output_shape"], facts["dtype"] = list(like.shape), like.dtype.name
            if back:
                wanted = [t.requires_grad for t in call.inputs]
                facts["matmul_flops"] = gradient_flops(
                    call.op, facts["input_shapes"], call.attributes, wanted
                )
            else:
                facts["matmul_flops"] = op_flops(call.op, facts["input_shapes"], call.attributes)
            facts["elementwise_flops"] = op_elementwise(call, like.shape)
            facts |= zip(("bytes_read", "bytes_written"), op_bytes(call, result))
            return facts
        """,
        "match": """
            shapes = [t.shape for t in call.inputs]
            match call.phase:
                case "forward":
                    first = result if isinstance(result, Tensor) else result[0]
                    work = op_flops(call.op, shapes, call.attributes)
                case "backward":
                    grads = call.grad if isinstance(call.grad, list) else [call.grad]
                    first = next(g for g in grads if g is not None)
                    needs = [t.requires_grad for t in call.inputs]
                    work = gradient_flops(call.op, shapes, call.attributes, needs)
            moved = op_bytes(call, result)
            return {
                "bytes_written": moved[1], "bytes_read": moved[0], "matmul_flops": np.int64(work),
                "elementwise_flops": op_elementwise(call, first.shape), "op": str(call.op),
                "module": call.module_path, "phase": call.phase, "input_shapes": shapes,
                "output_shape": first.shape, "dtype": str(first.numpy().dtype)
                if not first.is_meta and not first.requires_grad else f"{first.dtype}",
            }
        """,
        "FLOPs before anything else": """
            back, shapes = call.phase != "forward", [tuple(t.shape) for t in call.inputs]
            rule = gradient_flops if back else op_flops
            wanted = ([t.requires_grad for t in call.inputs],) if back else ()
            flops = rule(call.op, shapes, call.attributes, *wanted)
            output = present(call.grad if back else result)[0]
            read, written = op_bytes(call, result)
            keys = "op module phase input_shapes output_shape dtype matmul_flops"
            values = (call.op, call.module_path, call.phase, shapes, output.shape,
                      str(output.dtype), flops)
            facts = dict(zip(keys.split(), values))
            facts.update(elementwise_flops=op_elementwise(call, output.shape))
            facts.update(bytes_read=read, bytes_written=written)
            return facts
        """,
    },
    "record": {
        "as earlier releases had it, with the number of rows": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            add_row(rows, len(rows[:first]), start, end, op_facts(call, result))
            return result
        """,
        "given functions are called by the names of their arguments": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            facts = op_facts(result=result, call=call)
            add_row(facts=facts, end=end, start=start, rows=rows)
            return result
        """,
        "monotonic_ns": """
            rows.depth += 1
            begun = time.monotonic_ns()
            try:
                result = call()
            finally:
                ended = time.monotonic_ns()
                rows.depth -= 1
            add_row(rows, begun, ended, op_facts(call, result))
            return result
        """,
        "by lesson 03's Timer": """
            timer = Timer()
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                with timer:
                    result = call()
            except BaseException:
                rows.depth -= 1
                raise
            rows.depth -= 1
            end = start + round(1e6 * timer.elapsed_ms)
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "a context manager": """
            @contextlib.contextmanager
            def deeper():
                rows.depth += 1
                try:
                    yield
                finally:
                    rows.depth -= 1

            now = time.perf_counter_ns
            with deeper():
                start = now()
                result = call()
                end = now()
            facts = op_facts(call, result)
            add_row(rows, start, end, facts)
            return result
        """,
        "seconds, the depth remembered": """
            before = rows.depth
            try:
                rows.depth = before + 1
                start = 1e9 * time.perf_counter()
                result = call()
                end = 1e9 * time.perf_counter()
            finally:
                rows.depth = before
            return add_row(rows, start, end, op_facts(call, result)) or result
        """,
        "from time import perf_counter_ns as now": """
            from time import perf_counter_ns as now

            def record(call, rows):
                start = now()
                rows.depth += 1
                try:
                    result = call()
                finally:
                    end = now()
                    rows.depth -= 1
                add_row(rows, start, end, op_facts(call, result))
                return result
        """,
        "from time import perf_counter_ns": """
            from time import perf_counter_ns as clock

            rows.depth = rows.depth + 1
            start = clock()
            try:
                result = call()
            except:
                rows.depth = rows.depth - 1
                raise
            else:
                end = clock()
                rows.depth = rows.depth - 1
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
    },
    "top_operations": {
        "a Counter": """
            if n < 1 or len(rows) == 0 or by not in MEASURES:
                raise ValueError("nothing to sum up")
            measure, times = Counter(), Counter()
            for row in rows:
                name = row["module"] if row["op"] in ("region", "module") else row["op"]
                times[name] += row["self_ms"]
                measure[name] += row["self_ms" if by == "ms" else by]
            whole = sum(measure.values()) or 1.0
            return [
                {"name": name, "ms": times[name], "share": amount / whole}
                for name, amount in measure.most_common(n)
            ]
        """,
        "numpy": """
            if not n > 0 or not rows or by not in MEASURES:
                raise ValueError("no")
            names = list(dict.fromkeys(row_name(row) for row in rows))
            ms, amount = np.zeros(len(names)), np.zeros(len(names))
            for row in rows:
                i = names.index(row_name(row))
                ms[i] += row["self_ms"]
                amount[i] += row[{"ms": "self_ms"}.get(by, by)]
            share = amount / amount.sum() if amount.sum() else amount * 0.0
            order = np.argsort(-share, kind="stable")[:n]
            return [dict(name=names[i], ms=ms[i], share=share[i]) for i in order]
        """,
        "a comprehension for each name": """
            if by not in MEASURES or n <= 0 or not list(rows):
                raise ValueError("no")
            key = by.replace("ms", "self_ms") if by == "ms" else by
            total = sum(row[key] for row in rows)
            found = []
            for name in dict.fromkeys(map(row_name, rows)):
                mine = [row for row in rows if row_name(row) == name]
                part = sum(row[key] for row in mine)
                found.append({
                    "name": name, "ms": sum(row["self_ms"] for row in mine),
                    "share": part / total if total > 0 else 0.0,
                })
            found.sort(key=lambda group: group["share"], reverse=True)
            return found[:n]
        """,
    },
    "chrome_trace": {
        "a loop": """
            if len(rows) < 1:
                raise ValueError("empty")
            events = []
            for row in rows:
                events.append(dict(
                    name=row_name(row), cat=row["phase"], ph="X", pid=1, tid=1,
                    ts=1e3 * row["start_ms"], dur=1e3 * row["ms"],
                    args={k: v for k, v in row.items() if k in ARGS},
                ))
            order = sorted(range(len(rows)), key=lambda i: (rows[i]["start_ms"], rows[i]["depth"]))
            return {"traceEvents": [events[i] for i in order]}
        """,
        "sorted twice": """
            ordered = sorted(rows, key=lambda row: row["depth"])
            ordered.sort(key=lambda row: row["start_ms"])
            if not ordered:
                raise ValueError("no rows")

            def event(row):
                args = {name: row[name] for name in ARGS}
                return {"args": args, "pid": 1, "tid": 1, "ph": "X", "cat": row["phase"],
                        "name": row_name(row),
                        "ts": np.float64(row["start_ms"]) * 1000, "dur": row["ms"] * 1000.0}

            return dict(traceEvents=tuple(map(event, ordered)))
        """,
    },
    "hot_functions": {
        "pathlib": """
            if n < 1 or by not in {"calls", "tottime", "cumtime"} or len(stats.stats) == 0:
                raise ValueError("no")
            found = []
            for place, numbers in stats.stats.items():
                file, line, name = place
                if file != "~":
                    name = f"{Path(file).name}:{line}({name})"
                found += [dict(function=name, calls=numbers[1], tottime=numbers[2],
                               cumtime=numbers[3])]
            found.sort(key=lambda row: -row[by])
            return found[:n]
        """,
        "pstats' own helper": """
            if by not in ("calls", "tottime", "cumtime") or n < 1 or not stats.stats:
                raise ValueError("no")
            place = {"calls": 1, "tottime": 2, "cumtime": 3}[by]
            items = sorted(stats.stats.items(), key=lambda item: item[1][place], reverse=True)
            rows = []
            for (file, line, name), (_, nc, tt, ct, *_) in items[:n]:
                where = pstats.func_std_string((file.rpartition("/")[2], line, name))
                rows.append({
                    "function": name if file == "~" else where, "calls": np.int64(nc),
                    "tottime": tt, "cumtime": ct,
                })
            return rows
        """,
    },
    **TIMES,
    **PASSES,
}
