"""What the leaderboard says about itself."""

INTRODUCTION = (
    "Results that follow from the rows they come with: whoever writes this page makes every figure "
    "again from the rows, and every package from the data set, and refuses what differs. "
    "`scaleqa leaderboard page results --out leaderboard.html` writes it.",
)
READING = (
    "All evidence in context: of questions whose evidence is in the thread, those for which the "
    "context holds all of it. Strict accuracy: right answers over all questions. Credited "
    "accuracy: an unanswered question earns the chance of a right guess.",
    "Questions: how many were asked, and of how many where not all were. A sample is stratified, "
    "and its size and seed say which questions it has, so that nobody can leave out those that "
    "went wrong; but whoever submits chooses size and seed. Reader: the language model, or the "
    "blind readers (`reader:NAME`), who answered from the context alone.",
    "Intervals are of 95 %: Wilson's for shares, normal for mean tokens, by ranks for the median "
    "time. Totals have none. Times are without the embedding of texts, and from whatever machine a "
    "result was made on; they are not checked.",
    "Not distinguishable from the best: on the questions of both, the paired bootstrap interval of "
    "the difference includes zero, or McNemar's exact test has p of .05 or more. With many systems "
    "in a table, some differences are due to chance even so.",
    "Judge sensitivity: lowest and highest strict accuracy, where several judges graded the same "
    "answers.",
    "Recomputed: figures (from the rows), rows (every question once), hits (from the turns that "
    "were shown), data (packages, ids, evidence, right answers and the questions of a sample, from "
    "the data set). Questions "
    "run again: the system itself was run on so many, chosen by lot, and did the same; whoever "
    "keeps the results notes that. Nobody repeats the answers of a reader: that they were given "
    "so is the submitter's word.",
)
SUBMITTING = (
    "Measure: `scaleqa retrieve scaleqa:split=s2,target=128k --system tsim --out runs/mine` for "
    "retrieval, or `scaleqa run scaleqa:split=s2,target=128k --system tsim --backend openai:MODEL "
    "--out runs/mine` with a language model that answers. A system of your own is one file, given "
    "as `FILE.py:ATTRIBUTE`.",
    "Make a result: `scaleqa leaderboard add runs/mine --data scaleqa:split=s2,target=128k --out "
    "results/mine --link https://example.org/mine`. It has `result.json` (`scaleqa leaderboard "
    "schema` prints its JSON Schema) and `rows.jsonl.gz`: a row for each question, with the turns "
    "that were shown but without texts, which packages have; `--contexts` keeps them. Verdicts of "
    "`scaleqa judge` beside the rows come along; `--verdicts FILE` adds what other judges found: a "
    "line of JSON for each answer, with judge, package, id and correct.",
    "Where a sample was asked (`scaleqa batch export scaleqa:split=s2,target=128k --sample 50 "
    "--out batch/prompts.jsonl`, then `scaleqa batch import`), say so with the same numbers: "
    "`scaleqa leaderboard add runs/mine --data scaleqa:split=s2,target=128k --sample 50 --out "
    "results/mine`, and `--seed` if the export had one. The sample is drawn again from the data "
    "set: rows for fewer, more or other questions are refused.",
    "Check it: `scaleqa leaderboard check results/mine` says what follows and what differs; "
    "`--recompute 20` also runs the system again on 20 questions. The exit code is 0 if everything "
    "follows, 1 if something does not, and 3 if a part could not be checked on this machine, such "
    "as a data set that is not here.",
    "Send it as a change to this repository that adds the directory below `results`.",
)
