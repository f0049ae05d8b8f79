"use strict";
// The lines of the statement that the pointer or the keyboard is at stand out.
(() => {
  const graph = document.querySelector(".graph");
  const lines = [...graph.querySelectorAll(".line")];
  function choose(node) {
    const id = node?.id.slice("g-".length);
    for (const line of lines) line.classList.toggle("near", line.dataset.a === id || line.dataset.b === id);
    graph.classList.toggle("chosen", Boolean(node));
  }
  const at = (event) => choose(event.target.closest(".node"));
  graph.addEventListener("pointerover", at);
  graph.addEventListener("pointerleave", () => choose(null));
  graph.addEventListener("focusin", at);
  graph.addEventListener("focusout", () => choose(null));
  const chosen = () => {
    const node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!node?.matches(".node")) return;
    node.scrollIntoView({ block: "center", inline: "center" });
    choose(node);
  };
  window.addEventListener("hashchange", chosen);
  window.addEventListener("load", () => setTimeout(chosen)); // after the browser's own way to the statement
})();
