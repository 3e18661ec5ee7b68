"""Lesson 05: what students, and known profilers, get wrong in recording and in reading rows.

The mutants of whole passes stand in lesson_05_passes.py, the right ones in a file beside.
"""

from cohort.lesson_05_alternates import ALTERNATES  # noqa: F401
from cohort.lesson_05_passes import HELPERS as PASS_HELPERS
from cohort.lesson_05_passes import MUTANTS as PASS_MUTANTS

HELPERS = (
    """
import copy
import timeit

right_op_bytes, right_op_facts, right_add_row = op_bytes, op_facts, add_row
right_record, right_top, right_trace, right_hot = (
    record, top_operations, chrome_trace, hot_functions
)

def reading(call):
    return call.inputs if call.phase == "forward" else present(call.grad) + call.saved

def moved(call, result, read, made, table=True):
    written = sum(n for m, n in made.items() if m not in read)
    if not written:
        return 0, 0
    if table and call.phase == "forward" and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written

def sized(tensors):
    return {i: t.nbytes for i, t in enumerate(tensors)}

def changed(call, result, **new):
    return right_op_facts(call, result) | new

def checked(rows, n, by):
    if not rows or n < 1 or by not in MEASURES:
        raise ValueError("no")
    return "self_ms" if by == "ms" else by

def tops(rows, n, key, ms="self_ms", total=None, name=row_name):
    total = sum(row[key] for row in rows) if total is None else total
    groups = {}
    for row in rows:
        group = groups.setdefault(name(row), {"name": name(row), "ms": 0.0, "share": 0.0})
        group["ms"] += row[ms]
        group["share"] += row[key] / total if total else 0.0
    return sorted(groups.values(), key=lambda group: -group["share"])[:n]

def traced(rows, order=lambda row: (row["start_ms"], row["depth"]), **new):
    if not rows:
        return right_trace(rows)
    events = []
    for row in sorted(rows, key=order):
        event = right_trace([row])["traceEvents"][0]
        events.append(event | {key: make(row, event) for key, make in new.items()})
    return {"traceEvents": events}
"""
    + PASS_HELPERS
)

MUTANTS = {
    "op_bytes": {
        "inputs are read as often as they are there": """
            read, made = sized(reading(call)), bytes_by_memory(present(result))
            written = right_op_bytes(call, result)[1]
            return (sum(read.values()), written) if written else (0, 0)
        """,
        "views read": """
            read = bytes_by_memory(reading(call))
            return sum(read.values()), right_op_bytes(call, result)[1]
        """,
        "views write": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            return right_op_bytes(call, result)[0], sum(made.values())
        """,
        "the whole table is read": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            return moved(call, result, read, made, table=False)
        """,
        "a look-up reads no indices": """
            read, written = right_op_bytes(call, result)
            return (written, written) if call.op in TABLES else (read, written)
        """,
        "a look-up reads as it writes, also backward": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            read, written = moved(call, result, read, made)
            return (written, written) if call.op in TABLES else (read, written)
        """,
        "only of a table that is large": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            whole = moved(call, result, dict(read), made, table=False)
            return min(whole, moved(call, result, read, made))
        """,
        "elements, not bytes": """
            read, written = right_op_bytes(call, result)
            return read // 4, written // 4
        """,
        "a view beside something new is written, too": """
            read, written = right_op_bytes(call, result)
            made = sum(bytes_by_memory(present(result)).values())
            return (read, made) if written else (0, 0)
        """,
        "looks at the first input alone": """
            if call.phase == "backward":
                return right_op_bytes(call, result)
            first, made = call.inputs[0], bytes_by_memory(present(result))
            if memory_of(first) in made:
                return 0, 0
            return sum(bytes_by_memory([first]).values()), sum(made.values())
        """,
        "four bytes each": """
            if right_op_bytes(call, result) == (0, 0):
                return 0, 0
            return 4 * sum(t.numel() for t in call.inputs), 4 * sum(
                t.numel() for t in present(result)
            )
        """,
        "written before read": "return right_op_bytes(call, result)[::-1]",
        "in backward the inputs are read": """
            if right_op_bytes(call, result) == (0, 0):
                return 0, 0
            read = [t for t in call.inputs] + (present(call.grad) if call.grad is not None else [])
            return sum(sized(read).values()), right_op_bytes(call, result)[1]
        """,
        "in backward the gradient alone is read": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(bytes_by_memory(present(call.grad)).values())
            return read, written
        """,
        "in backward what was saved alone is read": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(bytes_by_memory(call.saved).values())
            return read, written
        """,
        "in backward the first gradient alone is written": """
            read, written = right_op_bytes(call, result)
            made = present(result)[0]
            return (read, min(written, made.nbytes)) if written else (0, 0)
        """,
        "expanded tensors count in full": """
            read, written = right_op_bytes(call, result)
            if not written or call.phase == "backward" or call.op in TABLES:
                return read, written
            return sum({id(t): t.nbytes for t in call.inputs}.values()), written
        """,
        "the whole memory behind each input": """
            read, written = right_op_bytes(call, result)
            if not written or call.phase == "backward" or call.op in TABLES:
                return read, written
            return sum({t.storage: t.storage.nbytes for t in call.inputs}.values()), written
        """,
        "views by their names": """
            if call.op in ("reshape", "permute", "expand", "getitem", "split"):
                return 0, 0
            return right_op_bytes(call, result)
        """,
        "the sum of both": "return (sum(right_op_bytes(call, result)),) * 2",
        "a bias is forgotten": """
            read, written = right_op_bytes(call, result)
            bias = call.op == "linear" and len(call.inputs) == 3 and call.phase == "forward"
            return read - (call.inputs[2].nbytes if bias else 0), written
        """,
        "a saved tensor that is the gradient's counts again": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(sized(reading(call)).values())
            return read, written
        """,
    },
    "op_facts": {
        "backward is counted as forward": """
            shapes = [t.shape for t in call.inputs]
            return changed(call, result, matmul_flops=op_flops(call.op, shapes, call.attributes))
        """,
        "backward is twice forward": """
            shapes = [t.shape for t in call.inputs]
            flops = op_flops(call.op, shapes, call.attributes)
            flops *= 2 if call.phase == "backward" else 1
            return changed(call, result, matmul_flops=flops)
        """,
        "all gradients are wanted": """
            if call.phase == "forward":
                return right_op_facts(call, result)
            shapes = [t.shape for t in call.inputs]
            flops = gradient_flops(call.op, shapes, call.attributes, [True] * len(shapes))
            return changed(call, result, matmul_flops=flops)
        """,
        "a look around decides on the phase": """
            def op_facts(call, result):
                facts = right_op_facts(call, result)
                if op_facts.been_back and facts["phase"] == "forward":
                    facts["matmul_flops"] = 0
                op_facts.been_back |= facts["phase"] == "backward"
                return facts

            op_facts.been_back = False
        """,
        "FLOPs are one number": """
            facts = right_op_facts(call, result)
            facts["matmul_flops"] += facts["elementwise_flops"]
            return facts
        """,
        "multiply-adds": """
            facts = right_op_facts(call, result)
            return facts | {"matmul_flops": facts["matmul_flops"] // 2}
        """,
        "unknown ops are nothing": """
            try:
                return right_op_facts(call, result)
            except NotImplementedError:
                return {"op": call.op, "matmul_flops": 0}
        """,
        "backward's output is what it returns": """
            if call.phase == "forward":
                return right_op_facts(call, result)
            return changed(call, result, output_shape=present(result)[0].shape)
        """,
        "the dtype itself": "return changed(call, result, dtype=present(result)[0].dtype)",
        "the first input's dtype": """
            return changed(call, result, dtype=str(call.inputs[0].dtype))
        """,
        "tensors are kept": "return changed(call, result, input_shapes=list(call.inputs))",
        "only the last part of a module's path": """
            return changed(call, result, module=call.module_path.rpartition(".")[2])
        """,
        "modules with numbers left out": """
            parts = [p for p in call.module_path.split(".") if not p.isdigit()]
            return changed(call, result, module=".".join(parts))
        """,
        "many results are not thought of": """
            output = result if call.phase == "forward" else call.grad
            return changed(call, result, output_shape=output.shape)
        """,
        "of many gradients the first, also None": """
            output = result if call.phase == "forward" else call.grad
            output = output[0] if isinstance(output, (tuple, list)) else output
            return changed(call, result, output_shape=output.shape)
        """,
        "read and written the wrong way round": """
            written, read = op_bytes(call, result)
            return changed(call, result, bytes_read=read, bytes_written=written)
        """,
        "elementwise by the first input": """
            shape = call.inputs[0].shape
            return changed(call, result, elementwise_flops=op_elementwise(call, shape))
        """,
        "no elementwise work in backward": """
            facts = right_op_facts(call, result)
            back = call.phase == "backward"
            return facts | ({"elementwise_flops": 0} if back else {})
        """,
        "the phase is always forward": 'return changed(call, result, phase="forward")',
        "a key of one's own": "return changed(call, result, time=0.0)",
    },
    "add_row": {
        "nanoseconds stay": """
            depth = rows.depth
            inside = sum(row["ms"] for row in rows[first:] if row["depth"] == depth + 1)
            times = {"ms": end - start, "self_ms": end - start - inside}
            rows.append(facts | times | {"start_ms": start - rows.start, "depth": depth})
        """,
        "times in s": """
            depth = rows.depth
            inside = sum(row["ms"] for row in rows[first:] if row["depth"] == depth + 1)
            ms, begun = (end - start) / 1e9, (start - rows.start) / 1e9
            times = {"start_ms": begun, "ms": ms, "self_ms": ms - inside, "depth": depth}
            rows.append(facts | times)
        """,
        "what ran inside is not taken off": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["self_ms"] = rows[-1]["ms"]
        """,
        "also what is deeper is taken off": """
            inside = sum(row["ms"] for row in rows[first:])
            right_add_row(rows, first, start, end, facts)
            rows[-1]["self_ms"] = rows[-1]["ms"] - inside
        """,
        "their own times are taken off": """
            depth = rows.depth + 1
            inside = sum(row["self_ms"] for row in rows[first:] if row["depth"] == depth)
            right_add_row(rows, first, start, end, facts)
            rows[-1]["self_ms"] = rows[-1]["ms"] - inside
        """,
        "all rows of that depth, also earlier ones": """
            right_add_row(rows, 0, start, end, facts)
        """,
        "only the last one inside": """
            right_add_row(rows, max(first, len(rows) - 1), start, end, facts)
        """,
        "the start is not from the recording's": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["start_ms"] = start / 1e6
        """,
        "the end for the start": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["start_ms"] += rows[-1]["ms"]
        """,
        "one too deep": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["depth"] += 1
        """,
        "depth is forgotten": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["depth"] = 0
        """,
        "the facts are changed": """
            right_add_row(rows, first, start, end, facts)
            facts.update(rows.pop())
            rows.append(facts)
        """,
        "put in front": """
            right_add_row(rows, first, start, end, facts)
            rows.insert(first, rows.pop())
        """,
        "returned, not added": "return facts | {'ms': (end - start) * 1000}",
        "facts are left out": "right_add_row(rows, first, start, end, {})",
        "rounded": """
            right_add_row(rows, first, start, end, facts)
            rows[-1]["self_ms"] = round(rows[-1]["self_ms"], 2)
        """,
    },
    "record": {
        "time.time": "return recording(call, rows, clock=time.time_ns)",
        "process_time": "return recording(call, rows, clock=time.process_time_ns)",
        "the depth is lost when an op fails": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth += 1
            result = call()
            end = time.perf_counter_ns()
            rows.depth -= 1
            add_row(rows, first, start, end, op_facts(call, result))
            return result
        """,
        "only of an Exception": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            except Exception:
                rows.depth -= 1
                raise
            end = time.perf_counter_ns()
            rows.depth -= 1
            add_row(rows, first, start, end, op_facts(call, result))
            return result
        """,
        "errors are swallowed": """
            try:
                return right_record(call, rows)
            except ValueError:
                return call.inputs[0]
        """,
        "failed ops get a row": """
            count = len(rows)
            try:
                return right_record(call, rows)
            except BaseException:
                rows.append({"op": call.op, "module": "", "ms": 0.0, "self_ms": 0.0, "depth": 0})
                raise
        """,
        "nothing is returned": "right_record(call, rows)",
        "called twice": """
            right_record(call, rows)
            return call()
        """,
        "a copy is returned": """
            result = right_record(call, rows)
            return result + 1 if isinstance(result, Tensor) and call.phase == "forward" else result
        """,
        "its own work counts": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                rows.depth -= 1
            facts = op_facts(call, result)
            add_row(rows, first, start, time.perf_counter_ns(), facts)
            return result
        """,
        "put down while it is deeper": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
                add_row(rows, first, start, time.perf_counter_ns(), op_facts(call, result))
            finally:
                rows.depth -= 1
            return result
        """,
        "the clock is read before the list is": """
            start = time.perf_counter_ns()
            if call.op == "clone":
                op_facts(call, call.inputs[0])
            first = len(rows)
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            add_row(rows, first, start, end, op_facts(call, result))
            return result
        """,
        "only forward": """
            if call.phase == "backward":
                return call()
            return right_record(call, rows)
        """,
        "views are left out": """
            result = right_record(call, rows)
            if rows[-1]["bytes_written"] == 0:
                rows.pop()
            return result
        """,
        "no depth while it runs": """
            first, start = len(rows), time.perf_counter_ns()
            result = call()
            add_row(rows, first, start, time.perf_counter_ns(), op_facts(call, result))
            return result
        """,
        "first is taken too late": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            add_row(rows, len(rows), start, end, op_facts(call, result))
            return result
        """,
        "depth set, not put back": """
            first, start = len(rows), time.perf_counter_ns()
            rows.depth = 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth = 0
            add_row(rows, first, start, end, op_facts(call, result))
            return result
        """,
        "the result is kept alive": """
            def record(call, rows):
                result = right_record(call, rows)
                record.kept.append(result)
                return result

            record.kept = []
        """,
        "the call is kept in the row": """
            result = right_record(call, rows)
            rows[-1]["call"] = call
            return result
        """,
        "milliseconds that start anew": """
            result = right_record(call, rows)
            rows[-1]["start_ms"] = sum(row["ms"] for row in rows[:-1])
            return result
        """,
        "starts are those of the op before": """
            result = right_record(call, rows)
            rows[-1]["start_ms"] = rows[-2]["start_ms"] + rows[-2]["ms"] if len(rows) > 1 else 0.0
            return result
        """,
        "whole milliseconds": """
            result = right_record(call, rows)
            rows[-1]["ms"] = float(round(rows[-1]["ms"]))
            return result
        """,
        "a list of one's own": """
            def record(call, rows):
                result = right_record(call, rows)
                record.rows.append(rows.pop())
                return result

            record.rows = []
        """,
    },
    "top_operations": {
        "what ran inside counts twice": """
            key = checked(rows, n, by)
            return tops(rows, n, "ms" if by == "ms" else key, ms="ms")
        """,
        "ms with what ran inside": "return tops(rows, n, checked(rows, n, by), ms='ms')",
        "shares of the top": """
            key = checked(rows, n, by)
            found = tops(rows, n, key)
            whole = sum(group["share"] for group in found)
            return [g | {"share": g["share"] / whole if whole else 0.0} for g in found]
        """,
        "in percent": """
            found = tops(rows, n, checked(rows, n, by))
            return [g | {"share": 100 * g["share"]} for g in found]
        """,
        "always by time": """
            checked(rows, n, by)
            return tops(rows, n, "self_ms")
        """,
        "sorted by time, shares of another": """
            found = tops(rows, 99, checked(rows, n, by))
            return sorted(found, key=lambda g: -g["ms"])[:n]
        """,
        "sorted by name": """
            found = tops(rows, 99, checked(rows, n, by))
            return sorted(found, key=lambda g: (-g["share"], g["name"]))[:n]
        """,
        "smallest first": "return tops(rows, 99, checked(rows, n, by))[::-1][:n]",
        "all of them": "return tops(rows, 99, checked(rows, n, by))",
        "not grouped": """
            key = checked(rows, n, by)
            numbers = iter(range(999))
            found = tops(rows, n, key, name=lambda row: (row_name(row), next(numbers)))
            return [g | {"name": g["name"][0]} for g in found]
        """,
        "regions are all one": """
            return tops(rows, n, checked(rows, n, by), name=lambda row: row["op"])
        """,
        "modules by their op": """
            name = lambda row: row["module"] if row["op"] == "region" else row["op"]
            return tops(rows, n, checked(rows, n, by), name=name)
        """,
        "by module": "return tops(rows, n, checked(rows, n, by), name=lambda row: row['module'])",
        "only the largest of each": """
            key, best = checked(rows, n, by), {}
            for row in rows:
                old = best.get(row_name(row))
                best[row_name(row)] = row if old is None or row[key] > old[key] else old
            return tops(list(best.values()), n, key, total=sum(row[key] for row in rows))
        """,
        "divides by 0": """
            key = checked(rows, n, by)
            sum(row[key] for row in rows) / sum(row[key] for row in rows)
            return tops(rows, n, key)
        """,
        "nan where there is nothing": """
            key = checked(rows, n, by)
            empty = sum(row[key] for row in rows) == 0
            return [g | ({"share": math.nan} if empty else {}) for g in tops(rows, n, key)]
        """,
        "rows are consumed": """
            key = checked(rows, n, by)
            found = tops(rows, n, key)
            rows.sort(key=lambda row: row["ms"])
            return found
        """,
        "no rows are no error": "return tops(rows, n, checked(rows, n, by)) if rows else []",
        "no check of n": """
            checked(rows, 1, by)
            return tops(rows, n, "self_ms" if by == "ms" else by)
        """,
        "no check of by": """
            checked(rows, n, "ms")
            key = "self_ms" if by == "ms" else by
            return tops([{key: 0} | row for row in rows], n, key)
        """,
        "regions are left out": """
            return tops([r for r in rows if r["op"] != "region"], n, checked(rows, n, by))
        """,
        "no regions, but their part of all": """
            key = checked(rows, n, by)
            ops = [r for r in rows if r["op"] != "region"]
            return tops(ops, n, key, total=sum(row[key] for row in rows))
        """,
        "cut before sorted": """
            found = tops(rows, 99, checked(rows, n, by))
            names = list(dict.fromkeys(map(row_name, rows)))[:n]
            return [g for g in found if g["name"] in names]
        """,
    },
    "chrome_trace": {
        "in ms": """
            return traced(
                rows, ts=lambda r, e: e["ts"] / 1000, dur=lambda r, e: e["dur"] / 1000
            )
        """,
        "ts in µs, dur in ms": """
            return traced(rows, dur=lambda row, e: row["ms"])
        """,
        "in s": """
            return traced(rows, ts=lambda r, e: e["ts"] / 1e6, dur=lambda r, e: e["dur"] / 1e6)
        """,
        "the end, not the duration": """
            return traced(rows, dur=lambda r, e: e["ts"] + e["dur"])
        """,
        "self time for the duration": """
            duration = lambda r, e: 1000 * r.get("self_ms", r["ms"])
            return traced(rows, dur=duration)
        """,
        "in the order of rows": """
            return traced(rows, order=lambda row: 0)
        """,
        "in the order of starts only": """
            return traced(rows, order=lambda r: r["start_ms"])
        """,
        "inner ones first": """
            order = lambda r: (r["start_ms"], -r["depth"])
            return traced(rows, order=order)
        """,
        "by depth": """
            order = lambda r: (r["depth"], r["start_ms"])
            return traced(rows, order=order)
        """,
        "the longest first": """
            order = lambda r: (r["start_ms"], -r["ms"])
            return traced(rows, order=order)
        """,
        "regions are called region": """
            return traced(rows, name=lambda row, e: row["op"])
        """,
        "modules by their op": """
            return traced(rows, name=lambda r, e: e["name"] if r["op"] == "region" else r["op"])
        """,
        "from the first event on": """
            least = min([row["start_ms"] for row in rows], default=0)
            return traced(rows, ts=lambda row, e: 1000 * (row["start_ms"] - least))
        """,
        "a thread for each depth": """
            return traced(rows, tid=lambda row, e: row["depth"] + 1)
        """,
        "begins and ends": """
            return traced(rows, ph=lambda row, e: "B")
        """,
        "the whole row for args": """
            return traced(rows, args=lambda row, e: dict(row))
        """,
        "no args": "return traced(rows, args=lambda r, e: {})",
        "the op for a category": """
            return traced(rows, cat=lambda row, e: row["op"])
        """,
        "a list": "return right_trace(rows)['traceEvents']",
        "JSON already": "return json.dumps(right_trace(rows))",
        "regions are left out": """
            ops = [row for row in rows if row["op"] != "region"]
            return right_trace(ops) if ops or not rows else {"traceEvents": []}
        """,
        "empty is no error": "return right_trace(rows) if rows else {'traceEvents': []}",
        "whole microseconds of ms": """
            return traced(rows, ts=lambda r, e: 1000 * int(r["start_ms"]))
        """,
        "rows are sorted in place": """
            found = right_trace(rows)
            rows.sort(key=lambda row: (row["start_ms"], row["depth"]))
            return found
        """,
    },
    "hot_functions": {
        "by tottime whatever is asked": """
            right_hot(stats, n, by)
            return right_hot(stats, n, "tottime")
        """,
        "by cumtime whatever is asked": """
            right_hot(stats, n, by)
            return right_hot(stats, n, "cumtime")
        """,
        "primitive calls": """
            rows = right_hot(stats, 10**6, by)
            primitive = {}
            for (file, line, name), (calls, *_) in stats.stats.items():
                place = name if file == "~" else f"{os.path.basename(file)}:{line}({name})"
                primitive.setdefault(place, []).append(calls)
            rows = [row | {"calls": primitive[row["function"]][0]} for row in rows]
            right_hot(stats, n, by)
            return sorted(rows, key=lambda row: -row[by])[:n]
        """,
        "by functions' names alone": """
            rows = right_hot(stats, n, by)
            names = {f"{os.path.basename(f)}:{n}({m})": m for f, n, m in stats.stats}
            return [row | {"function": names.get(row["function"], row["function"])} for row in rows]
        """,
        "folders stay": """
            full = {f"{os.path.basename(f)}:{n}({m})": f"{f}:{n}({m})" for f, n, m in stats.stats}
            rows = right_hot(stats, n, by)
            return [row | {"function": full.get(row["function"], row["function"])} for row in rows]
        """,
        "built-in ones with their ~": """
            rows = right_hot(stats, n, by)
            return [r | {"function": r["function"].replace("<built", "~:0(<built")} for r in rows]
        """,
        "one row for a name": """
            right_hot(stats, n, by)
            rows = {}
            for row in right_hot(stats, 10**6, by):
                rows.setdefault(row["function"].rpartition("(")[2], row)
            return list(rows.values())[:n]
        """,
        "one row for a place without its folder": """
            rows = {}
            for row in right_hot(stats, 10**6, by):
                rows.setdefault(row["function"], row)
            right_hot(stats, n, by)
            return list(rows.values())[:n]
        """,
        "rounded, as a table has them": """
            rows = right_hot(stats, n, by)
            return [r | {k: round(r[k], 3) for k in ("tottime", "cumtime")} for r in rows]
        """,
        "in ms": """
            rows = right_hot(stats, n, by)
            return [r | {k: 1000 * r[k] for k in ("tottime", "cumtime")} for r in rows]
        """,
        "per call": """
            rows = right_hot(stats, n, by)
            return [r | {"tottime": r["tottime"] / r["calls"]} for r in rows]
        """,
        "smallest first": """
            right_hot(stats, n, by)
            return right_hot(stats, 10**6, by)[::-1][:n]
        """,
        "all of them": """
            right_hot(stats, n, by)
            return right_hot(stats, 10**6, by)
        """,
        "not sorted": """
            right_hot(stats, n, by)
            rows = right_hot(stats, 10**6, by)
            order = [f[2] for f in stats.stats]
            return sorted(rows, key=lambda r: order.index(
                next(o for o in order if o in r["function"])))[:n]
        """,
        "equal ones by name": """
            rows = right_hot(stats, 10**6, by)
            right_hot(stats, n, by)
            return sorted(rows, key=lambda r: (-r[by], r["function"][::-1]))[:n]
        """,
        "builtins are left out": """
            rows = [row for row in right_hot(stats, 10**6, by) if ":" in row["function"]]
            right_hot(stats, n, by)
            return rows[:n]
        """,
        "n is not checked": """
            return right_hot(stats, n, by) if n > 0 else right_hot(stats, 10**6, by)[:n]
        """,
        "none is none": "return [] if n == 0 else right_hot(stats, n, by)",
        "empty is no error": "return right_hot(stats, n, by) if stats.stats else []",
        "by is not checked": """
            known = by in ("calls", "tottime", "cumtime")
            return right_hot(stats, n, by if known else "tottime")
        """,
    },
    **PASS_MUTANTS,
}
