"use strict";
// Search in the bar of every page.  FEDTHEORY_INDEX (index.js) has what can be found.  A word may be written in another form
// ("diverges", "equation 54") or with a typing error ("heterogenity").
(() => {
  const FIELDS = ["kind", "title", "place", "words", "url", "statement", "status", "shown"];
  const WEIGHTS = { title: 4, place: 3, words: 1, kind: 1 }; // of a word by the field in which it stands
  const SHOWN = 12;
  const ALIKE = { eq: "equation", eqs: "equation", thm: "theorem", cor: "corollary", asm: "assumption", assump: "assumption", alg: "algorithm", def: "definition", fig: "figure", tab: "table", rem: "remark", sec: "section" };
  const GREEK = { α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", κ: "kappa", λ: "lambda", μ: "mu", ξ: "xi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ω: "omega", Γ: "Gamma" };
  const EMPTY = new Set(["a", "an", "and", "at", "by", "for", "in", "is", "it", "of", "on", "or", "the", "to", "too", "with"]);
  const at = (id) => document.getElementById(id);

  // Words and numbers in one form each: "Lemmas" and "lemma", "thmE4" and "Theorem E.4" are the same
  function tokens(text) {
    const parted = text.replace(/[α-ωΓ]/g, (letter) => ` ${GREEK[letter] ?? letter} `).replace(/([a-z])([A-Z])(?=\d)/g, "$1 $2");
    return (parted.toLowerCase().match(/[a-z]+|\d+/g) ?? []).map((word) => stem(ALIKE[word] ?? word));
  }
  const stem = (word) => (word.length > 4 ? word.replace(/(ing|ed|es|is|e|s)$/, "") : word);

  // Letters to change, add, leave out or swap between two words; `most` + 1 if more than `most`
  function distance(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let [before, last] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] + 1 : Infinity;
        row.push(Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + Number(a[i - 1] !== b[j - 1]), swapped));
      }
      [before, last] = [last, row];
    }
    return last[b.length];
  }

  let made = null;
  // Each entry by name of field; word -> entry -> its weight there; titles and places as one line each
  function index() {
    if (made) return made;
    const entries = window.FEDTHEORY_INDEX.map((row) => Object.fromEntries(FIELDS.map((name, i) => [name, row[i]])));
    const words = new Map();
    const lines = entries.map((entry, number) => {
      const found = Object.fromEntries(Object.keys(WEIGHTS).map((field) => [field, tokens(entry[field])]));
      for (const [field, own] of Object.entries(found)) {
        for (const word of own) {
          if (!words.has(word)) words.set(word, new Map());
          words.get(word).set(number, Math.max(WEIGHTS[field], words.get(word).get(number) ?? 0));
        }
      }
      return [found.title, found.place].map((own) => ` ${own.join(" ")} `);
    });
    return (made = { entries, words, lines });
  }

  // The words of the index that a typed word may mean, with how well they fit
  function meant(word) {
    const known = [...index().words.keys()];
    if (/\d/.test(word)) return known.includes(word) ? [[word, 1]] : [];
    const found = known.filter((one) => one === word || (word.length > 2 && one.startsWith(word))).map((one) => [one, one === word ? 1 : 0.6]);
    const most = word.length > 7 ? 2 : word.length > 3 ? 1 : 0;
    return found.length || !most ? found : known.filter((one) => distance(word, one, most) <= most).map((one) => [one, 0.4]);
  }

  // The entries that fit a text, the best first; where none has all words, those with most of them
  function find(text) {
    const { entries, words, lines } = index();
    const typed = [...new Set(tokens(text))];
    const asked = typed.some((word) => !EMPTY.has(word)) ? typed.filter((word) => !EMPTY.has(word)) : typed;
    const phrase = ` ${typed.join(" ")} `;
    const raw = text.trim().toLowerCase();
    const scores = new Map(); // entry -> how many words it has, score
    for (const word of asked) {
      const best = new Map();
      for (const [one, fit] of meant(word)) {
        for (const [number, weight] of words.get(one)) best.set(number, Math.max(fit * weight, best.get(number) ?? 0));
      }
      const rare = Math.log(1 + entries.length / best.size);
      for (const [number, weight] of best) {
        const [count, score] = scores.get(number) ?? [0, 0];
        scores.set(number, [count + 1, score + rare * weight]);
      }
    }
    const most = Math.max(0, ...[...scores.values()].map(([count]) => count));
    const found = [...scores].filter(([, [count]]) => count === most).map(([number, [, score]]) => {
      const { title, kind } = entries[number];
      const said = lines[number].some((line) => line.includes(phrase)) || title.toLowerCase().includes(raw) ? 2 : 1;
      const whole = title.toLowerCase() === raw || title.toLowerCase().split(".").slice(1).join(".") === raw ? 2 : 1;
      const first = kind === "finding" || kind === "list" ? 2 : 1;
      return { entry: entries[number], score: score * said * whole * first };
    });
    return found.sort((a, b) => b.score - a.score);
  }

  window.fedsearch = { find };

  // The bar; without scripts there is nothing to search with

  document.querySelector(".strip").insertAdjacentHTML("beforeend", `
    <form id="search" class="search" role="search" aria-label="Search all pages">
    <input type="search" id="q" placeholder="Search ( / )" aria-label="Search statements, findings, errata and symbols" autocomplete="off" spellcheck="false">
    <div id="found" class="found" hidden></div></form>`);
  const [form, field, box] = [at("search"), at("q"), at("found")];
  const close = () => { box.hidden = true; };
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

  function line({ kind, title, place, url, status, shown, statement }) {
    const badge = status ? ` <span class="badge ${status}">${status}</span>` : "";
    const name = kind === "erratum" ? statement : title;
    const what = kind === "erratum" ? `erratum, ${title}` : kind;
    return `<li><a href="${escaped(url).replaceAll('"', "&quot;")}"><b>${escaped(name)}</b>${badge} <span class="source">${escaped([what, kind === "erratum" || kind === "finding" ? "" : place].filter(Boolean).join(", "))}</span>` +
      (shown ? `<span class="told">${shown}</span>` : "") + "</a></li>";
  }

  function show() {
    const text = field.value.trim();
    box.hidden = !text;
    if (!text) return;
    const found = find(text);
    const all = `index.html#${new URLSearchParams({ text })}`;
    const more = found.length > SHOWN ? ` <a href="${all}">All statements among them</a>` : "";
    box.innerHTML = `<p role="status">${found.length || "Nothing"} found${found.length > SHOWN ? `, the first ${SHOWN} below.` : "."}${more}</p>` +
      `<ol>${found.slice(0, SHOWN).map(({ entry }) => line(entry)).join("")}</ol>`;
  }

  function move(by) {
    const links = [...box.querySelectorAll("ol a")];
    const next = links.indexOf(document.activeElement) + by;
    (next < 0 ? field : links[Math.min(next, links.length - 1)])?.focus();
  }

  field.addEventListener("input", show);
  field.addEventListener("focus", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    box.querySelector("ol a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
    if (event.key === "Escape") {
      field.focus();
      close();
    }
  });
  form.addEventListener("focusout", (event) => { if (event.relatedTarget && !form.contains(event.relatedTarget)) close(); });
  document.addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) close(); });
  box.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox], [type=range]), select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
})();
