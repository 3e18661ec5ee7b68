# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 · Make it faster
#
# At work, no heading says which lesson a slow program belongs to.
# Somebody wrote it, it returns the right results, and it takes ten times as long as it should.
# You find out where the cost lies, change one thing, look again, and stop when more would not pay. <!-- with faster -->
#
# `program.py`, beside this notebook, is such a program: a small language model in a hundred lines.
# Several things in it are slow, and they are not the same ones in every class.
# How fast you make it is worth 55 points, a work log 25, and how well you explain it 20.
#
# **You will be able to**
#
# - find what to change first in a program that you have never seen;
# - say what a change is worth, before you make it and after, and give a number for why you stopped.
#
# **You need** what an op costs on a declared machine (lesson 06, section 7), attention (lesson 02, section 5), an interval for a speed-up (lesson 08, section 3), and `interaction` (lesson 11).

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import counting
import program
from built import interaction, op_facts
from program import make_model, slow

import proflab
from proflab.lesson import expect_faster, expect_log, guesses, race
from proflab.nn import functional as F

race.count_with(op_facts)

# %% [markdown]
# ## 1 · Read it, then look where the cost lies
#
# Open `program.py` and read it from the end: `slow` returns, for each text, the logits of the token that comes next.
# Do this before you run the next cell.
#
# **Predict.** Which share of the program's cost is overhead, the 5 µs that `DESK` takes for each op?

# %% tags=["guess"]
guess_program_overhead = None  # your guess: a share from 0 to 1

# %% nbgrader={"grade": false, "grade_id": "demo_overhead", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Compares your guess with the count, and prints what each line of the given program costs.
paid = race.counted(race.traced(slow, model=make_model, **counting.TEXTS), "DESK")
share = 0.005 * sum(row["ms"] > 0 for row in paid.rows) / paid.ms
guesses.compare("the share of overhead", guess_program_overhead, share)
print(counting.table_of(slow, make_model))

# %% [markdown]
# The table has a row for each line, the most expensive one first.
# Its column `wall` says what most of the line's time goes to.
#
# | wall | what helps |
# |---|---|
# | overhead | fewer ops: one for many samples, heads or passes |
# | bytes | fewer passes over memory, smaller types, nothing that is made and not needed |
# | FLOPs | another order of products, and nothing computed that nobody reads |
#
# A line that is called many times may be cheap each time: ask who calls it, and how often.
#
# ## 2 · Make it faster
#
# **What is allowed.** Anything that returns the same: results may differ by 0.00002 of the largest one.
# `faster` has to be right for any number of texts and for texts of 1 to 96 tokens; hidden cases have other shapes.
# The model stays as it is: its weights are inputs, so nothing can be multiplied before the program runs.
# You may use any help, people's and programs', as long as you can explain each step.
#
# **How to work.** Leave `program.py` as it is, and copy what you change into cells of your own.
# What you leave alone you may call: each function of `program.py` is there, under its name, as `program.slow` is.
# Begin with `return slow(model, tokens)`: it is right, and earns nothing.
#
# 1. Take the line at the top of the table, and name its wall.
# 2. Write down what the change should save: ops times 5 µs, bytes, or FLOPs.
# 3. Make this change alone, and run the race.
# 4. Compare with what you wrote, and look at the new table: the order of the lines has changed.
#
# 🏁 gives the share of the way from the given program to full marks, in logarithms.
# The first halving of the cost is worth as much as the last.


# %%
# Your parts of the program, here one that is still as it was given.
def step_1(model, tokens):
    return program.slow(model, tokens)


# %% nbgrader={"grade": false, "grade_id": "faster", "locked": false, "schema_version": 3, "solution": true, "task": false}
def faster(model, tokens):
    """Return what slow does, the logits of the token after each text, at the least cost on DESK.

    model: as make_model makes it. tokens: (texts, tokens), whole numbers; a text has 1 to 96
    tokens, and there is at least one text. Returns a Tensor (texts, words), float32.

    >>> faster(make_model(), proflab.zeros(3, 2, dtype="int64"))[:, 0].shape
    (3,)
    """
    ### BEGIN SOLUTION
    texts, length = tokens.shape
    x = model.words(tokens) + model.places.weight[:length]
    for block in model.blocks:
        heads = len(block.query)
        width = x.shape[-1] // heads
        weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
        found = F.linear(block.norm1(x), proflab.cat(weights))
        parts = found.reshape(texts, length, 3, heads, width).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        found = found.transpose(1, 2).reshape(texts, length, heads * width)
        x = x + block.up(block.down(found))
        if block is model.blocks[-1]:
            x = x[:, -1]
        x = x + block.narrow(F.gelu(block.wide(block.norm2(x)), approximate="tanh"))
    return model.head(model.norm(x))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_faster", "locked": true, "points": 55, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "8 texts of 64 tokens",
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    full=2.466,
    best=1.979,
    floor=1.034,
)
### BEGIN HIDDEN TESTS
# about: what saves ops for 8 texts saves more for 17
expect_faster(
    "many short texts",
    race.traced(faster, model=make_model, tokens=("int64", (17, 21))),
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    full=1.786,
    floor=0.747,
)
# about: attention costs more where texts are long
expect_faster(
    "a few long texts",
    race.traced(faster, model=make_model, tokens=("int64", (3, 93))),
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    full=1.528,
    floor=0.647,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line of your program costs now, and whether it is right for other shapes.
print(counting.table_of(faster, make_model))
print(counting.on_other_shapes(faster, slow, make_model))

# %% nbgrader={"grade": false, "grade_id": "demo_picture", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws where your program stands between the given one, full marks and the floor.
race.picture(
    slow, faster, "DESK", full=2.466, best=1.979, floor=1.034, model=make_model, **counting.TEXTS
)

# %% [markdown]
# ## 3 · Keep a log
#
# A table shows where you are, and a log shows how you got there.
# Note each step, also one that you rejected: `log.step` asks for your guess before it counts, and then times both programs in twelve pairs.
# Each step mends one cause.
# `because` names one of the five largest costs before it, by its op or by a part of its line in backquotes; once, `instead` may say why a step is about another.
# `log.stop` names one of the two largest costs that are left and the gap to the floor, which it prints.
# The floor is what no program can avoid: products of the weights with the fewest rows and in the cheapest order, and 5 µs for each op that is left in all of them.
#
# Each step has a function of its own, and the last one that you keep is `faster`.

# %% nbgrader={"grade": false, "grade_id": "given_log", "locked": true, "schema_version": 3, "solution": false, "task": false}
log = race.WorkLog(
    slow,
    "DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    model=make_model,
    tokens=("int64", (8, 64)),
)


# %% nbgrader={"grade": false, "grade_id": "work_log", "locked": false, "schema_version": 3, "solution": true, "task": false}
def work_log(log):
    """Note each step from slow to faster, and why you stopped.

    For each step call log.step(program=step_1, change="all texts at once", guess_ms=9.5,
    because="640 times `linear`, 5 µs each, are the largest cost"); for one that you did not keep,
    add rejected="…", with the reason. Kept steps fall in cost, one cause at a time: where the cost
    falls more than three times, three of them at least go 5 % of the way each, not counting ops
    that change no number, and none goes 85 %. change or because names one of the five largest costs
    before the step, or more, but no more than six ops in all; a kept step makes at least half of
    these costs 10 % cheaper. For one step, instead="…" may say why it is about another. At least
    one idea is not kept, and it is neither slow nor a kept step, nor one of these with an op more
    or another number; a step that your own pairs call slower is not kept either. At the end call
    log.stop("…"): it names one of the two largest costs that are left, and what the cost is above
    the floor, in ms or times the floor. Returns nothing.
    """

    ### BEGIN SOLUTION
    def with_parts(name, **parts):
        def mended(model, tokens):
            own = {part: vars(program)[part] for part in parts}
            vars(program).update(parts)
            try:
                return program.logits(model, tokens)
            finally:
                vars(program).update(own)

        mended.__name__ = name
        return mended

    def by_op(each):
        found = {}
        for row in race.counted(race.traced(each, model=make_model, **counting.TEXTS), "DESK").rows:
            found[row["op"]] = found.get(row["op"], 0) + row["ms"]
        return found

    def by_halves(model, tokens):
        return proflab.cat([faster(model, tokens[:4]), faster(model, tokens[4:])])

    def attend(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    before = by_op(slow)
    for step in (
        with_parts("all_texts"),
        with_parts("with_attend", attend=attend),
        faster,
    ):
        after = by_op(step)
        largest = sorted(before, key=before.get, reverse=True)[:5]
        costs = " and ".join(op for op in largest if after.get(op, 0) < 0.9 * before[op])
        log.step(
            program=step,
            change=f"a cheaper {costs}",
            guess_ms=sum(before.values()) / 2,
            because=f"{costs}: among the five largest costs of the table",
            instead="" if costs else "what it lowers is small, and nothing larger can fall",
        )
        before = after
    largest = max(before, key=before.get)
    log.step(
        program=by_halves,
        change="half of the texts at a time",
        guess_ms=2.0,
        because=f"smaller operands of {largest} might stay in a cache",
        rejected="DESK has no cache, and twice as many ops cost twice the overhead",
    )
    times = sum(before.values()) / log.floor
    log.stop(f"{largest} is the largest; the cost is {times:.2f} times the floor")
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_work_log", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_log(
    "each program costs what its row says",
    log.data(work_log),
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    rule="costs",
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    one_by_one=True,
)

# %% nbgrader={"grade": true, "grade_id": "test_work_log_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_log(
    "speed-ups follow from the pairs",
    log.data(work_log),
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    rule="times",
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    one_by_one=True,
)

# %% nbgrader={"grade": true, "grade_id": "test_work_log_3", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_log(
    "kept steps fall in cost, one cause at a time, and one idea is not kept",
    log.data(work_log),
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    rule="order",
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    one_by_one=True,
)

# %% nbgrader={"grade": true, "grade_id": "test_work_log_4", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_log(
    "each step names a large cost and lowers it",
    log.data(work_log),
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    rule="largest",
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    one_by_one=True,
)

# %% nbgrader={"grade": true, "grade_id": "test_work_log_5", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_log(
    "the stop names what is left, and the gap",
    log.data(work_log),
    race.traced(faster, model=make_model, tokens=("int64", (8, 64))),
    rule="stop",
    like=slow,
    machine="DESK",
    draws={"tokens": 192, "weight": "fan-in"},
    floor=1.034,
    one_by_one=True,
)

# %% nbgrader={"grade": false, "grade_id": "demo_log", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the log, a line for each step.
print(log.table())

# %% [markdown]
# ## 4 · Do two changes help each other?
#
# What a change is worth depends on what was changed before.
# Mended first, a line that takes 6 % of the cost saves 6 %; mended last, when the others are gone, it may be a quarter of what is left.
# Lesson 11's `interaction` says so in one number: above 1, two changes help each other.
#
# Write two of your changes, each alone and then both, and compare.
# A change that gained little may be worth trying again at the end.

# %%
# Put your own programs in the place of these.
alone, other, both = slow, slow, slow
costs = [counting.counted_ms(each, make_model) for each in (slow, alone, other, both)]
interaction(*costs)

# %% [markdown]
# ## 5 · When to stop
#
# A count has no noise, so the table always shows a next line.
# Stop when the largest line is at its floor, or when what it could still save is less than a change costs you.
# Name the line, its wall, and how far it is from the floor.
#
# `DESK` is a model without a cache, and its 5 µs are one number for every op.
# It ranks large changes as a processor does: of 163 pairs of this course's programs that differ by more than 1.5 times, 159 come in the same order by CPU time.
# Within 1.5 times, do not trust it: caches, new arrays and threads, the three usual reasons, are worth as much.
# What your processor says is another matter:

# %% nbgrader={"grade": false, "grade_id": "demo_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
print(race.measure(slow, faster, "DESK", draws={"tokens": 192}, model=make_model, **counting.TEXTS))

# %% [markdown]
# **Essay** (20 points, read by a person; a report of 250 to 400 words in the next cell, with numbers from your own tables).
#
# 1. What did you change first? Give the line with its share, its wall with the count behind it, and what you expected to save beside what you saved.
# 2. Which idea did you reject? Say what it should have gained, which count or result spoke against it and why, and where it would pay after all.
# 3. On the `T4` (8.1 TFLOP/s, 320 GB/s, 5 µs), what would you have done in another order? `counting.table_of(slow, make_model, "T4")` counts it. Compare the two ridges, and the shares of overhead.
# 4. Counted and measured speed-up differ. Give both, the measured one with its interval. Name two reasons, and a measurement whose result could refute one of them.

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_faster", "locked": false, "points": 20, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Twenty statements: one that is there as a whole earns its point, a part of it earns 0.
# Which faults a program has is drawn, so no list of changes is expected here; the figures must be the student's own.
#
# - *1 point:* The line or function that was changed first is named, with its share of the cost in a printed table.
# - *1 point:* Its wall is named, and it is the one in the table's column.
# - *1 point:* The count behind this wall is given: ops, bytes or FLOPs.
# - *1 point:* What the change was expected to save, or to cost afterwards, is given as a number.
# - *1 point:* What it saved, or cost afterwards, is given beside that, as the count says (`demo_log`).
# - *1 point:* An idea that was not kept is named, with the line or the op that it was about.
# - *1 point:* What it should have gained is given as a number.
# - *1 point:* The count or the result that spoke against it is given.
# - *1 point:* One cause is named why the idea did not gain that.
# - *1 point:* A machine, a size or a program is named for which it would pay.
# - *1 point:* The cost of the given program on the T4 is given, as `counting.table_of` prints it.
# - *1 point:* The ridges are compared: 25 FLOPs a byte on the T4, and 10 on DESK.
# - *1 point:* Overhead is said to be a larger share on the T4, because an op takes 5 µs there, too.
# - *1 point:* The share of overhead is given for both machines, from the student's own counts.
# - *1 point:* A change that moves up or down in the order is named, with a number from the T4's count.
# - *1 point:* The counted speed-up is given.
# - *1 point:* The measured speed-up is given with its interval, as `demo_measured` prints them.
# - *1 point:* One reason for the difference is named: caches, threads, an overhead that is not 5 µs, temporary arrays of an op that counts as one, functions that take more than one FLOP, or a loaded machine.
# - *1 point:* A second reason is named that is not the same one.
# - *1 point:* A measurement is named for one of the reasons, with the result that would refute it.
#
# **A good answer (20).** `attend` came first: its line `shares = …` was the largest of the given 15.00 ms, with 14 %.
# Its wall is bytes: 15.97 MB, which take 1.60 of its 2.08 ms.
# One op for all of attention should have saved 5.5 ms, and saved 6.91.
# Rejected was half of the texts at a time, for smaller operands of `linear`: 2.0 ms were expected in place of 2.24, and counted were 2.51, because 43 ops became 87 and DESK has no cache; with a cache that holds half of the operands it may pay.
# On the T4 the given program costs 4.68 ms.
# Its ridge is 25 FLOPs a byte, that of DESK 10, but an op takes 5 µs on both, so the 873 ops are 93 % of the cost there and 29 % on DESK.
# So all texts at once would come first: alone it leaves 0.84 ms on the T4, and `attend` alone 2.72; on DESK they leave 10.88 and 8.09.
# The counted speed-up is 6.7, and the measured one 9.0 (8.3 to 9.8).
# One reason is an op of this engine that takes more than 5 µs; another is `exp`, which counts as one FLOP and takes longer.
# A thousand additions of four numbers, timed, would refute the first if they took 5 ms or less.
#
# **A poor answer (4: items 1, 6, 16 and 18).** “I began with the attention, 14 % of the table, because a softmax is always slow, and it became much faster. GELU from the library helped, too. Half of the texts at a time was a bad idea for `linear`, so I left it. A T4 is faster than DESK, so there I would do the same and it would take less time. In the end the program is 6.7 times as fast by the count; my laptop said something else, because it has caches.”
# ### END SOLUTION

# %% tags=["milestone"]
# You can make a program faster that you have never seen, and say what each change was worth.
"{:.1f} ms → {:.1f} ms on DESK, with the same results.".format(
    *(counting.counted_ms(each, make_model) for each in (slow, faster))
)

# %% [markdown]
# ## Summary
#
# - Read the program, count it by line, and begin with the largest line and its wall. <!-- with faster -->
# - Say what a change should save before you make it; a difference is news about your picture of the program. <!-- with work_log -->
# - Changes interact: look again after each one, and try the small ones again at the end. <!-- with section 4 -->
# - Stop with a number: the largest cost that is left, its wall, and its distance from the floor. <!-- with section 5 -->
