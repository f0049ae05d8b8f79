"use strict";
// Shows the statements that the form asks for, the best matches of the search first.  The form stands in the address, as in
// `#verdict=refuted&kind=lemma&text=sampling`, so that a link can be sent.
(() => {
  const form = document.querySelector(".filters");
  const items = [...document.querySelectorAll("[data-item]")];
  const parent = items[0]?.parentElement;
  const end = items.at(-1)?.nextSibling ?? null; // what follows the statements
  const at = (id) => document.getElementById(id);
  const boxes = [...form.querySelectorAll("input[name=verdict]")];
  const selects = ["paper", "kind", "form", "severity"].filter((name) => at(`f-${name}`));
  const asked = () => at("f-text").value.trim();

  function apply() {
    const text = asked();
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const scores = new Map(); // by statement: the best of what is said about it
    if (text) for (const { entry, score } of window.fedsearch.find(text)) if (!scores.has(entry.statement)) scores.set(entry.statement, score);
    const score = (item) => (text ? (scores.get(item.dataset.item) ?? 0) : 1);
    for (const item of items) {
      const data = item.dataset;
      item.hidden = !(verdicts.has(data.verdict) && selects.every((name) => !at(`f-${name}`).value || at(`f-${name}`).value === data[name]) && score(item) > 0);
    }
    const order = text ? [...items].sort((a, b) => score(b) - score(a)) : items;
    const now = [...parent.children].filter((child) => "item" in child.dataset);
    if (order.some((item, i) => now[i] !== item)) for (const item of order) parent.insertBefore(item, end);
    const shown = items.filter((item) => !item.hidden).length;
    at("f-count").textContent = `${shown} of ${items.length} statements${text && shown > 1 ? ", the best matches first" : ""}`;
    at("f-none").hidden = shown > 0;
  }

  function address() {
    const told = new URLSearchParams();
    for (const name of selects) if (at(`f-${name}`).value) told.set(name, at(`f-${name}`).value);
    if (asked()) told.set("text", at("f-text").value);
    const checked = boxes.filter((box) => box.checked).map((box) => box.value);
    if (checked.length < boxes.length) told.set("verdict", checked.join(","));
    history.replaceState(null, "", `${location.pathname}${location.search}${String(told) ? `#${told}` : ""}`);
  }

  function fromAddress() {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      const wanted = new URLSearchParams(hash);
      for (const name of selects) at(`f-${name}`).value = wanted.get(name) ?? "";
      at("f-text").value = wanted.get("text") ?? "";
      const verdicts = wanted.get("verdict")?.split(",");
      for (const box of boxes) box.checked = !verdicts || verdicts.includes(box.value);
      apply();
      form.scrollIntoView();
    } else if (hash && at(decodeURIComponent(hash))?.hidden) {
      form.reset(); // a link to a statement that the form had hidden
      apply();
      at(decodeURIComponent(hash)).scrollIntoView();
    }
  }

  form.addEventListener("input", () => { apply(); address(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); address(); }));
  at("f-clear").addEventListener("click", () => form.reset());
  window.addEventListener("hashchange", fromAddress);
  apply();
  fromAddress();
})();
