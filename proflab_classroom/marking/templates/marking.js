// Ten check boxes whose sum is the mark of an essay, in formgrader's page of a submission.
// What was ticked is a line of the comment, "Items (anna): 1, 2, 5.", which `proflab essays` and
// feedback read; so it lies in the gradebook, and formgrader itself saves it.
(function () {
  "use strict";
  const LINE = /^Items(?: \(([^\s()]{1,40})\))?: (none|\d+(?:, \d+)*)\.$/;
  const root = document.getElementById("proflab-scheme");
  const boxes = Array.from(root.querySelectorAll("input[type=checkbox]"));
  const who = root.querySelector("select");
  const save = root.querySelector("button");
  const said = root.querySelector("[role=status]");
  const name = () => (who ? who.value : "");
  const field = (suffix) => document.getElementById(root.dataset.cell + suffix);

  function lines() {
    return field("-comment").value.split("\n");
  }

  function marks() {
    const found = new Map();
    for (const line of lines()) {
      const match = LINE.exec(line.trim());
      if (match) found.set(match[1] || "", match[2] === "none" ? [] : match[2].split(", ").map(Number));
    }
    return found;
  }

  function ticked() {
    return boxes.filter((box) => box.checked).map((box) => Number(box.value));
  }

  function count() {
    save.textContent = `Save: ${ticked().length} of ${boxes.length}`;
    save.disabled = Boolean(who) && !name();
  }

  // A second marker sees neither mark nor comment of the first before saving.
  function show() {
    const found = marks(), own = found.get(name());
    const others = Array.from(found.keys()).filter((each) => each !== name());
    boxes.forEach((box) => (box.checked = Boolean(own) && own.includes(Number(box.value))));
    const unseen = Boolean(who) && others.length > 0 && !own;
    const cell = field("-comment").closest(".nbgrader_cell");
    for (const part of [cell.querySelector(".panel-footer"), field("").closest(".pull-right")])
      part.style.visibility = unseen ? "hidden" : "";
    if (who && !name()) said.textContent = "Say who you are.";
    else if (unseen) said.textContent = "Somebody has marked this essay: you see it when you have saved yours.";
    else if (own && others.length) {
      const told = others.map((each) => `${each || "another"}: ${found.get(each).length}`).join(", ");
      said.textContent = `Saved. Also marked by ${told}; the first mark stays until you have settled it.`;
    } else said.textContent = own ? "Saved." : "";
    count();
  }

  function write() {
    const items = ticked(), own = name();
    const line = `Items${own ? ` (${own})` : ""}: ${items.length ? items.join(", ") : "none"}.`;
    const others = Array.from(marks().keys()).some((each) => each !== own);
    const kept = lines().filter((each) => {
      const match = LINE.exec(each.trim());
      return !(match && (match[1] || "") === own);
    });
    while (kept.length && !kept[kept.length - 1].trim()) kept.pop();
    window.jQuery(field("-comment")).val([...kept, line].join("\n")).trigger("change");
    if (!others) window.jQuery(field("")).val(items.length).trigger("change");
    show();
  }

  function begin() {
    const grader = window.formgrader;
    if (!(grader && grader.grades && grader.grades.loaded && grader.comments.loaded)) {
      setTimeout(begin, 50);
      return;
    }
    if (who) {
      const known = localStorage.getItem("proflab-marker");
      if (Array.from(who.options).some((each) => each.value === known)) who.value = known;
      who.addEventListener("change", () => {
        localStorage.setItem("proflab-marker", who.value);
        show();
      });
    }
    boxes.forEach((box) => box.addEventListener("change", count));
    save.addEventListener("click", write);
    show();
    root.dataset.ready = "yes";
  }
  begin();
})();
