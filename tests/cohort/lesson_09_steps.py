"""Lesson 09: what students leave in the slow step, and what they break while they mend it."""

from cohort.changed import mutants

FIXED_STEP = """
images, kept = state["images"], state.setdefault("pixels", {})
for name in batch:
    if name not in kept:
        kept[name] = images.read(name)
tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
labels = Tensor([images.label(name) for name in batch])
state["optimizer"].zero_grad()
loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
loss.backward()
state["optimizer"].step()
state["losses"].append(float(loss))
return float(loss)
"""

MUTANTS = {
    "fixed_step": mutants(
        FIXED_STEP,
        r"""
nothing is mended
-images, kept = state["images"], state.setdefault("pixels", {})
+return slow_training.slow_step(model, batch, state)
+images, kept = state["images"], state.setdefault("pixels", {})

loading is left as it was
-tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
+tokens = slow_training.load(images, batch)

the attention is left as it was
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+loss = F.cross_entropy(model(tokens, slow_training.attend), labels)

the list of losses is left as it was
-loss.backward()
+loss.backward(retain_graph=True)
-state["losses"].append(float(loss))
+state["losses"].append(loss)

the list keeps nodes
-state["losses"].append(float(loss))
+state["losses"].append(loss)

only loading is mended
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
-loss.backward()
+loss = F.cross_entropy(model(tokens, slow_training.attend), labels)
+loss.backward(retain_graph=True)
-state["losses"].append(float(loss))
+state["losses"].append(loss)

images are read again, and made tokens together
-    if name not in kept:
-        kept[name] = images.read(name)
+    kept[name] = images.read(name)

images are forgotten after each step
-state["losses"].append(float(loss))
+state["losses"].append(float(loss))
+kept.clear()

pixels are kept, and made tokens one by one
-tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
+tokens = stack([images.tokens(Tensor(kept[name])) for name in batch])

only the last batch is kept
-images, kept = state["images"], state.setdefault("pixels", {})
+images, kept = state["images"], state.setdefault("pixels", {})
+for name in [*kept]:
+    if name not in batch:
+        del kept[name]

all scores in float32, op by op
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+attend = lambda q, k, v: (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v
+loss = F.cross_entropy(model(tokens, attend), labels)

all scores in float32, from scaled queries
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+attend = lambda q, k, v: (q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)).softmax(-1) @ v
+loss = F.cross_entropy(model(tokens, attend), labels)

one op, in float64
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+def attend(*parts):
+    wide = [part.to(np.float64) for part in parts]
+    return F.scaled_dot_product_attention(*wide).to(np.float32)
+loss = F.cross_entropy(model(tokens, attend), labels)

an op for each image
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+def attend(*parts):
+    images = zip(*(part.unbind(0) for part in parts))
+    return stack([F.scaled_dot_product_attention(*each) for each in images])
+loss = F.cross_entropy(model(tokens, attend), labels)

the loss in float64
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention).to(np.float64), labels)

attention without its scale
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+attend = lambda *qkv: F.scaled_dot_product_attention(*qkv, scale=1.0)
+loss = F.cross_entropy(model(tokens, attend), labels)

attention that sees no later token
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+attend = lambda *qkv: F.scaled_dot_product_attention(*qkv, is_causal=True)
+loss = F.cross_entropy(model(tokens, attend), labels)

no attention at all
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+loss = F.cross_entropy(model(tokens, lambda q, k, v: v), labels)

nothing is learned
-state["optimizer"].step()

gradients add up
-state["optimizer"].zero_grad()

the loss after the step
-state["optimizer"].step()
+state["optimizer"].step()
+loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)

losses are not noted
-state["losses"].append(float(loss))
+pass

losses are noted twice
-state["losses"].append(float(loss))
+state["losses"].append(float(loss))
+state["losses"].append(float(loss))

the list holds the last loss alone
-state["losses"].append(float(loss))
+state["losses"][:] = [float(loss)]

the mean of the losses
-return float(loss)
+return sum(state["losses"]) / len(state["losses"])

the first batch, again and again
-tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
+tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
+batch, tokens = state.setdefault("first", (batch, tokens))

half of the batch
-images, kept = state["images"], state.setdefault("pixels", {})
+images, kept = state["images"], state.setdefault("pixels", {})
+batch = batch[::2]

labels in another order
-labels = Tensor([images.label(name) for name in batch])
+labels = Tensor([images.label(name) for name in sorted(batch)])

every batch's tokens are kept
-state["losses"].append(float(loss))
+state["losses"].append(float(loss))
+state.setdefault("seen", []).append(tokens)

the model's scores are kept with their graph
-loss = F.cross_entropy(model(tokens, F.scaled_dot_product_attention), labels)
+loss = F.cross_entropy(scores := model(tokens, F.scaled_dot_product_attention), labels)
-state["losses"].append(float(loss))
+state["losses"].append(float(loss))
+state.setdefault("seen", []).append(scores)

pixels are not made mean 0
-tokens = images.tokens(Tensor(np.stack([kept[name] for name in batch])))
+pixels = np.stack([kept[name] for name in batch])[:, ::4, ::4].reshape(-1, 64, 1)
+tokens = Tensor(pixels.astype(np.float32) / np.float32(240))

a Tensor comes back
-return float(loss)
+return loss
""",
    ),
}
