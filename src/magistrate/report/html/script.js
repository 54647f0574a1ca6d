"use strict";
(() => {
  const all = (query, root = document) => Array.from(root.querySelectorAll(query));

  // Tips: the titles of marks, shown at once and where the pointer is. Without this script the
  // browser shows the titles itself.
  const tip = document.getElementById("tip");
  for (const title of all("svg title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const place = (event) => {
    const edge = document.documentElement.clientWidth;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, edge - box.width - 4)) + "px";
    const below = event.clientY + 18 + box.height < window.innerHeight;
    tip.style.top = (below ? event.clientY + 18 : event.clientY - box.height - 10) + "px";
  };
  const show = (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    place(event);
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("pointermove", (event) => tip.hidden || place(event));
  document.addEventListener("pointerdown", show);
  document.addEventListener("keydown", (event) => event.key === "Escape" && (tip.hidden = true));
  document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });

  // Tables: a click on a heading sorts by it.
  for (const heading of all("table.sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sort(heading));
  }
  const sort = (heading) => {
    const table = heading.closest("table");
    const at = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[at];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((one, other) => {
      const a = key(one), b = key(other);
      // What has no number stays last, whichever way.
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
      const order = typeof a === "number" ? a - b : a.localeCompare(b);
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };

  // Light or dark: as the system says, until asked otherwise.
  const theme = document.querySelector(".theme");
  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => (theme.textContent = isDark() ? "Light" : "Dark");
  theme.hidden = false;
  name();
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });

  // Runs: what is about a run is shown while its box is ticked.
  for (const box of all("[data-toggle-run]")) {
    box.addEventListener("change", () => {
      const number = box.dataset.toggleRun, name = box.dataset.name;
      for (const part of all("[data-run], [data-of]")) {
        if (part.dataset.run === number || part.dataset.of === name) {
          part.classList.toggle("run-off", !box.checked);
        }
      }
      filter();
    });
  }

  // Samples: by kind and by text.
  const bar = document.querySelector(".filter");
  const filter = () => {
    if (!bar) return;
    const wanted = bar.querySelector("input").value.toLocaleLowerCase();
    const why = bar.querySelector("select").value;
    let shown = 0;
    for (const card of all(".card")) {
      const fits = (!why || card.dataset.why === why) &&
        (!wanted || card.textContent.toLocaleLowerCase().includes(wanted));
      card.hidden = !fits;
      shown += fits && !card.classList.contains("run-off");
    }
    bar.querySelector("output").textContent = shown + " shown";
  };
  if (bar) {
    bar.hidden = false;
    bar.addEventListener("input", filter);
  }

  // The list of sections marks where the reader is.
  if ("IntersectionObserver" in window) {
    const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        const link = links.get(entry.target.id);
        if (link) link.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const section of all("main > section[id]")) seen.observe(section);
  }

  // On paper nothing can be opened: the numbers and reasons are printed as well.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
})();
