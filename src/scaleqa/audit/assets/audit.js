// Everything works without this: it keeps drafts, counts seconds, and saves clicks.
"use strict";

function prepareRating(form) {
  const said = form.querySelector("[data-said]");
  let seconds = 0;
  let since = document.hidden ? null : performance.now();
  let waiting;
  let sending = Promise.resolve();

  // Only while the page is before somebody.
  const count = () => {
    if (since !== null) seconds += (performance.now() - since) / 1000;
    since = document.hidden ? null : performance.now();
    form.elements.seconds.value = String(Math.round(seconds));
  };
  document.addEventListener("visibilitychange", count);

  const keep = async () => {
    const body = new URLSearchParams(new FormData(form));
    let saved = false;
    try {
      const answer = await fetch(form.dataset.draft, { method: "POST", body, keepalive: true });
      saved = answer.ok && (await answer.json()).saved;
    } catch {
      saved = false;
    }
    said.textContent = saved ? said.dataset.saved : said.dataset.unsaved;
  };
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      waiting = undefined;
      sending = sending.then(keep);
    }, 300);
  };
  form.addEventListener("input", (event) => {
    const { name, value } = event.target;
    // What matters most is there.
    if (name === "primary") {
      for (const cue of form.querySelectorAll("[name=cues]")) {
        if (value === "none") cue.checked = false;
        else if (cue.value === value) cue.checked = true;
      }
    }
    later();
  });
  window.addEventListener("pagehide", () => {
    if (waiting === undefined || form.dataset.sent !== undefined) return;
    clearTimeout(waiting);
    keep();
  });
  form.addEventListener("submit", () => {
    count();
    clearTimeout(waiting);
  });

  // A digit answers the scale in which the focus is, or else the first that is not answered.
  document.addEventListener("keydown", (event) => {
    if (!/^[1-5]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(document.activeElement) || !keysOn()) return;
    const scales = [...form.querySelectorAll("[data-scale]")];
    const open = scales.find((one) => !one.querySelector(":checked"));
    const here = document.activeElement?.closest?.("[data-scale]");
    const wanted = here && !here.querySelector(":checked") ? here : (open ?? here);
    const point = wanted?.querySelector(`[value="${event.key}"]`);
    if (!point) return;
    event.preventDefault();
    point.focus();
    point.click();
  });
}

document.querySelectorAll("form[data-draft]").forEach(prepareRating);
document.querySelector("[data-look]")?.focus();
