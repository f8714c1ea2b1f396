// What the page does without asking the server: sources, confirmations, tabs and dropped files.
(() => {
  const open = (key, button) => {
    const stored = document.getElementById(key);
    const panel = document.getElementById("a-source");
    if (!stored || !panel) return;
    panel.innerHTML = stored.innerHTML;
    panel.hidden = false;
    document.body.classList.add("a-sourced");
    release();
    button.setAttribute("aria-pressed", "true");
    const quote = panel.querySelector("mark");
    if (quote) panel.scrollTop = quote.offsetTop - (panel.clientHeight - quote.offsetHeight) / 3;
  };

  const release = () => {
    for (const button of document.querySelectorAll("[data-source][aria-pressed]"))
      button.removeAttribute("aria-pressed");
  };

  const close = () => {
    const panel = document.getElementById("a-source");
    if (!panel || panel.hidden) return;
    panel.hidden = true;
    document.body.classList.remove("a-sourced");
    document.querySelector("[data-source][aria-pressed]")?.focus();
    release();
  };

  // Removing takes a second press, on a button that comes in place of the first.
  const confirming = (cell, sure) => {
    cell.querySelector("[data-confirm]").hidden = sure;
    cell.querySelector(".a-confirm").hidden = !sure;
    cell.querySelector(sure ? "[data-keep]" : "[data-confirm]").focus();
  };

  const unfold = (button) => {
    button.classList.toggle("a-open");
    [button.textContent, button.dataset.more] = [button.dataset.more, button.textContent];
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button) return;
    const { source, tab } = button.dataset;
    if (source) open(source, button);
    else if ("close" in button.dataset || button.id === "a-new") close();
    else if ("confirm" in button.dataset) confirming(button.parentElement, true);
    else if ("keep" in button.dataset) confirming(button.closest("td"), false);
    else if ("more" in button.dataset) unfold(button);
    else if (tab) document.getElementById(`a-tab-${tab}-button`)?.click();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });

  // Files dropped on the frame go the way of files chosen with its button.
  const dropping = (event) => event.target.closest?.("#a-drop");
  for (const name of ["dragenter", "dragover", "dragleave", "drop"])
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // a file that misses the frame must not replace the page
      const frame = dropping(event);
      document.getElementById("a-drop")?.classList.toggle("a-over", !!frame && name === "dragover");
      if (!frame || name !== "drop") return;
      const input = document.querySelector("#a-drop input[type=file]");
      if (!input) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });

  let seen = null; // the question that is being answered

  window.attest = {
    // Keep the growing answer in view, unless the reader has scrolled away from it.
    follow(element) {
      // A stop and the last words can cross on their way: a turn that has ended is not shown twice.
      const turn = element.querySelector(".a-turn")?.dataset.turn;
      element.hidden = !!turn && !!document.querySelector(`#a-past [data-turn="${turn}"]`);
      const question = element.querySelector(".a-question")?.textContent ?? null;
      const root = document.documentElement;
      const near = root.scrollHeight - root.clientHeight - root.scrollTop < 160;
      if (near || (question && question !== seen)) root.scrollTo({ top: root.scrollHeight });
      seen = question;
    },
    shown(language) {
      document.documentElement.lang = language;
      document.documentElement.classList.add("a-shown");
    },
    switched(language) {
      document.cookie = `attest_language=${language}; path=/; max-age=31536000; samesite=lax`;
      close();
      window.attest.shown(language);
    },
  };
})();
