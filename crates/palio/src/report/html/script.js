// What the page cannot do by itself: sort, filter, walk the heat map with the arrow keys, and open a cell in a panel.
// Without it everything is still there to be read.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const make = (tag, props = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), props);
    element.append(...children);
    return element;
  };

  // The folds of single cells give way to the panel.
  document.documentElement.classList.add("js");

  // Sorting. A cell sorts by its data-v, else by the quantity that it begins with, else by its text. Cells without a
  // number come last in either direction: what failed must never look best.
  const units = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, KiB: 1, MiB: 1024, GiB: 1024 ** 2 };
  const value = (cell, head) => {
    if (!cell || cell.colSpan > 1) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim().replace(/[*‡]$/, "");
    const number = Number.parseFloat(text.replace(/^× ?/, "").replaceAll(",", ""));
    if (head.classList.contains("n") || cell.closest(".heat td[data-c]")) {
      return Number.isNaN(number) ? null : number * (units[text.split(" ")[1]] ?? 1);
    }
    return text === "" || text === "–" ? null : text;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en"));
  const sort = (table, index, direction) => {
    const rows = [...table.tBodies[0].rows];
    const head = table.tHead.rows[0].cells[index];
    const keyed = rows.map((row) => [value(row.cells[index], head), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return direction * compare(a, b);
    });
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  };
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    for (const [index, head] of heads.entries()) {
      if (head.dataset.nosort !== undefined) continue;
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, index, up ? 1 : -1);
      });
    }
  }

  // The panel. A cell's details stand in the page as a fold; the panel shows a copy.
  const panel = one("#panel");
  const tip = one("#tip");
  let opener = null;
  const raceName = (fold) => {
    const summary = one("summary", fold.closest(".race"));
    return `${one("h3", summary).textContent.trim()}, ${one(":scope > span", summary).textContent}`;
  };
  const addCopy = (within) => {
    if (!navigator.clipboard) return;
    for (const code of all("pre code", within)) {
      const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(code.textContent).then(() => { button.textContent = "Copied"; }, () => {});
      });
      code.before(button);
    }
  };
  const show = (fold, from) => {
    const close = make("button", { type: "button", className: "close", textContent: "Close", autofocus: true });
    close.addEventListener("click", () => panel.close());
    const title = make("h2", { id: "panel-title" }, `${one("summary", fold).textContent} `, make("small", { textContent: `in ${raceName(fold)}` }));
    const part = one("div", fold);
    const body = part.cloneNode(true);
    body.removeAttribute("id");
    // The race's table has the numbers that all contenders share; here they join those of this one.
    const row = document.getElementById(part.id.replace("c", "e"));
    const list = one("dl", body);
    if (list && row?.cells) {
      const heads = [...row.closest("table").tHead.rows[0].cells].map((head) => head.textContent);
      const fact = (index, extra = "") => [
        make("dt", { textContent: heads[index] }), make("dd", { textContent: row.cells[index].textContent + extra })];
      const shared = [0, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13].flatMap((index) => fact(index, index === 3 ? ` ${row.cells[4].textContent}` : ""));
      list.prepend(...shared);
    }
    panel.replaceChildren(title, close, body);
    addCopy(panel);
    opener = from;
    hideTip();
    panel.showModal();
  };
  panel.addEventListener("click", (event) => { if (event.target === panel) panel.close(); });
  panel.addEventListener("close", () => opener?.focus({ preventScroll: true }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#c']");
    const fold = link && document.getElementById(link.hash.slice(1))?.closest(".cell");
    if (!fold || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(fold, link);
  });
  // A link to a race or a cell opens the folds around it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.closest(".cell")) { show(target.closest(".cell"), null); return; }
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (/^#[rce]\d/.test(location.hash)) reveal();

  // The heat map is one stop of the Tab key; inside it the arrows move.
  const heat = one("#heat");
  const settle = (link) => {
    for (const other of all("td[data-c] a", heat)) other.tabIndex = -1;
    if (link) link.tabIndex = 0;
  };
  if (heat) {
    for (const table of all("table", heat)) table.setAttribute("role", "grid");
    // Where a whole map fits, its head can stay in view; a box that scrolls sideways would hold it fast.
    const fit = () => {
      for (const map of all(".map", heat)) {
        map.classList.remove("fits");
        map.classList.toggle("fits", map.firstElementChild.offsetWidth <= map.clientWidth + 4);
      }
    };
    fit();
    addEventListener("resize", fit);
    const links = () => all("tbody tr", heat).filter((row) => row.offsetParent).map((row) =>
      all("td[data-c]", row).filter((cell) => cell.offsetParent).map((cell) => one("a", cell)));
    settle(one("td[data-c] a", heat));
    heat.addEventListener("focusin", (event) => {
      if (event.target.matches("td[data-c] a")) { settle(event.target); showTip(event.target); }
    });
    heat.addEventListener("focusout", () => hideTip());
    heat.addEventListener("mouseover", (event) => {
      const link = event.target.closest("td[data-c] a");
      if (link) showTip(link); else hideTip();
    });
    heat.addEventListener("mouseleave", () => hideTip());
    heat.addEventListener("keydown", (event) => {
      const link = event.target.closest("td[data-c] a");
      if (!link) return;
      if (event.key === " ") { event.preventDefault(); link.click(); return; }
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e9], End: [0, 1e9] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      const grid = links();
      const row = grid.findIndex((cells) => cells.includes(link));
      const clamp = (n, length) => Math.max(0, Math.min(length - 1, n));
      let [r, c] = [clamp(row + step[0], grid.length), clamp(grid[row].indexOf(link) + step[1], grid[row].length)];
      // Over cells of contenders that were not entered, to the next that is one.
      while (grid[r]?.[c] === null && grid[r + step[0]]?.[c + Math.sign(step[1])] !== undefined) { r += step[0]; c += Math.sign(step[1]); }
      grid[r]?.[c]?.focus();
    });
    heat.addEventListener("keyup", (event) => { if (event.key === "Escape") hideTip(); });
  }

  // A hint beside a cell, from the race's own table.
  function hideTip() { tip.hidden = true; }
  function showTip(link) {
    const row = document.getElementById(link.hash.replace(/^#[ce]/, "e"));
    if (!row) return;
    const text = [...(row.cells ?? [])].map((cell) => cell.textContent.trim());
    // Who was not raced stands in a sentence and not in the table.
    let lines = [row.textContent.trim(), link.textContent];
    if (row.classList.contains("out")) lines = [text[1], text[2]];
    else if (text.length > 0) lines = [text[1], `${text[3]} × the best ${text[4]}`, `rank ${text[0]} · ${text[6]} · CPU ${text[12]}`];
    tip.replaceChildren(...lines.map((line) => make("div", { textContent: line })));
    tip.hidden = false;
    const box = link.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : box.bottom + 8) + scrollY}px`;
  }

  // Filters hide; nothing is recomputed, least of all the totals. The address keeps them: #?w=fib&v=slower&c=go.
  const form = one("#filter");
  if (form) {
    form.hidden = false;
    const text = one("#filter-text");
    const verdict = one("#filter-verdict");
    const buttons = all("[data-k]", form);
    const name = (button) => button.textContent.trim();
    const sheet = document.head.appendChild(make("style"));
    const only = new Set();
    // What each line of a race's table says, in the words of the filter.
    const said = new Map(all(".entries tr[id]").map((row) => {
      const words = new Set(row.classList.contains("out") ? ["failed"] : []);
      if (row.classList.contains("doubt")) words.add("doubtful");
      if (/^1(–|$)/.test(row.cells[0].textContent)) words.add("first");
      const word = one("[class^=v-]", row);
      if (word) words.add(word.textContent);
      if (row.cells[6]?.textContent.endsWith("*")) words.add("outliers");
      if (row.cells[6]?.textContent.endsWith("‡")) words.add("groups");
      return [row.id.slice(1), { row, words }];
    }));
    const apply = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = verdict.value;
      const shows = (column) => only.size === 0 || only.has(column);
      const fits = (key) => (!wanted || said.get(key)?.words.has(wanted)) && shows(key.split("-")[1]);
      const rows = all("tr[data-r]", heat);
      const shown = new Set();
      for (const row of rows) {
        const family = row.closest("table").tHead.rows[0].cells[0].textContent;
        const label = `${family}/${row.cells[0].textContent} ${row.cells[1].textContent} threads`.toLowerCase();
        const keys = all("td[data-c]", row).map((cell) => [cell, `${row.dataset.r}-${cell.dataset.c}`]);
        for (const [cell, key] of keys) cell.classList.toggle("dim", wanted !== "" && !fits(key));
        row.hidden = !words.every((word) => label.includes(word)) || (wanted !== "" && !keys.some(([, key]) => fits(key)));
        if (!row.hidden) shown.add(row.dataset.r);
      }
      for (const [key, { row }] of said) row.hidden = !fits(key);
      for (const part of all("[data-r]")) {
        if (!rows.includes(part)) part.hidden = !part.dataset.r.split(" ").some((race) => shown.has(race));
      }
      const not = [...only].map((column) => `:not([data-c="${column}"])`).join("");
      sheet.textContent = only.size > 0 ? `[data-c]${not}{display:none!important}` : "";
      for (const button of buttons) button.setAttribute("aria-pressed", String(only.has(button.dataset.k)));
      const parts = [];
      if (shown.size < rows.length) parts.push(`${shown.size} of ${rows.length} races`);
      if (only.size > 0) parts.push(`${only.size} of ${buttons.length} contenders`);
      if (wanted) parts.push(`results: ${verdict.selectedOptions[0].textContent}`);
      one("#filter-count").textContent = parts.length === 0 ? ""
        : `${parts.join(", ")}. Numbers stay those of the whole run; “palio report --only” computes them anew.`;
      if (heat) {
        // What was reachable by the Tab key may be hidden now.
        const stop = one("td[data-c] a[tabindex='0']", heat);
        if (!stop?.offsetParent) settle(all("td[data-c] a", heat).find((link) => link.offsetParent) ?? null);
      }
    };
    const keep = () => {
      const state = new URLSearchParams();
      if (text.value) state.set("w", text.value);
      if (verdict.value) state.set("v", verdict.value);
      for (const button of buttons) if (only.has(button.dataset.k)) state.append("c", name(button));
      const hash = state.size > 0 ? `#?${state}` : "";
      if (hash || location.hash.startsWith("#?")) history.replaceState(null, "", location.pathname + location.search + hash);
    };
    const read = () => {
      if (!location.hash.startsWith("#?")) return;
      const state = new URLSearchParams(location.hash.slice(2));
      text.value = state.get("w") ?? "";
      verdict.value = [...verdict.options].some((option) => option.value === state.get("v")) ? state.get("v") : "";
      only.clear();
      for (const button of buttons) if (state.getAll("c").includes(name(button))) only.add(button.dataset.k);
      apply();
      form.scrollIntoView();
    };
    const change = () => { apply(); keep(); };
    text.addEventListener("input", change);
    verdict.addEventListener("input", change);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => { only.clear(); setTimeout(change); });
    for (const button of buttons) {
      button.addEventListener("click", () => {
        if (!only.delete(button.dataset.k)) only.add(button.dataset.k);
        change();
      });
    }
    addEventListener("hashchange", read);
    read();
  }

  addCopy(one("#reproduce") ?? document.createElement("div"));
})();
