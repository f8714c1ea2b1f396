// The map of a report: what lies under the pointer, one group alone, passages, and a closer look.
const attestMap = (container) => {
  const REACH = 16; // pixels around the pointer
  const known = new WeakMap();

  const mapIn = (target) => target.closest?.(".m-map");
  const read = (map) => {
    if (!known.has(map)) known.set(map, JSON.parse(map.dataset.dots));
    return known.get(map);
  };

  const nearest = (map, event) => {
    const svg = map.querySelector("svg");
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      svg.getScreenCTM().inverse(),
    );
    const scale = svg.getScreenCTM().a;
    const passages = map.classList.contains("m-with-passages");
    let best = null;
    let least = (REACH / scale) ** 2;
    for (const dot of read(map)) {
      const [x, y, group, passage] = dot;
      if (passage && !passages) continue;
      if (map.dataset.picked && map.dataset.picked !== String(group)) continue;
      const far = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (far < least) [best, least] = [dot, far];
    }
    return best;
  };

  const tell = (map, event) => {
    const dot = nearest(map, event);
    const tip = map.querySelector(".m-tip");
    const spot = map.querySelector(".m-spot");
    tip.hidden = !dot;
    spot.setAttribute("r", dot ? 8 / map.querySelector("svg").getScreenCTM().a : 0);
    if (!dot) return;
    const [x, y, group, , text] = dot;
    const name = document.createElement("b");
    name.textContent = map.querySelector(`[data-name="${group}"]`)?.textContent ?? "";
    tip.replaceChildren(name, text);
    spot.setAttribute("cx", x);
    spot.setAttribute("cy", y);
    const frame = map.getBoundingClientRect();
    const left = event.clientX - frame.left + 14;
    const top = event.clientY - frame.top + 14;
    tip.style.left = `${Math.max(0, Math.min(left, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${top}px`;
  };

  const pick = (group) => {
    for (const map of container.querySelectorAll(".m-map")) {
      map.dataset.picked = group ?? "";
      map.classList.toggle("m-picked", Boolean(group));
      for (const path of map.querySelectorAll("path"))
        path.classList.toggle("m-on", path.dataset.group === group);
    }
    for (const button of container.querySelectorAll("[data-pick]"))
      button.setAttribute("aria-pressed", String(button.dataset.pick === group));
  };

  const look = (map, factor) => {
    const svg = map.querySelector("svg");
    const whole = svg.dataset.whole.split(" ").map(Number);
    let [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const wider = factor ? Math.min(whole[2], Math.max(whole[2] / 16, width * factor)) : whole[2];
    const taller = (wider * whole[3]) / whole[2];
    x += (width - wider) / 2;
    y += (height - taller) / 2;
    move(svg, whole, x, y, wider, taller);
  };

  const move = (svg, whole, x, y, width, height) => {
    const left = Math.max(whole[0], Math.min(x, whole[0] + whole[2] - width));
    const top = Math.max(whole[1], Math.min(y, whole[1] + whole[3] - height));
    svg.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    for (const text of svg.querySelectorAll("text"))
      text.style.fontSize = `${(15 * width) / whole[2]}px`;
  };

  let drag = null;
  container.addEventListener("pointerdown", (event) => {
    const map = mapIn(event.target);
    if (map && event.target.closest("svg")) drag = { map, x: event.clientX, y: event.clientY, far: 0 };
  });
  container.addEventListener("pointermove", (event) => {
    const map = mapIn(event.target);
    if (drag && drag.map === map && event.buttons) {
      const svg = map.querySelector("svg");
      const scale = svg.getScreenCTM().a;
      const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      const [across, down] = [drag.x - event.clientX, drag.y - event.clientY];
      drag = { map, x: event.clientX, y: event.clientY, far: drag.far + Math.hypot(across, down) };
      const whole = svg.dataset.whole.split(" ").map(Number);
      move(svg, whole, x + across / scale, y + down / scale, width, height);
    }
    if (map && event.target.closest("svg")) tell(map, event);
    else for (const tip of container.querySelectorAll(".m-tip:not([hidden])")) tip.hidden = true;
  });
  container.addEventListener("click", (event) => {
    const map = mapIn(event.target);
    const button = event.target.closest?.("[data-pick]");
    if (button) {
      pick(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.pick);
    } else if (map && event.target.closest("[data-look]")) {
      look(map, Number(event.target.closest("[data-look]").dataset.look));
    } else if (map && event.target.closest("svg") && !(drag && drag.far > 6)) {
      const dot = nearest(map, event);
      if (dot)
        map.dispatchEvent(
          new CustomEvent("dot", { bubbles: true, detail: { cluster: dot[2], document: dot[5] } }),
        );
    }
    drag = null;
  });
  container.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-passages]"))
      mapIn(event.target).classList.toggle("m-with-passages", event.target.checked);
  });
};
