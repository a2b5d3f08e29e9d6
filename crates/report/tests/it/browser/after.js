// Runs after the page's own script: reads the page, uses each of its controls as a reader would, and leaves
// what it saw in an element of its own.
(function () {
  "use strict";
  var all = function (selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  };
  var text = function (element) { return element.textContent.trim().replace(/\s+/g, " "); };
  var shown = function (element) { return element.getClientRects().length > 0; };
  var used = [];
  var use = function (element, act) { used.push(element); act(element); };
  var seen = {};

  seen.resources = performance.getEntriesByType("resource").map(function (entry) { return entry.name; });
  seen.outside = all("[src], link[href], object, embed, iframe, base, form").map(function (it) { return it.outerHTML; });
  seen.links = all("a[href]").map(function (link) { return link.getAttribute("href"); });
  seen.lost = seen.links.filter(function (link) {
    return link.charAt(0) === "#" && !document.getElementById(link.slice(1));
  });
  seen.sections = all("main section[id]").map(function (section) { return section.id; });

  // Every figure of the first chart, by the promise and the name of its row.
  seen.chart = [];
  all("header .strips tbody").forEach(function (group) {
    var promise = text(group.querySelector(".group code"));
    all("tr[data-name]", group).forEach(function (row) {
      all("svg[aria-label]", row).forEach(function (strip) {
        seen.chart.push([promise, row.dataset.name, strip.getAttribute("aria-label")]);
      });
    });
  });

  // Every trial, before it is sorted.
  var records = document.querySelector("table.sortable");
  var cells = function (row) { return Array.prototype.map.call(row.cells, text); };
  seen.head = cells(records.tHead.rows[0]);
  seen.trials = Array.prototype.map.call(records.tBodies[0].rows, cells);

  // What is folded opens and closes.
  seen.folds = all("summary").map(function (summary) {
    var before = summary.parentNode.open;
    use(summary, function () { summary.click(); });
    var after = summary.parentNode.open;
    summary.parentNode.open = true;
    return before !== after;
  });

  // A heading sorts its column, up and then down.
  seen.sorted = all("button", records).map(function (button) {
    var heading = button.closest("th");
    var column = heading.cellIndex;
    var values = function () {
      return Array.prototype.map.call(records.tBodies[0].rows, function (row) { return text(row.cells[column]); });
    };
    use(button, function () { button.click(); });
    var up = [heading.getAttribute("aria-sort"), values()];
    button.click();
    var down = [heading.getAttribute("aria-sort"), values()];
    return [text(button), up, down];
  });

  // A box hides the rows of its name, and shows them again.
  var rows = all("header .strips tr[data-name]");
  var of = function (name) { return rows.filter(function (row) { return row.dataset.name === name; }); };
  seen.boxes = all("input[type=checkbox]").map(function (box) {
    var name = text(box.closest("label"));
    use(box, function () { box.click(); });
    var hidden = of(name).length > 0 && !of(name).some(shown);
    var others = rows.filter(function (row) { return row.dataset.name !== name; }).every(shown);
    box.click();
    return [name, hidden, others, of(name).every(shown)];
  });

  // What the rows are held against.
  seen.against = [];
  all("select").forEach(function (select) {
    use(select, function () {});
    Array.prototype.forEach.call(select.options, function (option) {
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
      rows.forEach(function (row) {
        var told = all("[data-against], .said", row).filter(shown);
        seen.against.push([option.value, row.dataset.name, told.map(text)]);
      });
    });
    select.value = "";
    select.dispatchEvent(new Event("change"));
  });

  // A table is copied as text, without what is hidden.
  var copies = all("button.tool");
  copies.forEach(function (button) { use(button, function () { button.click(); }); });

  // What is folded opens for the printer, and is as before after it.
  var folded = all("details:not(.long)");
  folded.forEach(function (details) { details.open = false; });
  window.dispatchEvent(new Event("beforeprint"));
  seen.printed = folded.every(function (details) { return details.open; });
  window.dispatchEvent(new Event("afterprint"));
  seen.after_print = folded.every(function (details) { return !details.open; });

  seen.unused = all("button, input, select, textarea, summary, [onclick]").filter(function (control) {
    return used.indexOf(control) < 0;
  }).map(function (control) { return control.outerHTML; });

  var leave = function () {
    seen.copied = window.copied;
    seen.said = copies.map(text);
    seen.wrong = window.wrong;
    var left = document.createElement("pre");
    left.id = "seen";
    left.textContent = encodeURIComponent(JSON.stringify(seen));
    document.body.appendChild(left);
  };
  // After what the page does once a copy is made.
  Promise.resolve().then(function () { return Promise.resolve(); }).then(function () { leave(); });
})();
