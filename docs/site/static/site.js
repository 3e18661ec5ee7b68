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
