"""Lesson 09: what students get wrong about softmax in pieces."""

from cohort.changed import mutants

MERGE = """
high = np.maximum(one[0], two[0])
base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
first, second = np.exp(one[0] - base), np.exp(two[0] - base)
total = one[1] * first + two[1] * second
values = one[2] * first[:, None] + two[2] * second[:, None]
return high, total, values
"""

MUTANTS = {
    "merge": mutants(
        MERGE,
        r"""
the first is not rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.ones_like(high), np.exp(two[0] - base)

the second is not rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0] - base), np.ones_like(high)

neither is rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.ones_like(high), np.ones_like(high)

the total is not rescaled
-total = one[1] * first + two[1] * second
+total = one[1] + two[1]

the values are not rescaled
-values = one[2] * first[:, None] + two[2] * second[:, None]
+values = one[2] + two[2]

weights that overflow
-base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0]) / np.exp(high), np.exp(two[0]) / np.exp(high)

minus infinity less minus infinity
-base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
+base = high

the lower one's scale
-high = np.maximum(one[0], two[0])
+high = np.minimum(one[0], two[0])

highest scores are added
-return high, total, values
+return one[0] + two[0], total, values

the first's highest score
-return high, total, values
+return one[0], total, values

the second's highest score
-return high, total, values
+return two[0], total, values

one highest score for all rows
-high = np.maximum(one[0], two[0])
+high = np.full_like(one[0], max(one[0].max(), two[0].max()))

shrunk the wrong way
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(base - one[0]), np.exp(base - two[0])

powers of two
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp2(one[0] - base), np.exp2(two[0] - base)

the first by the second's weight
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(two[0] - base), np.exp(one[0] - base)

values are divided already
-return high, total, values
+return high, total, values / np.where(total == 0, 1, total)[:, None]

only the higher block counts
-return high, total, values
+mine = one[0] >= two[0]
+return high, np.where(mine, one[1], two[1]), np.where(mine[:, None], one[2], two[2])

of equal ones the second is lost
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0] - base), np.exp(two[0] - base) * (one[0] != two[0])

float64 comes back
-return high, total, values
+return high, total.astype(np.float64), values

float32 comes back
-return high, total, values
+return tuple(item.astype(np.float32) for item in (high, total, values))

highest of no scores is 0
-return high, total, values
+return base, total, values

far apart is cut off
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = (np.exp(np.maximum(x - base, -10)) for x in (one[0], two[0]))

in place
-total = one[1] * first + two[1] * second
+one[1][:] *= first
+total = one[1] + two[1] * second

the mean of the values
-values = one[2] * first[:, None] + two[2] * second[:, None]
+values = (one[2] * first[:, None] + two[2] * second[:, None]) / 2
""",
    ),
}
