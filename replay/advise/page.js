"use strict";
function sortBy(heading) {
  const table = heading.closest("table"), body = table.tBodies[0], at = heading.cellIndex;
  const down = heading.getAttribute("aria-sort") !== "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => { const cell = row.cells[at]; return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase(); };
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
  body.append(...[...body.rows].map((row) => [value(row), row]).sort((a, b) => order(a[0], b[0])).map((pair) => pair[1]));
}
for (const heading of document.querySelectorAll("table.sortable th")) {
  heading.tabIndex = 0;
  heading.addEventListener("click", () => sortBy(heading));
  heading.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sortBy(heading); } });
}
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
}
window.addEventListener("hashchange", openTarget);
openTarget();
