// Heat maps and strips: the cell under the pointer, or the one that the arrow keys reach, is told.
(() => {
  const filled = (words, values) =>
    words.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);

  const percent = (share) =>
    new Intl.NumberFormat(document.documentElement.lang, {
      style: "percent",
      maximumFractionDigits: share < 0.1 ? 1 : 0,
    }).format(share);

  const read = new WeakMap(); // what a map holds, unpacked once
  const held = (map) => {
    if (!read.has(map)) {
      const raw = Uint8Array.from(atob(map.dataset.weights), (each) => each.charCodeAt(0));
      const view = new DataView(raw.buffer);
      const tokens = JSON.parse(map.dataset.tokens);
      const sizes = ["left", "top", "cell", "gap"].map((key) => Number(map.dataset[key]));
      read.set(map, { view, tokens, sizes, at: null });
    }
    return read.get(map);
  };

  // Column -1 is what is not shown.
  const tell = (map, row, column) => {
    const { view, tokens, sizes } = held(map);
    const [left, top, cell, gap] = sizes;
    const m = tokens.length;
    if (row < 0 || row >= m || column < (gap ? -1 : 0) || column >= m) return;
    held(map).at = [row, column];
    const share = view.getUint16(2 * (row * (m + 1) + column + 1), true) / 65535;
    const spot = map.querySelector(".i-spot");
    spot.setAttribute("x", column < 0 ? left - gap : left + cell * column);
    spot.setAttribute("y", top + cell * row);
    map.querySelector(".i-told").textContent = filled(map.dataset.said, {
      row: tokens[row],
      column: column < 0 ? map.dataset.rest : tokens[column],
      share: percent(share),
    });
  };

  const pointed = (map, event) => {
    const { sizes } = held(map);
    const [left, top, cell, gap] = sizes;
    const box = map.querySelector("svg").getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const inRest = gap && x >= left - gap && x < left - gap + cell;
    if (x < left && !inRest) return;
    tell(map, Math.floor((y - top) / cell), inRest ? -1 : Math.floor((x - left) / cell));
  };

  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  const moved = (map, event) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const at = held(map).at;
    if (at) tell(map, at[0] + step[0], at[1] + step[1]);
    else tell(map, 0, 0);
    const scroll = map.querySelector(".i-scroll");
    const [box, spot] = [scroll, map.querySelector(".i-spot")].map((each) =>
      each.getBoundingClientRect(),
    );
    if (spot.right > box.right || spot.left < box.left + 40)
      scroll.scrollLeft += spot.left - box.left - box.width / 2;
    if (spot.bottom > box.bottom || spot.top < box.top + 40)
      scroll.scrollTop += spot.top - box.top - box.height / 2;
  };

  const cells = new WeakMap(); // of a strip: the cell that was told last
  const tellStrip = (strip, at) => {
    const values = JSON.parse(strip.dataset.values);
    const n = Math.max(0, Math.min(values.length - 1, at));
    cells.set(strip, n);
    const told = strip.closest(".i-strips").querySelector(".i-told");
    told.textContent = `${strip.getAttribute("aria-label")}: ${filled(strip.dataset.said, {
      n: n + 1,
      value: values[n],
    })}`;
  };

  document.addEventListener("pointermove", (event) => {
    const map = event.target.closest?.(".i-map");
    if (map) return pointed(map, event);
    const strip = event.target.closest?.(".i-strip");
    if (!strip) return;
    const box = strip.getBoundingClientRect();
    const values = JSON.parse(strip.dataset.values);
    tellStrip(strip, Math.floor(((event.clientX - box.left) / box.width) * values.length));
  });

  document.addEventListener("keydown", (event) => {
    const map = event.target.closest?.(".i-map");
    if (map) return moved(map, event);
    const strip = event.target.closest?.(".i-strip");
    if (!strip || !(event.key in STEPS)) return;
    event.preventDefault();
    tellStrip(strip, (cells.get(strip) ?? -1) + (STEPS[event.key].includes(-1) ? -1 : 1));
  });

  // A source of an answer that is to be looked into; the tab takes it when it comes into view.
  let wanted = "";
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-inspect]");
    if (!button) return;
    wanted = button.dataset.inspect;
    document.getElementById("a-tab-inspect-button")?.click();
  });
  window.attest.inspecting = () => {
    const source = wanted;
    wanted = "";
    return source;
  };
})();
