"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  const data = JSON.parse(document.getElementById("data").textContent);
  const STEP = 50;
  const at = (id) => document.getElementById(id);
  const text = (place) => data.texts[place];
  const state = { setting: 0, shown: STEP, found: [] };

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "class") element.className = value;
      else if (name === "style") Object.assign(element.style, value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  const spread = (runs) => {
    const out = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let step = 0; step < runs[i + 1]; step += 1) out.push(runs[i] + step);
    }
    return out;
  };
  const readLines = (runs) => spread(runs).map(text);
  const outcome = (question, row) => (row[1] === "" ? "none" : row[5] ? "right" : "wrong");
  const sign = { right: "✓", wrong: "✗", none: "–" };
  const words = { right: "right", wrong: "wrong", none: "no answer" };
  // Where no model answered, nothing is said about answers.
  const answered = (question) => data.answered[question.setting];

  function mark(question, row) {
    const system = data.systems[row[0]];
    const result = outcome(question, row);
    const evidence = `${system.name}: ${row[2] === null ? "absent" : row[2] ? "hit" : "miss"}`;
    const said = answered(question) ? `${evidence}, ${words[result]}` : evidence;
    const style = { borderColor: system.colour };
    if (row[2]) Object.assign(style, { background: system.colour, color: system.ink });
    return make("span", { class: "mark", role: "img", "aria-label": said, title: said, style }, answered(question) ? sign[result] : "");
  }

  function turnChips(unit, question, thread) {
    const evidence = new Set(question.evidence);
    const chips = [];
    for (let i = 0; i < unit[3].length; i += 2) {
      const first = unit[3][i];
      const last = first + unit[3][i + 1] - 1;
      let start = first;
      const plain = (end) => {
        if (end < start) return;
        const exchange = thread !== null && start >= thread;
        const label = start === end ? `${start}` : `${start}–${end}`;
        chips.push(make("span", { class: exchange ? "turn exchange" : "turn", title: exchange ? "earlier exchange" : "turn" }, label));
      };
      for (const turn of [...evidence].sort((a, b) => a - b)) {
        if (turn < first || turn > last) continue;
        plain(turn - 1);
        chips.push(make("span", { class: "turn evidence", title: "evidence" }, `${turn}`));
        start = turn + 1;
      }
      if (thread !== null && start < thread && last >= thread) {
        plain(thread - 1);
        start = thread;
      }
      plain(last);
    }
    return chips;
  }

  function contextBlock(runs, question) {
    const said = question.said.flatMap((place) => text(place).split("\n")).filter((line) => line.trim());
    const pre = make("pre", { tabindex: "0" });
    const lines = readLines(runs);
    lines.forEach((line, place) => {
      const hit = said.some((one) => line === one || line.endsWith(`: ${one}`));
      pre.append(hit ? make("mark", {}, line) : line, place + 1 < lines.length ? "\n" : "");
    });
    return pre;
  }

  function later(label, build) {
    const box = make("details", {}, make("summary", {}, label));
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1) box.append(build());
    });
    return box;
  }

  function answerBlock(question, row, full) {
    const system = data.systems[row[0]];
    const result = outcome(question, row);
    const head = make("header", {},
      make("strong", {}, make("i", { class: "dot", style: { background: system.colour } }), system.name),
      answered(question) ? make("span", { class: result === "none" ? "" : result }, row[1] ? `answered ${row[1]}: ${words[result]}` : "no answer") : "",
      make("small", {}, `${row[3].toLocaleString("en")} context tokens`));
    const box = make("article", { class: "answer" }, head, make("p", {}, `${text(row[4])}.`));
    if (!full) return box;
    const rationale = readLines(full.rationale).join("\n").trim();
    if (rationale && answered(question)) box.append(make("p", {}, make("small", {}, "Rationale: "), rationale));
    if (full.units.length) {
      const list = () => make("ol", { class: "units" }, ...full.units.map((unit) => make("li", {},
        `${text(unit[0]) || "unit"} `, make("small", {}, `score ${unit[2]}${text(unit[1]) ? ` = ${text(unit[1])}` : ""} `),
        ...turnChips(unit, question, full.thread))));
      if (full.units.length <= 12) box.append(list());
      else box.append(later(`${full.units.length} units retrieved`, list));
    }
    if (row[3]) box.append(later("Context as the backend saw it", () => contextBlock(full.context, question)));
    else box.append(make("p", {}, make("small", {}, "Nothing was retrieved.")));
    return box;
  }

  function optionList(question) {
    return make("ul", { class: "options" }, ...Object.entries(question.options).map(([letter, place]) => {
      const chosen = question.rows.filter((row) => row[1] === letter).map((row) => data.systems[row[0]].name);
      const item = make("li", letter === question.gold ? { class: "gold" } : {}, make("strong", {}, `${letter} `), text(place));
      if (letter === question.gold) item.append(make("span", { class: "right" }, " ✓ gold"));
      if (chosen.length && answered(question)) item.append(make("br"), make("small", {}, `chosen by ${chosen.join(", ")}`));
      return item;
    }));
  }

  function panel(question) {
    const box = make("div", { class: "panel" });
    const labels = question.stress.map((place) => text(place).replaceAll("_", " ")).join(", ");
    box.append(make("p", { class: "notes" },
      `${text(question.domain)}; ${labels}; question ${question.place + 1} of ${text(question.package)}; ${question.evidence.length ? `evidence at turn ${question.evidence.join(", ")}` : "no evidence in the thread"}`));
    box.append(optionList(question));
    if (question.said.length) {
      box.append(make("h4", {}, "Evidence"));
      question.said.forEach((place, n) => box.append(make("p", { class: "said" },
        make("span", { class: "turn evidence" }, `${question.evidence[n]}`), ` ${text(place)}`)));
    }
    if (text(question.reasoning)) box.append(make("p", {}, make("small", {}, "Gold reasoning: "), text(question.reasoning)));
    if (question.full) {
      box.append(make("h4", {}, "Along the thread: evidence, and the turns each system showed"));
      const holder = make("div");
      holder.innerHTML = question.full.strip;
      box.append(holder, make("p", { class: "notes" }, "Earlier exchanges are right of the broken line."));
    } else {
      box.append(make("p", { class: "notes" }, "The contexts of this question are not in this file; write the report with a larger --details."));
    }
    box.append(make("h4", {}, "What each system did"));
    question.rows.forEach((row, n) => box.append(answerBlock(question, row, question.full && question.full.rows[n])));
    return box;
  }

  function toggle(button, question, item) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) item.lastChild.remove();
    else {
      item.append(panel(question));
      const setting = data.settings.length > 1 ? `&s=${question.setting}` : "";
      history.replaceState(null, "", `#q=${question.id}${setting}`);
    }
  }

  function listItem(question) {
    const button = make("button", { class: "q", type: "button", "aria-expanded": "false" },
      make("span", { class: "id" }, question.id),
      make("span", { class: "text" }, text(question.question) || question.id),
      make("span", { class: "marks" }, ...question.rows.map((row) => mark(question, row))));
    const item = make("li", { "data-id": question.id }, button);
    button.addEventListener("click", () => toggle(button, question, item));
    return item;
  }

  function matches(question) {
    const rows = question.rows.filter((row) => at("f-system").value === "" || row[0] === Number(at("f-system").value));
    const hit = at("f-hit").value;
    const answer = at("f-answer").value;
    const fits = rows.some((row) => (hit === "" || row[2] === Number(hit)) && (answer === "" || outcome(question, row) === answer));
    const query = at("f-text").value.trim().toLowerCase();
    const haystack = [question.id, text(question.question), ...Object.values(question.options).map(text), ...question.said.map(text)];
    return question.setting === state.setting && fits
      && (at("f-domain").value === "" || text(question.domain) === at("f-domain").value)
      && (!at("f-full").checked || question.full)
      && (query === "" || haystack.join("\n").toLowerCase().includes(query));
  }

  function draw() {
    at("list").replaceChildren(...state.found.slice(0, state.shown).map(listItem));
    at("more").hidden = state.found.length <= state.shown;
    const seen = Math.min(state.shown, state.found.length);
    at("count").textContent = `${state.found.length.toLocaleString("en")} questions, ${seen.toLocaleString("en")} listed`;
  }

  function filter() {
    state.shown = STEP;
    state.found = data.questions.filter(matches);
    draw();
  }

  function choose(setting) {
    state.setting = setting;
    for (const box of document.querySelectorAll(".setting")) box.hidden = Number(box.dataset.setting) !== setting;
    const select = at("setting");
    if (select) select.value = String(setting);
    if (!data.answered[setting]) at("f-answer").value = "";
    at("answers").hidden = !data.answered[setting];
    at("signs").hidden = !data.answered[setting];
    const used = new Set(data.questions.filter((q) => q.setting === setting).flatMap((q) => q.rows.map((row) => row[0])));
    at("f-system").replaceChildren(make("option", { value: "" }, "any"),
      ...[...used].sort((a, b) => a - b).map((n) => make("option", { value: String(n) }, data.systems[n].name)));
    filter();
  }

  function openFromHash() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const id = wanted.get("q");
    if (!id) return;
    const setting = wanted.get("s");
    const question = data.questions.find((q) => q.id === id && (setting === null || q.setting === Number(setting)));
    if (!question) return;
    at("filters").reset();
    choose(question.setting);
    state.shown = Math.max(STEP, state.found.indexOf(question) + 1);
    draw();
    const item = [...at("list").children].find((one) => one.dataset.id === id);
    item.firstChild.click();
    item.scrollIntoView();
  }

  const domains = [...new Set(data.questions.map((q) => text(q.domain)))].sort();
  at("f-domain").append(...domains.map((name) => make("option", { value: name }, name)));
  at("filters").addEventListener("input", filter);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("more").addEventListener("click", () => { state.shown += STEP; draw(); });
  if (at("setting")) at("setting").addEventListener("input", () => choose(Number(at("setting").value)));
  window.addEventListener("hashchange", openFromHash);
  choose(0);
  openFromHash();
  root.dataset.ready = String(state.found.length);
})();
