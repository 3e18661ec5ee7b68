"""Lesson 10: limits of one's own, arguments that are changed, results of an earlier call.

`solved_NAME` is the right solution, from HELPERS of lesson_10_kinds or from here.
"""

HELPERS = "".join(
    f"solved_{name} = {name}\n" for name in ("warp_sectors", "bank_conflicts", "occupancy")
)


def _kept(name: str) -> str:
    """Return a solution that looks only at its first argument the second time."""
    return (
        f"def {name}(first, *args, **kwargs):\n"
        f"    kept = globals().setdefault('kept_{name}', {{}})\n"
        f"    if repr(first) not in kept:\n"
        f"        kept[repr(first)] = solved_{name}(first, *args, **kwargs)\n"
        f"    return kept[repr(first)]"
    )


MUTANTS = {
    "warp_sectors": {
        "the addresses are sorted": """
            found = solved_warp_sectors(addresses, itemsize)
            addresses.sort()
            return found
        """,
    },
    "bank_conflicts": {
        "the words lose what comes again": """
            found = solved_bank_conflicts(words)
            words[:] = sorted(set(words))
            return found
        """,
    },
    "occupancy": {
        "registers of the threads that were asked for": """
            if threads % 32 and threads > 0 and registers > 0:
                need = threads * math.ceil(registers / 8) * 8
                places = math.ceil(threads / 32) * 32
                blocks = min(card["blocks"], card["threads"] // places, card["registers"] // need)
                blocks = min(blocks, card["shared"] // shared) if shared > 0 else blocks
                return blocks * places / card["threads"]
            return solved_occupancy(threads, registers, shared, card)
        """,
        "what the card has room for becomes less": """
            found = solved_occupancy(threads, registers, shared, card)
            card["threads"] -= threads
            return found
        """,
    },
    "events_to_ms": {
        "at most ten launches are dropped": """
            if len(events) > 50:
                events = events[math.ceil(len(events) / 5) - 10:] + events[-10:]
                kept = [end - start for start, end in events]
                return min(kept) if reduce == "best" else float(np.median(kept[10:]))
            return solved_events_to_ms(events, reduce)
        """,
        "the warm-up is taken off the list": """
            found = solved_events_to_ms(events, reduce)
            del events[:1]
            return found
        """,
    },
    "ceilings": {
        "the document loses its rows": """
            found = solved_ceilings(document)
            for row in document["rows"].get("stream", []):
                row["events"] = row["events"][:1]
            return found
        """,
    },
    "place": {
        "kept from an earlier call with this workload": _kept("place").replace("first", "workload"),
        "the workload gets what was found": """
            found = solved_place(workload, roofs)
            workload.update(found)
            return found
        """,
    },
    "crossover": {
        "kept from an earlier call with these sizes": _kept("crossover"),
        "sizes become logarithms": """
            found = solved_crossover(sizes, cpu_ms, gpu_ms)
            if isinstance(sizes, list):
                sizes[:] = [math.log(size) for size in sizes]
            return found
        """,
    },
    "reflect_launch": {
        "counts are sorted": """
            found = solved_reflect_launch(counts, total_ms)
            if isinstance(counts, list):
                counts.sort()
            return found
        """,
    },
    "reflect_speedup": {
        "a speed-up below 0 is turned round": """
            return solved_reflect_speedup(abs(speedup), gpu_peak, cpu_peak)
        """,
    },
}
