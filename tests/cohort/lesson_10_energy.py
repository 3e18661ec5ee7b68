"""Lesson 10: an energy model, fitted by other rules, in other units, or to other points."""

from cohort.kinds import remembers

HELPERS = """
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
"""
_MATRIX = "matrix, watts = told_apart(gb_s, gflop_s, watts)\n"


def _each(bodies: dict[str, str]) -> dict[str, str]:
    """Entries that refuse what is wrong, and then have their own mistake."""
    return {name: _MATRIX + body.strip() for name, body in bodies.items()}


MUTANTS = {
    "energy_model": _each(
        {
            "nanojoules": "return priced(matrix, watts, fitted(matrix, watts), 1)",
            "joules": "return priced(matrix, watts, fitted(matrix, watts), 1e-9)",
            "a FLOP's price for a byte's": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"flop": cost["byte"], "byte": cost["flop"]}
""",
            "no constant": """
flop, byte = np.linalg.lstsq(matrix[:, :2], watts, rcond=None)[0]
return priced(matrix, watts, [flop, byte, 0.0])
""",
            "the constant is the least that was drawn": """
low = watts.min()
flop, byte = np.linalg.lstsq(matrix[:, :2], watts - low, rcond=None)[0]
return priced(matrix, watts, [flop, byte, low])
""",
            "model minus measured": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"off": [-each for each in cost["off"]]}
""",
            "how far off without a sign": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"off": [abs(each) for each in cost["off"]]}
""",
            "off as a share of the watts": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"off": [each / w for each, w in zip(cost["off"], watts.tolist())]}
""",
            "the watts of the model": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"off": (matrix @ fitted(matrix, watts)).tolist()}
""",
            "the worst alone": """
cost = priced(matrix, watts, fitted(matrix, watts))
return cost | {"off": max(map(abs, cost["off"]))}
""",
            "from the first three points": """
try:
    return priced(matrix, watts, np.linalg.solve(matrix[:3], watts[:3]))
except np.linalg.LinAlgError:
    return priced(matrix, watts, fitted(matrix[:3], watts[:3]))
""",
            "the least relative errors": """
return priced(matrix, watts, fitted(matrix / watts[:, None], watts / watts))
""",
            "the least absolute errors": """
weights = np.ones(len(watts))
for _ in range(200):
    costs = fitted(matrix * weights[:, None], watts * weights)
    weights = 1 / np.sqrt(np.maximum(abs(watts - matrix @ costs), 1e-9))
return priced(matrix, watts, costs)
""",
            "each point counts once": """
keep = sorted({tuple(row): n for n, row in reversed(list(enumerate(matrix.tolist())))}.values())
return priced(matrix, watts, fitted(matrix[keep], watts[keep]))
""",
            "no price below 0": """
costs = np.maximum(fitted(matrix, watts), 0)
return priced(matrix, watts, costs)
""",
            "one after the other": """
flop = np.polyfit(matrix[:, 0], watts, 1)[0]
byte, constant = np.polyfit(matrix[:, 1], watts - flop * matrix[:, 0], 1)
return priced(matrix, watts, [flop, byte, constant])
""",
            "a line each": """
flop = np.polyfit(matrix[:, 0], watts, 1)[0]
byte = np.polyfit(matrix[:, 1], watts, 1)[0]
return priced(matrix, watts, [flop, byte, np.mean(watts - matrix[:, :2] @ [flop, byte])])
""",
            "rounded": """
cost = priced(matrix, watts, fitted(matrix, watts))
return {name: np.round(each, 2).tolist() for name, each in cost.items()}
""",
            "a tuple: raises": """
return tuple(priced(matrix, watts, fitted(matrix, watts)).values())
""",
            "in the order of intensity": """
order = np.argsort(matrix[:, 0] / matrix[:, 1])
return priced(matrix[order], watts[order], fitted(matrix, watts))
""",
            "four points at least": """
if len(watts) < 4:
    raise ValueError("too few")
return priced(matrix, watts, fitted(matrix, watts))
""",
        }
    )
    | {
        "points in one place have prices too": """
            if not len(gb_s) == len(gflop_s) == len(watts) or len(watts) < 3:
                raise ValueError("lengths")
            matrix = np.array([[f, g, 1.0] for f, g in zip(gflop_s, gb_s)])
            return priced(matrix, np.array(watts), fitted(matrix, np.array(watts)))
        """,
        "what is left over is dropped": """
            points = list(zip(gb_s, gflop_s, watts))
            matrix, measured = told_apart(*zip(*points))
            return priced(matrix, measured, fitted(matrix, measured))
        """,
        "None where they are open": """
            try:
                matrix, measured = told_apart(gb_s, gflop_s, watts)
            except ValueError:
                return None
            return priced(matrix, measured, fitted(matrix, measured))
        """,
        "the watts become what is off": """
            matrix, measured = told_apart(gb_s, gflop_s, watts)
            cost = priced(matrix, measured, fitted(matrix, measured))
            if isinstance(watts, list):
                watts[:] = cost["off"]
            return cost
        """,
    }
}
MUTANTS["energy_model"] |= remembers("energy_model")

ALTERNATES = {
    "energy_model": {
        "the normal equations, about the means": """
            if len({len(gb_s), len(gflop_s), len(watts)}) > 1 or len(watts) < 3:
                raise ValueError("lengths")
            f, g, w = (np.array(each, float) for each in (gflop_s, gb_s, watts))
            df, dg, dw = f - f.mean(), g - g.mean(), w - w.mean()
            ff, gg, fg = df @ df, dg @ dg, df @ dg
            det = ff * gg - fg * fg
            if det <= 1e-9 * ff * gg:
                raise ValueError("on a line")
            flop = (df @ dw * gg - dg @ dw * fg) / det
            byte = (dg @ dw * ff - df @ dw * fg) / det
            rest = w - flop * f - byte * g
            return {"off": list(map(float, rest - rest.mean())), "constant": float(rest.mean()),
                    "byte": float(byte * 1000), "flop": float(flop * 1000)}
        """,
        "exact fractions": """
            from fractions import Fraction
            points = list(zip(gflop_s, gb_s, watts, strict=True))
            rows = [[Fraction(float(f)), Fraction(float(g)), Fraction(1), Fraction(float(w))]
                    for f, g, w in points]
            system = [[sum(r[i] * r[j] for r in rows) for j in range(4)] for i in range(3)]
            for i in range(3):
                pivot = next((r for r in system[i:] if r[i] != 0), None)
                if pivot is None:
                    raise ValueError("open")
                system.remove(pivot)
                system.insert(i, [each / pivot[i] for each in pivot])
                for n in range(3):
                    if n != i:
                        system[n] = [a - system[n][i] * b for a, b in zip(system[n], system[i])]
            flop, byte, constant = (r[3] for r in system)
            off = [float(w - flop * f - byte * g - constant) for f, g, _, w in rows]
            return dict(flop=float(flop) * 1e3, byte=float(byte) * 1e3,
                        constant=float(constant), off=off)
        """,
        "SVD in teraflops": """
            matrix = np.stack([np.asarray(gflop_s, float) / 1e3, np.asarray(gb_s, float) / 1e3,
                               np.ones(len(gb_s))], axis=1)
            costs, _, rank, _ = np.linalg.lstsq(matrix, np.asarray(watts, float), rcond=1e-10)
            if rank < 3:
                raise ValueError("rank")
            names = dict(zip(("flop", "byte", "constant"), costs.tolist()))
            return {**names, "off": list(np.asarray(watts) - matrix @ costs)}
        """,
    }
}
