// Everything works without this: it saves clicks.
"use strict";

const KEYS_OFF = "desk-keys-off";
const isTyping = (element) => element?.matches?.("textarea, select, input:not([type=radio]):not([type=checkbox])");
const keysOn = () => localStorage.getItem(KEYS_OFF) === null;

// A key does what its element does: chooses, presses, follows, or goes there to write.
function act(element) {
  if (isTyping(element)) element.focus();
  else if (element.matches("summary, button, a, input")) {
    element.focus();
    element.click();
  }
}

// The button that sends the form in which the focus is; outside of forms, that of the only form
// there is to send. Ctrl+Enter on links and other buttons is theirs.
function sender(at) {
  if (at?.form) return at.form.querySelector("[data-submits]");
  if (at?.matches("a, button, summary")) return null;
  const there = document.querySelectorAll("form [data-submits]");
  return there.length === 1 ? there[0] : null;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.repeat) return;
  const at = document.activeElement;
  if (event.key === "Escape" && isTyping(at)) {
    at.blur();
    return;
  }
  const button = event.key === "Enter" && (event.ctrlKey || event.metaKey) && sender(at);
  if (button) {
    event.preventDefault();
    button.form.requestSubmit(button);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(at) || !keysOn()) return;
  const wanted = [...document.querySelectorAll("[data-key]")].find(
    (one) => one.dataset.key === event.key.toLowerCase() && !one.disabled && one.checkVisibility(),
  );
  if (!wanted) return;
  event.preventDefault();
  act(wanted);
});

// A form is sent once; the server counts it once, too.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (event.target.dataset.sent !== undefined) event.preventDefault();
  event.target.dataset.sent = "";
});
// A page that comes back from the browser's memory may be sent again.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// What is written is checked while it is written; the answer takes the place of an element.
function prepareLive(form) {
  const place = document.querySelector(form.dataset.into);
  let waiting;
  let latest = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const number = ++latest;
      place.setAttribute("aria-busy", "true");
      const body = new URLSearchParams(new FormData(form));
      let text = "";
      try {
        const answer = await fetch(form.dataset.live, { method: "POST", body });
        text = answer.ok ? await answer.text() : "";
      } catch {
        text = "";
      }
      if (number !== latest) return;
      place.removeAttribute("aria-busy");
      const found = new DOMParser().parseFromString(text, "text/html").querySelector(form.dataset.into);
      if (found) place.replaceChildren(...found.childNodes);
    }, 250);
  });
}

// What was begun and not sent is kept in the tab, and asked about before it is left.
function prepareGuard(form) {
  let touched = false;
  form.addEventListener("input", () => { touched = true; });
  form.addEventListener("submit", () => { touched = false; });
  window.addEventListener("beforeunload", (event) => { if (touched) event.preventDefault(); });
}

function prepareSwitch(button) {
  const show = () => {
    button.textContent = keysOn() ? button.dataset.on : button.dataset.off;
    button.setAttribute("aria-pressed", String(keysOn()));
    document.documentElement.toggleAttribute("data-keys-off", !keysOn());
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (keysOn()) localStorage.setItem(KEYS_OFF, "");
    else localStorage.removeItem(KEYS_OFF);
    show();
  });
  show();
}

document.querySelectorAll("form[data-live]").forEach(prepareLive);
document.querySelectorAll("form[data-guard]").forEach(prepareGuard);
document.querySelectorAll("[data-keys-switch]").forEach(prepareSwitch);
document.documentElement.dataset.ready = "";
