"use strict";
// Hides the statements that the form does not ask for.  `#verdict=refuted&kind=lemma` in the address fills in the form.
(() => {
  const form = document.querySelector(".filters");
  const items = [...document.querySelectorAll("[data-item]")];
  const at = (id) => document.getElementById(id);
  const boxes = [...form.querySelectorAll("input[name=verdict]")];
  const selects = ["paper", "kind", "form"].filter((name) => at(`f-${name}`));

  function apply() {
    const words = at("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const item of items) {
      const data = item.dataset;
      const fits =
        verdicts.has(data.verdict) &&
        selects.every((name) => !at(`f-${name}`).value || at(`f-${name}`).value === data[name]) &&
        words.every((word) => data.text.includes(word));
      item.hidden = !fits;
      shown += fits;
    }
    at("f-count").textContent = `${shown} of ${items.length} statements`;
    at("f-none").hidden = shown > 0;
  }

  function fromAddress() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.includes("=")) {
      form.reset();
      const asked = new URLSearchParams(hash);
      for (const name of selects) at(`f-${name}`).value = asked.get(name) ?? "";
      at("f-text").value = asked.get("text") ?? "";
      if (asked.has("verdict")) for (const box of boxes) box.checked = box.value === asked.get("verdict");
      apply();
      form.scrollIntoView();
    } else if (hash && document.getElementById(hash)?.hidden) {
      form.reset(); // a link to a statement that the form had hidden
      apply();
      document.getElementById(hash).scrollIntoView();
    }
  }

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  at("f-clear").addEventListener("click", () => form.reset());
  window.addEventListener("hashchange", fromAddress);
  apply();
  fromAddress();
})();
