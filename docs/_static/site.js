// Copy buttons, boards that sort and filter, and what a keyboard needs. No library, no network; without it the pages are complete.
(() => {
  "use strict";

  function copyButton(block) {
    const code = block.querySelector("pre");
    if (!code || !navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this block");
    button.addEventListener("click", async () => {
      // Of a session, only what one types.
      const lines = code.innerText.split("\n");
      const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
      await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n").trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.prepend(button);
  }

  const number = (text) => {
    const found = text.replace(/,/g, "").match(/-?(\d+(\.\d+)?(e[-+]?\d+)?|inf)/i);
    return found ? (found[0].toLowerCase().endsWith("inf") ? Infinity : parseFloat(found[0])) : NaN;
  };

  function compare(one, two) {
    const [a, b] = [number(one), number(two)];
    if (!Number.isNaN(a) && !Number.isNaN(b) && a !== b) return a - b;
    return one.localeCompare(two, "en", { numeric: true });
  }

  function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const up = cell.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].sort((a, b) =>
          compare(a.cells[column]?.innerText ?? "", b.cells[column]?.innerText ?? ""));
        body.append(...(up ? rows : rows.reverse()));
      });
    });
  }

  function filterable(tables) {
    const label = document.createElement("label");
    label.className = "filter";
    label.textContent = "Show rows with ";
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "violated, laplace, …";
    label.append(field);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    label.append(count);
    tables[0].parentElement.insertBefore(label, tables[0]);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const table of tables) {
        for (const row of table.tBodies[0].rows) {
          const text = row.innerText.toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
          shown += row.hidden ? 0 : 1;
        }
      }
      count.textContent = words.length ? ` ${shown} rows` : "";
    });
  }

  function reachable(part, label) {  // what scrolls can be scrolled with the keyboard
    part.tabIndex = 0;
    part.setAttribute("role", "region");
    part.setAttribute("aria-label", label);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("pre").forEach((part) => reachable(part, "Code or output"));
    document.querySelectorAll(".table-wrapper").forEach((part) => reachable(part, "Table"));
    document.querySelectorAll('[role="heading"]:not([aria-level])').forEach(
      (part) => part.setAttribute("aria-level", "2"));
    document.querySelectorAll("div.highlight").forEach(copyButton);
    const boards = [...document.querySelectorAll("article table")].filter(
      (table) => table.tHead && table.tBodies.length && table.tBodies[0].rows.length >= 8);
    boards.forEach(sortable);
    if (boards.length) filterable(boards);
  });
})();
