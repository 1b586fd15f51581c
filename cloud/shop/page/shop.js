"use strict";
// The shopper's page. Everything it knows comes from the HTTP API; texts reach
// it as text only, never as markup. null and missing mean unknown.

const cabinet = document.body.dataset.cabinet;
const ways = document.body.dataset.ways.split(" ").filter(w => w);
const byId = id => document.getElementById(id);
const basket = new Map();   // SKU → units
const rows = new Map();     // SKU → its row of the shelf
let shelf = null;           // the last answer about the cabinet
let current = null;         // the order that is followed
let offset = 0;             // server's clock less this device's, which may be wrong

// el makes an element; children are elements or text.
function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children);
  return e;
}

const formats = new Map();
function money(minor, currency) {
  let f = formats.get(currency);
  if (f === undefined) {
    try { f = new Intl.NumberFormat(navigator.language, { style: "currency", currency }); } catch { f = null; }
    formats.set(currency, f);
  }
  return f === null ? minor + " minor units of " + currency : f.format(minor / 10 ** f.resolvedOptions().maximumFractionDigits);
}

const nameOf = sku => (shelf && shelf.stock.find(p => p.sku === sku) || {}).name || names()[sku] || sku;
const pause = ms => new Promise(done => setTimeout(done, ms));

// Memory that outlives the page: the shopper's name for himself, and the order
// under way. Without storage the page works, but forgets.
function recall(key) { try { return JSON.parse(localStorage.getItem("vendline:" + key)); } catch { return null; } }
function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem("vendline:" + key);
    else localStorage.setItem("vendline:" + key, JSON.stringify(value));
  } catch { /* a private window */ }
}
const names = () => recall("names") || {};
const underWay = () => recall("open:" + cabinet);
const setUnderWay = open => keep("open:" + cabinet, open);

// newID is a UUIDv7: crypto.randomUUID is not there on plain HTTP.
function newID() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  let ms = Math.round(serverNow());
  for (let i = 5; i >= 0; i--) { b[i] = ms % 256; ms = Math.floor(ms / 256); }
  b[6] = b[6] & 0x0f | 0x70;
  b[8] = b[8] & 0x3f | 0x80;
  const h = [...b].map(x => x.toString(16).padStart(2, "0")).join("");
  return [h.slice(0, 8), h.slice(8, 12), h.slice(12, 16), h.slice(16, 20), h.slice(20)].join("-");
}

let anonymous = "";
function user() {
  anonymous = recall("user") || anonymous || "web-" + newID();
  keep("user", anonymous);
  return anonymous;
}

const serverNow = () => Date.now() + offset;

// ask returns [status, body]; status 0 is no answer.
async function ask(path, init) {
  try {
    const res = await fetch(path, { cache: "no-store", ...init });
    const at = Date.parse(res.headers.get("Date"));
    if (at && Math.abs(at - serverNow()) > 1500) offset = at - Date.now();
    return [res.status, await res.json()];
  } catch { return [0, null]; }
}

const post = (path, body, headers = {}) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: body === undefined ? undefined : JSON.stringify(body) });

function say(...texts) {
  const box = byId("problem");
  box.replaceChildren(...texts.map(t => el("p", "", t)));
  box.hidden = texts.length === 0;
  if (texts.length) box.scrollIntoView({ block: "nearest" });
}

function show(part) {
  byId("wait").hidden = true;
  byId("shelf").hidden = part !== "shelf";
  byId("order").hidden = part !== "order";
  drawBasket();
}

// The shelf.

const healths = { online: ["ready", "good"], late: ["slow to answer", "wait"], offline: ["not connected", "bad"] };

async function look() {
  const [status, v] = await ask("/v1/cabinets/" + cabinet);
  if (status === 200) {
    shelf = v;
    keep("names", { ...names(), ...Object.fromEntries(v.stock.map(p => [p.sku, p.name])) });
    drawShelf();
    return true;
  }
  if (shelf === null) {
    byId("wait").hidden = true;
    if (status === 404) say("There is no cabinet " + cabinet + ".", "Scan the code on the cabinet again.");
    else say("The cabinet cannot be looked into right now.", "This page tries again by itself.");
  }
  return false;
}

function drawShelf() {
  const [text, level] = healths[shelf.connection] || ["", ""];
  const pill = byId("health");
  pill.hidden = !text;
  pill.textContent = text;
  pill.className = "pill " + level;
  const list = byId("products");
  shelf.stock.forEach((p, i) => {
    let row = rows.get(p.sku);
    if (!row) rows.set(p.sku, row = newRow(p.sku));
    row.draw(p);
    if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] || null);
  });
  const sold = new Set(shelf.stock.map(p => p.sku));
  for (const [sku, row] of rows) if (!sold.has(sku)) { row.item.remove(); rows.delete(sku); basket.delete(sku); }
  byId("empty").hidden = shelf.stock.length > 0;
  drawBasket();
}

const most = p => p.suspended ? 0 : Math.min(p.sellable, 99);

function newRow(sku) {
  const name = el("p", "name"), price = el("span", "price"), left = el("span", "");
  const less = el("button", "", "−"), more = el("button", "", "+"), n = el("output", "", "0");
  less.type = more.type = "button";
  const group = el("div", "step", less, n, more);
  group.setAttribute("role", "group");
  const item = el("li", "", el("div", "", name, el("p", "about", price, left)), group);
  let product = null;
  const add = by => {
    const units = Math.max(0, Math.min((basket.get(sku) || 0) + by, most(product)));
    if (units) basket.set(sku, units); else basket.delete(sku);
    draw(product);
    drawBasket();
  };
  less.addEventListener("click", () => add(-1));
  more.addEventListener("click", () => add(1));
  function draw(p) {
    product = p;
    const units = Math.min(basket.get(sku) || 0, most(p));
    if (units) basket.set(sku, units); else basket.delete(sku);
    name.textContent = p.name;
    price.textContent = money(p.price, p.currency);
    left.textContent = p.suspended ? "out of order" : p.sellable <= 0 ? "sold out" : p.sellable <= 5 ? "only " + p.sellable + " left" : p.sellable + " left";
    left.className = !p.suspended && p.sellable > 0 && p.sellable <= 5 ? "few" : "";
    item.className = most(p) > 0 ? "" : "out";
    group.setAttribute("aria-label", p.name + ", units");
    less.setAttribute("aria-label", "One " + p.name + " less");
    more.setAttribute("aria-label", "One " + p.name + " more");
    n.textContent = units;
    less.disabled = units <= 0;
    more.disabled = units >= most(p);
  }
  return { item, draw };
}

function drawBasket() {
  let units = 0, sum = 0, currency = "";
  for (const p of shelf ? shelf.stock : []) {
    const n = basket.get(p.sku) || 0;
    units += n;
    sum += n * p.price;
    if (n) currency = p.currency;
  }
  byId("basket").hidden = units === 0 || byId("shelf").hidden;
  byId("count").textContent = units === 1 ? "1 piece" : units + " pieces";
  byId("total").textContent = units ? money(sum, currency) : "";
}

// Ordering. The key and what was asked are kept until an answer is heard: asked
// again, they are the same order.

async function buy() {
  const body = { cabinet, user: user(), lines: [...basket].map(([sku, qty]) => ({ sku, qty })) };
  if (shelf.priced_at) body.priced_at = shelf.priced_at;
  byId("buy").disabled = true;
  await place({ key: newID(), body });
  byId("buy").disabled = false;
}

async function place(open) {
  setUnderWay(open);
  say();
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    const [status, v] = await post("/v1/orders", open.body, { "Idempotency-Key": open.key });
    if (status === 201 || status === 202) {
      basket.clear();
      return follow(v.order.id);
    }
    if (status !== 0 && status < 500 && !(v && v.retryable)) {
      setUnderWay(null);
      await look();
      show("shelf");
      return refused(v);
    }
    say("No answer yet. Trying again: you will not be charged twice.");
    await pause(wait);
  }
}

function refused(no) {
  switch (no.code) {
    case "stock_short":
      for (const s of no.short || []) if (s.have > 0) basket.set(s.sku, s.have); else basket.delete(s.sku);
      say("Somebody was faster.", ...(no.short || []).map(s => nameOf(s.sku) + ": " + (s.have > 0 ? "only " + s.have + " left" : "sold out")));
      break;
    case "price_changed":
      say("The price has changed. Order again if you still want it.", ...(no.prices || []).map(p => nameOf(p.sku) + " is " + money(p.price, p.currency) + " now"));
      break;
    case "purchase_limit":
      say("That is more than one person may buy in a day.", no.detail);
      break;
    default:
      say("That did not work.", no.detail);
  }
  if (shelf) drawShelf();
}

// Following an order.

async function follow(id) {
  setUnderWay({ order: id });
  history.replaceState(null, "", "#" + id);
  current = { id, entries: new Map(), source: null };
  byId("number").textContent = id;
  say();
  if (!await refresh(id)) return;
  listen(id);
}

// listen takes every word of the order's history as a reason to look at it.
function listen(id) {
  const source = current.source = new EventSource("/v1/orders/" + id + "/events");
  let due = 0;
  for (const kind of ["intent", "transition", "payment", "command", "line", "refund", "case"]) {
    source.addEventListener(kind, e => {
      if (!current || current.id !== id) return;
      current.entries.set(Number(e.lastEventId), JSON.parse(e.data));
      drawHistory();
      clearTimeout(due);
      due = setTimeout(() => refresh(id), 80);
    });
  }
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) poll(id); };
}

// poll follows an order whose events cannot be had.
async function poll(id) {
  while (current && current.id === id && !current.over) {
    const [status, v] = await ask("/v1/orders/" + id + "?wait=20s");
    if (!current || current.id !== id) return;
    if (status === 200) draw(v);
    await pause(status === 200 ? 1500 : 4000);
  }
}

async function refresh(id) {
  for (;;) {
    const [status, v] = await ask("/v1/orders/" + id);
    if (!current || current.id !== id) return false;
    if (status === 200) {
      if (v.payment && ["refunding", "refunded"].includes(v.payment.status)) {
        const [ok, account] = await ask("/v1/orders/" + id + "/payments");
        if (ok === 200) v.account = account;
      }
      draw(v);
      return true;
    }
    if (status === 404) {
      leave();
      return false;
    }
    byId("wait").hidden = false;
    byId("wait").textContent = "No answer yet. Trying again …";
    await pause(2000);
  }
}

// verdict says in words how an order stands: [headline, what to do, mood].
function verdict(v) {
  const o = v.order, paid = v.payment ? v.payment.status : "";
  const back = v.account ? v.account.refunds.reduce((sum, r) => sum + r.amount, 0) : null;
  const amount = back === null ? "The money" : money(back, o.currency);
  const all = state => o.lines.every(l => l.state === state);
  switch (o.status) {
    case "INIT":
      return v.refusal ? ["This could not be ordered", v.refusal.detail, "bad"] : ["Waiting for its turn", "Many people order at this moment. Keep this page open.", "wait"];
    case "PRE_RESERVED":
      return ["Held for you", ways.length ? "Pay, and it comes out." : "Paying is not set up here. Pay at the cabinet.", "wait"];
    case "ROLLBACKED":
      if (paid === "refunding") return ["Not bought", "Your payment came too late. " + amount + " is on its way back to you.", "wait"];
      if (paid === "refunded") return ["Not bought", "Your payment came too late. " + amount + " was paid back.", "bad"];
      return ["Not bought", (cause() || "The hold is over") + ". You were not charged.", "bad"];
  }
  if (all("dispensed")) return ["Enjoy!", "Everything came out. Please take it.", "good"];
  if (paid === "refunded" && all("refunded") && o.lines.every(l => !l.dropped)) return ["Paid back", "It did not come out. " + amount + " was paid back.", "bad"];
  if (paid === "refunded") return ["Paid back", amount + " was paid back for what did not come out.", "bad"];
  if (paid === "refunding") return ["Not everything came out", amount + " is on its way back to you.", "wait"];
  if (o.lines.some(l => l.state === "unknown")) return ["We are looking into it", "The cabinet cannot tell whether everything came out. Somebody will look at it.", "wait"];
  if (o.lines.some(l => l.state === "failed")) return ["Not everything came out", "What did not come out is paid back.", "wait"];
  if (all("pending")) return ["Paid", "The cabinet is being told.", "good"];
  return ["Paid: coming out now", "Please wait at the cabinet.", "good"];
}

// cause is why the order was released, for people.
function cause() {
  const moves = [...current.entries.values()].filter(e => e.kind === "transition" && e.to === "ROLLBACKED");
  const why = moves.length ? moves[moves.length - 1].cause || "" : "";
  if (/timeout/.test(why)) return "It was not paid in time";
  if (/cancel/.test(why)) return "You cancelled it";
  if (/replace/.test(why)) return "Your next order took its place";
  return why;
}

function lineText(l, status) {
  const rest = l.qty - (l.dropped || 0);
  switch (l.state) {
    case "dispensing": return ["coming out", "wait"];
    case "dispensed": return ["came out", "good"];
    case "failed": return [rest + " of " + l.qty + " did not come out, the money is on its way back", "bad"];
    case "refunded": return [rest + " of " + l.qty + " did not come out, paid back", "bad"];
    case "unknown": return ["not known whether it came out", "wait"];
  }
  return status === "CONSUMED" ? ["waiting for the cabinet", ""] : null;
}

const over = v => v.order.status === "ROLLBACKED" ? v.payment.status !== "refunding" :
  v.order.status === "INIT" ? Boolean(v.refusal) :
  v.order.status === "CONSUMED" && v.payment.status !== "refunding" && v.order.lines.every(l => ["dispensed", "refunded"].includes(l.state));

function draw(v) {
  const o = v.order, held = o.status === "PRE_RESERVED";
  const [title, sub, mood] = verdict(v);
  current.view = v;
  current.over = over(v);
  current.due = held ? Date.parse(v.payment.due_by) : 0;
  byId("order").dataset.mood = mood;
  byId("order").toggleAttribute("data-busy", !current.over && !held);
  if (byId("h-order").textContent !== title) byId("h-order").textContent = title;
  if (byId("sub").textContent !== sub) byId("sub").textContent = sub;
  byId("lines").replaceChildren(...o.lines.map(l => {
    const li = el("li", "", el("span", "", l.qty + " × " + nameOf(l.sku)), el("span", "", money(l.qty * l.price, o.currency)));
    const text = lineText(l, o.status);
    if (text) li.append(el("span", "pill " + text[1], text[0]));
    return li;
  }));
  byId("sum").replaceChildren(el("span", "", o.status === "CONSUMED" ? "Paid" : "To pay"), el("span", "", money(o.amount, o.currency)));
  byId("sum").hidden = o.status === "ROLLBACKED" || o.status === "INIT" && Boolean(v.refusal);
  byId("ways").hidden = byId("cancel").hidden = !held;
  byId("again").hidden = !current.over;
  drawClock();
  if (byId("order").hidden) {
    show("order");
    byId("h-order").focus();
  }
  const source = current.source;
  if (current.over && source) setTimeout(() => source.close(), 60000); // a late word may still come
}

const kinds = {
  transition: e => ({ PRE_RESERVED: "held", CONSUMED: "paid for", ROLLBACKED: "given back" })[e.to] || e.to,
  intent: e => "taken in: " + e.state,
  payment: e => "payment " + e.state,
  command: e => ({ open: "the cabinet is told", done: "the cabinet is done" })[e.state] || "the cabinet: " + e.state,
  line: e => (e.sku ? nameOf(e.sku) + ": " : "") + e.state,
  refund: e => "refund " + e.state + (e.amount ? ", " + money(e.amount, e.currency) : ""),
  case: () => "somebody was called to look at it",
};

function drawHistory() {
  const list = [...current.entries].sort((a, b) => a[0] - b[0]).map(([, e]) => {
    const time = el("time", "", new Date(e.at).toLocaleTimeString());
    time.dateTime = e.at;
    return el("li", "", time, el("span", "", (kinds[e.kind] || (() => e.kind))(e)));
  });
  byId("history").replaceChildren(...list);
}

function drawClock() {
  const left = current && current.due ? Math.max(0, Math.ceil((current.due - serverNow()) / 1000)) : null;
  const clock = byId("clock");
  clock.hidden = left === null;
  if (left === null) return;
  clock.textContent = Math.floor(left / 60) + ":" + String(left % 60).padStart(2, "0");
  clock.classList.toggle("soon", left <= 15);
  if (left === 0 && !current.asked) {
    current.asked = true; // the server's word counts, not this clock
    refresh(current.id);
  }
}

const wayNames = { sandbox: "Pay in the sandbox", wechat: "WeChat Pay", alipay: "Alipay" };

function drawWays() {
  byId("ways").replaceChildren(...ways.map(way => {
    const b = el("button", "go", wayNames[way] || "Pay with " + way);
    b.type = "button";
    b.addEventListener("click", () => pay(way));
    return b;
  }));
}

async function pay(way) {
  const buttons = [...byId("ways").children];
  for (const b of buttons) b.disabled = true;
  say();
  const [status, v] = await post("/v1/orders/" + current.id + "/payments", { provider: way });
  for (const b of buttons) b.disabled = false;
  if (status === 201 && v.payment.url && /^(https?|weixin|alipays?):/i.test(v.payment.url)) {
    location.assign(v.payment.url); // back from there, the page finds its order again
    return;
  }
  if (status === 201) say("Open the app of " + (wayNames[way] || way) + " to pay.");
  else if (status === 404) say("Nobody can pay in this way here.");
  else say(v ? v.detail : "No answer. Try again.");
  refresh(current.id);
}

async function cancel() {
  byId("cancel").disabled = true;
  const [status, v] = await post("/v1/orders/" + current.id + "/cancel");
  byId("cancel").disabled = false;
  if (status !== 200) say(v ? v.detail : "No answer. Try again.");
  refresh(current.id);
}

// leave goes back to the shelf.
async function leave() {
  if (current && current.source) current.source.close();
  current = null;
  setUnderWay(null);
  history.replaceState(null, "", location.pathname);
  say();
  await look();
  show("shelf");
}

async function start() {
  drawWays();
  byId("buy").addEventListener("click", buy);
  byId("cancel").addEventListener("click", cancel);
  byId("again").addEventListener("click", leave);
  setInterval(drawClock, 500);
  setInterval(() => { if (!document.hidden && (!byId("shelf").hidden || shelf === null)) look().then(ok => { if (ok && !current && byId("shelf").hidden) { say(); show("shelf"); } }); }, 5000);
  // Back from a payment, a page may come from memory with a dead connection.
  addEventListener("pageshow", e => {
    if (!e.persisted || !current) return;
    if (current.source) current.source.close();
    follow(current.id);
  });
  const there = await look();
  const open = underWay(), id = location.hash.slice(1);
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) follow(id);
  else if (open && open.order) follow(open.order);
  else if (open && open.key) place(open);
  else if (there) show("shelf");
}
start();
