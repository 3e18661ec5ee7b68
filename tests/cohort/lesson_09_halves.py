"""Lesson 09: what students get wrong about half precision and the scale of the loss."""

from cohort.changed import mutants

HALF_GRADIENTS = """
if not scale > 0:
    raise ValueError("the scale")
scale = np.float32(scale)
with np.errstate(all="ignore"):
    half = (gradients * scale).astype(np.float16)
if not np.isfinite(half).all():
    return None
return half.astype(np.float32) / scale
"""

SCALE_AFTER = """
if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
    raise ValueError("out of range")
scales, good = [], 0
for overflow in overflows:
    if overflow:
        scale *= backoff
        good = 0
    else:
        good += 1
        if good == interval:
            scale *= growth
            good = 0
    scales.append(scale)
return scales
"""

MUTANTS = {
    "half_gradients": mutants(
        HALF_GRADIENTS,
        r"""
divided in float16
-return half.astype(np.float32) / scale
+return (half / np.float16(scale)).astype(np.float32)

clipped to the largest number
-    half = (gradients * scale).astype(np.float16)
+    half = np.clip(gradients * scale, -65504, 65504).astype(np.float16)

only NaN is looked for
-if not np.isfinite(half).all():
+if np.isnan(half).any():

only infinity is looked for
-if not np.isfinite(half).all():
+if np.isinf(half).any():

only positive infinity
-if not np.isfinite(half).all():
+if np.isposinf(half).any() or np.isnan(half).any():

None only where all overflow
-if not np.isfinite(half).all():
+if not np.isfinite(half).any():

not divided
-return half.astype(np.float32) / scale
+return half.astype(np.float32)

not multiplied
-    half = (gradients * scale).astype(np.float16)
+    half = gradients.astype(np.float16)

scaled after rounding
-    half = (gradients * scale).astype(np.float16)
+    half = gradients.astype(np.float16).astype(np.float32) * scale

scaled in float16
-    half = (gradients * scale).astype(np.float16)
+    half = gradients.astype(np.float16) * np.float16(scale)

multiplied twice
-return half.astype(np.float32) / scale
+return half.astype(np.float32) * scale

float16 comes back
-return half.astype(np.float32) / scale
+return (half.astype(np.float32) / scale).astype(np.float16)

float64 comes back
-return half.astype(np.float32) / scale
+return half.astype(np.float64) / scale

in place
-    half = (gradients * scale).astype(np.float16)
+    gradients *= scale
+    half = gradients.astype(np.float16)

the largest number overflows: raises
-if not np.isfinite(half).all():
+if not np.isfinite(half).all() or abs(half).max() >= 65504:

zeros instead of None
-    return None
+    return np.zeros_like(gradients)

what overflows is 0
-    return None
+    half[~np.isfinite(half)] = 0

an exception instead of None: raises
-    return None
+    raise OverflowError(scale)

cut off, not rounded
-    half = (gradients * scale).astype(np.float16)
+    bits = (gradients * scale).view(np.uint32) & np.uint32(0xFFFFE000)
+    half = bits.view(np.float32).astype(np.float16)

below the smallest normal number all is 0
-    return None
+    return None
+half[abs(half) < 6.1e-5] = 0

None where something becomes 0: raises
-if not np.isfinite(half).all():
+if not np.isfinite(half).all() or ((half == 0) & (gradients != 0)).any():

not rounded at all
-return half.astype(np.float32) / scale
+return gradients.copy()

a scale of 0
-if not scale > 0:
+if scale < 0:

a negative scale
-if not scale > 0:
+if scale == 0:

one row
-return half.astype(np.float32) / scale
+return half.astype(np.float32).ravel() / scale
""",
    ),
    "scale_after": mutants(
        SCALE_AFTER,
        r"""
growing does not restart the count
-            good = 0

growing again at every later step
-        if good == interval:
+        if good >= interval:
-            good = 0

an overflow does not restart the count
-        good = 0

after one step more
-        if good == interval:
+        if good == interval + 1:

after one step less
-        if good == interval:
+        if good == max(1, interval - 1):

the scale before each step
-for overflow in overflows:
+for overflow in overflows:
+    scales.append(scale)

every so many steps
-        if good == interval:
+        if (len(scales) + 1) % interval == 0:

always a half
-        scale *= backoff
+        scale *= 0.5

always doubled
-            scale *= growth
+            scale *= 2

growth is added
-            scale *= growth
+            scale += growth

divided by backoff
-        scale *= backoff
+        scale /= backoff

never below 1
-        scale *= backoff
+        scale = max(1.0, scale * backoff)

never above the first
-scales, good = [], 0
+scales, good, first = [], 0, scale
-            scale *= growth
+            scale = min(first, scale * growth)

back to the first
-scales, good = [], 0
+scales, good, first = [], 0, scale
-        scale *= backoff
+        scale = first * backoff

an overflow counts as a good step
-        good = 0
+        good = 1

only the last
-return scales
+return scales[-1:]

only where it changes
-    scales.append(scale)
+    if not scales or scale != scales[-1]:
+        scales.append(scale)

with the first
-scales, good = [], 0
+scales, good = [scale], 0

whole numbers
-        scale *= backoff
+        scale = int(scale * backoff)

any growth
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale <= 0 or not 0 < backoff < 1 or interval < 1:

growth of 1
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale <= 0 or growth < 1 or not 0 < backoff < 1 or interval < 1:

backoff of 1
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale <= 0 or growth <= 1 or not 0 < backoff <= 1 or interval < 1:

backoff of 0
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale <= 0 or growth <= 1 or not 0 <= backoff < 1 or interval < 1:

an interval of 0
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 0:

a scale of 0
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if scale < 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:

there must be steps
-if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
+if not overflows or scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
""",
    ),
}
