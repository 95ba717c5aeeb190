"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("with-script");
  const data = JSON.parse(document.getElementById("pw-data").textContent);
  const byId = (name) => document.getElementById(name);
  const view = byId("pw-view"), svg = view.querySelector("svg.pw-model"), tip = byId("pw-tip"), found = byId("pw-found");
  const boxes = [...svg.querySelectorAll(".pw-node")].sort((a, b) => a.dataset.node - b.dataset.node);
  const edges = [...svg.querySelectorAll(".pw-edge")];
  const nodes = data.nodes, rows = data.rows;
  const isLeaf = (node) => nodes[node].low === undefined;
  const frame = svg.viewBox.baseVal;
  const whole = { x: frame.x, y: frame.y, width: frame.width, height: frame.height };
  const size = { ...whole };
  const parent = nodes.map(() => -1);
  nodes.forEach((_, node) => { if (!isLeaf(node)) for (const child of [nodes[node].high, nodes[node].low]) parent[child] = node; });

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // ---------------------------------------------------------------- zoom

  let scale = 1;
  const zoom = (wanted) => {
    const before = scale;
    const middle = { x: view.scrollLeft + view.clientWidth / 2, y: view.scrollTop + view.clientHeight / 2 };
    scale = Math.min(4, Math.max(0.05, wanted));
    svg.setAttribute("width", String(size.width * scale));
    svg.setAttribute("height", String(size.height * scale));
    view.scrollLeft = middle.x * scale / before - view.clientWidth / 2;
    view.scrollTop = middle.y * scale / before - view.clientHeight / 2;
    hideTip();
  };
  const fitting = () => Math.min(1, (view.clientWidth - 4) / size.width);
  byId("pw-in").addEventListener("click", () => zoom(scale * 1.25));
  byId("pw-out").addEventListener("click", () => zoom(scale / 1.25));
  const fittingWhole = () => Math.min(fitting(), window.innerHeight * 0.78 / size.height);
  const readable = () => zoom(Math.max(fittingWhole(), 0.6));
  byId("pw-fit").addEventListener("click", () => zoom(fittingWhole()));
  byId("pw-full").addEventListener("click", () => zoom(1));
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
  }, { passive: false });
  let drag = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse" && !event.target.closest(".pw-node"))
      drag = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
  });
  window.addEventListener("pointermove", (event) => {
    if (drag) { view.scrollLeft = drag.x - event.clientX; view.scrollTop = drag.y - event.clientY; }
  });
  window.addEventListener("pointerup", () => { drag = null; });

  // ---------------------------------------------------------------- fold

  const folded = new Set();
  const badges = boxes.map((box, node) => {
    if (isLeaf(node)) return null;
    const area = box.querySelector(".pw-box");
    const badge = document.createElementNS("http://www.w3.org/2000/svg", "text");
    badge.setAttribute("class", "pw-badge");
    badge.setAttribute("text-anchor", "middle");
    badge.setAttribute("x", String(area.x.baseVal.value + area.width.baseVal.value / 2));
    badge.setAttribute("y", String(area.y.baseVal.value + area.height.baseVal.value + 13));
    box.append(badge);
    return badge;
  });
  const reached = (blocked, start = 0) => {
    const seen = new Set([start]), pending = [start];
    while (pending.length) {
      const node = pending.pop();
      if (isLeaf(node) || blocked.has(node)) continue;
      for (const child of [nodes[node].low, nodes[node].high]) if (!seen.has(child)) { seen.add(child); pending.push(child); }
    }
    return seen;
  };
  // A tree closes up where something is folded: parents are centred above their children, subtrees are as close as
  // their outlines permit. A diagram stays where it is.
  const area = boxes.map((box) => {
    const { x, y, width, height } = box.querySelector(".pw-box");
    return { x: x.baseVal.value, y: y.baseVal.value, width: width.baseVal.value, height: height.baseVal.value };
  });
  const gap = 10;
  const arrange = () => {
    if (data.kind !== "tree") return;
    const place = nodes.map(() => 0), order = [];
    const pending = [0];
    while (pending.length) {
      const node = pending.pop();
      order.push(node);
      if (!isLeaf(node) && !folded.has(node)) pending.push(nodes[node].high, nodes[node].low);
    }
    const outline = new Map(), shift = new Map([[0, 0]]);
    for (const node of [...order].reverse()) {
      const half = area[node].width / 2;
      if (isLeaf(node) || folded.has(node)) { outline.set(node, [[-half], [half]]); continue; }
      const [low, high] = [outline.get(nodes[node].low), outline.get(nodes[node].high)];
      let apart = 0;
      for (let k = 0; k < Math.min(low[1].length, high[0].length); k++) apart = Math.max(apart, low[1][k] - high[0][k] + gap);
      shift.set(nodes[node].low, -apart / 2);
      shift.set(nodes[node].high, apart / 2);
      const left = [], right = [];
      for (let k = 0; k < Math.max(low[0].length, high[0].length); k++) {
        left.push(k < low[0].length ? low[0][k] - apart / 2 : high[0][k] + apart / 2);
        right.push(k < high[1].length ? high[1][k] + apart / 2 : low[1][k] - apart / 2);
      }
      outline.set(node, [[-half, ...left], [half, ...right]]);
    }
    for (const node of order) place[node] = node === 0 ? 0 : place[parent[node]] + shift.get(node);
    const [left, right] = outline.get(0), begin = Math.min(...left), end = Math.max(...right);
    const bottom = Math.max(...order.map((node) => area[node].y + area[node].height));
    for (const node of order) {
      const moved = place[node] - (area[node].x + area[node].width / 2);
      boxes[node].setAttribute("transform", `translate(${moved} 0)`);
    }
    for (const edge of edges) {
      const from = Number(edge.dataset.from), to = Number(edge.dataset.to);
      const x = [place[from], place[to]], y = [area[from].y + area[from].height, area[to].y];
      edge.querySelector("path").setAttribute("d", `M${x[0]} ${y[0]}L${x[1]} ${y[1]}`);
      const word = edge.querySelector("text");
      const back = `translate(${(x[0] + x[1]) / 2 - word.x.baseVal[0].value} ${(y[0] + y[1]) / 2 - word.y.baseVal[0].value})`;
      word.setAttribute("transform", back);
      edge.querySelector("rect").setAttribute("transform", back);
    }
    const rest = whole.y + whole.height - Math.max(...area.map((one) => one.y + one.height));  // the legend and the margin
    size.width = Math.max(end - begin + 2 * gap, legendWidth);
    size.height = bottom + rest - whole.y;
    const start = (begin + end - size.width) / 2;
    svg.setAttribute("viewBox", `${start} ${whole.y} ${size.width} ${size.height}`);
    const lowest = Math.max(...area.map((one) => one.y + one.height));
    for (const one of legend) one.setAttribute("transform", `translate(${start - whole.x} ${bottom - lowest})`);
  };
  const legend = [...svg.children].filter((one) => !one.matches(".pw-node, .pw-edge"));
  const legendWidth = legend.reduce((most, one) => { const box = one.getBBox(); return Math.max(most, box.x + box.width - whole.x + gap); }, 0);
  const update = () => {
    const shown = reached(folded);
    boxes.forEach((box, node) => {
      box.classList.toggle("gone", !shown.has(node));
      if (isLeaf(node)) return;
      const shut = folded.has(node);
      box.classList.toggle("folded", shut);
      box.setAttribute("aria-expanded", String(!shut));
      const below = shut && shown.has(node) ? [...reached(new Set(), node)].filter((one) => !shown.has(one)).length : 0;
      badges[node].textContent = below ? "+" + below : "";
    });
    for (const edge of edges) {
      const from = Number(edge.dataset.from);
      edge.classList.toggle("gone", !shown.has(from) || folded.has(from));
    }
    arrange();
    zoom(scale);
    if (boxes[current].classList.contains("gone")) focusOn(0, false);
  };
  const toggle = (node) => {
    if (isLeaf(node)) return;
    if (folded.has(node)) folded.delete(node); else folded.add(node);
    update();
  };
  byId("pw-fold").addEventListener("click", () => { nodes.forEach((_, node) => { if (!isLeaf(node)) folded.add(node); }); update(); readable(); });
  byId("pw-unfold").addEventListener("click", () => { folded.clear(); update(); readable(); });

  // ---------------------------------------------------------------- hover and keyboard

  const showTip = (node) => {
    const told = nodes[node], box = boxes[node].getBoundingClientRect(), frame = view.getBoundingClientRect();
    const list = element("ul");
    for (const [name, weight, share] of told.counts) list.append(element("li", `${name}: ${weight} (${share})`));
    const rowsText = `${told.rows.toLocaleString("en")} training ${told.rows === 1 ? "row" : "rows"}${told.wrong !== undefined ? `, ${told.wrong} wrong` : ""}`;
    tip.replaceChildren(element("p", told.asks), element("div", rowsText), list);
    tip.hidden = false;
    const left = Math.min(box.left - frame.left + view.scrollLeft, view.scrollLeft + view.clientWidth - tip.offsetWidth - 4);
    let top = box.bottom - frame.top + view.scrollTop + 6;
    if (top + tip.offsetHeight > view.scrollTop + view.clientHeight) top = box.top - frame.top + view.scrollTop - tip.offsetHeight - 6;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.max(0, top) + "px";
  };
  const hideTip = () => { tip.hidden = true; };
  const nodeOf = (target) => { const box = target.closest && target.closest(".pw-node"); return box ? Number(box.dataset.node) : null; };

  let current = 0;
  const cameFrom = [...parent];
  const focusOn = (node, really = true) => {
    boxes[current].setAttribute("tabindex", "-1");
    current = node;
    boxes[node].setAttribute("tabindex", "0");
    if (really) { boxes[node].focus({ preventScroll: true }); reveal(node); }
  };
  const reveal = (node) => {
    const box = boxes[node].getBoundingClientRect(), frame = view.getBoundingClientRect();
    if (box.left < frame.left || box.right > frame.right) view.scrollLeft += (box.left + box.right - frame.left - frame.right) / 2;
    if (box.top < frame.top || box.bottom > frame.bottom) view.scrollTop += (box.top + box.bottom - frame.top - frame.bottom) / 2;
  };
  svg.addEventListener("mouseover", (event) => { const node = nodeOf(event.target); if (node !== null) showTip(node); });
  svg.addEventListener("mouseout", hideTip);
  svg.addEventListener("focusin", (event) => { const node = nodeOf(event.target); if (node !== null) showTip(node); });
  svg.addEventListener("focusout", hideTip);
  svg.addEventListener("click", (event) => {
    const node = nodeOf(event.target);
    if (node === null) return;
    focusOn(node);
    toggle(node);
  });
  svg.addEventListener("keydown", (event) => {
    const node = nodeOf(event.target);
    if (node === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const open = !isLeaf(node) && !folded.has(node);
    const goTo = (child) => { cameFrom[child] = node; focusOn(child); };
    const keys = {
      ArrowLeft: () => open && goTo(nodes[node].low),
      ArrowDown: () => open && goTo(nodes[node].low),
      ArrowRight: () => open && goTo(nodes[node].high),
      ArrowUp: () => node !== 0 && focusOn(cameFrom[node]),
      Home: () => focusOn(0),
      Enter: () => toggle(node),
      " ": () => toggle(node),
      "+": () => zoom(scale * 1.25),
      "-": () => zoom(scale / 1.25),
      "0": () => zoom(1),
      Escape: hideTip,
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  // ---------------------------------------------------------------- paths and rows

  const clear = () => {
    svg.classList.remove("picked");
    for (const part of [...boxes, ...edges]) part.classList.remove("on");
    byId("pw-clear").disabled = true;
  };
  const showPath = (path) => {
    clear();
    if (data.kind === "tree" && size.width * 0.6 > view.clientWidth) nodes.forEach((_, node) => { if (!isLeaf(node)) folded.add(node); });
    for (const node of path.slice(0, -1)) folded.delete(node);
    update();
    readable();
    svg.classList.add("picked");
    byId("pw-clear").disabled = false;
    path.forEach((node, k) => {
      boxes[node].classList.add("on");
      for (const edge of edges)
        if (k && Number(edge.dataset.from) === path[k - 1] && Number(edge.dataset.to) === node) edge.classList.add("on");
    });
    focusOn(path[path.length - 1], false);
    reveal(path[path.length - 1]);
  };
  byId("pw-clear").addEventListener("click", () => { clear(); found.replaceChildren(); });
  const pathOf = (row) => rows.paths[rows.path[row]];
  const className = (code) => code < data.classes.length ? data.classes[code][0] : "a class that training did not have";
  const showRow = (row) => {
    const path = pathOf(row), leaf = path[path.length - 1], label = nodes[leaf].label;
    showPath(path);
    const right = rows.truth[row] === label;
    const head = element("p");
    head.append(element("b", `Row ${row}: predicted ${className(label)}`), right ? ", which is right." : `, but it is ${className(rows.truth[row])}.`);
    const values = rows.values[row], steps = element("ol");
    for (let k = 0; k + 1 < path.length; k++) {
      const told = nodes[path[k]], yes = told.low === path[k + 1];
      const place = values ? rows.columns.findIndex(([column]) => column === told.column) : -1;
      steps.append(element("li", `${yes ? told.yes : told.no}${place >= 0 ? ` (its value: ${values[place]})` : ""}`));
    }
    const parts = [head, steps];
    if (values) {
      const body = element("tbody");
      rows.columns.forEach(([, name], place) => {
        const line = element("tr");
        line.append(element("th", name, { scope: "row" }), element("td", values[place]));
        body.append(line);
      });
      const all = element("details"), table = element("table");
      table.append(body);
      all.append(element("summary", "All its values"), table);
      parts.push(all);
    }
    found.replaceChildren(...parts);
  };
  const search = (query) => {
    const text = query.trim();
    if (!text) { found.replaceChildren(); return; }
    if (/^\d+$/.test(text)) {
      if (Number(text) < rows.path.length) { showRow(Number(text)); return; }
    }
    const wanted = text.toLowerCase(), hits = [];
    let number = 0;
    for (const [row, values] of Object.entries(rows.values)) {
      const place = values.findIndex((value) => value.toLowerCase().includes(wanted));
      if (place < 0) continue;
      number++;
      if (hits.length < 30) hits.push([Number(row), place]);
    }
    if (!number) {
      found.replaceChildren(element("p", `No row has this number or value. This file has the paths of ${rows.path.length} rows and the values of ${Object.keys(rows.values).length}.`));
      return;
    }
    const list = element("ul");
    for (const [row, place] of hits) {
      const item = element("li"), button = element("button", `Row ${row}`, { type: "button", class: "small" });
      button.addEventListener("click", () => showRow(row));
      item.append(button, ` ${rows.columns[place][1]}: ${rows.values[row][place]}`);
      list.append(item);
    }
    found.replaceChildren(element("p", `${number} ${number === 1 ? "row has" : "rows have"} this value${number > hits.length ? `, the first ${hits.length} are:` : ":"}`), list);
  };
  byId("pw-find").addEventListener("submit", (event) => { event.preventDefault(); search(byId("pw-query").value); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-row], button[data-node]");
    if (!button) return;
    if (button.dataset.row !== undefined) {
      const row = Number(button.dataset.row);
      if (row < rows.path.length) showRow(row);
    } else {
      const path = [Number(button.dataset.node)];
      while (path[0] !== 0) path.unshift(parent[path[0]]);
      showPath(path);
    }
    view.scrollIntoView({ block: "nearest" });
  });
  byId("pw-held").textContent = `${Object.keys(rows.values).length.toLocaleString("en")} of ${rows.total.toLocaleString("en")} rows`;

  // ---------------------------------------------------------------- print

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

  readable();
  view.scrollLeft = Math.max(0, (view.scrollWidth - view.clientWidth) / 2);
  view.scrollTop = 0;
})();
