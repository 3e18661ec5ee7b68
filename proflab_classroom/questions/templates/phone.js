"use strict";
const fields = [...document.querySelectorAll("input[data-question]")];
const said = document.getElementById("said");
// What keeps a spreadsheet from taking a guess for a formula, as course/csv_table.py has it.
const live = JSON.parse(document.body.dataset.live).map(([text, mark]) => [new RegExp(text, "g"), mark]);
const harmless = (text) => live.reduce((cell, [start, mark]) => cell.replace(start, `$1${mark}`), text);
const quoted = (text) => `"${harmless(text).replaceAll('"', '""')}"`;
function rows() {
  return fields.filter((f) => f.value.trim()).map((f) =>
    `${f.dataset.question},${quoted(f.value.trim())},1`);
}
function tell(text) { said.textContent = text; }
document.getElementById("save").addEventListener("click", () => {
  const lines = rows();
  if (!lines.length) { tell("There is no guess yet."); return; }
  const text = ["question,guess,count", ...lines, ""].join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = document.body.dataset.file;
  link.click();
  URL.revokeObjectURL(link.href);
  tell(`${lines.length} of ${fields.length} guesses are saved in ${link.download}.`);
});
document.getElementById("copy").addEventListener("click", async () => {
  const lines = rows();
  if (!lines.length) { tell("There is no guess yet."); return; }
  try {
    await navigator.clipboard.writeText(lines.join("\n"));
    tell(`${lines.length} of ${fields.length} guesses are copied: paste them where you are asked to.`);
  } catch { tell("This browser does not let a page copy: save the guesses instead."); }
});
