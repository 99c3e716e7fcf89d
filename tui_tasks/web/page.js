// Keys go to the screen without a click on it first. It hears of the focus only once it draws, and so is told anew.
const area = () => document.querySelector(".xterm-helper-textarea");
const drawing = new MutationObserver(() => {
  if (document.body.classList.contains("-first-byte")) {
    drawing.disconnect();
    area().blur();
    area().focus();
  }
});
addEventListener("load", () => drawing.observe(document.body, { attributeFilter: ["class"] }));
addEventListener("focus", () => area()?.focus());
