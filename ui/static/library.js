// The library: what is stored of a document, shown in a dialog; and folders that are dropped.
(() => {
  const LONGEST = 200_000; // characters of a text that are laid out

  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  let opener = null; // the button that has the focus again when the dialogue is closed

  const read = async (button) => {
    const reader = document.getElementById("a-reader");
    opener = button;
    const answer = await fetch(`page/documents/${button.dataset.open}`);
    const found = await answer.json();
    const words = found.words ?? {};
    const head = element("header");
    head.append(element("h2", found.title ?? "", { id: "a-reader-title" }));
    const close = element("button", "", { type: "button", class: "a-close", "aria-label": words.close ?? "×" });
    close.addEventListener("click", () => reader.close());
    head.append(close, element("p", found.path ?? found.detail ?? "", { class: "a-place" }));
    reader.replaceChildren(head);
    if (answer.ok) reader.append(...body(found, words));
    reader.showModal();
  };

  const body = (found, words) => {
    const text = element("div", found.text.slice(0, LONGEST), { class: "a-stored-text", tabindex: "0" });
    const cut = found.text.length > LONGEST ? [element("p", words.cut, { class: "a-notes" })] : [];
    if (!found.pages) return [text, ...cut];
    const paper = element("div", "", { class: "a-sheet", tabindex: "0", hidden: "" });
    const bar = element("div", "", { class: "a-reader-bar" });
    const before = element("button", "‹", { type: "button", class: "a-quiet", "aria-label": words.before });
    const after = element("button", "›", { type: "button", class: "a-quiet", "aria-label": words.after });
    const place = element("span", "", { role: "status" });
    bar.append(before, place, after);
    let at = 1;
    const show = async (n) => {
      at = Math.min(Math.max(n, 1), found.pages);
      before.disabled = at === 1;
      after.disabled = at === found.pages;
      place.textContent = words.of.replace("{n}", at).replace("{total}", found.pages);
      const wanted = at;
      const answer = await fetch(`page/documents/${found.id}/pages/${at}`);
      if (!answer.ok) {
        bar.hidden = paper.hidden = true;
        return;
      }
      const made = await answer.json();
      if (at !== wanted) return;
      const picture = new Image(made.width, made.height);
      picture.alt = place.textContent;
      picture.src = made.picture;
      paper.replaceChildren(picture);
      paper.hidden = false;
      paper.scrollTop = 0;
    };
    before.addEventListener("click", () => show(at - 1));
    after.addEventListener("click", () => show(at + 1));
    show(1);
    const whole = element("details");
    whole.append(element("summary", words.text), text, ...cut);
    return [bar, paper, whole];
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-open]");
    if (button) read(button);
    else if (event.target.id === "a-reader") event.target.close(); // beside what it shows
  });
  document.addEventListener(
    "close",
    (event) => {
      if (event.target.id === "a-reader") opener?.focus();
    },
    true, // the event does not bubble
  );
})();
