"""Lesson 05, mutants of what is known of one op: its bytes, its facts."""

MUTANTS = {
    "op_bytes": {
        "inputs are read as often as they are there": """
            read, made = sized(reading(call)), bytes_by_memory(present(result))
            written = right_op_bytes(call, result)[1]
            return (sum(read.values()), written) if written else (0, 0)
        """,
        "views read": """
            read = bytes_by_memory(reading(call))
            return sum(read.values()), right_op_bytes(call, result)[1]
        """,
        "views write": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            return right_op_bytes(call, result)[0], sum(made.values())
        """,
        "the whole table is read": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            return moved(call, result, read, made, table=False)
        """,
        "a look-up reads no indices": """
            read, written = right_op_bytes(call, result)
            return (written, written) if call.op in TABLES else (read, written)
        """,
        "a look-up reads as it writes, also backward": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            read, written = moved(call, result, read, made)
            return (written, written) if call.op in TABLES else (read, written)
        """,
        "only of a table that is large": """
            read, made = bytes_by_memory(reading(call)), bytes_by_memory(present(result))
            whole = moved(call, result, dict(read), made, table=False)
            return min(whole, moved(call, result, read, made))
        """,
        "elements, not bytes": """
            read, written = right_op_bytes(call, result)
            return read // 4, written // 4
        """,
        "a view beside something new is written, too": """
            read, written = right_op_bytes(call, result)
            made = sum(bytes_by_memory(present(result)).values())
            return (read, made) if written else (0, 0)
        """,
        "looks at the first input alone": """
            if call.phase == "backward":
                return right_op_bytes(call, result)
            first, made = call.inputs[0], bytes_by_memory(present(result))
            if memory_of(first) in made:
                return 0, 0
            return sum(bytes_by_memory([first]).values()), sum(made.values())
        """,
        "four bytes each": """
            if right_op_bytes(call, result) == (0, 0):
                return 0, 0
            return 4 * sum(t.numel() for t in call.inputs), 4 * sum(
                t.numel() for t in present(result)
            )
        """,
        "written before read": "return right_op_bytes(call, result)[::-1]",
        "in backward the inputs are read": """
            if right_op_bytes(call, result) == (0, 0):
                return 0, 0
            read = [t for t in call.inputs] + (present(call.grad) if call.grad is not None else [])
            return sum(sized(read).values()), right_op_bytes(call, result)[1]
        """,
        "in backward the gradient alone is read": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(bytes_by_memory(present(call.grad)).values())
            return read, written
        """,
        "in backward what was saved alone is read": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(bytes_by_memory(call.saved).values())
            return read, written
        """,
        "in backward the first gradient alone is written": """
            read, written = right_op_bytes(call, result)
            made = present(result)[0]
            return (read, min(written, made.nbytes)) if written else (0, 0)
        """,
        "expanded tensors count in full": """
            read, written = right_op_bytes(call, result)
            if not written or call.phase == "backward" or call.op in TABLES:
                return read, written
            return sum({id(t): t.nbytes for t in call.inputs}.values()), written
        """,
        "the whole memory behind each input": """
            read, written = right_op_bytes(call, result)
            if not written or call.phase == "backward" or call.op in TABLES:
                return read, written
            return sum({t.storage: t.storage.nbytes for t in call.inputs}.values()), written
        """,
        "views by their names": """
            if call.op in ("reshape", "permute", "expand", "getitem", "split"):
                return 0, 0
            return right_op_bytes(call, result)
        """,
        "the sum of both": "return (sum(right_op_bytes(call, result)),) * 2",
        "a bias is forgotten": """
            read, written = right_op_bytes(call, result)
            bias = call.op == "linear" and len(call.inputs) == 3 and call.phase == "forward"
            return read - (call.inputs[2].nbytes if bias else 0), written
        """,
        "a saved tensor that is the gradient's counts again": """
            read, written = right_op_bytes(call, result)
            if call.phase == "backward" and written:
                read = sum(sized(reading(call)).values())
            return read, written
        """,
    },
    "op_facts": {
        "backward is counted as forward": """
            shapes = [t.shape for t in call.inputs]
            return changed(call, result, matmul_flops=op_flops(call.op, shapes, call.attributes))
        """,
        "backward is twice forward": """
            shapes = [t.shape for t in call.inputs]
            flops = op_flops(call.op, shapes, call.attributes)
            flops *= 2 if call.phase == "backward" else 1
            return changed(call, result, matmul_flops=flops)
        """,
        "all gradients are wanted": """
            if call.phase == "forward":
                return right_op_facts(call, result)
            shapes = [t.shape for t in call.inputs]
            flops = gradient_flops(call.op, shapes, call.attributes, [True] * len(shapes))
            return changed(call, result, matmul_flops=flops)
        """,
        "a look around decides on the phase": """
            def op_facts(call, result):
                facts = right_op_facts(call, result)
                if op_facts.been_back and facts["phase"] == "forward":
                    facts["matmul_flops"] = 0
                op_facts.been_back |= facts["phase"] == "backward"
                return facts

            op_facts.been_back = False
        """,
        "FLOPs are one number": """
            facts = right_op_facts(call, result)
            facts["matmul_flops"] += facts["elementwise_flops"]
            return facts
        """,
        "multiply-adds": """
            facts = right_op_facts(call, result)
            return facts | {"matmul_flops": facts["matmul_flops"] // 2}
        """,
        "unknown ops are nothing": """
            try:
                return right_op_facts(call, result)
            except NotImplementedError:
                return {"op": call.op, "matmul_flops": 0}
        """,
        "backward's output is what it returns": """
            if call.phase == "forward":
                return right_op_facts(call, result)
            return changed(call, result, output_shape=present(result)[0].shape)
        """,
        "the dtype itself": "return changed(call, result, dtype=present(result)[0].dtype)",
        "the first input's dtype": """
            return changed(call, result, dtype=str(call.inputs[0].dtype))
        """,
        "tensors are kept": "return changed(call, result, input_shapes=list(call.inputs))",
        "only the last part of a module's path": """
            return changed(call, result, module=call.module_path.rpartition(".")[2])
        """,
        "modules with numbers left out": """
            parts = [p for p in call.module_path.split(".") if not p.isdigit()]
            return changed(call, result, module=".".join(parts))
        """,
        "many results are not thought of: raises": """
            output = result if call.phase == "forward" else call.grad
            return changed(call, result, output_shape=output.shape)
        """,
        "of many gradients the first, also None: raises": """
            output = result if call.phase == "forward" else call.grad
            output = output[0] if isinstance(output, (tuple, list)) else output
            return changed(call, result, output_shape=output.shape)
        """,
        "read and written the wrong way round": """
            written, read = op_bytes(call, result)
            return changed(call, result, bytes_read=read, bytes_written=written)
        """,
        "elementwise by the first input": """
            shape = call.inputs[0].shape
            return changed(call, result, elementwise_flops=op_elementwise(call, shape))
        """,
        "no elementwise work in backward": """
            facts = right_op_facts(call, result)
            back = call.phase == "backward"
            return facts | ({"elementwise_flops": 0} if back else {})
        """,
        "the phase is always forward": 'return changed(call, result, phase="forward")',
        "a key of one's own": "return changed(call, result, time=0.0)",
    },
}
