"use strict";
// The page of alerts. Data reaches it as text only, never as markup; what cannot
// be read is unknown.

const byId = id => document.getElementById(id);

function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children);
  return e;
}

function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 90) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 129600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

const when = ms => new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const levels = { critical: "bad", warning: "warn", info: "none" };
const events = { firing: "bad", flapping: "warn", repeated: "warn", resolved: "good", pending: "none", snoozed: "none", snooze_ended: "none" };
let now = 0;

function say(text) {
  byId("said").hidden = !text;
  byId("said").textContent = text;
}

async function ask(path, options) {
  const r = await fetch(path, options);
  const v = await r.json();
  if (!r.ok) throw new Error(v.detail || v.title || "HTTP " + r.status);
  return v;
}

// act does something on behalf of the operator, then shows how things stand.
async function act(path, options, done) {
  try {
    await ask(path, options);
    say(done);
  } catch (e) {
    say(e.message);
  }
  await load();
}

// snoozeForm asks for how long and why; nothing is silent for ever.
function snoozeForm(a) {
  const form = el("form");
  const lasts = el("select");
  lasts.setAttribute("aria-label", "For how long");
  for (const [value, text] of [["30m", "30 min"], ["2h", "2 h"], ["8h", "8 h"], ["24h", "1 day"], ["168h", "1 week"], ["720h", "30 days"]]) {
    const o = el("option", "", text);
    o.value = value;
    lasts.append(o);
  }
  lasts.value = "2h";
  const reason = el("input");
  reason.required = true;
  reason.maxLength = 200;
  reason.placeholder = "Why may it be silent?";
  reason.setAttribute("aria-label", "Reason");
  const go = el("button", "small", "Snooze");
  form.append(lasts, reason, go);
  form.addEventListener("submit", e => {
    e.preventDefault();
    form.dataset.done = "1";
    act("/v1/fleet/alerts/" + encodeURIComponent(a.key) + "/snooze",
      { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ for: lasts.value, reason: reason.value, by: "page" }) }, "Snoozed " + a.key + ".");
  });
  return form;
}

function alertRow(a) {
  const li = el("li");
  li.dataset.key = a.key;
  const what = el("div", "what", el("b", "", a.key), " ", a.summary);
  what.append(el("div", "note", a.state === "pending" ? "Not told yet: it has to hold for a while." : a.runbook || "No runbook."));
  const note = a.state === "pending" ? "pending " : a.state === "flapping" ? "flapping since " : "since ";
  li.append(el("span", "pill " + (levels[a.severity] || ""), a.severity), what, el("span", "note when", note + span(now - a.since)));
  if (a.snooze) return li;
  const more = el("button", "small", "Snooze…");
  more.type = "button";
  more.addEventListener("click", () => {
    const old = li.querySelector("form");
    if (old) { old.remove(); return; }
    const form = snoozeForm(a);
    li.append(form);
    form.querySelector("input").focus();
  });
  li.append(more);
  return li;
}

function snoozeRow(s, alerts) {
  const covered = alerts.filter(a => a.snooze && a.snooze.id === s.id);
  const name = s.key || s.rule + Object.entries(s.labels || {}).map(([k, v]) => " " + k + "=" + v).join("");
  const what = el("div", "what", el("b", "", name), " ", s.reason);
  what.append(el("div", "note", "by " + s.by + ", " + span(now - s.at) + " ago"));
  for (const a of covered) what.append(el("div", "note", "Still " + a.state + ": " + a.summary));
  const end = el("button", "small", "Wake");
  end.type = "button";
  end.addEventListener("click", () => act("/v1/fleet/alerts/" + encodeURIComponent(s.key || s.id) + "/snooze?by=page", { method: "DELETE" }, name + " is told again."));
  const li = el("li", "", el("span", "pill none", "until " + when(s.until)), what, el("span", "note when", "for " + span(s.until - now)), end);
  return li;
}

function eventRow(e) {
  return el("li", "", el("span", "pill " + (events[e.what] || ""), e.what.replace("_", " ")), el("div", "what", el("b", "", e.key), " ", e.note),
    el("span", "note when", span(now - e.at) + " ago"), el("span", "note", e.who === "vend-cloud" ? "" : e.who));
}

// fill replaces a list, but for a row whose form somebody is filling in.
function fill(id, rows) {
  const list = byId(id);
  const open = new Map([...list.children].filter(li => li.querySelector("form:not([data-done])")).map(li => [li.dataset.key, li.querySelector("form")]));
  list.replaceChildren(...rows);
  for (const li of rows) {
    const form = open.get(li.dataset.key);
    if (form) li.append(form);
  }
  const none = byId("no-" + id);
  if (none) none.hidden = rows.length > 0;
}

async function load() {
  try {
    const v = await ask("/v1/fleet/alerts");
    now = v.at;
    const typing = document.activeElement && document.activeElement.closest("form");
    if (!typing || typing.dataset.done) {
      fill("firing", v.alerts.filter(a => !a.snooze).map(alertRow));
      byId("no-firing").textContent = "Nothing needs anybody. " + v.rules.length + " rules are in force; told to " + v.sinks.join(", ") + ".";
      fill("snoozed", v.snoozes.map(s => snoozeRow(s, v.alerts)));
    }
    fill("events", v.events.map(eventRow));
    const blind = v.rules.filter(r => r.unknown);
    byId("blind").hidden = blind.length === 0;
    fill("unknown", blind.map(r => el("li", "", el("span", "pill", "unknown"), el("div", "what", el("b", "", r.name), " ", r.unknown))));
    byId("live").dataset.state = "live";
    byId("live").textContent = "as of " + new Date(v.at).toLocaleTimeString();
    byId("away").hidden = true;
  } catch (e) {
    byId("live").dataset.state = "lost";
    byId("live").textContent = "no answer";
    byId("away").hidden = false;
    byId("away").textContent = "Not known right now: " + e.message;
  }
}

load();
setInterval(load, 5000);
