"""Lesson 02: what counters of a backward pass, or of a training step, get wrong."""

MUTANTS = {
    "gradient_flops": {
        "twice the forward": "return 2 * op_flops(op, shapes, attributes)",
        "three times the forward": "return 3 * op_flops(op, shapes, attributes)",
        "once, if anything is wanted": "return any(wanted) * op_flops(op, shapes, attributes)",
        "once": "return op_flops(op, shapes, attributes)",
        "a bias has a product of its own": """
            return sum(wanted) * op_flops(op, shapes, attributes)
        """,
        "fused attention has two operands": """
            return sum(wanted[:2]) * op_flops(op, shapes, attributes)
        """,
        "fused attention has three": """
            if op.startswith("scaled"):
                return sum(wanted[:3]) * op_flops(op, shapes, attributes)
            return right_gradient_flops(op, shapes, attributes, wanted)
        """,
        "fused attention is twice the forward": """
            if op.startswith("scaled"):
                return 2 * any(wanted) * op_flops(op, shapes, attributes)
            return right_gradient_flops(op, shapes, attributes, wanted)
        """,
        "the scores are computed again": """
            count = right_gradient_flops(op, shapes, attributes, wanted)
            if op.startswith("scaled") and any(wanted):
                count += op_flops("matmul", as_matmuls(shapes)[0], {})
            return count
        """,
        "a learned mask is forgotten": """
            return right_gradient_flops(op, shapes, attributes, wanted[:3])
        """,
        "a grouped weight's gradient is not divided": """
            count = right_gradient_flops(op, shapes, attributes, wanted)
            if op == "conv2d" and wanted[1]:
                count += (attributes["groups"] - 1) * op_flops(op, shapes, attributes)
            return count
        """,
        "unknown ops are nothing": """
            try:
                return right_gradient_flops(op, shapes, attributes, wanted)
            except NotImplementedError:
                return 0
        """,
    },
    "backward_flops": {
        "twice the forward": """
            if isinstance(model, Tensor):
                return 0
            return 2 * count_flops(model, input_shape, per_sample)
        """,
        "three times the forward": "return 3 * count_flops(model, input_shape, per_sample)",
        "as the forward": """
            if isinstance(model, Tensor):
                return 0
            return count_flops(model, input_shape, per_sample)
        """,
        "frozen parameters count": """
            if isinstance(model, Tensor):
                return 0
            calls = walked(model, input_shape, input_grad, per_sample)
            return sum(gradients_of(c, [c.inputs[0].requires_grad] + [True] * 9) for c in calls)
        """,
        "weights alone": """
            if isinstance(model, Tensor):
                return 0
            calls = walked(model, input_shape, input_grad, per_sample)
            wanted = [[False] + [t.requires_grad for t in c.inputs[1:]] for c in calls]
            return sum(gradients_of(c, w) for c, w in zip(calls, wanted))
        """,
        "the input's gradient always counts": """
            return right_backward_flops(model, input_shape, True, per_sample)
        """,
        "the input's gradient never counts": """
            return right_backward_flops(model, input_shape, False, per_sample)
        """,
        "always per sample": "return right_backward_flops(model, input_shape, input_grad)",
        "the batch always counts": """
            return right_backward_flops(model, input_shape, input_grad, False)
        """,
        "each call once": """
            if isinstance(model, Tensor):
                return 0
            return sum(map(flops_of, walked(model, input_shape, input_grad, per_sample)))
        """,
        "fused attention is nothing": """
            if isinstance(model, Tensor):
                return 0
            calls = walked(model, input_shape, input_grad, per_sample)
            return sum(gradients_of(c) for c in calls if not c.op.startswith("scaled"))
        """,
        "grouped convolutions as if they were not": """
            if isinstance(model, Tensor):
                return 0
            calls = walked(model, input_shape, input_grad, per_sample)
            return sum(gradients_of(c) * c.attributes.get("groups", 1) for c in calls)
        """,
        "a Tensor counts": """
            if isinstance(model, Tensor):
                return model.numel()
            return right_backward_flops(model, input_shape, input_grad, per_sample)
        """,
        "products that no output needs": """
            if isinstance(model, Tensor):
                return 0
            total = 0
            def hook(call):
                nonlocal total
                result = call()
                out = result[0] if isinstance(result, tuple) else result
                if out.requires_grad:
                    total += gradients_of(call)
                return result
            with dispatch.hook(hook):
                model(*meta_inputs(model, input_shape, per_sample, input_grad))
            return total
        """,
        "gradients are left behind": """
            if isinstance(model, Tensor):
                return 0
            made = meta_inputs(model, input_shape, per_sample, input_grad)
            for tensor in tensors_in(model(*made)):
                if tensor.requires_grad:
                    tensor.sum().backward()
            return right_backward_flops(model, input_shape, input_grad, per_sample)
        """,
        "frozen parameters are set free": """
            if isinstance(model, nn.Module):
                for p in model.parameters():
                    p.requires_grad = True
            return right_backward_flops(model, input_shape, input_grad, per_sample)
        """,
    },
    "training_flops": {
        "three times the forward": "return 3 * count_flops(model, input_shape, per_sample)",
        "backward alone": "return backward_flops(model, input_shape, input_grad, per_sample)",
        "forward alone": "return count_flops(model, input_shape, per_sample)",
        "forward twice": """
            backward = backward_flops(model, input_shape, input_grad, per_sample)
            return 2 * count_flops(model, input_shape, per_sample) + backward
        """,
        "the input's gradient is ignored": """
            forward = count_flops(model, input_shape, per_sample)
            return forward + backward_flops(model, input_shape, False, per_sample)
        """,
        "the input's gradient always counts": """
            forward = count_flops(model, input_shape, per_sample)
            return forward + backward_flops(model, input_shape, True, per_sample)
        """,
        "always per sample": """
            forward = count_flops(model, input_shape)
            return forward + backward_flops(model, input_shape, input_grad)
        """,
        "the batch always counts": """
            forward = count_flops(model, input_shape, False)
            return forward + backward_flops(model, input_shape, input_grad, False)
        """,
        "per_sample and input_grad mixed up": """
            forward = count_flops(model, input_shape, per_sample)
            return forward + backward_flops(model, input_shape, per_sample, input_grad)
        """,
        "a model with an unknown op is nothing": """
            try:
                forward = count_flops(model, input_shape, per_sample)
                return forward + backward_flops(model, input_shape, input_grad, per_sample)
            except NotImplementedError:
                return 0
        """,
    },
}
