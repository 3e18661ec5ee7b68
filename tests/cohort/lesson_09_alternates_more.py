"""Lesson 09: more right solutions in unusual style: tiles, caches, the fixed step."""

ALTERNATES = {
    "merge": {
        "by the difference": """
            (a, s, u), (b, t, v) = one, two
            with np.errstate(invalid="ignore"):
                apart = np.where(a == b, 0, a - b).astype(a.dtype)
            left, right = np.exp(np.minimum(apart, 0)), np.exp(np.minimum(-apart, 0))
            return np.maximum(a, b), s * left + t * right, u * left[:, None] + v * right[:, None]
        """,
        "row by row": """
            found = [x.copy() for x in one]
            for row in range(len(one[0])):
                h, g = float(one[0][row]), float(two[0][row])
                top = max(h, g)
                if top == -math.inf:
                    continue
                p = 0.0 if h == -math.inf else math.exp(h - top)
                r = 0.0 if g == -math.inf else math.exp(g - top)
                found[0][row] = top
                found[1][row] = one[1][row] * p + two[1][row] * r
                found[2][row] = one[2][row] * p + two[2][row] * r
            return tuple(found)
        """,
        "stacked": """
            tops, totals, values = (np.stack(parts) for parts in zip(one, two))
            high = tops.max(axis=0)
            with np.errstate(invalid="ignore"):
                shrink = np.nan_to_num(np.exp(tops - high), nan=0.0)
            return high, (totals * shrink).sum(axis=0), (values * shrink[..., None]).sum(axis=0)
        """,
    },
    "tiled_attention": {
        "in float64, row by row": """
            if block_q < 1 or block_k < 1:
                raise ValueError("tiles")
            for low in range(0, memory.seq, block_q):
                q = np.array(memory.load("q", low, min(memory.seq, low + block_q)), np.float64)
                parts = [[] for _ in q]
                last = low + len(q) if causal else memory.seq
                for start in range(0, last, block_k):
                    end = min(start + block_k, memory.seq)
                    k = np.array(memory.load("k", start, end), np.float64)
                    v = np.array(memory.load("v", start, end), np.float64)
                    for row in range(len(q)):
                        seen = min(end, low + row + 1) - start if causal else end - start
                        if seen > 0:
                            scores = k[:seen] @ q[row] / memory.width**0.5
                            top = scores.max()
                            weights = np.exp(scores - top)
                            parts[row].append((top, weights.sum(), weights @ v[:seen]))
                out = []
                for pieces in parts:
                    top = max(piece[0] for piece in pieces)
                    total = sum(piece[1] * np.exp(piece[0] - top) for piece in pieces)
                    out.append(sum(piece[2] * np.exp(piece[0] - top) for piece in pieces) / total)
                memory.store("o", low, np.array(out))
        """,
        "float32 accumulators, whatever the arrays' type": """
            if min(block_q, block_k) < 1:
                raise ValueError("tiles")
            for low in range(0, memory.seq, block_q):
                high = min(low + block_q, memory.seq)
                q = memory.load("q", low, high).astype(np.float32)
                top = np.full(len(q), -np.inf, np.float32)
                total, mixed = np.zeros(len(q), np.float32), np.zeros_like(q)
                for start in range(0, high if causal else memory.seq, block_k):
                    end = min(start + block_k, memory.seq)
                    k = memory.load("k", start, end).astype(np.float32)
                    scores = q @ k.T / np.float32(math.sqrt(memory.width))
                    if causal:
                        scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
                    new = np.maximum(top, scores.max(axis=1))
                    weights, shrink = np.exp(scores - new[:, None]), np.exp(top - new)
                    v = memory.load("v", start, end).astype(np.float32)
                    total = total * shrink + weights.sum(axis=1)
                    mixed, top = mixed * shrink[:, None] + weights @ v, new
                memory.store("o", low, mixed / total[:, None])
        """,
        "keys from the last to the first": """
            if not (block_q >= 1 and block_k >= 1):
                raise ValueError("tiles")
            scale = np.float64(memory.width) ** -0.5
            for low in range(0, memory.seq, block_q):
                high = min(low + block_q, memory.seq)
                q = memory.load("q", low, high)
                state = None
                for start in reversed(range(0, high if causal else memory.seq, block_k)):
                    end = min(start + block_k, memory.seq)
                    v, k = memory.load("v", start, end), memory.load("k", start, end)
                    scores = np.einsum("ik,jk->ij", q, k) * scale
                    if causal:
                        later = np.subtract.outer(np.arange(low, high), np.arange(start, end)) < 0
                        scores = np.where(later, -np.inf, scores)
                    top = scores.max(axis=1, keepdims=True)
                    top = np.where(np.isfinite(top), top, -1e300)
                    weights = np.exp(scores - top)
                    tile = top, weights.sum(axis=1, keepdims=True), weights @ v
                    if state is not None:
                        new = np.maximum(state[0], top)
                        old, now = np.exp(state[0] - new), np.exp(top - new)
                        tile = new, state[1] * old + tile[1] * now, state[2] * old + tile[2] * now
                    state = tile
                memory.store("o", low, state[2] / state[1])
        """,
        "stored in halves, loaded in halves": """
            if min(block_q, block_k) < 1:
                raise ValueError("tiles")

            def load(name, low, high):
                middle = (low + high) // 2
                spans = [(low, middle), (middle, high)] if low < middle else [(low, high)]
                return np.concatenate([memory.load(name, *span) for span in spans])

            for low in range(0, memory.seq, block_q):
                high = min(low + block_q, memory.seq)
                q = load("q", low, high)
                top = np.full((len(q), 1), -np.inf)
                total, mixed = np.zeros((len(q), 1)), np.zeros((len(q), memory.width))
                for start in range(0, memory.seq, block_k):
                    if causal and start >= high:
                        break
                    end = min(start + block_k, memory.seq)
                    scores = q @ load("k", start, end).T / np.sqrt(memory.width)
                    scores = scores.astype(np.float64)
                    if causal:
                        scores += np.where(np.tri(high, end, dtype=bool)[low:, start:], 0, -np.inf)
                    best = np.maximum(top, scores.max(axis=1, keepdims=True))
                    shrink, weights = np.exp(top - best), np.exp(scores - best)
                    total = total * shrink + weights.sum(axis=1, keepdims=True)
                    mixed = mixed * shrink + weights @ load("v", start, end)
                    top = best
                middle = max(1, len(q) // 2)
                memory.store("o", low, (mixed / total)[:middle])
                if middle < len(q):
                    memory.store("o", low + middle, (mixed / total)[middle:])
        """,
    },
    "generation_flops": {
        "sums in closed form": """
            if not all(n >= 1 for n in (layers, d, vocab, prompt, new)):
                raise ValueError("sizes")
            lengths = [prompt + n for n in range(new)]
            tokens = [prompt] + [1] * (new - 1) if cached else lengths
            looked = sum(n * t for n, t in zip(tokens, lengths))
            return sum(tokens) * (layers * 24 * d**2 + 2 * d * vocab) + layers * 4 * d * looked
        """,
        "a pass at a time, by parts": """
            for number in (layers, d, vocab, prompt, new):
                if number < 1:
                    raise ValueError("sizes")
            done = products = 0
            for length in range(prompt, prompt + new):
                for token in range(done if cached else 0, length):
                    assert token < length
                    products += layers * 12 * d * d + d * vocab + layers * 2 * length * d
                done = length
            return 2 * products
        """,
        "by recursion": """
            if min((layers, d, vocab, prompt, new)) <= 0:
                raise ValueError("sizes")

            def work(n, t):
                return layers * (24 * n * d**2 + 4 * n * t * d) + 2 * n * d * vocab

            def rest(t, left):
                return work(1 if cached else t, t) + rest(t + 1, left - 1) if left else 0

            return work(prompt, prompt) + rest(prompt + 1, new - 1)
        """,
    },
    "paged_tokens": {
        "in numpy": """
            sizes = np.array(lengths)
            if sizes.size == 0 or sizes.min() <= 0 or page <= 0:
                raise ValueError("pages")
            return int(((sizes + page - 1) // page * page).sum())
        """,
        "by the remainder": """
            if page <= 0 or not len(lengths) or not all(length > 0 for length in lengths):
                raise ValueError("pages")
            total = 0
            for length in lengths:
                whole, rest = divmod(length, page)
                total += (whole + bool(rest)) * page
            return total
        """,
        "page by page": """
            if len(lengths) == 0 or any(n < 1 for n in lengths) or page < 1:
                raise ValueError("pages")
            return sum(len(range(0, n, page)) for n in lengths) * page
        """,
    },
    "fixed_step": {
        "tokens are kept, losses are detached": """
            images = state["images"]
            tokens = state.setdefault("tokens", {})
            for name in set(batch) - tokens.keys():
                tokens[name] = images.tokens(Tensor(images.read(name))).numpy()
            x = Tensor(np.array([tokens[name] for name in batch]))
            y = Tensor(np.array([images.label(name) for name in batch]))
            optimizer = state["optimizer"]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x, attend=F.scaled_dot_product_attention), y)
            loss.backward()
            optimizer.step()
            state["losses"].append(loss.detach())
            return loss.item()
        """,
        "threads read all images at the first step": """
            from concurrent.futures import ThreadPoolExecutor

            images = state["images"]
            if "coming" not in state:
                state["threads"] = ThreadPoolExecutor(2)
                names = [*batch, *sorted(set(images.names[:64]) - set(batch))]
                submit = state["threads"].submit
                state["coming"] = {name: submit(images.read, name) for name in names}
            coming = state["coming"]
            for name in batch:
                if name not in coming:
                    coming[name] = state["threads"].submit(images.read, name)
            pixels = np.stack([coming[name].result() for name in batch])
            labels = Tensor([images.label(name) for name in batch])
            for parameter in model.parameters():
                parameter.grad = None
            scores = model(images.tokens(Tensor(pixels)), F.scaled_dot_product_attention)
            loss = F.cross_entropy(scores, labels)
            loss.backward(retain_graph=True)
            state["optimizer"].step()
            state["losses"] += [float(loss)]
            return float(loss)
        """,
        "head by head, and pixels by numpy": """
            images = state["images"]
            if "table" not in state:
                state["table"] = np.zeros((len(images.names), 64, 1), np.float32)
                state["filled"] = set()
            places = [images.names.index(name) for name in batch]
            for place in set(places) - state["filled"]:
                pixels = images.read(images.names[place]).astype(np.float32)
                share = pixels.reshape(8, 4, 8, 4).mean(axis=(1, 3)) / slow_training.DARKEST
                state["table"][place, :, 0] = (share.ravel() - 0.305) / 0.376
                state["filled"].add(place)

            def heads(q, k, v):
                each = range(q.shape[1])
                return stack(
                    [F.scaled_dot_product_attention(q[:, h], k[:, h], v[:, h]) for h in each], 1
                )

            state["optimizer"].zero_grad()
            scores = model(Tensor(state["table"][places]), heads)
            loss = F.cross_entropy(scores, Tensor([images.label(name) for name in batch]))
            loss.backward()
            state["optimizer"].step()
            number = loss.detach().numpy().item()
            state["losses"].append(number)
            return number
        """,
        "an attention of one's own, tile by tile": """
            from proflab.autograd import Function

            images, known = state["images"], state.setdefault("known", {})
            known.update({n: images.read(n) for n in batch if n not in known})
            x = images.tokens(Tensor(np.stack([known[n] for n in batch])))

            class Tiles(Function):
                @staticmethod
                def forward(ctx, q, k, v):
                    a, b, c = (t.detach().numpy() for t in (q, k, v))
                    out = np.empty_like(a)
                    for low in range(0, a.shape[2], 16):
                        part = slice(low, low + 16)
                        scores = a[:, :, part] @ b.swapaxes(2, 3) * np.float32(a.shape[3] ** -0.5)
                        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
                        out[:, :, part] = weights / weights.sum(axis=3, keepdims=True) @ c
                    ctx.save_for_backward(q, k, v)
                    return Tensor(out)

                @staticmethod
                def backward(ctx, grad):
                    q, k, v = (t.detach().requires_grad_() for t in ctx.saved_tensors)
                    from proflab import enable_grad

                    with enable_grad():
                        y = F.scaled_dot_product_attention(q, k, v)
                    y.backward(grad)
                    return q.grad, k.grad, v.grad

            state["optimizer"].zero_grad()
            loss = F.cross_entropy(model(x, Tiles.apply), Tensor([images.label(n) for n in batch]))
            loss.backward()
            state["optimizer"].step()
            state["losses"].append(float(loss))
            return float(loss)
        """,
    },
}
