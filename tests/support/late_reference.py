"""The formulas of the default method, as slow and obvious as can be: lists, loops, no state kept.

Features are returned by name, so that the engine's order of features is checked as well.
"""

import math

from tsim.index import distinct, terms
from tsim.index.speakers import first_person
from tsim.rank.fitted import TURN_FEATURES

LEAST = 1e-4


def dot(a, b):
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def add(*vectors):
    return [sum(float(x) for x in column) for column in zip(*vectors, strict=True)]


def cosine(a, b):
    lengths = math.sqrt(dot(a, a) * dot(b, b))
    return dot(a, b) / lengths if lengths else 0.0


def logistic(z):
    return 1 / (1 + math.exp(-z))


def confidences(c, turns, vectors):
    """Returns the probability that a new topic begins before each turn."""
    zero = [0.0] * len(vectors[0])
    out = []
    for i, (role, text) in enumerate(turns):
        near = add(zero, *vectors[max(0, i - 2) : i])
        far = add(zero, *vectors[max(0, i - 4) : i])
        ahead = add(zero, *vectors[i : i + 2])
        z = c.bias - c.sides_weight * cosine(near, ahead) - c.drift_weight * cosine(far, vectors[i])
        if i:
            before, said = turns[i - 1]
            z += c.length_weight * (math.log(1 + len(text.split())) - 3)
            if role == "user":
                z += c.user_weight / 2
                z += c.user_after_user_weight if before == "user" else 0
            elif before == "user":
                z -= c.user_weight / 2
            z -= c.question_weight if said.rstrip().endswith("?") else 0
        out.append(logistic(z))
    return out


def lengths(turns):
    """Returns the words of each turn in a context, where the speaker is named."""
    return [len(f"{role}: {text}".split()) for role, text in turns]


def pieces(c, sure, words):
    """Returns the shortest runs, single turns included, and where the open one begins."""
    out, begin = [], 0
    for place in range(1, len(words) - 1):  # the last gap is not settled
        full = place - begin >= c.max_turns or sum(words[begin : place + 1]) > c.max_words
        if sure[place] >= c.thresholds[0] or full:
            out.append((begin, place))
            begin = place
    return out, begin


def runs(c, sure, words):
    """Returns the runs that are embedded, those joined from them, and the open ones."""
    count = len(words)
    parts, last = pieces(c, sure, words)
    joined, begins = set(), [last]
    for threshold in c.thresholds[1:]:
        begin = 0
        for start, end in parts:
            if end - begin > c.max_turns or sum(words[begin:end]) > c.max_words:
                joined.add((begin, start))
                begin = start
            full = end - begin >= c.max_turns or sum(words[begin : end + 1]) > c.max_words
            if sure[end] >= threshold or full:
                joined.add((begin, end))
                begin = end
        begins.append(begin)
    embedded = {run for run in parts if run[1] - run[0] > 1}
    joined = {run for run in joined if run[1] - run[0] > 1} - {*parts}
    unclosed = {(max(begin, count - c.max_turns), count) for begin in begins}
    return embedded, joined, {run for run in unclosed if run[1] - run[0] > 1} - embedded - joined


def joined_vector(run, embedded, vectors):
    """Returns the sum of the vectors of a run's pieces, each as often as it has turns.

    Args:
        run: The run.
        embedded: {run: vector} of the pieces of several turns.
        vectors: The vectors of turns.
    """
    each = []
    for t in range(*run):
        owner = next((r for r in embedded if r[0] <= t < r[1]), None)
        each.append(embedded[owner] if owner else vectors[t])
    return add(*each)


def coverage(weights, texts):
    """Returns the weight of the terms in some texts; repetitions add less and less."""
    said = [term for text in texts for term in terms(text)]
    return sum(w * said.count(term) / (said.count(term) + 1) for term, w in weights.items())


def relevant(c, turns, vectors, query, weights, nats):
    """Returns both scores of each turn, the best coverage of a window and its best cosine."""
    texts = [text for _, text in turns]
    width = min(c.window_turns, len(turns))
    lexical = c.lexical_weight * nats**c.information_power
    spans = [range(n, n + width) for n in range(len(turns) - width + 1)]
    cosines = [cosine(add(*(vectors[n] for n in span)), query) for span in spans]
    covers = [coverage(weights, [texts[n] for n in span]) for span in spans]
    owns, out = [], []
    for t in range(len(turns)):
        owns.append(dot(vectors[t], query) + lexical * coverage(weights, [texts[t]]))
        near = max(cosines[n] + lexical * covers[n] for n, span in enumerate(spans) if t in span)
        out.append(owns[t] + c.window_weight * near)
    if max(out) <= 0:
        out = [value - min(out) for value in out]
    return owns, out, max(covers), max(cosines)


def relative(values):
    """Returns values relative to the highest; negative ones become 0."""
    top = max(1e-9, *values)
    return [max(0.0, value) / top for value in values]


def kept(c, sure, words, a, t):
    """Returns which share of a value reaches turn t from turn a."""
    out = 1.0
    for step in range(a + 1, t + 1):
        out *= (1 - sure[step]) * math.exp(-words[step] / c.fade_words)
    for step in range(a - 1, t - 1, -1):
        out *= (1 - sure[step + 1]) * math.exp(-words[step] / c.fade_words)
    return out


def inherited(c, shares, sure, words):
    """Returns the value of each turn by its own score or that of a turn nearby."""
    places = range(len(words))
    return [
        max(max(shares[a], 1e-9) ** c.relevance_power * kept(c, sure, words, a, t) for a in places)
        / max(1.0, words[t] / c.long_turn_words)
        for t in places
    ]


def asking(question, cosines, run_cosines, covered, nats, window):
    return {
        "length": math.log(1 + len(distinct(question))),
        "covered": covered,
        "rarity": nats,
        "run": max(*cosines, *run_cosines, window),
        "turn": max(cosines),
        "thread": math.log(1 + len(cosines)),
    }


def run_features(q, run, *, cosine, words, shares, sure, turns):
    begin, end = run
    g, edges = q["covered"], [1.0, *sure[1:], 1.0]
    own = lengths(turns)[begin:end]
    told = [math.log(tells(turns, role)) for role, _ in turns[begin:end]]
    return {
        "run": 1.0,
        "run × covered": g,
        "run × question length": q["length"],
        "cosine": cosine,
        "cosine × covered": cosine * g,
        "cosine × question length": cosine * q["length"],
        "words": words,
        "words × covered": words * g,
        "best turn's score": max(shares[begin:end]),
        "length": math.log(sum(own)),
        "new topic before": edges[begin],
        "new topic after": edges[end],
        "tells": sum(n * t for n, t in zip(own, told, strict=True)) / sum(own),
        "excess length": 0.0,  # of passages only
    }


def turn_features(q, t, *, cosines, highest, words, own, inherited, again, turns, length, long):
    g, text = q["covered"], turns[t][1]
    before = cosines[max(0, t - 1)]
    beside = max(words[n] if 0 <= n < len(words) else 0.0 for n in (t - 1, t + 1))
    told = math.log(tells(turns, turns[t][0]))
    return {
        "cosine": cosines[t],
        "cosine × covered": cosines[t] * g,
        "cosine before": before,
        "cosine before × covered": before * g,
        "run above turn": highest - cosines[t],
        "words": words[t],
        "words × covered": words[t] * g,
        "words × rarity": words[t] * q["rarity"],
        "words beside × covered": beside * g,
        "own score": own[t],
        "inherited": inherited[t],
        "inherited²": inherited[t] ** 2,
        "inherited × covered": inherited[t] * g,
        "interleaved inherited": 0.0,
        "interleaved inherited²": 0.0,
        "interleaved inherited × covered": 0.0,
        "interleaved words": 0.0,
        "resumes": again[t],
        "tells": told,
        "tells × covered": told * g,
        "first person": math.log(1 + first_person(text)),
        "named speaker": 0.0,
        "asks": float(text.rstrip().endswith("?")),
        "length": math.log(1 + min(length, long)),
        "excess length": math.log(min(max(1.0, length / long), 10.0)),
    }


def presence_features(q, chances, best_run, best_turn, run_peak, turn_peak):
    apart = math.log(sum(chance**0.75 for chance in chances))
    return {
        "question length": q["length"],
        "covered": q["covered"],
        "rarity × covered": q["rarity"] * q["covered"],
        "run cosine": q["run"],
        "turn cosine": q["turn"],
        "spread": apart,
        "thread length": q["thread"],
        "run cosine × thread length": q["run"] * q["thread"],
        "spread × thread length": apart * q["thread"],
        "best run": best_run,
        "best turn": best_turn,
        "run peak": run_peak,
        "turn peak": turn_peak,
    }


def spread(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def peak(values):
    return (max(values) - sum(values) / len(values)) / spread(values)


def log_odds(chance):
    chance = min(max(chance, LEAST), 1 - LEAST)
    return math.log(chance / (1 - chance))


def logit(weights, features):
    """Takes {name: weight}, perhaps with a bias, and {name: value}."""
    assert weights.keys() - {"bias"} == features.keys()
    return sum(weights[name] * features[name] for name in features) + weights.get("bias", 0.0)


def softmax(values):
    """Takes {key: logit}; returns {key: probability}."""
    top = max(values.values(), default=0.0)
    total = sum(math.exp(value - top) for value in values.values())
    return {key: math.exp(value - top) / total for key, value in values.items()}


def tells(turns, role):
    """Returns the share of a speaker's turns that are in the first person, smoothed.

    If nobody's are, nothing is known about speakers.
    """
    if not any(first_person(text) for _, text in turns):
        return 0.5
    said = [text for speaker, text in turns if speaker == role]
    return (sum(first_person(text) > 0 for text in said) + 1) / (len(said) + 2)


def values(c, fitted, chances, turn_chances, sure, turns, covered, inherited):
    """Returns the value per word of each turn."""
    top = max([*chances.values(), *turn_chances.values()])
    words = lengths(turns)
    weight = dict(zip(TURN_FEATURES, fitted.turn, strict=True))["excess length"]
    excess = [math.log(min(max(n / c.long_turn_words, 1.0), 10.0)) for n in words]
    # Of what speaks against long turns, a quarter counts.
    turn_chances = {t: p * math.exp(-0.75 * weight * excess[t]) for t, p in turn_chances.items()}
    total = sum(chance**0.75 for chance in (*chances.values(), *turn_chances.values()))
    chances = {run: chance**0.75 / total for run, chance in chances.items()}
    turn_chances = {t: chance**0.75 / total for t, chance in turn_chances.items()}
    places = range(len(words))
    density = {
        (begin, end): chance / (sum(words[begin:end]) + end - begin)
        for (begin, end), chance in chances.items()
    }
    inside = [max((v for (b, e), v in density.items() if b <= t < e), default=0.0) for t in places]
    out = []
    for t in places:
        reached = max(max(inside[a], 1e-18) * kept(c, sure, words, a, t) for a in places)
        reached /= max(1.0, words[t] / c.long_turn_words)
        beside = 0.0
        if t > 0:
            beside = max(beside, turn_chances[t - 1] * (1 - sure[t]))
        if t + 1 < len(words):
            beside = max(beside, turn_chances[t + 1] * (1 - sure[t + 1]))
        beside *= 0.15 * tells(turns, turns[t][0]) * (words[t] <= c.long_turn_words)
        alone = max(turn_chances[t], beside) / (words[t] + 1)
        along = 0.3 * covered**2 * top * inherited[t] ** 2 / 20
        out.append(max(inside[t], fitted.extension * reached, alone) + along)
    return out


def packed(values, words, budget):
    """Takes the best turns, one by one, as long as the whole context fits."""

    def price(places):
        total = 0
        for n, place in enumerate(places):
            gap = place - places[n - 1] if n else None
            total += words[place] + (gap != 1)  # a heading, or a mark for missing turns
        return total

    chosen = []
    for place in sorted(range(len(words)), key=lambda p: (-values[p], p))[: budget // 2]:
        if price(sorted([*chosen, place])) <= budget:
            chosen.append(place)
    return sorted(chosen)


def mass(span, chances, turn_chances):
    """Returns the probability of a span: of its turns, and of its share of every run."""
    out = sum(turn_chances[t] for t in span)
    for (begin, end), chance in chances.items():
        out += chance * len({*span} & {*range(begin, end)}) / (end - begin)
    return min(out, 1.0)
