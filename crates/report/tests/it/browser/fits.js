// What has no room where it stands: added to a page before its end. On paper the rules of print hold.
addEventListener("load", () => {
  if (document.documentElement.dataset.paper !== undefined) {
    for (const rule of document.styleSheets[0].cssRules) {
      if (rule.media && rule.media.mediaText === "print") rule.media.mediaText = "all";
      else if (rule.media && rule.media.mediaText.includes("screen")) rule.media.mediaText = "not all";
    }
  }
  const wrong = [];
  const paper = document.documentElement.clientWidth;
  for (const map of document.querySelectorAll(".heats table")) {
    const name = map.querySelector("caption").textContent;
    const room = map.parentElement.getBoundingClientRect();
    const { right } = map.getBoundingClientRect();
    if (right > room.right + 1 || right > paper + 1) wrong.push(`${name} ends at ${right} of ${room.right}`);
  }
  const shown = (text) => getComputedStyle(text).display !== "none" && text.getBoundingClientRect().width > 0;
  for (const axis of document.querySelectorAll(".strip.axis")) {
    const ticks = [...axis.querySelectorAll(".tick")].filter(shown).map((it) => [it.textContent, it.getBoundingClientRect()]);
    for (let at = 1; at < ticks.length; at++) {
      const [[before, one], [after, other]] = [ticks[at - 1], ticks[at]];
      if (other.left < one.right + 2) wrong.push(`${before} runs into ${after}`);
    }
  }
  for (const figure of document.querySelectorAll("td.panel text.val")) {
    if (!shown(figure)) continue;
    const { right } = figure.getBoundingClientRect();
    const cell = figure.closest("td").getBoundingClientRect();
    if (right > cell.right + 1) wrong.push(`${figure.textContent} ends at ${right} of ${cell.right}`);
  }
  const counted = ["heats table", "strip.axis", "panel text.val"].map((it) => document.querySelectorAll("." + it).length);
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = encodeURIComponent(JSON.stringify({ wrong, counted }));
  document.body.append(out);
});
