// Runs before the page's own script: what goes wrong is kept, and what is copied is seen.
window.wrong = [];
window.copied = [];
window.addEventListener("error", function (event) { window.wrong.push(String(event.message)); });
window.addEventListener("unhandledrejection", function (event) { window.wrong.push(String(event.reason)); });
window.addEventListener("securitypolicyviolation", function (event) {
  window.wrong.push("a request for " + event.blockedURI);
});
["error", "warn"].forEach(function (name) {
  console[name] = function () { window.wrong.push(Array.prototype.join.call(arguments, " ")); };
});
Object.defineProperty(navigator, "clipboard", {
  value: { writeText: function (text) { window.copied.push(text); return Promise.resolve(); } }
});
