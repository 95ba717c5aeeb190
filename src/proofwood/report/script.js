"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("with-script");
  const data = JSON.parse(document.getElementById("pw-data").textContent);
  const byId = (name) => document.getElementById(name);
  // Words in the language of the page: messages are English, and the page has their translations and plural forms.
  const language = JSON.parse(byId("pw-words").textContent);
  const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (whole, name) => values[name]);
  const gettext = (text, values = {}) => filled(language.words[text] ?? text, values);
  const ngettext = (one, many, count, values = {}) => {
    const n = Math.abs(count), form = Number(language.forms[n < language.forms.length ? n : 100 + n % 100]);
    return filled((language.words[one] ?? [one, many])[form], { n: grouped(count), ...values });
  };
  const grouped = (value) => value.toLocaleString(root.lang, { useGrouping: "always" });
  const [decimal, group] = [language.decimal, language.group];
  const pointed = (text) => text.replace(".", decimal);
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
  const readable = () => zoom(Math.max(fittingWhole(), 0.75));
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
    badge.setAttribute("y", String(area.y.baseVal.value + area.height.baseVal.value + 14));
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
  const gap = 12, foot = Number(svg.dataset.foot);
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
      const x = [place[from] + Number(edge.dataset.port), place[to]], y = [area[from].y + area[from].height, area[to].y];
      const turn = Math.max(...area.filter((one) => one.y === area[from].y).map((one) => one.y + one.height)) + foot;
      const middle = (turn + y[1]) / 2;
      edge.querySelector("path").setAttribute("d", `M${x[0]} ${y[0]}L${x[0]} ${turn}C${x[0]} ${middle} ${x[1]} ${middle} ${x[1]} ${y[1]}`);
      const moved = place[from] - (area[from].x + area[from].width / 2);
      edge.querySelector(".pw-side").setAttribute("transform", `translate(${moved} 0)`);
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
    for (const [name, weight, share] of told.counts) list.append(element("li", `${name}: ${weight}${share ? ` (${share})` : ""}`));
    const training = ngettext("%(n)s training row", "%(n)s training rows", told.rows);
    const rowsText = told.wrong === undefined ? training : `${training}, ${gettext("%(n)s wrong", { n: told.wrong })}`;
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

  // ---------------------------------------------------------------- picture or outline

  const outline = byId("pw-outline"), lines = outline ? [...outline.querySelectorAll("[data-line]")] : [];
  const form = (name) => {
    if (!outline) return;
    view.parentElement.classList.toggle("as-outline", name === "outline");
    byId("pw-as-picture").setAttribute("aria-pressed", String(name === "picture"));
    byId("pw-as-outline").setAttribute("aria-pressed", String(name === "outline"));
    if (name === "picture") readable();
  };
  if (outline) {
    byId("pw-as-picture").addEventListener("click", () => form("picture"));
    byId("pw-as-outline").addEventListener("click", () => form("outline"));
  }

  // ---------------------------------------------------------------- paths and rows

  const clear = () => {
    svg.classList.remove("picked");
    for (const part of [...boxes, ...edges, ...lines]) part.classList.remove("on");
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
    for (const line of lines) line.classList.toggle("on", path.includes(Number(line.dataset.line)));
    focusOn(path[path.length - 1], false);
    reveal(path[path.length - 1]);
  };
  byId("pw-clear").addEventListener("click", () => { clear(); found.replaceChildren(); });
  const wayTo = (node) => {
    const path = [node];
    while (path[0] !== 0) path.unshift(parent[path[0]]);
    return path;
  };
  if (rows) {
    const pathOf = (row) => rows.paths[rows.path[row]];
    const className = (code) => code < data.classes.length ? data.classes[code] : gettext("a class that training did not have");
    const showRow = (row) => {
      const path = pathOf(row), leaf = path[path.length - 1], label = nodes[leaf].label;
      showPath(path);
      const right = rows.truth[row] === label;
      const told = { row, name: className(label), truth: rows.told ? rows.told[row] : className(rows.truth[row]) };
      const head = element("p");
      if (rows.told) head.append(element("b", gettext("Row %(row)s: predicted %(name)s; in fact %(truth)s", told)), ".");
      else if (data.answers === "actions") head.append(element("b", right ? gettext("Row %(row)s: gets %(name)s, its best action", told) : gettext("Row %(row)s: gets %(name)s, but its best action is %(truth)s", told)), ".");
      else head.append(element("b", right ? gettext("Row %(row)s: predicted %(name)s, which is right", told) : gettext("Row %(row)s: predicted %(name)s, but it is %(truth)s", told)), ".");
      const values = rows.values[row], steps = element("ol");
      for (let k = 0; k + 1 < path.length; k++) {
        const told = nodes[path[k]], says = told.says[Number(told.low !== path[k + 1])];
        const place = values && told.column !== undefined ? rows.columns.findIndex(([column]) => column === data.columns[told.column].index) : -1;
        steps.append(element("li", `${says}${place >= 0 ? ` (${gettext("its value: %(value)s", { value: values[place] })})` : ""}`));
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
        all.append(element("summary", gettext("All its values")), table);
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
        found.replaceChildren(element("p", gettext("No row has this number or value. This file has the paths of %(n)s rows and the values of %(n_values)s.", { n: grouped(rows.path.length), n_values: grouped(Object.keys(rows.values).length) })));
        return;
      }
      const list = element("ul");
      for (const [row, place] of hits) {
        const item = element("li"), button = element("button", gettext("Row %(row)s", { row }), { type: "button", class: "small" });
        button.addEventListener("click", () => showRow(row));
        item.append(button, ` ${rows.columns[place][1]}: ${rows.values[row][place]}`);
        list.append(item);
      }
      found.replaceChildren(element("p", ngettext("%(n)s row has this value", "%(n)s rows have this value", number) + (number > hits.length ? gettext(", the first %(n)s are:", { n: hits.length }) : ":")), list);
    };
    const wrongRows = [...rows.path.keys()].filter((row) => nodes[pathOf(row)[pathOf(row).length - 1]].label !== rows.truth[row]);
    let lastWrong = -1;
    byId("pw-wrong").disabled = !wrongRows.length;
    byId("pw-wrong").hidden = Boolean(rows.told);  // no number is exactly right
    byId("pw-wrong").addEventListener("click", () => {
      lastWrong = wrongRows.find((row) => row > lastWrong) ?? wrongRows[0];
      byId("pw-query").value = String(lastWrong);
      showRow(lastWrong);
    });
    byId("pw-find").addEventListener("submit", (event) => { event.preventDefault(); search(byId("pw-query").value); });
    byId("pw-held").textContent = ngettext("%(n)s of %(n_all)s row", "%(n)s of %(n_all)s rows", rows.total, { n: grouped(Object.keys(rows.values).length), n_all: grouped(rows.total) });
    document.addEventListener("click", (event) => {
      const button = event.target.closest && event.target.closest("button[data-row]");
      if (!button || Number(button.dataset.row) >= rows.path.length) return;
      showRow(Number(button.dataset.row));
      view.scrollIntoView({ block: "nearest" });
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-node]");
    if (!button) return;
    form("picture");
    showPath(wayTo(Number(button.dataset.node)));
    view.scrollIntoView({ block: "nearest" });
  });

  // ---------------------------------------------------------------- print

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

  // ---------------------------------------------------------------- what if: the model followed as the library does

  const columns = data.columns;
  const goesLow = (told, row) => {
    if (told.sum) {
      const [places, factors] = told.sum;
      if (places.some((j) => row[j] === null)) return told.gap;
      return places.reduce((total, j, k) => total + factors[k] * row[j], 0) <= told.cut;
    }
    const value = row[told.column];
    if (value === null) return told.gap;
    if (told.set) return told.set.includes(value);
    return told.cut === "all" || (told.cut !== "none" && value <= told.cut);
  };
  const follow = (row) => {
    const path = [0];
    for (let node = 0; !isLeaf(node);) path.push(node = goesLow(nodes[node], row) ? nodes[node].low : nodes[node].high);
    return path;
  };

  // Answers that are alike: one class or action; of numbers those of at least the number that is asked about, or below.
  let asked = data.limit;
  const alikeOf = (label) => (data.values ? Number(data.values[label] >= asked) : label);
  const side = (one) => (one ? gettext("at least %(number)s", { number: number(asked) }) : gettext("below %(number)s", { number: number(asked) }));

  // Every way to a leaf is a box: per column the values that take it. Levels have codes; one more stands for all others.
  const ways = [];
  if (data.reasons) {
    const pending = [[0, []]];
    while (pending.length) {
      const [node, steps] = pending.pop();
      if (isLeaf(node)) { ways.push({ label: nodes[node].label, steps }); continue; }
      pending.push([nodes[node].high, [...steps, [node, false]]], [nodes[node].low, [...steps, [node, true]]]);
    }
  }
  const boxOf = (steps) => {
    const box = columns.map((column) => ({
      low: -Infinity, high: Infinity, known: true, gap: true,
      set: column.levels ? new Set([...column.levels.keys(), ...(column.other ? [column.levels.length] : [])]) : null,
    }));
    for (const [node, low] of steps) {
      const told = nodes[node], side = box[told.column];
      if (told.gap !== low) side.gap = false;
      if (told.cut === "none" || told.cut === "all") { if (low !== (told.cut === "all")) side.known = false; }
      else if (side.set) for (const code of [...side.set]) { if ((told.set ? told.set.includes(code) : code <= told.cut) !== low) side.set.delete(code); }
      else if (told.set) { side.codes = (side.codes || []).concat([[told.set, low]]); }
      else if (low) side.high = Math.min(side.high, told.cut);
      else side.low = Math.max(side.low, told.cut);
    }
    return box;
  };
  const someKnown = (side, column) => side.known && (side.set ? side.set.size > 0 : column.whole ? Math.floor(side.high) > side.low : side.high > side.low);
  const possible = (box) => box.every((side, j) => (side.gap && (columns[j].gaps || !someKnown(side, columns[j]))) || someKnown(side, columns[j]));
  const simple = columns.every((column) => column.levels || !nodes.some((told) => told.set && columns[told.column] === column));

  // Conditions of the path without those that are not needed: any row that meets the rest gets the same class.
  const enough = (steps, alike) => {
    const others = ways.filter((way) => alikeOf(way.label) !== alike);
    let kept = steps;
    for (const step of [...steps].reverse()) {
      const fewer = kept.filter((one) => one !== step);
      if (!others.some((way) => possible(boxOf([...fewer, ...way.steps])))) kept = fewer;
    }
    return kept;
  };

  // A short number above ``low`` and up to ``high``, near to ``low``.
  const justAbove = (low, high, column) => {
    if (column.whole) {
      const steps = column.kind === "date" || column.kind === "integer" ? [] : [6e7, 1e6];  // a full minute or second, if it is near
      const round = steps.map((step) => (Math.floor(low / step) + 1) * step).find((to) => to <= high && to - low <= column.spread / 20);
      return round ?? Math.floor(low) + 1;
    }
    for (let digits = 0; digits <= 15; digits++) {
      const scaled = Number((Math.floor(low * 10 ** digits) / 10 ** digits + 10 ** -digits).toFixed(digits));
      if (scaled > low && scaled <= high && scaled - low <= column.spread / 20) return scaled;
    }
    const between = low + Math.max(Math.abs(low), 1e-300) * 2 ** -52;
    return between > low && between <= high ? between : high;
  };
  // The fewest columns to change for another class, then the shortest way: each way to another class is asked.
  const nearest = (row, alike, held) => {
    let best = null;
    for (const way of ways) {
      if (alikeOf(way.label) === alike) continue;
      const changes = [];
      let far = 0, open = true;
      boxOf(way.steps).forEach((side, j) => {
        const column = columns[j], value = row[j];
        if (!open || (value === null ? side.gap : side.known && (side.set ? side.set.has(value) : value > side.low && value <= side.high))) return;
        const codes = side.set ? [...side.set].filter((code) => code < column.levels.length) : null;
        if (held[j] || !someKnown(side, column) || (codes && !codes.length)) { open = false; return; }
        let to;
        if (codes) { to = codes.includes(column.usual) ? column.usual : codes[0]; far += 1; }
        else {
          const from = value === null ? column.usual : value;
          to = from > side.high ? (column.whole ? Math.floor(side.high) : side.high) : from <= side.low ? justAbove(side.low, side.high, column) : from;
          far += Math.abs(to - from) / column.spread + (value === null ? 1 : 0);
        }
        changes.push([j, to]);
      });
      if (open && (!best || changes.length < best.changes.length || (changes.length === best.changes.length && far < best.far))) best = { changes, far, label: way.label };
    }
    return best;
  };

  // Dates and times in fields and texts, in the zone of their column, as the words of the model have them.
  const DAY = 86400000;
  const offsetOf = (column) => {
    const fixed = /^([+-])(\d\d):?(\d\d)$/.exec(column.zone || "");
    if (fixed) return () => (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60000;
    if (!column.zone || column.zone === "UTC") return () => 0;
    const names = ["year", "month", "day", "hour", "minute", "second"];
    const form = new Intl.DateTimeFormat("en", { timeZone: column.zone, hourCycle: "h23", ...Object.fromEntries(names.map((name) => [name, "numeric"])) });
    return (at) => {
      const told = Object.fromEntries(form.formatToParts(at).map((part) => [part.type, Number(part.value)]));
      return Date.UTC(told.year, told.month - 1, told.day, told.hour, told.minute, told.second) - Math.floor(at / 1000) * 1000;
    };
  };
  const offsets = columns.map((column) => (column.kind === "moment" ? offsetOf(column) : () => 0));
  const local = (j, value) => { const at = Math.floor(value / 1000); return new Date(at + offsets[j](at)).toISOString(); };
  const fraction = (value) => { const part = ((Math.floor(value) % 1e6) + 1e6) % 1e6; return part ? "." + String(part).padStart(6, "0") : ""; };
  const trimmed = (text) => (/:\d\d:00$/.test(text) ? text.slice(0, -3) : text);
  const offsetText = (minutes) => {
    const size = Math.abs(minutes), two = (part) => String(part).padStart(2, "0");
    return ` ${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  };
  const durationText = (value) => {
    const whole = Math.floor(value), days = Math.floor(whole / (DAY * 1000)), clock = new Date(Math.floor((whole - days * DAY * 1000) / 1000)).toISOString().slice(11, 19);
    return (days ? ngettext("%(n)s day", "%(n)s days", days, { n: days }) + ", " : "") + trimmed(clock.replace(/^0/, "") + fraction(value));
  };
  const clocks = {
    date: { type: "date", read: (text) => Date.parse(text + "T00:00Z") / DAY, write: (value) => new Date(value * DAY).toISOString().slice(0, 10) },
    moment: {
      type: "datetime-local",
      read: (text, j) => { const at = Date.parse(text + "Z"); return (at - offsets[j](at - offsets[j](at))) * 1000; },
      write: (value, j) => local(j, value).slice(0, 19),
      text: (value, j) => trimmed(local(j, value).slice(0, 19).replace("T", " ") + fraction(value)) + (columns[j].zone ? offsetText(Math.round(offsets[j](value / 1000) / 60000)) : ""),
    },
    time: {
      type: "time", read: (text) => Date.parse("1970-01-01T" + text + "Z") * 1000,
      write: (value) => new Date(value / 1000).toISOString().slice(11, 19),
      text: (value) => trimmed(new Date(value / 1000).toISOString().slice(11, 19) + fraction(value)),
    },
  };
  const number = (value) => pointed(value.toLocaleString("en", { maximumSignificantDigits: 17, useGrouping: false })).replace("-", "−");
  const shown = (j, value) => {
    const column = columns[j];
    if (value === null) return gettext("missing");
    if (column.levels) return column.levels[value] ?? gettext("another level");
    if (clocks[column.kind]) return (clocks[column.kind].text || clocks[column.kind].write)(value, j);
    return column.kind === "duration" ? durationText(value) : number(value);
  };
  // What a person types: with the decimal separator of the page, or a point that cannot stand between groups of digits.
  const typedNumber = (text) => {
    const typed = text.trim().replace("−", "-");
    if (decimal === "." || !typed) return typed ? Number(typed) : NaN;
    const groups = new RegExp(`^-?\\d{1,3}(\\${group}\\d{3})+(\\${decimal}\\d+)?$`);
    return Number((groups.test(typed) ? typed.replaceAll(group, "") : typed).replace(decimal, "."));
  };
  const chip = (code) => {
    const made = element("span", data.classes[code], { class: "chip" });
    made.style.setProperty("--c", `var(--k${code})`);
    return made;
  };
  const and = ` ${gettext("and")} `;
  const listed = (parts, last = and) => parts.flatMap((part, k) => (k ? [k === parts.length - 1 ? last : ", ", part] : [part]));
  // Of conditions with one key on a path, the last is the strictest; sets of levels of one column are one set.
  const MOST_NAMED = 12;
  const inWords = (steps) => {
    const alike = new Map();
    for (const step of steps) {
      const key = nodes[step[0]].key[Number(!step[1])], group = alike.get(key) || [];
      alike.delete(key);
      alike.set(key, [...group, step]);
    }
    return [...alike.values()].map((group) => {
      const [node, low] = group[group.length - 1], told = nodes[node];
      const unknown = told.set && columns[told.column].levels && row[told.column] === columns[told.column].levels.length;
      const short = !unknown && (!told.set || !told.set.length || !columns[told.column].levels || (group.length === 1 && told.set.length <= MOST_NAMED));
      return named(short ? told.says[Number(!low)] : inSet(told.column, group), told.column);
    });
  };
  // A condition with the name of its column in bold: it begins with the name, or has a word such as "not" before it.
  const named = (text, j) => {
    const name = j === undefined ? "" : columns[j].name, at = text.startsWith(name) ? 0 : text.indexOf(" " + name) + 1;
    if (!name || !text.startsWith(name, at)) return element("b", text);
    const made = element("span", text.slice(0, at));
    made.append(element("b", name), text.slice(at + name.length));
    return made;
  };
  const inSet = (j, steps) => {
    const column = columns[j], side = boxOf(steps)[j], value = row[j];
    const named = [...side.set].filter((code) => code < column.levels.length && code !== value);
    const others = named.length > 3 ? [ngettext("one of %(n)s other", "one of %(n)s others", named.length)] : named.map((code) => column.levels[code]);
    const parts = [shown(j, value), ...others, ...(side.gap && column.gaps && value !== null ? [gettext("missing")] : [])];
    const among = parts.length > 1 ? gettext("%(names)s or %(last)s", { names: parts.slice(0, -1).join(", "), last: parts[parts.length - 1] }) : parts[0];
    return gettext("%(column)s is %(value)s", { column: column.name, value: among });
  };

  const uncounted = [...(columns.some((column) => column.gaps) ? [gettext("values that go missing")] : []), ...(columns.some((column) => column.other) ? [gettext("levels without a name")] : [])];
  const notCounted = uncounted.length ? " " + gettext("(not counted: %(what)s)", { what: uncounted.join(and) }) : "";
  const row = columns.map((column) => column.usual), held = columns.map(() => false), painters = [];
  const numeric = decimal === "." ? { type: "number", step: "any" } : { type: "text", inputmode: "decimal", autocomplete: "off" };
  let traced = false;
  const change = (j, value) => { row[j] = value; traced = true; answer(); };
  columns.forEach((column, j) => {
    const id = "pw-f" + j, control = element("div", undefined, { class: "ctl" });
    const isChoice = column.levels && column.levels.length <= 6;
    const label = element(isChoice ? "span" : "label", undefined, { class: "lab", id: id + "l", ...(isChoice ? {} : { for: id }) });
    label.append(column.name);
    const about = [column.meaning, column.unit].filter(Boolean).join(", ");
    if (about) label.append(element("small", about));
    let last = column.usual;
    const set = (value) => { if (value !== null) last = value; change(j, value); };
    if (isChoice) {
      const group = element("div", undefined, { class: "choice", role: "radiogroup", "aria-labelledby": id + "l" });
      const names = column.other ? [...column.levels, gettext("another level")] : column.levels;
      const inputs = names.map((name, code) => {
        const input = element("input", undefined, { type: "radio", name: id, value: code }), one = element("label");
        input.addEventListener("change", () => set(code));
        one.append(input, element("span", name));
        group.append(one);
        return input;
      });
      control.append(group);
      painters.push(() => inputs.forEach((input, code) => { input.checked = row[j] === code; }));
    } else if (column.levels) {
      const pick = element("select", undefined, { id });
      [...column.levels, ...(column.other ? [gettext("another level")] : [])].forEach((name, code) => pick.append(element("option", name, { value: code })));
      pick.addEventListener("change", () => set(Number(pick.value)));
      control.append(pick);
      painters.push(() => { pick.value = row[j] === null ? "" : String(row[j]); });
    } else if (clocks[column.kind]) {
      const clock = clocks[column.kind], input = element("input", undefined, { id, type: clock.type, step: clock.type === "date" ? 1 : "any" });
      input.addEventListener("input", () => { const value = clock.read(input.value, j); if (Number.isFinite(value)) set(value); });
      control.append(input);
      if (column.zone) control.append(element("small", column.zone));
      painters.push(() => { if (document.activeElement !== input) input.value = row[j] === null ? "" : clock.write(row[j], j); });
    } else {
      const unit = column.kind === "duration" ? 1e6 : 1;
      const slide = element("input", undefined, { type: "range", min: column.min, max: column.max, step: column.whole ? unit : "any", "aria-labelledby": id + "l" });
      const box = element("input", undefined, { id, ...numeric }), rail = element("div", undefined, { class: "slide" });
      rail.append(slide);
      for (const cut of column.cuts) {
        const tick = element("i", undefined, { title: gettext("the model cuts at %(value)s", { value: shown(j, cut) }) });
        tick.style.left = `calc(8px + ${(cut - column.min) / (column.max - column.min || 1)} * (100% - 16px))`;
        rail.append(tick);
      }
      const whole = (value) => (column.whole ? Math.round(value) : value);
      slide.addEventListener("input", () => set(whole(Number(slide.value))));
      box.addEventListener("input", () => { const typed = typedNumber(box.value); if (Number.isFinite(typed)) set(unit > 1 ? Math.round(typed * unit) : typed); });
      control.append(rail, box);
      if (unit > 1) {
        const told = element("small");
        control.append(told);
        painters.push(() => { told.textContent = row[j] === null ? gettext("seconds") : `${gettext("seconds")}: ${shown(j, row[j])}`; });
      }
      painters.push(() => {
        slide.value = row[j] === null ? last : row[j];
        slide.setAttribute("aria-valuetext", shown(j, row[j]));
        if (document.activeElement !== box || row[j] === null) box.value = row[j] === null ? "" : pointed(String(row[j] / unit));
      });
    }
    const field = element("div", undefined, { class: "field" });
    const tick = (text, name, act) => {
      const cell = element("label", undefined, { class: "check-cell" }), input = element("input", undefined, { type: "checkbox", "aria-label": `${column.name} ${name}` });
      input.addEventListener("change", () => act(input.checked));
      cell.append(input, text);
      field.append(cell);
      return input;
    };
    field.append(label, control);
    if (column.gaps) {
      const gap = tick(gettext("missing"), gettext("is missing"), (on) => set(on ? null : last));
      painters.push(() => { gap.checked = row[j] === null; });
    } else field.append(element("span"));
    if (data.reasons && simple) tick(gettext("keep"), gettext("may not change"), (on) => { held[j] = on; answer(); });
    painters.push((path) => field.classList.toggle("off", !path.some((node) => !isLeaf(node) && (nodes[node].sum ? nodes[node].sum[0].includes(j) : nodes[node].column === j))));
    byId("pw-fields").append(field);
  });
  if (data.values && data.reasons && simple) {
    const field = element("div", undefined, { class: "field" }), control = element("div", undefined, { class: "ctl" });
    const label = element("label", gettext("asked about"), { class: "lab", for: "pw-asked" });
    label.append(element("small", gettext("is it at least this, or below?")));
    const box = element("input", undefined, { id: "pw-asked", ...numeric, value: pointed(String(asked)) });
    box.addEventListener("input", () => { const typed = typedNumber(box.value); if (Number.isFinite(typed)) { asked = typed; answer(); } });
    control.append(box);
    field.append(label, control);
    byId("pw-fields").append(field);
  }
  // What is said of reasons and changes, by what the model answers; "alike" is the group of the answer.
  const same = (alike) => (data.answers === "classes" ? gettext("Whatever the columns hold, the class is the same.") : data.values ? gettext("Whatever the columns hold, it is %(side)s.", { side: side(alike) }) : gettext("Whatever the columns hold, the action is the same."));
  const leads = (alike) => (data.answers === "classes" ? gettext("No change of fewer columns leads to another class") : data.values ? gettext("No change of fewer columns makes it %(side)s", { side: side(1 - alike) }) : gettext("No change of fewer columns leads to another action"));
  const none = (alike) => (data.answers === "classes" ? gettext("Nothing that may change leads to another class") : data.values ? gettext("Nothing that may change makes it %(side)s", { side: side(1 - alike) }) : gettext("Nothing that may change leads to another action"));
  // The tree in small beside the answer, with the path in ink; the path stands in words below it.
  const MOST_SMALL = 63;
  const small = (() => {
    const drawn = (name, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
      return made;
    };
    const layers = [...new Set(area.map((one) => one.y))].sort((one, other) => one - other);
    const at = area.map((one) => ({ x: (one.x + one.width / 2 - whole.x) * 320 / whole.width, y: 8 + 26 * layers.indexOf(one.y) }));
    const picture = drawn("svg", { class: "small-tree", viewBox: `0 0 320 ${26 * layers.length - 10}`, "aria-hidden": "true" });
    const lines = nodes.flatMap((told, node) => (isLeaf(node) ? [] : [told.low, told.high].map((child) => ({ node, child, line: drawn("line", { x1: at[node].x, y1: at[node].y, x2: at[child].x, y2: at[child].y }) }))));
    const dots = nodes.map((told, node) => drawn("circle", { cx: at[node].x, cy: at[node].y, r: isLeaf(node) ? 4 : 2.5, ...(isLeaf(node) ? { style: `fill:var(--k${told.label})` } : {}) }));
    picture.append(...lines.map(({ line }) => line), ...dots);
    const mark = (path) => {
      for (const { node, child, line } of lines) line.classList.toggle("on", path.some((one, k) => one === node && path[k + 1] === child));
      dots.forEach((dot, node) => dot.classList.toggle("on", path.includes(node)));
    };
    return { mark, shown: nodes.length > 1 && nodes.length <= MOST_SMALL ? [picture] : [] };
  })();
  const answer = () => {
    const path = follow(row), leaf = path[path.length - 1], told = nodes[leaf];
    for (const paint of painters) paint(path);
    const verdict = element("p", undefined, { class: "verdict" });
    if (data.target) verdict.append(element("small", data.target + " = "));
    verdict.append(chip(told.label));
    let line = told.line ?? ngettext("%(share)s of %(n)s training row that comes here", "%(share)s of %(n)s training rows that come here", told.rows, { share: told.right });
    if (told.fresh) {
      const fresh = told.fresh.reduce((total, count) => total + count, 0), share = `${Math.floor(100 * told.fresh[told.label] / fresh + 0.5)}\u202f%`;
      line += fresh ? ngettext(", %(share)s of %(n)s new one", ", %(share)s of %(n)s new ones", fresh, { share }) : gettext(", no new ones");
    }
    const list = element("dl");
    const entry = (name, ...parts) => {
      const part = element("div"), text = element("dd");
      text.append(...parts);
      part.append(element("dt", name), text);
      list.append(part);
    };
    const steps = path.slice(0, -1).map((node, k) => [node, nodes[node].low === path[k + 1]]);
    entry(gettext("Path"), ...(steps.length ? [...listed(inWords(steps), gettext(", then ")), "."] : [data.answers === "classes" ? gettext("No test: every row gets this class.") : gettext("No test: every row gets this answer.")]));
    if (data.reasons && simple) {
      const alike = alikeOf(told.label), why = enough(steps, alike), other = nearest(row, alike, held);
      const what = data.values && why.length ? [`${side(alike)}: `] : [];
      entry(gettext("Reason"), ...what, ...(why.length ? [...listed(inWords(why)), ". ", element("small", gettext("That is enough, whatever the other columns hold; no part can be left out."))] : [same(alike)]));
      if (other) {
        const go = element("button", gettext("Try it"), { type: "button" });
        go.addEventListener("click", () => { for (const [j, value] of other.changes) row[j] = value; change(other.changes[0][0], other.changes[0][1]); });
        const parts = other.changes.map(([j, value]) => { const part = element("span"); part.append(element("b", columns[j].name), " " + gettext("%(then)s instead of %(now)s", { then: shown(j, value), now: shown(j, row[j]) })); return part; });
        entry(gettext("Smallest change"), ...listed(parts), gettext(": then "), chip(other.label), ". ", element("small", `${leads(alike)}${notCounted}.`), go);
      } else entry(gettext("Smallest change"), `${none(alike)}${notCounted}.`);
    }
    const show = element("button", gettext("Show the path in the picture"), { type: "button" });
    show.addEventListener("click", () => { form("picture"); showPath(path); view.scrollIntoView({ block: "nearest" }); });
    entry(gettext("Picture"), show);
    small.mark(path);
    byId("pw-answer").replaceChildren(...small.shown, verdict, element("p", line + ".", { class: "what" }), list);
    const spoken = `${data.target ? data.target + " = " : ""}${data.classes[told.label]}`;
    if (byId("pw-live").textContent !== spoken) byId("pw-live").textContent = spoken;
    if (traced) for (const one of document.querySelectorAll("#pw-rules tr[data-leaf]")) one.classList.toggle("used", Number(one.dataset.leaf) === leaf);
  };
  answer();
  // For tests: the values in the fields and their texts; for a row, its class, the conditions that are enough, the smallest change.
  window.proofwood = {
    values: () => [...row],
    textOf: (j) => shown(j, row[j]),
    pathOf: follow,
    classOf: (values) => data.classes[nodes[follow(values).pop()].label],
    askAbout: (limit) => { asked = limit; },
    reasonOf: (values) => {
      const path = follow(values), steps = path.slice(0, -1).map((node, k) => [node, nodes[node].low === path[k + 1]]);
      return enough(steps, alikeOf(nodes[path[path.length - 1]].label));
    },
    changeOf: (values, held) => nearest(values, alikeOf(nodes[follow(values).pop()].label), held || columns.map(() => false)),
  };

  // ---------------------------------------------------------------- rules: sorted, and as a file

  const table = byId("pw-rules");
  if (table) {
    const body = table.querySelector("tbody"), ruleRows = [...body.querySelectorAll("tr")];
    const valueOf = (line, key) => (key === "if" ? line.querySelector(".if").textContent : key === "then" ? line.dataset.then : Number(line.dataset[key]));
    for (const button of table.querySelectorAll("th button")) button.addEventListener("click", () => {
      const head = button.closest("th"), key = button.dataset.key, down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      ruleRows.sort((one, other) => {
        const [x, y] = [valueOf(one, key), valueOf(other, key)];
        return (typeof x === "string" ? x.localeCompare(y, root.lang, { numeric: true }) : x - y) * (down ? -1 : 1);
      });
      body.append(...ruleRows);
    });
    byId("pw-csv").addEventListener("click", () => {
      const safe = (value) => (/^[=+\-@\t\r]/.test(value) ? "'" + value : value);  // a spreadsheet would take it for a formula
      const quoted = (value) => `"${safe(String(value)).replaceAll('"', '""')}"`;
      const fresh = ruleRows.length && ruleRows[0].dataset.new !== undefined;
      const names = { classes: ["class", "share_right", "share_right"], numbers: ["number", "spread", "error"], actions: ["action", "mean_reward", "mean_reward"], times: ["says", "events", "events"] }[data.answers];
      const out = [["rule", "if", data.target || names[0], "training_rows", `training_${names[1]}`, ...(fresh ? ["new_rows", `new_${names[2]}`] : [])]];
      for (const line of ruleRows) {
        const { no, then, rows: count, share } = line.dataset;
        out.push([no, line.dataset.whole || valueOf(line, "if").trim(), then, count, share, ...(fresh ? [line.dataset.new, Number(line.dataset.new) ? line.dataset.new_share : ""] : [])]);
      }
      const url = URL.createObjectURL(new Blob(["\ufeff" + out.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
      element("a", undefined, { href: url, download: "rules.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
  }

  // ---------------------------------------------------------------- points of figures, the section in view, the theme

  const mark = byId("pw-mark");
  for (const dot of document.querySelectorAll("[data-tip]")) {
    dot.addEventListener("pointerenter", () => {
      mark.textContent = dot.dataset.tip;
      mark.hidden = false;
      const place = dot.getBoundingClientRect();
      mark.style.left = Math.max(8, Math.min(innerWidth - mark.offsetWidth - 8, place.left + place.width / 2 - mark.offsetWidth / 2)) + "px";
      mark.style.top = (place.top > mark.offsetHeight + 16 ? place.top - mark.offsetHeight - 8 : place.bottom + 8) + "px";
    });
    dot.addEventListener("pointerleave", () => { mark.hidden = true; });
  }
  const links = [...document.querySelectorAll(".bar a")].map((link) => [link, document.getElementById(link.hash.slice(1))]).filter(([, part]) => part);
  const here = () => {
    const seen = links.filter(([, part]) => part.getBoundingClientRect().top < innerHeight * 0.35);
    for (const [link] of links) link.removeAttribute("aria-current");
    if (seen.length) seen[seen.length - 1][0].setAttribute("aria-current", "true");
  };
  addEventListener("scroll", here, { passive: true });
  here();
  byId("pw-theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  form(innerWidth < 700 || nodes.filter((_, node) => isLeaf(node)).length > 16 ? "outline" : "picture");
  readable();
  view.scrollLeft = Math.max(0, (view.scrollWidth - view.clientWidth) / 2);
  view.scrollTop = 0;
})();
