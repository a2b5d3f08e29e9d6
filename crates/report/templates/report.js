// Sorts the table of trials by the column whose heading is pressed, and opens what is folded
// before it goes to paper. The page is complete without it.
(function () {
  "use strict";
  var number = function (text) {
    var value = parseFloat(text.replace(/\s/g, ""));
    return isNaN(value) ? null : value;
  };
  var words = new Intl.Collator("en", { numeric: true });
  var order = function (a, b) {
    if (a.number !== null && b.number !== null) { return a.number - b.number; }
    if (a.number !== b.number) { return a.number === null ? 1 : -1; }
    return words.compare(a.text, b.text);
  };
  var sort = function (table, column, heading) {
    var body = table.tBodies[0];
    var down = heading.getAttribute("aria-sort") === "ascending";
    var rows = Array.prototype.map.call(body.rows, function (row) {
      var text = row.cells[column].textContent;
      return { text: text, number: number(text), row: row };
    });
    rows.sort(function (a, b) { return down ? order(b, a) : order(a, b); });
    table.querySelectorAll("th[aria-sort]").forEach(function (other) {
      other.removeAttribute("aria-sort");
    });
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    var sorted = document.createDocumentFragment();
    rows.forEach(function (entry) { sorted.appendChild(entry.row); });
    body.appendChild(sorted);
  };
  document.querySelectorAll("table.sortable").forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", function () { sort(table, column, heading); });
      heading.textContent = "";
      heading.appendChild(button);
    });
  });
  var opened = [];
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details:not([open]):not(.long)").forEach(function (details) {
      details.open = true;
      opened.push(details);
    });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (details) { details.open = false; });
    opened = [];
  });
})();
