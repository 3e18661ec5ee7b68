"""Lesson 11: what students get wrong when they mend a training loop, and unusual right loops."""

from cohort.edits import edited

LOOP = """
losses = []
weights = torch.as_tensor(clips.weights, device=device)
padded = partial(clips.pad, length=clips.longest, to=torch.as_tensor)
data = torch.utils.data.DataLoader(
    clips, batch_size=batch, collate_fn=padded, pin_memory=True, num_workers=4)
for x, y in data:
    x, y = (each.to(device, non_blocking=True) for each in (x, y))
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y, weight=weights)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
return [float(loss) for loss in losses]
"""

_KEEP = "losses.append(loss.detach())"
_LENGTH = "partial(clips.pad, length=clips.longest, to=torch.as_tensor)"
_WEIGHTS = "weights = torch.as_tensor(clips.weights, device=device)\n"
_RETURN = "return [float(loss) for loss in losses]"

MUTANTS = {
    "train_epoch": edited(
        LOOP,
        {
            "a number is read in each step": (_KEEP, "losses.append(loss.item())"),
            "a float in each step": (_KEEP, "losses.append(float(loss))"),
            "to the host in each step": (_KEEP, "losses.append(loss.detach().cpu())"),
            "the loss is printed in each step": (_KEEP, f"str(loss); {_KEEP}"),
            "every other step is read": (
                _KEEP,
                "losses.append(loss.detach())\n    if len(losses) % 2 == 0:\n        loss.item()",
            ),
            "the loss of the step before is read": (
                _KEEP,
                "losses.append(loss.detach())\n    if len(losses) > 1:\n"
                "        losses[-2] = float(losses[-2])",
            ),
            "it waits for the card in each step": (_KEEP, f"torch.cuda.synchronize(); {_KEEP}"),
            "the weights are sent in each step": (
                _WEIGHTS,
                "",
                "    optimizer.zero_grad()\n",
                f"    {_WEIGHTS}    optimizer.zero_grad()\n",
            ),
            "the weights are made once, and sent in each step": (
                "torch.as_tensor(clips.weights, device=device)",
                "torch.as_tensor(clips.weights)",
                "weight=weights)",
                "weight=weights.to(device))",
            ),
            "the weights stay on the host: raises": (
                "torch.as_tensor(clips.weights, device=device)",
                "torch.as_tensor(clips.weights)",
            ),
            "all classes weigh the same": (", weight=weights", ""),
            "weights of ones": (
                "torch.as_tensor(clips.weights, device=device)",
                "torch.ones(len(clips.weights), device=device)",
            ),
            "the weights of an earlier run": (
                _WEIGHTS,
                "if '_kept_weights' not in globals():\n"
                "    globals()['_kept_weights'] = clips.weights\n"
                "weights = torch.as_tensor(_kept_weights, device=device)\n",
            ),
            "copies from pageable memory": (", pin_memory=True", ""),
            "copies from pageable memory, said to be queued": (
                "pin_memory=True",
                "pin_memory=False",
            ),
            "pinned, and waited for": (", non_blocking=True", ""),
            "x alone is queued": (
                "(each.to(device, non_blocking=True) for each in (x, y))",
                "x.to(device, non_blocking=True), y.to(device)",
            ),
            "the loader is to pin arrays": (
                ", to=torch.as_tensor)",
                ")",
                "each.to(device",
                "torch.from_numpy(each).to(device",
            ),
            "neither pinned nor queued": (
                ", pin_memory=True",
                "",
                ", non_blocking=True",
                "",
            ),
            "each batch has a length of its own": (
                _LENGTH,
                "partial(clips.pad, to=torch.as_tensor)",
            ),
            "a length that fits the example": (
                _LENGTH,
                "partial(clips.pad, length=40, to=torch.as_tensor)",
            ),
            "clips are cut to the shortest": (
                _LENGTH,
                "lambda samples: clips.pad([(clip[:min(clips.lengths)], label) "
                "for clip, label in samples], None, torch.as_tensor)",
            ),
            "a batch is padded to a multiple of 16": (
                _LENGTH,
                "lambda s: clips.pad(s, -(-max(len(c) for c, _ in s) // 16) * 16, torch.as_tensor)",
            ),
            "a batch of one": ("batch_size=batch", "batch_size=1"),
            "batches of four": ("batch_size=batch", "batch_size=4"),
            "the clips are read in the loop": (", num_workers=4", ""),
            "no workers, said": ("num_workers=4", "num_workers=0"),
            "all clips are read before the loop": ("clips, batch_size", "list(clips), batch_size"),
            "clips are read for their lengths": (
                "length=clips.longest",
                "length=max(len(clip) for clip, _ in clips)",
            ),
            "shuffled": ("num_workers=4", "num_workers=4, shuffle=True"),
            "the last batch is dropped": ("num_workers=4", "num_workers=4, drop_last=True"),
            "gradients are summed over steps": ("    optimizer.zero_grad()\n", ""),
            "no steps": ("    optimizer.step()\n", ""),
            "steps before their gradients": (
                "    loss.backward()\n    optimizer.step()\n",
                "    optimizer.step()\n    loss.backward()\n",
            ),
            "every other batch": (
                "    optimizer.zero_grad()\n",
                "    if len(losses) % 2:\n        losses.append(losses[-1])\n        continue\n"
                "    optimizer.zero_grad()\n",
            ),
            "losses are left out": (_KEEP, "losses = [loss.detach()]"),
            "the mean": (_RETURN, "return float(sum(losses)) / len(losses)"),
            "running means": (
                _RETURN,
                "found = [float(loss) for loss in losses]\n"
                "return [sum(found[:n]) / n for n in range(1, len(found) + 1)]",
            ),
            "losses stay on the card": (_RETURN, "return losses"),
            "rounded to two decimals": (
                _RETURN,
                "return [round(float(loss), 2) for loss in losses]",
            ),
            "losses after the step": (
                _KEEP,
                "losses.append(torch.nn.functional.cross_entropy("
                "model(x), y, weight=weights).detach())",
            ),
            "none is returned": (_RETURN, "return []"),
        },
    )
}

ALTERNATES = {
    "train_epoch": {
        "numbers are read when all is done": LOOP,
        "threads read ahead": """
            from concurrent.futures import ThreadPoolExecutor

            def read(first):
                numbers = range(first, min(first + batch, len(clips)))
                return clips.pad([clips[n] for n in numbers], clips.longest)

            weight, losses = torch.tensor(clips.weights, device=device), []
            with ThreadPoolExecutor(2) as pool:
                for x, y in pool.map(read, range(0, len(clips), batch)):
                    x, y = (torch.tensor(each).pin_memory() for each in (x, y))
                    x, y = x.to(device, non_blocking=True), y.cuda(non_blocking=True)
                    loss = torch.nn.functional.cross_entropy(model(x), y, weight)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.detach())
            return torch.stack(losses).cpu().tolist()
        """,
        "losses are kept in a tensor on the card": """
            F, DataLoader = torch.nn.functional, torch.utils.data.DataLoader

            def equal(samples):
                return [torch.as_tensor(each) for each in clips.pad(samples, clips.longest)]

            data = DataLoader(clips, batch, False, num_workers=1, collate_fn=equal,
                              pin_memory=True, persistent_workers=True, prefetch_factor=4)
            kept = torch.zeros(len(data), device=device)
            weights = torch.tensor(clips.weights).to(device, non_blocking=True)
            for number, (x, y) in enumerate(data):
                x = x.to(device, non_blocking=True)
                y = y.to(device, non_blocking=True)
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(x), y, weight=weights)
                loss.backward()
                optimizer.step()
                kept[number] = loss.detach()
            return kept.tolist()
        """,
        "zeros are put behind on the card": """
            length, losses = clips.longest, []
            weights = torch.tensor(clips.weights).cuda()
            for x, y in torch.utils.data.DataLoader(
                    dataset=clips, batch_size=batch, num_workers=3, pin_memory=True,
                    collate_fn=partial(clips.pad, to=torch.from_numpy)):
                x = x.to(device, non_blocking=True)
                x = torch.nn.functional.pad(x, (0, 0, 0, length - x.shape[1]))
                loss = torch.nn.functional.cross_entropy(
                    model(x), y.to(device, non_blocking=True), weight=weights)
                optimizer.zero_grad()
                loss.backward()
                with torch.no_grad():
                    losses.append(loss * 1)
                optimizer.step()
            return torch.cat([loss.reshape(1) for loss in losses]).tolist()
        """,
    }
}
