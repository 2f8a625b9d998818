"use strict";
(() => {
const el = id => document.getElementById(id);
const given = JSON.parse(el("data").textContent);
const FATES = {
  there: "still there", early: "deleted early", missed: "deleted early and missed", spark: "deleted by Spark's cleaner",
  ended: "closed with the application, or by detach()", lost: "lost",
};
const ROW = 18, LEFT = 64, RIGHT = 18, AREA = 190, GRAPH = 420, NEAR = 160, COLUMN = 128, RANK = 46;
const area = el("area"), bars = el("bars"), graph = el("graph"), scroll = el("scroll"), tip = el("tip");
let told = null, rows = [], shown = [], series = [], view = [0, 1], hidden = new Set(), chosen = null, colours = {};
let nodes = [], edges = [], camera = null, drag = null, hover = null, ratio = 1, following = true;

// ---- words ---------------------------------------------------------------------------------------------------------

const size = n => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (n >= 999.5 && unit < 5) { n /= 1000; unit++; }
  return unit ? `${n.toFixed(n < 99.95 ? 1 : 0)} ${units[unit]}` : `${Math.round(n)} B`;
};
const span = ms => {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const m = Math.floor(ms / 60000);
  return m < 60 ? `${m} min ${String(Math.floor(ms / 1000) % 60).padStart(2, "0")} s` : `${Math.floor(m / 60)} h ${String(m % 60).padStart(2, "0")} min`;
};
const DAY = 864e5;
const moment = ms => new Date(told.first_ms + ms).toISOString();
const day = ms => told.length_ms > DAY ? `${moment(ms).slice(5, 10)} ` : "";
const clock = ms => day(ms) + moment(ms).slice(11, view[1] - view[0] < 120000 ? 23 : 19);
const few = (list, most) => list.slice(0, most).join(", ") + (list.length > most ? ` and ${list.length - most} more` : "");
const add = (parent, tag, text, style) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (style) made.className = style;
  return parent.appendChild(made), made;
};

// ---- numbers -------------------------------------------------------------------------------------------------------

function take(next) {
  const whole = !told || (view[0] === 0 && view[1] >= told.length_ms);
  told = next;
  rows = told.bars.map(values => Object.fromEntries(told.columns.map((name, i) => [name, values[i]])));
  for (const row of rows) { row.text = told.texts[row.site]; row.because = told.texts[row.why]; row.numbers = Object.fromEntries(row.events.map((number, i) => [told.happenings[i], number])); }
  rows.sort((a, b) => a.begun - b.begun || a.id - b.id);
  if (whole) view = [0, Math.max(1, told.length_ms)];
  const again = row => rows.find(one => one.id === row.id) || null;   // marked and pointed at is a shuffle, not its old numbers
  if (chosen) chosen = again(chosen);
  if (hover && hover.row) point({ row: again(hover.row) });
  series = stepped();
  head(); keys(); filter(); lay(byKey(), false);
  if (hover && hover.node) point({ node: byKey().get(hover.node.key) });
  draw();
}

/** Held and needed after each change, in their order; what ends being needed does so when its millisecond is over. */
function stepped() {
  const moves = [];
  for (const row of rows) {
    const until = row.read ?? row.complete ?? -1, since = row.read === null ? until : 0;   // unread: when it is complete
    let held = 0, wanted = 0;
    for (const [at, now, number] of row.changes) {
      const counts = since <= at && at <= until ? now : wanted;
      moves.push([at, number, now - held, counts - wanted]);
      held = now; wanted = counts;
    }
    if (wanted) moves.push([until, Infinity, 0, -wanted]);
  }
  moves.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0));
  const found = [[0, 0, 0]];
  let held = 0, needed = 0;
  for (const [at, , more, wanted] of moves) {
    held += more; needed += wanted;
    found.push([at, held, needed]);
  }
  found.push([told.length_ms, held, needed]);
  return found;
}

function head() {
  let byteTime = [0, 0], peak = [0, 0];
  series.forEach((one, i) => {
    const length = i + 1 < series.length ? series[i + 1][0] - one[0] : 0;
    for (const k of [0, 1]) { byteTime[k] += one[k + 1] * length / 1000; peak[k] = Math.max(peak[k], one[k + 1]); }
  });
  const of = fate => rows.filter(row => row.fate === fate);
  const sum = list => list.reduce((all, row) => all + row.bytes, 0);
  const now = of("there"), early = [...of("early"), ...of("missed")], missed = of("missed");
  const tiles = [
    [size(peak[0]), `held at the most; needed ${size(peak[1])}`],
    [`${size(byteTime[0])}·s`, `held; needed ${size(byteTime[1])}·s`],
    [byteTime[1] ? (byteTime[0] / byteTime[1]).toFixed(2) : "–", "times what was needed"],
    [rows.length.toLocaleString("en"), `shuffles written, ${now.length.toLocaleString("en")} there (${size(sum(now))})`],
    [early.length.toLocaleString("en"), `deleted early, ${size(sum(early))}`],
    [missed.length.toLocaleString("en"), `missed, ${size(sum(missed))} had been deleted`],
  ];
  el("tiles").replaceChildren();
  for (const [big, small] of tiles) {
    const tile = add(el("tiles"), "div", "", "tile");
    add(tile, "b", big); add(tile, "span", small);
  }
  el("name").textContent = told.name || told.application;
  el("about").textContent = `policy ${told.policy}` + (told.spark ? `, Spark ${told.spark}` : "") + `, ${span(told.length_ms)} from ${new Date(told.first_ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  el("asof").textContent = broken || `${given.live && !told.ended ? "live, " : ""}as of event ${told.sequence.toLocaleString("en")}`;
  el("asof").className = broken ? "away" : "soft";
  el("damage").textContent = told.damage.length ? `Not all of the log could be read: ${told.damage.join("; ")}` : "";
  el("foot").textContent = `application ${told.application}; bytes count from the end of the attempt that wrote them until they are gone` +
    (told.left_out ? `; ${told.left_out.toLocaleString("en")} older shuffles are left out` : "");
}

function keys() {
  const there = Object.keys(FATES).filter(fate => rows.some(row => row.fate === fate)).join(" ");
  if (el("keys").dataset.fates === there) return;
  el("keys").dataset.fates = there;
  el("keys").replaceChildren();
  for (const fate of Object.keys(FATES)) {
    if (!rows.some(row => row.fate === fate)) continue;
    const key = add(el("keys"), "button", "", "key");
    key.type = "button";
    add(key, "i", "").style.background = `var(--${fate})`;
    add(key, "span", FATES[fate]);
    key.setAttribute("aria-pressed", String(!hidden.has(fate)));
    key.onclick = () => {
      hidden.has(fate) ? hidden.delete(fate) : hidden.add(fate);
      key.setAttribute("aria-pressed", String(!hidden.has(fate)));
      filter(); draw();
    };
  }
}

function filter() {
  const wanted = el("find").value.trim().toLowerCase();
  const inView = row => row.begun <= view[1] && (row.gone === null ? told.length_ms : row.gone) >= view[0];
  shown = rows.filter(row => !hidden.has(row.fate) && inView(row) &&
    (!wanted || `#${row.id}` === wanted || String(row.app) === wanted || row.text.toLowerCase().includes(wanted)));
  scroll.style.height = `${Math.max(90, Math.min(430, shown.length * ROW + 34))}px`;
  el("tall").style.height = `${Math.max(0, shown.length * ROW + 30 - scroll.clientHeight)}px`;
}

// ---- drawing -------------------------------------------------------------------------------------------------------

function sheet(canvas, height, within = canvas.parentElement) {
  canvas.style.height = `${height}px`;  // first: one that is too tall makes a scroll bar, which takes from the width
  const width = within.clientWidth;
  ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "11.5px system-ui, sans-serif";
  return [pen, width, height];
}
const across = (ms, width) => LEFT + (ms - view[0]) / (view[1] - view[0]) * (width - LEFT - RIGHT);
const momentAt = (x, width) => view[0] + (x - LEFT) / (width - LEFT - RIGHT) * (view[1] - view[0]);

function steps(length, many) {
  const rough = length / many, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(k => k * power).find(k => k >= rough);
}
function timeStep(length, many) {
  const nice = [1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, DAY];
  if (length / many < 1e3) return Math.max(1, steps(length, many));
  return nice.find(k => k >= length / many) || DAY * steps(length / DAY, many);
}
function dated(ms, step) {
  if (step >= DAY) return moment(ms).slice(0, 10);
  return told.length_ms > DAY && step >= 6e4 ? day(ms) + moment(ms).slice(11, 16) : clock(ms);
}
function ticks(pen, width, height, labels) {
  const step = timeStep(view[1] - view[0], Math.max(2, (width - LEFT) / 130));
  const offset = told.first_ms % step;
  pen.textAlign = "center"; pen.textBaseline = "alphabetic";
  for (let at = Math.ceil((view[0] + offset) / step) * step - offset; at <= view[1]; at += step) {
    const x = across(at, width);
    pen.fillStyle = colours.grid; pen.fillRect(Math.round(x), 0, 1, height - (labels ? 20 : 0));
    if (labels && x > LEFT + 20 && x < width - 34) { pen.fillStyle = colours.soft; pen.fillText(dated(at, step), x, height - 6); }
  }
}

function drawArea() {
  const [pen, width, height] = sheet(area, AREA, scroll), floor = height - 22, top = 8;
  const seen = (one, i) => one[0] <= view[1] && (i + 1 === series.length || series[i + 1][0] >= view[0]);
  const peak = series.reduce((most, one, i) => seen(one, i) ? Math.max(most, one[1]) : most, 1);
  const unit = Math.max(1, steps(peak, 4));
  ticks(pen, width, height, true);
  const y = bytes => floor - bytes / (Math.ceil(peak / unit) * unit) * (floor - top);
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (let bytes = 0; bytes <= peak + unit * .99; bytes += unit) {
    pen.fillStyle = colours.grid; pen.fillRect(LEFT, Math.round(y(bytes)), width - LEFT - RIGHT, 1);
    pen.fillStyle = colours.soft; pen.fillText(size(bytes), LEFT - 8, y(bytes));
  }
  pen.save(); pen.beginPath(); pen.rect(LEFT, 0, width - LEFT - RIGHT, height); pen.clip();
  for (const [k, fill, line] of [[1, colours.held, colours["held-line"]], [2, colours.needed, colours.needed]]) {
    const path = outline(k, width, y);
    pen.fillStyle = fill; pen.globalAlpha = k === 1 ? 1 : .8;
    pen.beginPath(); pen.moveTo(path[0][0], floor);
    for (const [x, at] of path) pen.lineTo(x, at);
    pen.lineTo(path[path.length - 1][0], floor); pen.fill();
    pen.globalAlpha = 1; pen.strokeStyle = line; pen.lineWidth = 1.25; pen.beginPath();
    path.forEach(([x, at], i) => i ? pen.lineTo(x, at) : pen.moveTo(x, at));
    if (path.length < width) pen.stroke();                         // where every pixel moves there is no line to see
  }
  if (hover && hover.at !== undefined) { pen.fillStyle = colours.focus; pen.globalAlpha = .5; pen.fillRect(across(hover.at, width), 0, 1, floor); }
  if (drag && drag.from !== undefined) {
    pen.globalAlpha = .14; pen.fillStyle = colours.focus;
    pen.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), floor);
  }
  pen.restore();
}
/** The corners of a stepped line; of what falls into one pixel the highest, a pixel wide. */
function outline(k, width, y) {
  const path = [];
  let before = 0, column = -1, best = 0;
  let last = 0;
  const flush = () => { if (column >= 0) path.push([column, y(before)], [column, y(best)], [column + 1, y(best)], [column + 1, y(last)]); };
  for (const one of series) {
    const x = Math.max(0, Math.min(width, Math.round(across(one[0], width))));   // what is beside the picture is so at its edge
    if (x !== column) { flush(); before = last; column = x; best = Math.max(before, one[k]); }
    else best = Math.max(best, one[k]);
    last = one[k];
  }
  flush();
  return path;
}

function drawBars() {
  const height = scroll.clientHeight, [pen, width] = sheet(bars, height);
  const first = Math.max(0, Math.floor(scroll.scrollTop / ROW)), last = Math.min(shown.length, first + Math.ceil(height / ROW) + 1);
  ticks(pen, width, height, false);
  for (let i = first; i < last; i++) drawBar(pen, width, shown[i], i * ROW - scroll.scrollTop + 4);
  pen.fillStyle = colours.card; pen.fillRect(0, 0, LEFT - 4, height);
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (let i = first; i < last; i++) {
    pen.fillStyle = shown[i] === chosen ? colours.ink : colours.soft;
    pen.fillText(`#${shown[i].id}`, LEFT - 10, i * ROW - scroll.scrollTop + 4 + ROW / 2);
  }
  if (!shown.length) { pen.textAlign = "left"; pen.fillStyle = colours.soft; pen.fillText("No shuffle that fits.", LEFT + 8, 24); }
}
function drawBar(pen, width, row, y) {
  const edge = width - RIGHT, clip = ms => Math.max(LEFT, Math.min(edge, across(ms, width)));
  const end = row.gone === null ? told.length_ms : row.gone, full = row.complete === null ? end : row.complete;
  const used = Math.max(full, row.read === null ? full : Math.min(row.read, end)), tall = ROW - 6, mid = y + ROW / 2;
  if (row === (hover && hover.row) || row === chosen) { pen.fillStyle = colours.hover; pen.fillRect(LEFT, y, edge - LEFT, ROW); }
  const piece = (from, to, alpha, high) => {
    const x = clip(from), wide = Math.max(clip(to) - x, 0);
    if (!wide && (from !== to || from < view[0] || from > view[1])) return;
    pen.globalAlpha = alpha; pen.beginPath();
    pen.roundRect(x, mid - high / 2, Math.max(wide, 1.5), high, Math.min(2.5, Math.max(wide, 1.5) / 2)); pen.fill();
  };
  pen.fillStyle = colours[row.fate];
  piece(row.begun, full, .55, 3);
  if (row.complete !== null) { if (end > used) piece(used, end, .34, tall); piece(full, used, 1, tall); }
  pen.globalAlpha = 1;
  if (row.gone === null && row.complete !== null && clip(end) >= edge - 1) { pen.fillRect(edge, mid - tall / 2, 3, tall); }
  const label = `${row.text || `app shuffle ${row.app}`}  ${row.bytes ? size(row.bytes) : ""}`, wide = pen.measureText(label).width;
  pen.textBaseline = "middle"; pen.textAlign = "left"; pen.fillStyle = colours.soft;
  const right = clip(end) + 8, left = clip(row.begun) - 8 - wide;
  if (right + wide < edge) pen.fillText(label, right, mid);
  else if (left > LEFT) pen.fillText(label, left, mid);
}

// ---- the graph: columns by depth, a stage between what it read and what it wrote --------------------------------------

/** ``old``: the nodes that are drawn, by their keys; ``anew``: somebody has asked for this picture. */
function lay(old, anew) {
  const byApp = new Map(rows.map(row => [row.app, row]));       // the last generation of each
  const [stages, made] = gathered();
  const near = byApp.size <= NEAR ? null : around(byApp, stages, made);
  const kept = [...stages.values()].filter(one => !near || near.has(one)).sort((a, b) => a.stage - b.stage);
  const used = place(kept, depths(kept, made), byApp);
  untangle(used);
  spread(used);
  stay(old);
  frame(anew);
  el("which").textContent = near ? `around ${chosen ? `#${chosen.id}` : "the last shuffles"}: ${kept.length} of ${stages.size.toLocaleString("en")} stages` : "";
}
/** The stages with what they read and wrote, and which of them made each app shuffle last. */
function gathered() {
  const stages = new Map(), made = new Map();
  const stageOf = i => {
    const [attempt, name, job] = told.stages[i], id = attempt.split(".")[0];
    if (!stages.has(id)) stages.set(id, { stage: id, name: told.texts[name], job: told.texts[job], reads: new Set(), writes: new Set(), index: i });
    return stages.get(id);
  };
  for (const row of rows) {
    if (row.writer !== null) { stageOf(row.writer).writes.add(row.app); made.set(row.app, stageOf(row.writer)); }
    for (const reader of row.readers) stageOf(reader).reads.add(row.app);
  }
  return [stages, made];
}
/** The column of each stage: behind all that made what it reads. Rounds, if a log tells of any, are cut. */
function depths(kept, made) {
  const drawn = new Set(kept), depth = new Map();
  const deep = one => {
    if (depth.has(one)) return depth.get(one);
    depth.set(one, 0);
    let found = 0;
    for (const app of one.reads) if (drawn.has(made.get(app))) found = Math.max(found, deep(made.get(app)) + 2);
    depth.set(one, found);
    return found;
  };
  kept.forEach(deep);
  return depth;
}
/** Fills nodes and edges; gives how many nodes each column has. */
function place(kept, depth, byApp) {
  nodes = []; edges = [];
  const spots = new Map(), used = [];
  const put = (key, column, thing) => {
    if (spots.has(key)) return spots.get(key);
    used[column] = (used[column] || 0) + 1;
    const node = { key: thing.stage ? `stage ${key.stage}` : `shuffle ${key}`, column, rank: used[column] - 1, ...thing };
    spots.set(key, node); nodes.push(node);
    return node;
  };
  const shuffle = (app, column) => put(app, column, { row: byApp.get(app) });
  for (const one of kept) put(one, depth.get(one), { stage: one });
  for (const one of kept) for (const app of one.writes) edges.push([spots.get(one), shuffle(app, depth.get(one) + 1)]);
  for (const one of kept) for (const app of one.reads) edges.push([shuffle(app, Math.max(0, depth.get(one) - 1)), spots.get(one)]);
  return Array.from(used, many => many || 0);                          // a column may be empty
}
/** Columns side by side, each around the middle. */
function spread(used) {
  for (const node of nodes) { node.x = node.column * COLUMN + 70; node.y = (node.rank - (used[node.column] - 1) / 2) * RANK; }
}
const byKey = () => new Map(nodes.map(node => [node.key, node]));
/** What was drawn before stays where it was, and what is new takes the free place of its column nearest to its neighbours. */
function stay(old) {
  const known = nodes.filter(node => old.has(node.key)), taken = new Map();
  if (!known.length) return;
  const moved = known.map(node => old.get(node.key).column - node.column).sort((a, b) => a - b), by = moved[moved.length >> 1];
  const settle = (node, y) => { node.y = y; taken.set(node.column, [...(taken.get(node.column) || []), y]); };
  for (const node of nodes) { node.column += by; node.x += by * COLUMN; }
  const stays = node => old.has(node.key) && old.get(node.key).column === node.column;
  for (const node of nodes.filter(stays)) settle(node, old.get(node.key).y);
  const near = new Map(nodes.map(node => [node, []]));
  for (const [a, b] of edges) { if (stays(a)) near.get(b).push(a.y); if (stays(b)) near.get(a).push(b.y); }
  for (const node of nodes.filter(node => !stays(node))) {
    const ys = near.get(node), wish = ys.length ? ys.reduce((all, y) => all + y, 0) / ys.length : node.y;
    settle(node, nearest(wish, taken.get(node.column) || []));
  }
}
/** The place nearest to a wish that is a row away from all that are taken. */
function nearest(wish, taken) {
  if (!taken.length) return wish;
  const steps = taken.flatMap(y => [y - RANK, y + RANK]).filter(y => taken.every(other => Math.abs(other - y) > RANK - 1));
  return steps.reduce((best, y) => Math.abs(y - wish) < Math.abs(best - wish) ? y : best);
}
/** The canvas as high as it needs to be, and the camera on all of it: unless somebody has moved it, or holds on to something. */
function frame(anew) {
  const [left, right] = reach(node => node.column), [top, bottom] = reach(node => node.y / RANK);
  const columns = right - left + 1, tallest = bottom - top + 1, width = graph.parentElement.clientWidth || 900;
  const before = anew ? 0 : parseFloat(el("graphs").style.height) || 0, height = Math.max(before, 130, Math.min(GRAPH, tallest * RANK + 50));
  el("graphs").style.height = `${height}px`;
  const held = chosen || drag || (hover && hover.node);
  if (camera && !anew && (held || !following || nodes.every(node => isSeen(node, width, height)))) return;
  const fit = Math.min(1.15, width / (columns * COLUMN + 30), height / (tallest * RANK + 20)), k = Math.max(.6, fit);
  const x = k > fit ? 10 : Math.max(10, (width - columns * COLUMN * k) / 2);
  if (!camera || following) camera = { k, x: x - left * COLUMN * k, y: height / 2 - (top + bottom) / 2 * RANK * k };
}
const reach = of => nodes.length ? [Math.min(...nodes.map(of)), Math.max(...nodes.map(of))] : [0, 0];
const isSeen = (node, width, height) => {
  const x = node.x * camera.k + camera.x, y = node.y * camera.k + camera.y;
  return x > 10 && x < width - 10 && y > 10 && y < height - 10;
};
/** Each column in the order of what its nodes are connected with, twice there and back: fewer lines cross. */
function untangle(used) {
  const next = new Map(nodes.map(node => [node, []]));
  for (const [a, b] of edges) { next.get(a).push(b); next.get(b).push(a); }
  const columns = used.map((_, column) => nodes.filter(node => node.column === column));
  for (const order of [columns, [...columns].reverse(), columns]) {
    for (const column of order) {
      const mean = node => { const list = next.get(node); return list.length ? list.reduce((all, one) => all + one.rank / (used[one.column] || 1), 0) / list.length : 0; };
      column.map(node => [mean(node), node.rank, node]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).forEach(([, , node], i) => { node.rank = i; });
    }
  }
}
/** The stages nearest to the chosen shuffle, or to the last ones: a picture of thousands is none. */
function around(byApp, stages, made) {
  const readers = new Map();
  for (const one of stages.values()) for (const app of one.reads) readers.set(app, [...(readers.get(app) || []), one]);
  const start = chosen ? [chosen.app] : rows.slice(-9).map(row => row.app);
  const found = new Set(), seen = new Set(start);
  let border = start;
  for (let hops = 0; hops < 8 && found.size < 40 && border.length; hops++) {
    const further = [];
    for (const app of border) {
      for (const one of [made.get(app), ...(readers.get(app) || [])]) {
        if (!one || found.has(one) || found.size >= 40) continue;
        found.add(one);
        for (const other of [...one.reads, ...one.writes]) if (!seen.has(other)) { seen.add(other); further.push(other); }
      }
    }
    border = further;
  }
  return found;
}
function drawGraph() {
  const [pen, width, height] = sheet(graph, parseFloat(el("graphs").style.height) || GRAPH);
  pen.translate(camera.x, camera.y); pen.scale(camera.k, camera.k);
  const seen = node => { const x = node.x * camera.k + camera.x, y = node.y * camera.k + camera.y; return x > -160 && x < width + 160 && y > -60 && y < height + 60; };
  const lit = hover && hover.node;
  for (const [from, to] of edges) {
    if (!seen(from) && !seen(to)) continue;
    const strong = lit === from || lit === to;
    pen.strokeStyle = strong ? colours.ink : colours["held-line"]; pen.globalAlpha = strong ? .9 : .42; pen.lineWidth = strong ? 1.8 : 1.2;
    pen.beginPath(); pen.moveTo(from.x, from.y);
    pen.bezierCurveTo((from.x + to.x) / 2, from.y, (from.x + to.x) / 2, to.y, to.x, to.y); pen.stroke();
  }
  pen.globalAlpha = 1; pen.textAlign = "center"; pen.textBaseline = "middle";
  for (const node of nodes) if (seen(node)) drawNode(pen, node, node === lit);
}
function drawNode(pen, node, lit) {
  pen.beginPath();
  if (node.stage) {
    const wide = Math.max(30, pen.measureText(node.stage.stage).width + 12);
    pen.roundRect(node.x - wide / 2, node.y - 10, wide, 20, 4);
    pen.fillStyle = colours.card; pen.fill();
    pen.strokeStyle = lit ? colours.ink : colours["held-line"]; pen.lineWidth = lit ? 2 : 1.3; pen.stroke();
    pen.fillStyle = colours.ink; pen.fillText(node.stage.stage, node.x, node.y + .5);
    return;
  }
  const radius = 6 + 5 * Math.sqrt(node.row.bytes / Math.max(1, biggest()));
  pen.arc(node.x, node.y, radius, 0, 7);
  pen.fillStyle = colours[node.row.fate]; pen.fill();
  if (lit || (chosen && node.row.app === chosen.app)) { pen.strokeStyle = colours.ink; pen.lineWidth = 2; pen.stroke(); }
  if (camera.k < .5) return;
  pen.fillStyle = colours.soft; pen.fillText(node.row.text.replace(/ at .*/, "").slice(0, 18) || `#${node.row.id}`, node.x, node.y + radius + 9);
}
let biggestOf = null, biggestIs = 1;
const biggest = () => { if (biggestOf !== rows) { biggestOf = rows; biggestIs = rows.reduce((most, row) => Math.max(most, row.bytes), 1); } return biggestIs; };

let asked = false;
function draw() {
  if (asked || !told) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; drawBars(); drawArea(); drawGraph(); });  // the area is as wide as the bars turn out
}
function paint() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "card", "ink", "soft", "line", "hover", "grid", "held", "held-line", "needed", "focus", ...Object.keys(FATES)])
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  draw();
}

// ---- what is under the pointer -------------------------------------------------------------------------------------

function tell(event, title, lines, warn) {
  tip.replaceChildren();
  add(tip, "b", title);
  if (warn) add(tip, "div", warn, "warn");
  const table = add(tip, "table", "");
  for (const line of lines.filter(Boolean)) {
    const tr = add(table, "tr", "");
    for (const cell of line) add(tr, "td", cell);
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(event.clientX + 16, innerWidth - box.width - 10))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? Math.max(6, event.clientY - box.height - 12) : event.clientY + 18}px`;
}
const at = (ms, number) => ms === null || ms === undefined ? null : [`${clock(ms)}${number ? `  event ${number}` : ""}`];
function tellRow(event, row) {
  const numbers = row.numbers, when = (word, ms, number) => at(ms, number) && [word, ...at(ms, number)];
  const name = i => { const [attempt, text, job] = told.stages[i]; return `stage ${attempt} (${told.texts[text]})${told.texts[job] ? ` of ${told.texts[job]}` : ""}`; };
  tell(event, row.text || `app shuffle ${row.app}`, [
    ["shuffle", `#${row.id} of app shuffle ${row.app}, ${row.bytes ? size(row.bytes) : "not complete"}`],
    row.writer !== null && ["written by", name(row.writer)],
    when("begun", row.begun, numbers.begun), when("complete", row.complete, numbers.complete),
    row.readers.length ? ["read by", few(row.readers.map(name), 4) + (row.reads > row.readers.length ? `, ${row.reads} reads in all` : "")] : ["read by", "nobody"],
    when("read last", row.read, numbers["read last"]), when("expired", row.expired, numbers.expired),
    row.because && ["because", row.because],
    when(row.fate === "lost" ? "lost" : "deleted", row.gone, numbers.deleted || numbers.lost),
    ["fate", FATES[row.fate]],
    row.complete !== null && ["idle", span(Math.max(0, (row.gone === null ? told.length_ms : row.gone) - Math.max(row.complete, row.read || 0)))],
  ], numbers.missed ? `Missed at event ${numbers.missed}: it was written again.` : "");
}
const local = (event, canvas) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top, box.width]; };
const quiet = () => { tip.hidden = true; if (hover) { hover = null; draw(); } };
/** Something is under the pointer, or what was there is gone. */
function point(found) { hover = Object.values(found).every(Boolean) ? found : null; if (!hover) tip.hidden = true; }

area.onpointermove = event => {
  const [x, , width] = local(event, area), ms = Math.max(0, Math.min(told.length_ms, momentAt(x, width)));
  if (drag) { drag.to = x; drag.moved = true; }
  hover = { at: ms }; draw();
  let low = 0, high = series.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; series[middle][0] <= ms ? low = middle : high = middle - 1; }
  tell(event, clock(ms), [["held", size(series[low][1])], ["needed", size(series[low][2])], ["into the run", span(ms)]]);
};
area.onpointerdown = event => { const [x] = local(event, area); drag = { from: x, to: x }; area.setPointerCapture(event.pointerId); };
area.onpointerup = event => {
  const [, , width] = local(event, area), ends = drag ? [momentAt(drag.from, width), momentAt(drag.to, width)].sort((a, b) => a - b) : null;
  if (drag && drag.moved && Math.abs(drag.to - drag.from) > 6) zoom(Math.max(0, ends[0]), Math.min(told.length_ms, ends[1]));
  drag = null; draw();
};
area.onpointercancel = graph.onpointercancel = () => { drag = null; draw(); };   // as where a touch turns out to scroll the page
const all = () => zoom(0, Math.max(1, told.length_ms));
function zoom(from, to) { view = [from, Math.max(to, from + 1)]; filter(); scroll.scrollTop = 0; draw(); }
area.ondblclick = all;
bars.ondblclick = () => {                                          // there: to the rows on the screen; and back
  const first = Math.floor(scroll.scrollTop / ROW), seen = shown.slice(first, first + Math.ceil(scroll.clientHeight / ROW));
  if (view[0] > 0 || view[1] < told.length_ms || !seen.length) return all();
  const from = Math.min(...seen.map(row => row.begun)), to = Math.max(...seen.map(row => row.gone ?? row.read ?? row.complete ?? row.begun));
  zoom(Math.max(0, from - (to - from) / 30), Math.min(told.length_ms, to + (to - from) / 8));
};
for (const canvas of [area, bars]) canvas.addEventListener("wheel", event => {
  if (!event.ctrlKey && canvas === bars) return;                  // without it the list is scrolled
  event.preventDefault();
  const [x, , width] = local(event, canvas), ms = momentAt(x, width), by = Math.exp(event.deltaY / 400);
  zoom(Math.max(0, ms - (ms - view[0]) * by), Math.min(Math.max(1, told.length_ms), ms + (view[1] - ms) * by));
}, { passive: false });
for (const canvas of [area, bars]) canvas.onkeydown = event => {
  const by = (view[1] - view[0]) / 8;
  const left = -Math.min(by, view[0]), right = Math.min(by, Math.max(0, told.length_ms - view[1]));  // no further than the ends
  const moved = { ArrowLeft: [left, left], ArrowRight: [right, right], "+": [by, -by], "-": [-by, by] }[event.key];
  if (event.key === "Escape") all();
  if (moved) { event.preventDefault(); zoom(Math.max(0, view[0] + moved[0]), Math.min(Math.max(1, told.length_ms), view[1] + moved[1])); }
};
const rowAt = event => { const [x, y] = local(event, bars); return x > 0 && y > 4 ? shown[Math.floor((y + scroll.scrollTop - 4) / ROW)] : undefined; };
bars.onpointermove = event => {
  const row = rowAt(event);
  if (!row) return quiet();
  hover = { row }; draw(); tellRow(event, row);
};
bars.onclick = event => { const row = rowAt(event); if (row) follow(row); };
function follow(row) { chosen = chosen === row ? null : row; following = true; lay(byKey(), true); draw(); }
const nodeAt = event => {
  const [x, y] = local(event, graph), gx = (x - camera.x) / camera.k, gy = (y - camera.y) / camera.k;
  return nodes.find(node => Math.hypot(node.x - gx, node.y - gy) < 15);
};
graph.onpointerdown = event => { drag = { x: event.clientX, y: event.clientY, node: nodeAt(event) }; graph.setPointerCapture(event.pointerId); };
graph.onpointermove = event => {
  if (drag && (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 3 || drag.moved)) {
    camera.x += event.clientX - drag.x; camera.y += event.clientY - drag.y; following = false;
    drag = { x: event.clientX, y: event.clientY, moved: true }; tip.hidden = true; return draw();
  }
  const node = nodeAt(event);
  if (!node) return quiet();
  hover = { node }; draw();
  if (node.row) return tellRow(event, node.row);
  const [attempt, , , begun, done, failed] = told.stages[node.stage.index];
  tell(event, `stage ${attempt}  ${node.stage.name}`, [
    node.stage.job && ["of", node.stage.job], ["begun", clock(begun)],
    done !== null && [failed ? "failed" : "done", `${clock(done)}, after ${span(done - begun)}`],
    node.stage.reads.size && ["reads", `app shuffle ${few([...node.stage.reads], 8)}`],
    node.stage.writes.size && ["writes", `app shuffle ${few([...node.stage.writes], 8)}`],
  ]);
};
graph.onpointerup = () => { if (drag && !drag.moved && drag.node && drag.node.row) follow(drag.node.row); drag = null; };
graph.addEventListener("wheel", event => {
  event.preventDefault();
  const [x, y] = local(event, graph), k = Math.max(.08, Math.min(3, camera.k * Math.exp(-event.deltaY / 400)));
  camera.x = x - (x - camera.x) * k / camera.k; camera.y = y - (y - camera.y) * k / camera.k; camera.k = k; following = false; draw();
}, { passive: false });
for (const canvas of [area, bars, graph]) canvas.onpointerleave = quiet;
scroll.onscroll = () => { tip.hidden = true; draw(); };
el("find").oninput = () => { filter(); scroll.scrollTop = 0; draw(); };
addEventListener("resize", () => { if (told) { following = true; lay(byKey(), true); filter(); draw(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

// ---- where the numbers are from ------------------------------------------------------------------------------------

let pause = 2000, broken = "", waiting = 0;
/** Why there are no numbers, where it is a coordinator that says so: whoever stands between answers with a page. */
const words = async answer => (answer.headers.get("content-type") || "").startsWith("text/plain") ? (await answer.text()).trim().slice(0, 300) : "";
async function ask() {
  waiting = 0;
  let ended = false, heard = false, said = "";
  try {
    const answer = await fetch(`${given.live}${told ? `?after=${told.sequence}` : ""}`, { signal: AbortSignal.timeout(15000) });
    if (answer.status !== 200 && answer.status !== 204) { said = await words(answer); throw new Error(String(answer.status)); }
    const next = answer.status === 200 ? await answer.json() : null;
    heard = true;
    if (next) { take(next); broken = ""; }
    pause = 2000; ended = told && told.ended;
    if (told) head();
  } catch (error) {
    pause = Math.min(30000, pause * 1.6);
    if (heard) broken = `this page cannot draw what it was told (${error.message})`;
    const since = told ? ` (as of event ${told.sequence.toLocaleString("en")})` : "";
    el("asof").textContent = heard ? broken : `${said || "the coordinator does not answer"}${since}`;
    el("asof").className = "away";
  }
  if (!ended) waiting = setTimeout(ask, document.hidden ? 20000 : pause);
}
/** Whoever comes back to the page sees what is so now, not what was so up to twenty seconds ago. */
document.addEventListener("visibilitychange", () => {
  if (!waiting || document.hidden) return;
  clearTimeout(waiting);
  ask();
});
paint();
if (given.live) ask(); else take(given);
})();
