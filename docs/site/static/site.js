// What is wider than the page scrolls by itself; who uses the keyboard must be able to get there.
function reachable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    if (scrolls) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);

// In a lesson: which of its sections is being read. For the eye alone; the headings say it to others.
function where() {
  const sections = [...document.querySelectorAll("article h2")].filter((each) => /^\d+ · /.test(each.textContent));
  if (sections.length < 2) return;
  const place = document.createElement("div");
  place.id = "where";
  place.setAttribute("aria-hidden", "true");
  document.body.append(place);
  const tell = () => {
    const now = sections.filter((each) => each.getBoundingClientRect().top < innerHeight / 2).length;
    place.hidden = now == 0;
    place.textContent = `section ${now} of ${sections.length}`;
  };
  addEventListener("scroll", tell, { passive: true });
  tell();
}
window.addEventListener("load", where);
