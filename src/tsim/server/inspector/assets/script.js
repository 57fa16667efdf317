// Everything works without this: it saves a click here and there.
"use strict";

// The slider stands for the number beside it, and redraws the map while it moves.
let latest = 0;

async function redraw(form) {
  const target = form.dataset.redraw;
  const address = new URL(form.action);
  address.search = new URLSearchParams(new FormData(form)).toString();
  const number = ++latest;
  document.querySelector(target).setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await fetch(address, { headers: { Accept: "text/html" } });
  } catch {
    answer = { ok: false };
  }
  if (number !== latest) return; // a newer one is under way
  const text = answer.ok ? await answer.text() : "";
  if (number !== latest) return;
  const found = new DOMParser().parseFromString(text, "text/html").querySelector(target);
  if (!found) {
    form.submit(); // shows what is wrong
    return;
  }
  const slid = document.activeElement?.matches("[data-slides]");
  document.querySelector(target).replaceWith(found);
  prepare(found);
  if (slid) found.querySelector("[data-slides]")?.focus();
  history.replaceState(null, "", address);
}

function prepareSlider(slider) {
  const form = slider.form;
  const field = form.elements[slider.dataset.slides];
  let waiting;
  slider.hidden = false;
  slider.addEventListener("input", () => {
    field.value = slider.value;
    clearTimeout(waiting);
    waiting = setTimeout(() => redraw(form), 120);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    redraw(form);
  });
}

// One stop of the tab key for all blocks of a map; arrows go from one to the next.
function prepareMap(map) {
  const blocks = [...map.querySelectorAll("a.block")];
  blocks.forEach((block, place) => block.setAttribute("tabindex", place ? "-1" : "0"));
  map.addEventListener("keydown", (event) => {
    const place = blocks.indexOf(document.activeElement);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: blocks.length - 1 }[event.key];
    if (place < 0 || to === undefined || !blocks[to]) return;
    event.preventDefault();
    blocks[place].setAttribute("tabindex", "-1");
    blocks[to].setAttribute("tabindex", "0");
    blocks[to].focus();
  });
}

function prepare(within) {
  within.querySelectorAll("[data-slides]").forEach(prepareSlider);
  within.querySelectorAll(".map svg").forEach(prepareMap);
}

prepare(document);
document.documentElement.dataset.ready = "";
