// What scrolls sideways in its own box can be reached with the keyboard, and says what it is.
function markScrollable() {
  const boxes = document.querySelectorAll(
    ".figure-of-notebook, article pre, .table-wrapper, article div.math, mjx-container",
  );
  for (const box of boxes) {
    if (box.scrollWidth <= box.clientWidth + 1 || box.closest("mjx-assistive-mml")) continue;
    box.tabIndex = 0;
    if (box.tagName === "MJX-CONTAINER") continue; // it has its own role and name
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "scrolls sideways");
  }
}
window.addEventListener("load", () => {
  const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
  typeset.then(markScrollable);
});
window.addEventListener("resize", markScrollable);

// With ?embed in its address a page shows its text alone, for a frame in another page.
if (new URLSearchParams(location.search).has("embed")) {
  document.documentElement.classList.add("embedded-page");
}
