// What the page does beside Gradio: sources, confirmations, tabs, dropped files, and thumbs.
(() => {
  const LARGEST = 100_000_000; // bytes of an upload, as the service has it

  const open = (key, button) => {
    const stored = document.getElementById(key);
    const panel = document.getElementById("a-source");
    if (!stored || !panel) return;
    panel.innerHTML = stored.innerHTML;
    panel.hidden = false;
    document.body.classList.add("a-sourced");
    release();
    button.setAttribute("aria-pressed", "true");
    showPage(panel);
    const quote = panel.querySelector("mark");
    if (quote) panel.scrollTop = quote.offsetTop - (panel.clientHeight - quote.offsetHeight) / 3;
  };

  // The page of a PDF that a quote stands on, with a frame around its words. Where there is none,
  // the text is enough.
  const showPage = async (panel) => {
    const place = panel.querySelector("[data-page]");
    if (!place) return;
    const said = (words) => {
      place.innerHTML = '<p class="a-notes"></p>';
      place.firstChild.textContent = words;
      place.hidden = false;
    };
    let made;
    try {
      const answer = await fetch(place.dataset.page);
      if (!answer.ok) return said(place.dataset.failed);
      made = await answer.json();
    } catch {
      return; // the service has ended
    }
    if (!place.isConnected) return; // another source was opened meanwhile
    const picture = new Image(made.width, made.height);
    picture.alt = place.dataset.alt;
    picture.src = made.picture;
    const paper = document.createElement("div");
    paper.append(picture);
    for (const [left, top, right, bottom] of made.boxes) {
      const box = document.createElement("i");
      box.style.cssText =
        `left:${100 * left}%;top:${100 * top}%;` +
        `width:${100 * (right - left)}%;height:${100 * (bottom - top)}%`;
      paper.append(box);
    }
    const frame = document.createElement("div");
    frame.className = "a-sheet";
    frame.tabIndex = 0; // it scrolls
    frame.append(paper);
    place.replaceChildren(frame);
    place.hidden = false;
    if (!made.boxes.length) {
      const note = document.createElement("p");
      note.className = "a-notes";
      note.textContent = place.dataset.boxless;
      place.append(note);
    }
    const first = frame.querySelector("i");
    if (first) frame.scrollTop = first.offsetTop - frame.clientHeight / 3;
    const shown = first ? place : panel.querySelector("mark");
    if (shown) panel.scrollTop = shown.offsetTop - panel.querySelector("header").offsetHeight - 14;
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

  // What is thought of passages goes to the service. Components show new markup in place of the
  // old: what was pressed is known by the question and the passages.
  const judged = new Map();
  const opened = new Set();
  let telling = Promise.resolve(); // one after another: of two thumbs the later one counts

  // The collection that the page looks into; undefined for that of the settings.
  const here = () =>
    document.querySelector("[data-collection]")?.dataset.collection || undefined;

  const tell = async (question, chunks, kind) => {
    const sent = chunks.map((chunk) =>
      fetch("api/feedback", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ question, chunk_id: chunk, kind, collection: here() }),
      }),
    );
    try {
      return (await Promise.all(sent)).every((answer) => answer.ok);
    } catch {
      return false; // the service has ended
    }
  };

  const tellOpened = (button) => {
    const asked = button.closest("[data-asked]")?.dataset.asked;
    const key = JSON.stringify([asked, button.dataset.chunk]);
    if (!asked || opened.has(key)) return;
    opened.add(key);
    tell(asked, [Number(button.dataset.chunk)], "opened");
  };

  // A thumb is stored with its conversation as well, and with what is written beside it.
  const tellThought = (group, thumb) => {
    const { turn } = group.dataset;
    const note = group.querySelector(".a-note")?.value ?? "";
    const detail = { value: turn, do: "think", turn, thumb: thumb ?? "", note };
    group.dispatchEvent(new CustomEvent("thought", { bubbles: true, detail }));
  };

  const keyOf = (group) =>
    JSON.stringify([
      group.closest("[data-asked]").dataset.asked,
      group.dataset.chunks,
      group.dataset.turn,
    ]);

  const press = (root) => {
    for (const group of root.querySelectorAll(".a-judge")) {
      const key = keyOf(group);
      const pressed = judged.has(key) ? judged.get(key) : group.dataset.thumb;
      for (const button of group.querySelectorAll("[data-judge]"))
        button.setAttribute("aria-pressed", pressed === button.dataset.judge);
      group.querySelector(".a-note").hidden = !pressed;
    }
  };

  const judge = async (button) => {
    const group = button.closest(".a-judge");
    const key = keyOf(group);
    const [asked, chunks] = JSON.parse(key);
    const before = (judged.has(key) ? judged.get(key) : group.dataset.thumb) || null;
    const kind = before === button.dataset.judge ? null : button.dataset.judge; // or taken back
    judged.set(key, kind);
    press(document);
    tellThought(group, kind);
    telling = telling.then(() => tell(asked, JSON.parse(chunks), kind));
    const kept = await telling;
    judged.set(key, kept ? kind : before);
    press(document);
    for (const each of document.querySelectorAll(".a-judge"))
      if (keyOf(each) === key)
        each.querySelector("[role=status]").textContent =
          (kept && kind && each.dataset.kept) || (!kept && each.dataset.failed) || "";
  };

  const confirmed = (button) =>
    button.closest(":has(> .a-first, > .a-confirm)"); // what holds both of its faces

  // Removing takes a second press, on a button that comes in place of the first.
  const confirming = (cell, sure) => {
    cell.querySelector(".a-first").hidden = sure;
    cell.querySelector(".a-confirm").hidden = !sure;
    cell.querySelector(sure ? "[data-keep]" : "[data-confirm]").focus();
  };

  // A tag is written in a field that a button brings out; Escape goes back to the button.
  const tagging = (row, writes) => {
    const field = row.querySelector("[data-do=tag]");
    field.hidden = !writes;
    (writes ? field : row.querySelector("[data-tagging]")).focus();
  };

  const unfold = (button) => {
    button.classList.toggle("a-open");
    [button.textContent, button.dataset.more] = [button.dataset.more, button.textContent];
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!button) return;
    const { source, tab } = button.dataset;
    if (source) {
      open(source, button);
      tellOpened(button);
    } else if (button.dataset.judge) judge(button);
    else if ("close" in button.dataset || button.id === "a-new") close();
    else if ("confirm" in button.dataset) confirming(confirmed(button), true);
    else if ("keep" in button.dataset) confirming(confirmed(button), false);
    else if ("more" in button.dataset) unfold(button);
    else if ("tagging" in button.dataset) tagging(button.closest("tr"), true);
    else if ("clear" in button.dataset) clear(button.form);
    else if (button.dataset.do === "untag") tagged = button.dataset.send;
    else if (tab) document.getElementById(`a-tab-${tab}-button`)?.click();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const field = event.target.closest?.("[data-do=tag]");
    if (field) tagging(field.closest("tr"), false);
    else close();
  });

  document.addEventListener("focusout", (event) => {
    const field = event.target.closest?.("[data-do=tag]");
    if (field && !field.value) field.hidden = true;
  });

  // What the browser's dialogue offers first; other files can still be chosen.
  document.addEventListener(
    "click",
    (event) => {
      if (!event.target.closest?.("#a-upload")) return;
      const input = document.querySelector("#a-drop input[type=file]");
      const offered = document.querySelector("#a-formats [data-accept]");
      if (input && offered) input.accept = offered.dataset.accept;
    },
    true, // before the click opens it
  );

  // What was unfolded and chosen, by its name: components show new markup in place of the old.
  const unfolded = new Set();
  let chosen = {};
  let tagged = null; // the document whose tags were just changed from the keyboard or by a click

  document.addEventListener(
    "toggle",
    ({ target }) => {
      if (target.dataset?.key) unfolded[target.open ? "add" : "delete"](target.dataset.key);
    },
    true, // the event does not bubble
  );

  const count = (form) => {
    const held = Object.values(chosen).filter(Boolean).length;
    const shown = form.querySelector("summary b");
    shown.textContent = held;
    shown.hidden = !held;
  };

  const choose = (form) => {
    chosen = Object.fromEntries(new FormData(form));
    count(form);
  };

  const searchAgain = () => {
    if (document.querySelector("#a-query :is(input, textarea)")?.value.trim())
      document.getElementById("a-go")?.click();
  };

  const clear = (form) => {
    for (const field of form.querySelectorAll("[name]")) field.value = "";
    choose(form);
    searchAgain();
  };

  document.addEventListener("change", (event) => {
    const form = event.target.closest?.(".a-filters");
    if (!form) return;
    choose(form);
    searchAgain();
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.closest?.(".a-filters")) return;
    event.preventDefault();
    choose(event.target);
    searchAgain();
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
      if (input) inside(event.dataTransfer).then((files) => offer(input, files));
    });

  // The files of what is dropped: of folders those that they hold, at any depth.
  const inside = async (dropped) => {
    const plain = [...dropped.files];
    const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.());
    if (!entries.some((entry) => entry?.isDirectory)) return plain;
    const files = [];
    const walk = async (entry) => {
      if (entry.isFile) files.push(await new Promise((done, lost) => entry.file(done, lost)));
      if (!entry.isDirectory || entry.name.startsWith(".")) return;
      const reader = entry.createReader(); // which gives a hundred at a time
      for (;;) {
        const some = await new Promise((done, lost) => reader.readEntries(done, lost));
        if (!some.length) return;
        for (const each of some) await walk(each);
      }
    };
    for (const entry of entries) if (entry) await walk(entry);
    return files.filter((file) => !file.name.startsWith("."));
  };

  // One file that is too large must not hold the others back, which Gradio would have it do.
  const offer = (input, files) => {
    const fits = new DataTransfer();
    const large = [];
    for (const file of files) {
      if (file.size <= LARGEST) fits.items.add(file);
      else large.push(file.name);
    }
    const refusal = document.querySelector("#a-formats .a-failure");
    refusal.hidden = !large.length;
    refusal.querySelector("b").textContent = large.join(", ");
    if (!fits.files.length) return;
    document.querySelector("#a-formats .a-waiting").hidden = false;
    input.files = fits.files;
    input.dispatchEvent(new CustomEvent("change", { bubbles: true, detail: "offered" }));
  };

  document.addEventListener(
    "change",
    (event) => {
      const input = event.target.closest?.("#a-drop input[type=file]");
      if (!input || event.detail === "offered") return;
      event.stopImmediatePropagation();
      offer(input, input.files);
    },
    true, // before Gradio sees it
  );

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
    kept(element) {
      press(element);
      const sending = document.querySelector("#a-formats .a-waiting");
      if (sending && element.closest("#a-news")) sending.hidden = true;
      for (const part of element.querySelectorAll("details[data-key]"))
        part.open = unfolded.has(part.dataset.key);
      const form = element.querySelector(".a-filters");
      for (const field of form?.querySelectorAll("[name]") ?? [])
        field.value = chosen[field.name] ?? "";
      if (form) choose(form);
      const button = tagged && element.querySelector(`[data-tagging="${tagged}"]`);
      if (button) button.focus();
      if (button) tagged = null;
    },
    tagged(event) {
      const field = event.target.closest?.("[data-do=tag]");
      if (!field || event.key !== "Enter" || event.isComposing || !field.value.trim()) return null;
      tagged = field.dataset.send;
      return { value: field.dataset.send, do: "tag", tag: field.value };
    },
    noted(field) {
      const group = field.closest(".a-judge");
      const pressed = group.querySelector("[data-judge][aria-pressed=true]");
      tellThought(group, pressed?.dataset.judge);
      group.querySelector("[role=status]").textContent = group.dataset.kept;
    },
    filters: () => chosen,
    shown(language, opens) {
      if (opens) window.attest.arrived();
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
