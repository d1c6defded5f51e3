// The page of shardfeed: draws the stories that the server sends. No text of an engine becomes HTML.
"use strict";

const MOST = 900; // points of an engine
const SPAN = 15 * 60 * 1000; // the longest time that charts show, in milliseconds
const LEAST = 60 * 1000; // and the shortest
const CAUSES = ["open", "list", "count", "storage", "cache", "decode", "room", "memory", "collate", "map", "handover", "copy"];
const PURPOSES = ["fetch", "decode", "shuffle", "batch", "ring", "store", "scratch"];
const COLORS = ["#8250df", "#bf8700", "#d4a72c", "#0969da", "#54aeff", "#cf222e", "#fb8f44", "#bc4c00", "#1a7f37", "#6e7781", "#2da44e", "#d63384"];

const stories = new Map(); // by id

function element(name, text, kind) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}

function shape(name, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = (n) => whole.format(n);
const percent = (share) => (100 * share).toFixed(1) + "%";

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let u = 0;
  while (n >= 1024 && u < units.length - 1) {
    n /= 1024;
    u++;
  }
  return (u ? n.toFixed(1) : Math.round(n)) + " " + units[u];
}

function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
}

function dataOf(addresses) {
  if (!addresses || !addresses.length) return "data";
  const name = addresses[0].replace(/\/+$/, "").split("/").pop();
  return addresses.length > 1 ? name + " +" + (addresses.length - 1) : name;
}

function causes(wait, most) {
  return Object.entries(wait)
    .filter(([, share]) => share >= 0.0005)
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([cause, share]) => cause + " " + percent(share))
    .join(", ");
}

// The newest point, if the engine lives.
const last = (story) => story.points[story.points.length - 1];

function heading(story) {
  const now = story.engine.now;
  const p = now.engine;
  const facts = [p.build.split(" (")[0], "up " + duration(p.seconds)];
  const rates = story.engine.rates;
  if (rates) facts.push(rates.processors_used.toFixed(1) + " of " + p.processors + " processors");
  facts.push(bytes(now.memory.reserved_bytes) + (now.memory.limit_bytes ? " of " + bytes(now.memory.limit_bytes) : "") + " memory reserved");
  for (const c of now.caches) facts.push("cache " + bytes(c.held_bytes) + " of " + bytes(c.limit_bytes));
  facts.push(...p.jobs.filter((job) => job));
  return [element("h2", "engine " + p.pid + (story.ended ? ", ended" : "")), element("p", facts.join(" · "), "facts")];
}

function openings(list) {
  return list.map((o) => {
    const p = o.progress;
    let what = "opening";
    if (p.doing === "list") what = "listing: " + count(p.shards) + " shards so far";
    if (p.doing === "footers") what = "reading footers: " + count(p.footers) + " of " + count(p.of);
    if (p.doing === "rows") what = "counting rows: " + count(p.counted) + " of " + count(p.of) + " row groups";
    return element("p", dataOf(o.addresses) + " for " + duration(o.seconds) + ": " + what);
  });
}

const TITLES = [["data"], ["rank"], ["epoch", "wide"], ["step", "wide"], ["rows/s"], ["bytes/s", "wide"], ["wait"], ["for"]];

function sessions(story) {
  const now = story.engine.now;
  const rates = story.engine.rates;
  const table = element("table");
  const head = table.createTHead().insertRow();
  for (const [title, kind] of TITLES) head.append(element("th", title, kind));
  const body = table.createTBody();
  let most = -1;
  let share = 0.05;
  now.sessions.forEach((s, i) => {
    if (rates && rates.sessions[i].wait.share > share) [most, share] = [i, rates.sessions[i].wait.share];
  });
  now.sessions.forEach((s, i) => {
    const r = rates ? rates.sessions[i] : null;
    const known = r && r.wait.known;
    const waits = s.wait.now ? s.wait.now.cause + " now, for " + duration(s.wait.now.seconds) : known ? causes(r.wait.parts, 2) : "";
    const cells = [
      dataOf(s.addresses), s.rank, s.epoch, s.iterating ? count(s.step) + "/" + count(s.steps) : "idle",
      r ? count(r.rows) : "-", r ? bytes(r.bytes) : "-", known ? percent(r.wait.share) : "-", waits,
    ];
    const row = body.insertRow();
    if (i === most) row.className = "alarm";
    cells.forEach((cell, k) => row.append(element("td", String(cell), TITLES[k][1])));
  });
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.append(table);
  return scroll;
}

const W = 600;
const H = 150;

// The time that charts show: up to now, or to the end of an engine that has ended.
function timeOf(story) {
  const end = story.ended && last(story) ? last(story).at : Date.now();
  const first = story.points.length ? story.points[0].at : end;
  return { end, begin: end - Math.min(SPAN, Math.max(LEAST, end - first)) };
}

// Areas of several values, stacked; one value is a line.
function chart(title, story, names, colors, valueOf, format, least) {
  const { begin, end } = timeOf(story);
  const points = story.points.filter((p) => p.at >= begin);
  const sums = points.map((p) => names.reduce((sum, name) => sum + (valueOf(p, name) || 0), 0));
  const most = Math.max(0, ...sums);
  const top = Math.max(least || 0, most) || 1;
  const x = (p) => (W * (p.at - begin)) / (end - begin);
  const y = (v) => H - (H * v) / top;
  const svg = shape("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  for (const part of [0.25, 0.5, 0.75]) svg.append(shape("line", { class: "grid", x1: 0, x2: W, y1: H * part, y2: H * part }));
  const below = points.map(() => 0);
  const shown = [];
  names.forEach((name, n) => {
    const values = points.map((p) => valueOf(p, name));
    if (!values.some((v) => v > 0)) return;
    const line = [];
    values.forEach((v, i) => {
      if (v === null || v === undefined) return;
      line.push([x(points[i]).toFixed(1), i]);
    });
    const above = values.map((v, i) => below[i] + (v || 0));
    const path = line.map(([px, i], k) => (k ? "L" : "M") + px + " " + y(above[i]).toFixed(1)).join("");
    if (names.length === 1) {
      svg.append(shape("path", { class: "line", d: path }));
    } else {
      const back = line.slice().reverse().map(([px, i]) => "L" + px + " " + y(below[i]).toFixed(1)).join("");
      svg.append(shape("path", { d: path + back + "Z", fill: colors[n] }));
      shown.push([name, colors[n]]);
    }
    above.forEach((v, i) => (below[i] = v));
  });
  const figure = element("figure");
  const h3 = element("h3", title);
  const newest = sums.length && !story.ended ? format(sums[sums.length - 1]) : "";
  h3.append(element("span", newest + (newest ? ", " : "") + "top " + format(most), "value"));
  const axis = element("div", undefined, "axis");
  const long = duration((end - begin) / 1000);
  axis.append(element("span", story.ended ? long + " before" : long + " ago"), element("span", story.ended ? new Date(end).toLocaleTimeString() : "now"));
  figure.append(h3, svg, axis);
  if (shown.length) figure.append(legend(shown));
  return figure;
}

function legend(shown) {
  const list = element("ul", undefined, "legend");
  for (const [name, color] of shown) {
    const item = element("li");
    const mark = shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" });
    mark.append(shape("rect", { width: 10, height: 10, fill: color }));
    item.append(mark, document.createTextNode(name));
    list.append(item);
  }
  return list;
}

function charts(story) {
  const all = element("div", undefined, "charts");
  const one = (title, valueOf, format, least) => all.append(chart(title, story, [title], COLORS, valueOf, format, least));
  if (story.points.some((p) => p.known)) {
    all.append(chart("wait, share of the loops' time", story, CAUSES, COLORS, (p, cause) => p.wait[cause] || 0, percent, 0.01));
  }
  one("rows per second", (p) => p.rows, count);
  one("bytes of batches per second", (p) => p.bytes, bytes);
  all.append(chart("memory in use", story, PURPOSES, COLORS.slice(3).concat(COLORS), (p, purpose) => p.memory[purpose] || 0, bytes));
  if (story.points.some((p) => p.hits !== null)) one("bytes that the cache had", (p) => p.hits, percent, 1);
  if (story.engine.now.stores.length) {
    one("requests to stores per second", (p) => p.requests, (n) => n.toFixed(1));
    one("bytes received per second", (p) => p.received, bytes);
  }
  return all;
}

function card(story) {
  const e = element("section", undefined, "engine" + (story.ended ? " ended" : ""));
  const now = story.engine.now;
  if (!now) {
    e.append(element("h2", "engine at " + story.engine.socket), element("p", story.engine.error, "alarm"));
    return e;
  }
  e.append(...heading(story), ...openings(now.openings));
  const rates = story.engine.rates;
  if (rates && rates.wait.known && !story.ended) {
    const parts = causes(rates.wait.parts, 3);
    e.append(element("p", "The training loops wait " + percent(rates.wait.share) + " of their time" + (parts ? ": " + parts : "") + ".", "verdict"));
  }
  if (now.sessions.length) e.append(sessions(story));
  e.append(charts(story));
  return e;
}

function draw() {
  const main = document.getElementById("engines");
  const scrolled = [...main.querySelectorAll(".scroll")].map((s) => s.scrollLeft);
  const order = [...stories.values()].sort((a, b) => a.ended - b.ended || started(a) - started(b));
  main.replaceChildren(...order.map(card));
  main.querySelectorAll(".scroll").forEach((s, i) => (s.scrollLeft = scrolled[i] || 0));
  if (!order.length) {
    main.append(element("p", "No engine of this user runs on this machine. One starts with the first data set that Python opens, or with shardfeed serve.", "note"));
  }
}

const started = (story) => (story.engine.now ? Date.parse(story.engine.now.engine.started) : 0);

function state(text, alarm) {
  const e = document.getElementById("state");
  e.textContent = text;
  e.className = alarm ? "alarm" : "";
}

function receive(changes) {
  for (const [id, change] of Object.entries(changes)) {
    const before = stories.get(id);
    const points = before ? before.points.concat(change.points).slice(-MOST) : change.points;
    stories.set(id, { engine: change.engine, ended: change.ended, points });
  }
  for (const [id, story] of stories) {
    const p = last(story);
    const idle = !story.engine.now || !story.engine.now.ranks.length; // it has never done anything
    if (story.ended && (idle || !p || Date.now() - p.at > SPAN)) stories.delete(id);
  }
  const living = [...stories.values()].filter((s) => !s.ended).length;
  state(living + (living === 1 ? " engine" : " engines") + ", " + new Date().toLocaleTimeString());
  draw();
}

const token = new URLSearchParams(location.search).get("token");
const events = new EventSource("events?token=" + encodeURIComponent(token));
events.addEventListener("all", (e) => {
  stories.clear();
  receive(JSON.parse(e.data));
});
events.addEventListener("change", (e) => receive(JSON.parse(e.data)));
events.onerror = () => state("not connected: shardfeed page has ended or cannot be reached", true);
