"""The paper's formulas, as slow and obvious as can be: lists, loops, no state kept."""

import math

OFFICIAL = {
    "threshold": 0.70, "min_tokens": 120, "max_tokens": 320, "recent": 4, "bonus": 0.03,
    "join": 0.42, "margin": 0.08, "describe": 4, "characters": 1200,
    "k_raw": 28, "k_summary": 20, "k_cluster": 2, "k_final": 5,
    "w_raw": 1.15, "w_summary": 1.20, "w_cluster": 0.75, "w_expansion": 0.55, "decay": 0.70,
    "cluster_episodes": 2, "relatives": 2, "hops": 0, "time": 0.0,
}  # fmt: skip
LONGMEMEVAL = {
    **OFFICIAL,
    "threshold": 0.74, "min_tokens": 160, "max_tokens": 480, "recent": 2, "bonus": 0.06,
    "k_raw": 16, "k_summary": 24, "k_cluster": 1, "k_final": 8,
    "w_raw": 1.5, "w_summary": 1.5, "w_cluster": 0.35, "hops": 1, "time": 0.5,
}  # fmt: skip


def dot(a, b):
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def norm(a):
    length = math.sqrt(dot(a, a))
    return [x / length for x in a] if length else list(a)


def mean(vectors):
    return [sum(float(v[i]) for v in vectors) / len(vectors) for i in range(len(vectors[0]))]


def segment(c, turns, vectors):
    """Returns lists of turn numbers."""
    episodes = []
    for i, (role, _) in enumerate(turns):
        cut = True
        if episodes:
            current = episodes[-1]
            centre = norm(mean([vectors[j] for j in current[-c["recent"] :]]))
            answered = turns[i - 1][0] in ("model", "assistant") and role == "user"
            s = dot(vectors[i], centre) + (c["bonus"] if answered else 0)
            length = round_half_up(1.3 * sum(len(turns[j][1].split()) for j in current))
            cut = len(current) >= 2 and (
                (s < c["threshold"] and length >= c["min_tokens"]) or length >= c["max_tokens"]
            )
        if cut:
            episodes.append([])
        episodes[-1].append(i)
    return episodes


def round_half_up(x):
    return math.floor(x + 0.5 + 1e-9)


def summary_text(number, turns):
    text = "\n".join(f"{role}: {text}" for role, text in turns)
    return f"[recent] episode {number}\n{text[:1200]}"


def clusters(c, vectors):
    """Takes summary vectors of closed episodes in order; returns {id: sorted members}."""
    members, fresh = {}, 0

    def centroid(k):
        return norm(mean([vectors[e] for e in members[k]]))

    for e, v in enumerate(vectors):
        near = {k: dot(v, centroid(k)) for k in members}
        joined = [
            k for k, s in near.items() if s >= c["join"] and s >= max(near.values()) - c["margin"]
        ]
        if not joined:
            joined = [fresh]
            members[fresh] = []
            fresh += 1
        for k in joined:
            members[k].append(e)
        for k in sorted(joined):
            while k in members and len(members) > 1:
                others = {o: dot(centroid(k), centroid(o)) for o in members if o != k}
                best = max(others, key=lambda o: (others[o], -o))
                if others[best] < 1 - c["margin"]:
                    break
                low, high = sorted((k, best))
                members[low] = sorted({*members[low], *members.pop(high)})
                k = low
    return members


def description(c, members, text_of):
    share = c["characters"] // c["describe"]
    return "\n".join(text_of(e)[:share] for e in members[::-1][: c["describe"]])


def top(scores, k):
    """Takes {id: score}; returns ids, best first, ties by id."""
    return sorted(scores, key=lambda i: (-scores[i], i))[:k]


def rank(c, query, turn_vectors, episodes, summary_vectors, members, cluster_vectors):  # noqa: C901
    """Returns {episode: score} by the four terms (and neighbours in time)."""
    home = {t: e for e, turns in enumerate(episodes) for t in turns}
    raw = {t: dot(query, v) for t, v in enumerate(turn_vectors)}
    summary = {e: dot(query, v) for e, v in enumerate(summary_vectors)}
    routes = {k: dot(query, v) for k, v in cluster_vectors.items()}
    score = {}

    def give(e, points):
        score[e] = score.get(e, 0) + points

    for t in top(raw, c["k_raw"]):
        give(home[t], c["w_raw"] * raw[t])
    for e in top(summary, c["k_summary"]):
        give(e, c["w_summary"] * summary[e])
    for k in top(routes, c["k_cluster"]):
        inside = top({e: summary[e] for e in members[k]}, c["cluster_episodes"])
        for place, e in enumerate(inside):
            give(e, c["w_cluster"] * c["decay"] ** place * routes[k])
    for seed in top(score, c["k_final"]):
        if seed < len(summary_vectors):
            near = {
                e: dot(summary_vectors[seed], summary_vectors[e])
                for m in members.values() if seed in m
                for e in m[-256:] if e != seed
            }  # fmt: skip
            for e in top(near, c["relatives"]):
                give(e, c["w_expansion"] * summary[seed] * near[e])
    spread = dict(score)
    for e, s in spread.items():
        for hop in range(1, c["hops"] + 1):
            for other in (e - hop, e + hop):
                if 0 <= other < len(episodes):
                    give(other, c["time"] ** hop * s)
    return score
