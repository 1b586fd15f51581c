"use strict";
// The page of the fleet. Everything on it came with the page, or comes over
// /v1/fleet/events; null means unknown and is written so. Data reaches the page
// as text only, never as markup.

const shownCards = 60;
const byId = id => document.getElementById(id);
const fleet = { cabinets: new Map(), cards: new Map(), orders: new Map(), rows: new Map(), names: new Map(), pipeline: null, offset: 0, heard: 0 };

// el makes an element; children are elements or text.
function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children);
  return e;
}

const count = new Intl.NumberFormat("en");
const number = n => n === null || n === undefined ? "unknown" : count.format(n);

// put writes a number that may be unknown, and how bad it is.
function put(id, n, level = "", text = number(n)) {
  const e = byId(id);
  e.textContent = n === null || n === undefined ? "unknown" : text;
  e.className = "big " + (n === null || n === undefined ? "unknown" : level);
}

// span says how long ms is, in one unit.
function span(ms) {
  const s = ms / 1000;
  if (s < 1) return Math.max(0, Math.round(ms)) + " ms";
  if (s < 90) return (s < 10 ? s.toFixed(1) : Math.round(s)) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 129600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

// ago is span in whole units, for what counts up before one's eyes.
const ago = ms => ms < 90000 ? Math.round(ms / 1000) + " s" : span(ms);

// money writes minor units in their currency.
const formats = new Map();
function money(minor, currency) {
  let f = formats.get(currency);
  if (f === undefined) {
    try { f = new Intl.NumberFormat("en", { style: "currency", currency }); } catch { f = null; }
    formats.set(currency, f);
  }
  if (f === null) return count.format(minor) + " minor units of " + currency;
  return f.format(minor / 10 ** f.resolvedOptions().maximumFractionDigits);
}

// serverNow is the cloud's clock: this device's may be wrong.
const serverNow = () => Date.now() + fleet.offset;

const healths = { offline: ["bad", 0], late: ["warn", 1], unknown: ["", 2], online: ["good", 3] };
const health = c => healths[c.health] || ["", 2];

function seenText(c) {
  if (c.seen === null) return c.health === "unknown" ? "never heard of" : "no beat heard";
  const age = serverNow() - c.seen;
  return age < 1500 ? "beat just now" : "beat " + ago(age) + " ago";
}

function fact(label, value, unit = "") {
  const v = el("b", value === null ? "unknown" : "", value === null ? "unknown" : value + unit);
  return el("span", "", label + " ", v);
}

function card(c) {
  const [level] = health(c);
  const e = el("article", "card");
  e.dataset.health = c.health;
  const seen = el("span", "seen note", seenText(c));
  const head = el("header", "", el("h3", "", c.id), el("span", "pill " + level, c.health));
  head.append(seen);
  const skew = c.skew_ms === null ? null : (c.skew_ms < 0 ? "−" : "+") + span(Math.abs(c.skew_ms));
  const facts = el("p", "facts", fact("outbox", c.depth === null ? null : number(c.depth)), fact("clock", skew));
  if (c.parked) facts.append(fact("parked", number(c.parked)));
  if (c.agent) facts.append(fact("agent", c.agent));
  if (c.gap) facts.append(flag("outbox gap", "The cabinet's previous outbox was damaged and set aside: events may be missing."));
  if (c.skewed) facts.append(flag("clock is off", "The cabinet's clock is far off. Nothing depends on it."));
  e.append(head, facts);
  if (c.stock === null) e.append(el("p", "note", "stock unknown"));
  else if (c.stock.length === 0) e.append(el("p", "note", "no stock rows"));
  else e.append(stock(c.stock));
  e.seen = () => { seen.textContent = seenText(c); };
  return e;
}

function flag(text, why) {
  const e = el("span", "pill warn", text);
  e.title = why;
  return e;
}

function stock(rows) {
  const head = el("tr", "", el("th", "", "Product"), el("th", "num", "Sellable"), el("th", "num", "Locked"), el("th", "num", "Sold"));
  const body = el("tbody");
  for (const s of rows) {
    const name = el("td", "", el("div", "name", s.name), bar(s));
    name.title = s.sku + ": " + number(s.available) + " available + " + number(s.locked) + " locked + " + number(s.sold) + " sold = " + number(s.total);
    let level = "";
    if (s.sellable === null) level = "unknown";
    else if (s.sellable <= 0) level = "bad";
    else if (s.sellable * 5 <= s.total) level = "warn";
    body.append(el("tr", "", name, el("td", "num left " + level, number(s.sellable)), el("td", "num", number(s.locked)), el("td", "num", number(s.sold))));
  }
  return el("table", "stock", el("thead", "", head), body);
}

function bar(s) {
  const e = el("div", "bar");
  for (const [cls, n] of [["sellable", s.available], ["locked", s.locked], ["sold", s.sold]]) {
    if (n <= 0) continue;
    const part = el("span", cls);
    part.style.flexGrow = n;
    e.append(part);
  }
  return e;
}

// cabinets shows those in trouble first, then by id; beyond shownCards the
// filter finds the rest.
function drawCabinets() {
  const want = byId("filter").value.trim().toLowerCase();
  const all = [...fleet.cabinets.values()].filter(c => !want || c.id.toLowerCase().includes(want) ||
    (c.stock || []).some(s => s.name.toLowerCase().includes(want) || s.sku.toLowerCase().includes(want)));
  all.sort((a, b) => health(a)[1] - health(b)[1] || (b.gap - a.gap) || (a.id < b.id ? -1 : 1));
  const list = all.slice(0, shownCards).map(c => {
    let known = fleet.cards.get(c.id);
    if (!known || known.view !== c) {
      known = { view: c, card: card(c) };
      fleet.cards.set(c.id, known);
    }
    return known.card;
  });
  arrange(byId("cabinets"), list);
  const hidden = all.length - list.length;
  byId("more").hidden = hidden <= 0;
  byId("more").textContent = "and " + number(hidden) + " more: filter to find them";
  drawHealth();
}

// arrange makes list the children of parent, moving as little as it can.
function arrange(parent, list) {
  list.forEach((e, i) => { if (parent.children[i] !== e) parent.insertBefore(e, parent.children[i] || null); });
  while (parent.children.length > list.length) parent.lastElementChild.remove();
}

function drawHealth() {
  const n = { online: 0, late: 0, offline: 0, unknown: 0 };
  let waiting = 0, told = 0;
  for (const c of fleet.cabinets.values()) {
    n[c.health in n ? c.health : "unknown"]++;
    if (c.depth !== null) { waiting += c.depth; told++; }
  }
  const total = fleet.cabinets.size;
  put("t-online", n.online, "", number(n.online) + " of " + number(total));
  byId("t-health").textContent = ["late", "offline", "unknown"].filter(h => n[h]).map(h => number(n[h]) + " " + h).join(" · ") || (total ? "all of them" : "none registered");
  put("t-edge", told ? waiting : null);
  byId("t-edge-note").textContent = told === total ? "events not yet answered" : "told by " + number(told) + " of " + number(total);
}

const kinds = { stock: "Stock statements", timer: "Payment timers", redis: "Redis effects" };

function drawPipeline() {
  const p = fleet.pipeline;
  put("t-rate", p.orders_per_second, "", p.orders_per_second === null ? "" : p.orders_per_second < 10 ? p.orders_per_second.toFixed(1) : number(Math.round(p.orders_per_second)));
  put("t-letters", p.dead_letters, p.dead_letters ? "bad" : "");
  const steps = Object.keys(kinds).map(kind => {
    const row = p.outbox === null ? null : p.outbox.find(b => b.kind === kind) || null;
    return step(kinds[kind], row && row.depth, row === null ? "local_msg" : row.depth ? "local_msg · oldest " + span(row.oldest_ms) : "local_msg · empty");
  });
  for (const b of p.outbox || []) if (!(b.kind in kinds)) steps.push(step(b.kind, b.depth, b.depth ? "local_msg · oldest " + span(b.oldest_ms) : "local_msg · empty"));
  steps.splice(1, 0, step("Queue", p.queue, "messages for the batching consumer"));
  byId("path").replaceChildren(...steps);
}

function step(title, n, note) {
  const b = el("b", n === null ? "unknown" : "", number(n));
  return el("li", "", el("h3", "", title), b, el("span", "note", note));
}

const states = { INIT: ["queued", ""], PRE_RESERVED: ["held", "warn"], CONSUMED: ["paid", "good"], ROLLBACKED: ["released", ""] };
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function drawOrders(list) {
  const first = fleet.rows.size === 0;
  const rows = list.map(o => {
    let known = fleet.rows.get(o.id);
    if (!known || known.version !== o.version) {
      const row = orderRow(o);
      if (!known && !first) row.className = "new";
      known = { version: o.version, row };
    }
    return [o.id, known];
  });
  fleet.rows = new Map(rows);
  arrange(byId("orders"), rows.map(r => r[1].row));
  byId("no-orders").hidden = list.length > 0;
}

function orderRow(o) {
  const [text, level] = states[o.status] || [o.status, ""];
  const time = el("td", "", clock.format(o.created));
  time.title = new Date(o.created).toISOString() + "\norder " + o.id + "\nuser " + o.user;
  const basket = o.lines.map(l => l.qty + " × " + (fleet.names.get(l.sku) || l.sku)).join(", ");
  const lines = el("td", "lines", el("div", "", basket));
  lines.title = basket;
  return el("tr", "", time, el("td", "", o.cabinet), lines, el("td", "num amount", money(o.amount, o.currency)),
    el("td", "state", el("span", "pill " + level, text)));
}

function take(event) {
  const v = JSON.parse(event.data);
  heard(v.at);
  if (v.ids) {
    const ids = new Set(v.ids);
    for (const id of fleet.cabinets.keys()) if (!ids.has(id)) { fleet.cabinets.delete(id); fleet.cards.delete(id); }
  }
  for (const c of v.cabinets || []) {
    fleet.cabinets.set(c.id, c);
    for (const s of c.stock || []) fleet.names.set(s.sku, s.name);
  }
  if (v.cabinets || v.ids) drawCabinets();
  if (v.orders) drawOrders(v.orders);
  if (v.pipeline) { fleet.pipeline = v.pipeline; drawPipeline(); }
  if (v.away) {
    byId("away").hidden = v.away.length === 0;
    byId("away").textContent = "No answer from: " + v.away.join(", ") + ". What came from there is unknown, or as old as its last answer.";
  }
}

function heard(at) {
  fleet.offset = at - Date.now();
  fleet.heard = Date.now();
  live();
}

function live() {
  const e = byId("live"), silent = Date.now() - fleet.heard;
  if (fleet.heard === 0) return;
  if (silent > 20000) { e.dataset.state = "lost"; e.textContent = "no news for " + ago(silent); }
  else { e.dataset.state = "live"; e.textContent = "live · " + clock.format(serverNow()); }
}

// connect listens; the browser connects again by itself.
function connect() {
  const source = new EventSource("/v1/fleet/events");
  source.addEventListener("fleet", take);
  source.addEventListener("beat", e => heard(JSON.parse(e.data).at));
  source.onerror = () => {
    byId("live").dataset.state = "lost";
    byId("live").textContent = "connection lost, trying again";
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  };
}

// warmUp loads every cabinet's stock and shows how far it is.
async function warmUp() {
  const note = byId("warm-note"), button = byId("warm");
  const say = text => { note.hidden = false; note.textContent = text; };
  button.disabled = true;
  say("warming up…");
  try {
    const res = await fetch("/v1/fleet/warmup", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"all":true}' });
    if (!res.ok) { say("not warmed up: " + (await res.json()).detail); return; }
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", failed = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const p = JSON.parse(line);
        if (p.error && p.cabinet) failed = " · " + p.cabinet + ": " + p.error;
        say(number(p.done) + " of " + number(p.total) + " cabinets warmed up" + (p.failed ? ", " + number(p.failed) + " failed" + failed : ""));
      }
    }
  } catch (e) {
    say("not warmed up: " + e.message);
  } finally {
    button.disabled = false;
  }
}

byId("filter").addEventListener("input", drawCabinets);
byId("warm").addEventListener("click", warmUp);
setInterval(() => {
  live();
  for (const e of byId("cabinets").children) e.seen();
}, 1000);
connect();
