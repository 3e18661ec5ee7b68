"use strict";
// One question a screen. The address keeps its number, so that a reload stays where it was.
const screens = [...document.querySelectorAll("section")];
const [back, next] = ["back", "next"].map((id) => document.getElementById(id));
const where = document.getElementById("where");
const LEAST = 22; // px: what does not fit at this size can be scrolled
let at = 0;
function fit(screen) {
  screen.style.fontSize = "";
  if (innerWidth <= 900) return; // on a phone one scrolls
  let size = parseFloat(getComputedStyle(screen).fontSize);
  while (screen.scrollHeight > screen.clientHeight && size > LEAST) {
    size -= 1;
    screen.style.fontSize = `${size}px`;
  }
}
function show() {
  at = Math.min(Math.max(Math.floor(Number(location.hash.slice(1))) || 1, 1), screens.length) - 1;
  screens.forEach((screen, n) => screen.classList.toggle("now", n === at));
  screens[at].scrollTop = 0;
  where.textContent = `${at + 1} of ${screens.length}`;
  back.disabled = at === 0;
  next.disabled = at === screens.length - 1;
  fit(screens[at]);
  reach(screens[at]);
}
function reach(screen) {
  // What does not fit, as at 200 %, a keyboard can scroll.
  screen.tabIndex = screen.scrollHeight > screen.clientHeight + 1 ? 0 : -1;
}
function scroll(step) {
  const before = screens[at].scrollTop;
  screens[at].scrollTop += step * screens[at].clientHeight;
  return screens[at].scrollTop !== before;
}
function go(step) {
  const to = at + step;
  if (to >= 0 && to < screens.length) { location.hash = to + 1; }
}
const keys = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
const rolls = { ArrowDown: 0.2, ArrowUp: -0.2, PageDown: 0.8, " ": 0.8, PageUp: -0.8 };
addEventListener("keydown", (event) => {
  const step = keys[event.key], roll = rolls[event.key];
  if (!(step || roll) || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === " " && event.target.closest("button")) return;
  event.preventDefault();
  if (!(roll && scroll(roll)) && step) go(step);
});
document.querySelector("main").addEventListener("click", (event) => {
  if (event.target.closest("a") || String(getSelection())) return;
  go(event.clientX < innerWidth / 4 ? -1 : 1);
});
back.addEventListener("click", () => go(-1));
next.addEventListener("click", () => go(1));
addEventListener("hashchange", show);
addEventListener("resize", () => { fit(screens[at]); reach(screens[at]); });
document.body.classList.add("turns");
show();
