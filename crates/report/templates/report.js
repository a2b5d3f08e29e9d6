// Sorts the table of trials by the column whose heading is pressed, hides what a reader does not ask
// about, copies tables, and opens what is folded before it goes to paper. The page is complete without it.
(function () {
  "use strict";
  var each = function (selector, act) { Array.prototype.forEach.call(document.querySelectorAll(selector), act); };
  var button = function (text, act) {
    var made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };
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

  // A table as text: a tab between cells, a line a row; what is hidden is left out.
  var text = function (table) {
    return Array.prototype.filter.call(table.rows, function (row) { return !row.hidden; })
      .map(function (row) {
        return Array.prototype.map.call(row.cells, function (cell) {
          var named = cell.querySelector("svg[aria-label]");
          var shown = cell.cloneNode(true);
          Array.prototype.forEach.call(shown.querySelectorAll("[hidden], .by-op"), function (part) { part.remove(); });
          var said = shown.textContent.trim().replace(/\s+/g, " ");
          return named ? named.getAttribute("aria-label") : said;
        }).join("\t");
      }).join("\n");
  };
  var copy = function (table, made) {
    var done = function () { made.textContent = "Copied"; };
    var failed = function () { made.textContent = "The browser does not allow it"; };
    if (navigator.clipboard) { navigator.clipboard.writeText(text(table)).then(done, failed); } else { failed(); }
  };
  each("table:not(.sortable):not(.heat)", function (table) {
    var made = button("Copy this table", function () { copy(table, made); });
    made.className = "tool screen-only";
    (table.closest(".scroll") || table).insertAdjacentElement("afterend", made);
  });
  each("table.sortable", function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var label = heading.textContent;
      heading.textContent = "";
      heading.appendChild(button(label, function () { sort(table, column, heading); }));
    });
  });

  // A box for each name of the first chart, where there are more than two: an empty one hides its rows.
  var rows = Array.prototype.slice.call(document.querySelectorAll("header .strips tr[data-name]"));
  var names = rows.map(function (row) { return row.dataset.name; })
    .filter(function (name, at, all) { return all.indexOf(name) === at; });
  if (names.length > 2) {
    var boxes = document.createElement("p");
    boxes.className = "boxes screen-only";
    names.forEach(function (name) {
      var label = document.createElement("label");
      var box = document.createElement("input");
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", function () {
        rows.forEach(function (row) { if (row.dataset.name === name) { row.hidden = !box.checked; } });
      });
      label.append(box, " " + name);
      boxes.appendChild(label);
    });
    document.querySelector("header .strips").insertAdjacentElement("afterend", boxes);

    // What the rows are held against: the fastest, or one that the reader chooses.
    var chosen = document.createElement("select");
    names.forEach(function (name, at) {
      if (at === 0) { chosen.add(new Option("the fastest", "")); }
      chosen.add(new Option(name, name));
    });
    chosen.addEventListener("change", function () {
      each("header .strips [data-against]", function (said) { said.hidden = said.dataset.against !== chosen.value; });
      each("header .strips .said", function (said) { said.hidden = chosen.value !== ""; });
    });
    var held = document.createElement("label");
    held.append("Against ", chosen);
    boxes.appendChild(held);
  }
  // A link into a folded part opens it. A matrix of conditions sorts by the column whose heading is pressed.
  var reveal = function () {
    var at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var part = at; part; part = part.parentElement) { if (part.tagName === "DETAILS") { part.open = true; } }
    if (at) { at.scrollIntoView(); }
  };
  window.addEventListener("hashchange", reveal);
  reveal();
  each("table.ratio", function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var label = column === 0 ? document.createTextNode("condition") : null;
      var pressed = button("", function () { sort(table, column, heading); });
      while (heading.firstChild) { pressed.appendChild(heading.firstChild); }
      if (label) { pressed.appendChild(label); }
      heading.appendChild(pressed);
    });
  });

  var opened = [];
  window.addEventListener("beforeprint", function () {
    each("details:not([open]):not(.long)", function (details) {
      details.open = true;
      opened.push(details);
    });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (details) { details.open = false; });
    opened = [];
  });
})();
