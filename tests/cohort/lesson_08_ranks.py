"""Lesson 08: what students get wrong about turns and about exact ranks."""

MUTANTS = {
    "run_order": {
        "each round goes forwards": "some_names(names, rounds)\nreturn list(names) * rounds",
        "all calls of one, then of the next": """
            some_names(names, rounds)
            return [name for name in names for _ in range(rounds)]
        """,
        "shuffled": """
            some_names(names, rounds)
            import random
            order = list(names) * rounds
            random.Random(1).shuffle(order)
            return order
        """,
        "backwards first": """
            some_names(names, rounds)
            return [*names[::-1], *names] * (rounds // 2)
        """,
        "twice as many rounds": "some_names(names, rounds)\nreturn [*names, *names[::-1]] * rounds",
        "the turning one only once": """
            some_names(names, rounds)
            return ([*names, *names[::-1][1:]] * rounds)[: len(names) * rounds]
        """,
        "the names are reversed in place": """
            some_names(names, rounds)
            order = []
            for _ in range(rounds):
                order += names
                names.reverse()
            if rounds % 4:
                names.append(names.pop())
            names.sort(reverse=True)
            return order
        """,
        "rounds may be odd": """
            if not names or len(set(names)) < len(names) or rounds < 2:
                raise ValueError("names and rounds")
            return [n for at in range(rounds) for n in (names if at % 2 == 0 else names[::-1])]
        """,
        "no rounds are allowed": """
            if not names or len(set(names)) < len(names) or rounds % 2:
                raise ValueError("names and rounds")
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "a name may be there twice": """
            if not names or rounds < 2 or rounds % 2:
                raise ValueError("names and rounds")
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "no names are allowed": """
            if len(set(names)) < len(names) or rounds < 2 or rounds % 2:
                raise ValueError("names and rounds")
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "a list for each round": """
            some_names(names, rounds)
            return [list(names), list(names[::-1])] * (rounds // 2)
        """,
        "the visible answers, written in": """
            some_names(names, rounds)
            known = {
                ("a", "b", "c"): list("abccba"),
                ("new", "old"): ["new", "old", "old", "new"] * 2,
            }
            if tuple(names) in known:
                return known[tuple(names)]
            return list(names) * rounds if len(names) < 2 else list("abcddcba") * 3
        """,
    },
    "rank_test": {
        "one-sided": """
            at_most_20(a, b)
            return test_by(a, b, mid_ranks(a, b), lambda t, s, m: t <= s if s <= m else t >= s)
        """,
        "one-sided, twice": """
            at_most_20(a, b)
            ranks = mid_ranks(a, b)
            low = test_by(a, b, ranks, lambda t, s, m: t <= s)
            high = test_by(a, b, ranks, lambda t, s, m: t >= s)
            return low | {"p": min(1.0, 2 * min(low["p"], high["p"]))}
        """,
        "the normal approximation": """
            at_most_20(a, b)
            n, m = len(a), len(b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            z = abs(found["u"] - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
            return found | {"p": math.erfc(z / math.sqrt(2))}
        """,
        "ordinal ranks on ties": """
            at_most_20(a, b)
            pooled = [*a, *b]
            order = sorted(range(len(pooled)), key=lambda at: pooled[at])
            ranks = [0] * len(pooled)
            for place, at in enumerate(order):
                ranks[at] = 2 * (place + 1)
            return test_by(a, b, ranks, two_sided)
        """,
        "the smallest rank on ties": """
            at_most_20(a, b)
            pooled = [*a, *b]
            return test_by(a, b, [2 * sum(y < x for y in pooled) + 2 for x in pooled], two_sided)
        """,
        "more extreme, without equal": """
            at_most_20(a, b)
            further = lambda t, s, m: abs(t - m) > abs(s - m)
            return test_by(a, b, mid_ranks(a, b), further)
        """,
        "equally extreme only": """
            at_most_20(a, b)
            return test_by(a, b, mid_ranks(a, b), lambda t, s, m: abs(t - m) == abs(s - m))
        """,
        "u of the other side": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"u": len(a) * len(b) - found["u"]}
        """,
        "the smaller u of both": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"u": min(found["u"], len(a) * len(b) - found["u"])}
        """,
        "the rank sum as u": """
            at_most_20(a, b)
            ranks = mid_ranks(a, b)
            return test_by(a, b, ranks, two_sided) | {"u": sum(ranks[: len(a)]) / 2}
        """,
        "ties are not counted": """
            at_most_20(a, b)
            u = float(sum(x > y for x in a for y in b))
            return test_by(a, b, mid_ranks(a, b), two_sided) | {
                "u": u,
                "smaller": 1 - u / len(a) / len(b),
            }
        """,
        "the share that is larger": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"smaller": found["u"] / (len(a) * len(b))}
        """,
        "a share of all pairs of times": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"smaller": 1 - found["u"] / math.comb(len(a) + len(b), 2)}
        """,
        "the p of a t test's normal tail": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            gap = abs(np.mean(a) - np.mean(b))
            spread = math.sqrt(np.var(a) / len(a) + np.var(b) / len(b))
            return found | {"p": math.erfc(gap / spread / math.sqrt(2)) if spread else 1.0}
        """,
        "random choices instead of all": """
            at_most_20(a, b)
            ranks, n = mid_ranks(a, b), len(a)
            middle, rng = n * (n + len(b) + 1), np.random.default_rng(0)
            sums = [rng.permutation(ranks)[:n].sum() for _ in range(300)]
            p = float(np.mean(np.abs(np.array(sums) - middle) >= abs(sum(ranks[:n]) - middle)))
            return test_by(a, b, ranks, two_sided) | {"p": p}
        """,
        "21 are allowed": """
            if not a or not b or len(a) > 21 or len(b) > 21:
                raise ValueError("1 to 20 each")
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "an empty list gives p = 1": """
            if len(a) > 20 or len(b) > 20:
                raise ValueError("1 to 20 each")
            if not a or not b:
                return {"u": 0.0, "p": 1.0, "smaller": 0.5}
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "only a is checked": """
            if not 1 <= len(a) <= 20 or not b:
                raise ValueError("1 to 20 each")
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "the lists are sorted in place": """
            at_most_20(a, b)
            a.sort()
            b.sort()
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "both sides are taken to be as long": """
            at_most_20(a, b)
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"smaller": 1 - found["u"] / len(a) ** 2}
        """,
    },
}
