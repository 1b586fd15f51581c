"use strict";
// The page of dead letters. Data reaches it as text only, never as markup; what
// cannot be read is unknown.

const byId = id => document.getElementById(id);
const base = "/v1/fleet/dead-letters";
const sources = ["stock", "queue", "%DLQ%", "mqtt", "callback", "effect", "command", "replace", "planogram", "intent", "alert"];
const view = { filter: {}, next: "", total: null };

function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children);
  return e;
}

const count = n => n === null ? "unknown" : new Intl.NumberFormat("en").format(n);
const plural = (n, one) => count(n) + " " + one + (n === 1 ? "" : "s");
const when = ms => new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

function ago(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 90) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 129600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

// ask speaks JSON; a refusal is an Error that says what the service says.
async function ask(path, body) {
  const r = await fetch(path, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const v = await r.json();
  if (!r.ok) throw new Error(v.detail || v.title || "HTTP " + r.status);
  return v;
}

function alive(error) {
  byId("live").dataset.state = error ? "lost" : "live";
  byId("live").textContent = error ? "no answer" : "as of " + new Date().toLocaleTimeString();
  byId("away").hidden = !error;
  byId("away").textContent = error ? "Not known right now: " + error.message : "";
}

function say(text) {
  byId("said").hidden = !text;
  byId("said").textContent = text;
}

// summary says what became of many, with the first reasons of those refused.
function summary(v, verb) {
  let text = v.dry_run ? `${plural(v.done, "letter")} could be ${verb}` : `${plural(v.done, "letter")} ${verb}`;
  if (v.refused > 0) {
    const why = new Set(v.outcomes.filter(o => o.refused).map(o => o.refused));
    text += `, ${count(v.refused)} could not: ` + [...why].slice(0, 3).join("; ") + (why.size > 3 ? "; …" : "");
  }
  if (v.next) text += ". There are more.";
  return text;
}

const query = extra => new URLSearchParams(Object.entries({ ...view.filter, ...extra }).filter(([, v]) => v));

async function load(after = "") {
  try {
    const v = await ask(base + "?" + query({ limit: "50", after }));
    if (!after) byId("list").replaceChildren();
    view.total = v.total;
    view.next = v.next || "";
    byId("list").append(...v.dead_letters.map(l => item(l, v.at)));
    if (v.total === 1 && v.dead_letters[0].id === view.filter.q) byId("list").querySelector("button").click();
    alive(null);
  } catch (e) {
    alive(e);
    view.total = null;
  }
  const state = view.filter.state;
  byId("h-list").textContent = view.total === null ? "Dead letters: unknown" : plural(view.total, state === "all" ? "letter" : state + " letter");
  byId("none").hidden = view.total !== 0;
  byId("none").textContent = state === "open" ? "None waits. Nothing is lost." : "None was found.";
  byId("more").hidden = !view.next;
  byId("all").disabled = byId("try").disabled = state !== "open" || !view.total;
}

const level = { open: "bad", redriven: "warn", discarded: "" };

function item(l, at) {
  const more = el("div", "whole");
  more.hidden = true;
  const open = el("button", "small", "Show");
  open.type = "button";
  open.setAttribute("aria-expanded", "false");
  open.onclick = () => {
    more.hidden = !more.hidden;
    open.textContent = more.hidden ? "Show" : "Hide";
    open.setAttribute("aria-expanded", String(!more.hidden));
    if (!more.hidden) fill(more, l.id);
  };
  const about = [l.cabinet, l.subject].filter(Boolean).join(" · ");
  const age = el("span", "note", ago(at - l.buried) + " ago");
  age.title = when(l.buried);
  return el("li", "", el("span", "pill " + level[l.state], l.source), el("span", "what", el("b", "", l.reason || "no reason"), el("span", "note", " " + about + (about ? " · " : "") + plural(l.attempts, "attempt"))), age, open, more);
}

// fill shows one letter in full, and what can be done with it.
async function fill(box, id) {
  box.replaceChildren(el("p", "note", "loading"));
  let v;
  try { v = await ask(base + "/" + encodeURIComponent(id)); } catch (e) { box.replaceChildren(el("p", "note bad", "Not known right now: " + e.message)); return; }
  const l = v.dead_letter;
  const facts = el("dl", "");
  const fact = (name, text) => { if (text) facts.append(el("dt", "", name), el("dd", "", text)); };
  fact("State", l.state);
  fact("Last error", l.last_error);
  if (l.first_error !== l.last_error) fact("First error", l.first_error);
  fact("Came about", when(l.created));
  fact("Buried", when(l.buried));
  for (const [k, text] of Object.entries(l.meta || {})) if (!["first_error", "id", "cabinet", "attempts"].includes(k)) fact(k, text);
  fact("About", l.subject);
  fact("Id", l.id);
  const payload = l.text !== undefined ? pretty(l.text) : l.base64 || "";
  const kind = l.bytes === 0 ? "Payload: empty" : `Payload, ${count(l.bytes)} bytes` + (l.text === undefined ? ", base64" : "");
  const past = el("ol", "past", ...v.history.map(e => el("li", "", el("span", "note", when(e.at) + " "), el("b", "", e.what), ` by ${e.who}` + (e.note ? ": " + e.note : ""))));
  const said = el("p", "note");
  said.setAttribute("role", "status");
  box.replaceChildren(facts, el("h3", "note", kind), el("pre", "", payload), el("h3", "note", "What was done with it"), past, actions(l, said, () => fill(box, id)), said);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; }
}

function actions(l, said, again) {
  const form = el("form", "");
  const button = (label, title, does) => {
    const b = el("button", "", label);
    b.type = "button";
    b.title = title;
    b.onclick = () => act(form, said, does);
    return b;
  };
  const send = (what, body) => async () => {
    const v = await ask(base + "/" + what, { ids: [l.id], ...body() });
    const o = v.outcomes[0];
    if (o.refused) return "It cannot be done: " + o.refused;
    if (!o.done) return "It would be done: " + o.action;
    setTimeout(again, 600);
    return "Done: " + o.action;
  };
  const note = el("input", "");
  note.placeholder = "Why it is given up";
  note.setAttribute("aria-label", "Note");
  note.maxLength = 200;
  if (l.state !== "redriven") form.append(button("Dry run", "What a redrive would do", send("redrive", () => ({ dry_run: true }))), button("Redrive", "Send it back the way it came", send("redrive", () => ({}))));
  if (l.state === "open") form.append(note, button("Discard", "Give it up; it stays to be read", send("discard", () => ({ note: note.value }))));
  form.onsubmit = e => e.preventDefault();
  return form;
}

async function act(form, said, does) {
  for (const b of form.querySelectorAll("button")) b.disabled = true;
  said.textContent = "…";
  try { said.textContent = await does(); } catch (e) { said.textContent = "Refused: " + e.message; }
  for (const b of form.querySelectorAll("button")) b.disabled = false;
}

function found() {
  const f = { all: true };
  if (view.filter.q) f.q = view.filter.q;
  if (view.filter.cabinet) f.cabinet = view.filter.cabinet;
  if (view.filter.source) f.source = view.filter.source;
  return f;
}

async function many(dry) {
  if (!dry && !confirm(`Redrive ${plural(view.total, "letter")}? Each goes back the way it came; one that fails again comes back here.`)) return;
  say("…");
  try { say(summary(await ask(base + "/redrive", { ...found(), dry_run: dry }), "redriven")); } catch (e) { say("Refused: " + e.message); }
  if (!dry) load();
}

async function stuck() {
  try {
    const v = await ask("/v1/fleet/outbox?limit=50");
    const n = v.kinds.reduce((sum, k) => sum + k.stuck, 0), depth = v.kinds.reduce((sum, k) => sum + k.depth, 0);
    byId("stuck-note").textContent = n === 0 ? `None of ${plural(depth, "row")}.` : `${count(n)} of ${plural(depth, "row")} were tried again and again.`;
    byId("stuck").replaceChildren(...v.stuck.map(r => el("li", "", el("span", "pill warn", r.kind), el("span", "what", el("b", "", r.last_error || "no error is known"), el("span", "note", ` ${plural(r.attempts, "attempt")} · ${r.id}`), el("pre", "", r.text !== undefined ? pretty(r.text) : r.base64 || "")), el("span", "note", ago(v.at - r.created) + " old"))));
  } catch (e) {
    byId("stuck-note").textContent = "unknown: " + e.message;
  }
}

function search() {
  view.filter = { q: byId("q").value.trim(), cabinet: byId("cabinet").value.trim(), source: byId("source").value, state: byId("state").value };
  history.replaceState(null, "", "/letters?" + query({}));
  say("");
  load();
}

byId("source").append(...sources.map(s => { const o = el("option", "", s); o.value = s; return o; }));
const given = new URLSearchParams(location.search);
for (const id of ["q", "cabinet", "source", "state"]) if (given.has(id)) byId(id).value = given.get(id);
byId("find").onsubmit = e => { e.preventDefault(); search(); };
byId("source").onchange = byId("state").onchange = search;
byId("more").onclick = () => load(view.next);
byId("try").onclick = () => many(true);
byId("all").onclick = () => many(false);
search();
stuck();
setInterval(stuck, 10000);
