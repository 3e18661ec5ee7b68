"""Lesson 05, mutants that read rows: top operations, traces, hot functions."""

MUTANTS = {
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
        "divides by 0: raises": """
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
        "a list: raises": "return right_trace(rows)['traceEvents']",
        "JSON already: raises": "return json.dumps(right_trace(rows))",
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
}
