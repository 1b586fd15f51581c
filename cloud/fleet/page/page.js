"use strict";
// The page of the fleet. Everything on it came with the page, or comes over
// /v1/fleet/events; null means unknown and is written so. Data reaches the page
// as text only, never as markup.

const shownCards = 60;
const byId = id => document.getElementById(id);
const fleet = { cabinets: new Map(), cards: new Map(), orders: new Map(), rows: new Map(), names: new Map(), pipeline: null, desk: null, offset: 0, heard: 0 };

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
  if (c.suspended === null) e.append(el("p", "note", "which slots work is unknown"));
  else if (c.suspended.length) e.append(faults(c));
  if (c.stock === null) e.append(el("p", "note", "stock unknown"));
  else if (c.stock.length === 0) e.append(el("p", "note", "no stock rows"));
  else e.append(stock(c.stock));
  e.seen = () => { seen.textContent = seenText(c); };
  return e;
}

// faults lists slots that are out of order, each with a way to sell from it again.
function faults(c) {
  const list = c.suspended.map(s => {
    const b = el("button", "small", "Sell again");
    b.type = "button";
    b.title = "The slot was looked at and works";
    b.setAttribute("aria-label", "Sell from slot " + s.slot + " of " + c.id + " again");
    b.addEventListener("click", async () => {
      b.disabled = true;
      const no = await send("/v1/fleet/cabinets/" + c.id + "/slots/" + encodeURIComponent(s.slot) + "/resume", {});
      b.textContent = no || "selling";
      b.disabled = no === "";
    });
    const product = fleet.names.get(s.sku) || s.sku;
    const name = el("span", "", (s.slot === s.sku ? product : "slot " + s.slot + " · " + product) + ": " + s.fault);
    name.title = "since " + new Date(s.since).toISOString();
    return el("li", "", el("span", "pill bad", "out of order"), name, b);
  });
  return el("ul", "faults", ...list);
}

// send posts a command; it returns what went wrong, or nothing.
async function send(path, body) {
  try {
    const res = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return res.ok ? "" : (await res.json()).detail || res.statusText;
  } catch (e) {
    return e.message;
  }
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
  drawSlots();
  byId("t-edge-note").textContent = told === total ? "events not yet answered" : "told by " + number(told) + " of " + number(total);
}

function drawSlots() {
  let slots = fleet.cabinets.size ? 0 : null, cabinets = 0;
  for (const c of fleet.cabinets.values()) {
    if (c.suspended === null) slots = null;
    if (slots === null) break;
    slots += c.suspended.length;
    if (c.suspended.length) cabinets++;
  }
  put("t-slots", slots, slots ? "bad" : "");
  byId("t-slots-note").textContent = slots ? "in " + number(cabinets) + (cabinets === 1 ? " cabinet" : " cabinets") : "";
}

const kinds = {
  stock: "Stock statements", timer: "Payment timers", redis: "Redis effects", notice: "Payment callbacks", check: "Open charges", late: "Late payments",
  refund: "Refunds", command: "To be dispensed", replace: "Replaced holds", planogram: "Planograms", intent: "To be placed", callback: "Outcomes to tell",
};

function drawPipeline() {
  const p = fleet.pipeline;
  put("t-rate", p.orders_per_second, "", p.orders_per_second === null ? "" : p.orders_per_second < 10 ? p.orders_per_second.toFixed(1) : number(Math.round(p.orders_per_second)));
  put("t-letters", p.dead_letters, p.dead_letters ? "bad" : "");
  const steps = Object.keys(kinds).map(kind => {
    const row = p.outbox === null ? null : p.outbox.find(b => b.kind === kind) || null;
    return step(kinds[kind], row && row.depth, age(row));
  });
  for (const b of p.outbox || []) if (!(b.kind in kinds)) steps.push(step(b.kind, b.depth, age(b)));
  steps.splice(1, 0, step("Queue", p.queue, "for the batching consumer"));
  byId("path").replaceChildren(...steps);
}

const age = row => row === null ? "" : row.depth ? "oldest " + span(row.oldest_ms) : "none waits";

function step(title, n, note) {
  const b = el("b", n === null ? "unknown" : "", number(n));
  return el("li", "", el("h3", "", title), b, el("span", "note", note));
}

const caseNames = {
  payment_mismatch: "payment differs", payment_unknown: "money for no order", refund_stuck: "refund stuck", not_dispensed: "not dispensed",
  line_unknown: "dispensed or not?", vended_refunded: "dispensed and refunded", slot_fault: "slot out of order", shortage: "shortage", books: "books do not agree",
};

// What waits for a person. A note that is being written is not drawn over.
function drawDesk() {
  const d = fleet.desk;
  put("t-cases", d.open_cases, d.open_cases ? "bad" : "");
  put("t-plans", d.unacked_planograms, d.unacked_planograms ? "warn" : "");
  if (d.cases === null || byId("cases").querySelector("form")) return;
  byId("desk").hidden = d.cases.length + d.planograms.length === 0;
  byId("cases").replaceChildren(...d.cases.map(caseRow));
  if (d.open_cases > d.cases.length) byId("cases").append(el("li", "", el("span", "note", "and " + number(d.open_cases - d.cases.length) + " more")));
  byId("plans").replaceChildren(...d.planograms.map(p => el("li", "", el("span", "pill warn", "planogram"),
    el("span", "what", el("b", "", p.cabinet), " has not taken version " + number(p.version) + (p.acked ? "; it works by " + number(p.acked) : "; it has none")),
    el("span", "note when", ago(Math.max(0, serverNow() - p.since))))));
}

function caseRow(c) {
  const what = el("span", "what", el("b", "", c.cabinet || ""), c.cabinet ? " " : "", c.detail || c.subject);
  what.title = c.subject;
  if (c.order) {
    const a = el("a", "", "history");
    a.href = "/v1/orders/" + c.order + "/events";
    what.append(" · ", a);
  }
  const close = el("button", "small", "Close…"), when = el("span", "note when", ago(Math.max(0, serverNow() - c.created)));
  close.type = "button";
  close.setAttribute("aria-label", "Close the case: " + (caseNames[c.kind] || c.kind) + " " + (c.cabinet || ""));
  const li = el("li", "", el("span", "pill bad", caseNames[c.kind] || c.kind), what, when, close);
  close.addEventListener("click", () => {
    close.disabled = true;
    li.append(noteForm(c, li));
    li.querySelector("input").focus();
  });
  return li;
}

// noteForm asks what came of a case; Escape leaves it open.
function noteForm(c, li) {
  const note = el("input"), ok = el("button", "", "Close the case"), form = el("form", "", note, ok);
  note.placeholder = "What came of it";
  note.setAttribute("aria-label", "What came of it");
  note.required = true;
  note.maxLength = 200;
  note.addEventListener("keydown", e => { if (e.key === "Escape") { form.remove(); drawDesk(); } });
  form.addEventListener("submit", async e => {
    e.preventDefault();
    ok.disabled = true;
    const no = await send("/v1/fleet/cases/" + c.id + "/close", { note: note.value });
    byId("desk-note").hidden = no === "";
    byId("desk-note").textContent = no && "not closed: " + no;
    if (no) ok.disabled = false; else li.remove();
  });
  return form;
}

const states = { INIT: ["queued", ""], PRE_RESERVED: ["held", "warn"], CONSUMED: ["paid", "good"], ROLLBACKED: ["released", ""] };
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function drawOrders(list) {
  const first = fleet.rows.size === 0;
  const rows = list.map(o => {
    let known = fleet.rows.get(o.id);
    const version = JSON.stringify(o); // what becomes of lines and money raises none
    if (!known || known.version !== version) {
      const row = orderRow(o);
      if (!known && !first) row.className = "new";
      known = { version, row };
    }
    return [o.id, known];
  });
  fleet.rows = new Map(rows);
  arrange(byId("orders"), rows.map(r => r[1].row));
  byId("no-orders").hidden = list.length > 0;
}

function orderRow(o) {
  const [text, level] = stateOf(o);
  const time = el("td", "", clock.format(o.created));
  time.title = new Date(o.created).toISOString() + "\norder " + o.id + "\nuser " + o.user;
  const basket = o.lines.map(l => l.qty + " × " + (fleet.names.get(l.sku) || l.sku)).join(", ");
  const lines = el("td", "lines", el("div", "", basket));
  lines.title = basket;
  const state = el("a", "", el("span", "pill " + level, text));
  state.href = "/v1/orders/" + o.id + "/events";
  state.title = [o.status, "payment " + (o.payment || "unknown"), ...o.lines.map(l => l.sku + ": " + (l.state || "unknown") + ", " + l.dropped + " of " + l.qty + " came out")].join("\n");
  return el("tr", "", time, el("td", "", o.cabinet), lines, el("td", "num amount", money(o.amount, o.currency)),
    el("td", "state", state));
}

// stateOf says in a word or two how an order stands: its hold, its money, and
// what came out of the cabinet.
function stateOf(o) {
  const of = state => o.lines.filter(l => l.state === state).length;
  if (o.payment === "refunding") return ["refunding", "warn"];
  if (o.payment === "refunded") return ["refunded", "bad"];
  if (o.status !== "CONSUMED") return states[o.status] || [o.status, ""];
  if (of("unknown")) return ["dispensed?", "bad"];
  if (of("failed") || of("refunded")) return [of("dispensed") ? "partly out" : "not out", "bad"];
  if (of("dispensed") === o.lines.length) return ["paid · out", "good"];
  if (of("dispensed") || of("dispensing")) return ["paid · coming out", "warn"];
  return ["paid", "good"];
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
  if (v.desk) { fleet.desk = v.desk; drawDesk(); }
  if (v.away) {
    byId("away").hidden = v.away.length === 0;
    byId("away").textContent = "No answer from: " + v.away.join(", ") + ". What came from there is unknown, or as old as its last answer."
      + (v.away.includes("stock") ? " Redis is away. Degraded: orders go by the ledger." : "");
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
