// Collections: another one opens the page anew, where it was; names are written in the list.
(() => {
  const TAB = "attest_tab";
  const SAID = "attest_said";

  const named = (row, writes) => {
    const field = row.querySelector("[data-do=name]");
    const name = row.querySelector(".a-cut");
    field.hidden = !writes;
    name.hidden = writes;
    if (writes) field.select();
    (writes ? field : row.querySelector("[data-naming]")).focus();
  };

  // A tab's content comes a little after its button is pressed.
  const say = (words, tries) => {
    const place = document.querySelector("[data-said]");
    if (!words || !tries) return;
    if (!place) return void setTimeout(say, 100, words, tries - 1);
    place.textContent = words;
    place.hidden = false;
  };

  const leave = async () => {
    try {
      await fetch("api/session", { method: "DELETE" });
    } finally {
      location.assign("login");
    }
  };

  Object.assign(window.attest, {
    go(name, said) {
      const chosen = encodeURIComponent(name);
      document.cookie = `attest_collection=${chosen}; path=/; max-age=31536000; samesite=lax`;
      const tab = document.querySelector("#a-tabs [role=tab][aria-selected=true]");
      sessionStorage.setItem(TAB, tab?.id ?? "");
      if (said) sessionStorage.setItem(SAID, said);
      location.reload();
    },
    // The page was opened, perhaps anew: at the tab that it was left at.
    arrived() {
      document.getElementById(sessionStorage.getItem(TAB) || "a-none")?.click();
      say(sessionStorage.getItem(SAID), 50);
      sessionStorage.removeItem(TAB);
      sessionStorage.removeItem(SAID);
    },
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-collections]")) window.attest.go(event.target.value);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button) return;
    if (button.dataset.go) window.attest.go(button.dataset.go);
    else if ("naming" in button.dataset) named(button.closest(".a-shelf"), true);
    else if ("leave" in button.dataset) leave();
  });

  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.(".a-shelf [data-do=name]");
    if (!field) return;
    if (event.key === "Escape") named(field.closest(".a-shelf"), false);
    else if (event.key === "Enter" && !event.isComposing && field.value.trim()) {
      const detail = { value: field.dataset.send, do: "name", title: field.value };
      field.dispatchEvent(new CustomEvent("named", { bubbles: true, detail }));
    }
  });
})();
