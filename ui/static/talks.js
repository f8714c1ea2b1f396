// The list of conversations: its drawer on a phone, names that are written in it, and its menus;
// and what is copied out of an answer.
(() => {
  const panel = () => document.getElementById("a-talks");
  const isOpen = () => document.body.classList.contains("a-drawn");

  // Buttons come into view with a transition of their own, before which they take no focus.
  const enter = (frames) => {
    if (!frames || !isOpen() || panel().contains(document.activeElement)) return;
    [...panel().querySelectorAll("button")].find((each) => each.offsetParent)?.focus();
    requestAnimationFrame(() => enter(frames - 1));
  };

  const draw = (open) => {
    document.body.classList.toggle("a-drawn", open);
    for (const button of document.querySelectorAll("[data-drawer]"))
      button.setAttribute("aria-expanded", open);
    if (open) enter(30);
    else document.querySelector("[data-drawer]")?.focus();
  };

  const closeMenus = (but) => {
    for (const menu of document.querySelectorAll(".a-menu[open]")) if (menu !== but) menu.open = false;
  };

  const naming = (row, writes) => {
    const field = row.querySelector("[data-do=rename]");
    const button = row.querySelector(".a-talk-open");
    field.hidden = !writes;
    button.hidden = writes;
    closeMenus();
    if (writes) field.select();
    (writes ? field : button).focus();
  };

  const copy = async (button) => {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without https the clipboard is closed to scripts, all but this old way.
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    const label = button.textContent;
    if (label === button.dataset.done) return;
    button.textContent = button.dataset.done;
    setTimeout(() => (button.textContent = label), 1600);
  };

  document.addEventListener("click", (event) => {
    const { target } = event;
    closeMenus(target.closest?.(".a-menu"));
    const button = target.closest?.("button, a");
    if (!button) {
      if (isOpen() && !target.closest?.("#a-talks")) draw(false);
      return;
    }
    if ("drawer" in button.dataset) draw(!isOpen());
    else if ("rename" in button.dataset) naming(button.closest(".a-talk"), true);
    else if ("copy" in button.dataset) copy(button);
    else if (isOpen() && (button.dataset.do === "open" || button.id === "a-new")) draw(false);
    else if (button.matches(".a-menu a")) closeMenus();
  });

  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.("[data-do=rename]");
    const note = event.target.closest?.(".a-note");
    if (event.key === "Escape") {
      const menu = document.querySelector(".a-menu[open]");
      if (field) naming(field.closest(".a-talk"), false);
      else if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      } else if (isOpen()) draw(false);
    } else if (event.key === "Enter" && !event.isComposing) {
      if (field?.value.trim()) {
        const detail = { value: field.dataset.send, do: "rename", title: field.value };
        field.dispatchEvent(new CustomEvent("named", { bubbles: true, detail }));
        naming(field.closest(".a-talk"), false);
      } else if (note) window.attest.noted(note);
    }
  });
})();
