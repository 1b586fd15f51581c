"use strict";
// The page of reconciliation. Data reaches it as text only, never as markup; what
// cannot be read is unknown.

const byId = id => document.getElementById(id);

function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children);
  return e;
}

const count = n => n === null || n === undefined ? "unknown" : new Intl.NumberFormat("en").format(n);
const plural = (n, one) => count(n) + " " + one + (n === 1 ? "" : "s");
const when = ms => new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
const signed = n => (n > 0 ? "+" : "") + count(n);

function ago(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 90) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 129600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

function set(id, text, cls = "") {
  byId(id).textContent = text;
  byId(id).classList.toggle("unknown", text === "unknown");
  byId(id).classList.toggle("bad", cls === "bad");
  byId(id).classList.toggle("warn", cls === "warn");
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

async function get(path) {
  const r = await fetch(path);
  const v = await r.json();
  if (!r.ok) throw new Error(v.detail || v.title || "HTTP " + r.status);
  return v;
}

const states = { open: ["being repaired", "warn"], repaired: ["repaired", "good"], overtaken: ["overtaken, looked at anew", "none"], dry_run: ["dry run", "none"] };
const reasons = {
  unmet: "a server nobody had met: restarted, promoted or restored",
  evicted: "it dropped keys to make room",
  doubted: "its stock contradicted an order",
};

function finding(f, now) {
  const [text, cls] = states[f.state] || [f.state, "none"];
  const what = el("span", "what", el("b", "", f.cabinet), " ");
  what.append(f.lines.map(l => `${l.sku}: Redis had ${count(l.found)}, the ledger says ${count(l.expected)} (${signed(l.expected - l.found)})`).join("; "));
  const at = el("span", "note", ago(now - f.at) + " ago");
  at.title = when(f.at);
  return el("li", "", el("span", "pill " + cls, text), what, at);
}

function incident(i, now) {
  const of = i.cabinet || (i.cabinets === null ? "" : plural(i.cabinets, "cabinet"));
  const what = el("span", "what", el("b", "", i.place || i.cabinet), " ", reasons[i.reason] || i.reason, "; ", of + " fenced");
  const at = el("span", "note", ago(now - i.at) + " ago");
  at.title = when(i.at);
  return el("li", "", el("span", "pill warn", i.reason), what, at);
}

function show(v) {
  const r = v.last_round;
  set("t-last", v.last_round_at === null ? "none yet" : ago(v.at - v.last_round_at) + " ago");
  byId("t-next").textContent = v.next_round_at === null ? "" : v.next_round_at <= v.at ? "the next is due" : "the next in " + ago(v.next_round_at - v.at);
  set("t-equal", r ? count(r.equal) : "unknown");
  byId("t-rest").textContent = r ? [`of ${count(r.cabinets)}`, r.not_loaded && `${count(r.not_loaded)} not loaded`, r.stale && `${count(r.stale)} being rebuilt`, r.failed && `${count(r.failed)} failed`].filter(Boolean).join(", ") : "";
  set("t-found", r ? count(r.findings) : "unknown", r && r.findings > 0 ? "bad" : "");
  byId("t-repaired").textContent = r && r.findings > 0 ? `${count(r.repaired)} repaired, ${plural(r.units, "unit")}` : "";
  set("t-took", r ? (r.took_ms < 10000 ? count(r.took_ms) + " ms" : count(Math.round(r.took_ms / 1000)) + " s") : "unknown");
  byId("t-frozen").textContent = r && r.frozen > 0 ? `${count(r.frozen)} compared while their orders waited` : "";
  byId("findings").replaceChildren(...v.findings.map(f => finding(f, v.at)));
  byId("no-findings").hidden = v.findings.length > 0;
}

async function load() {
  try {
    show(await get("/v1/fleet/reconcile?limit=100"));
    const v = await get("/v1/fleet/incidents?limit=100");
    byId("incidents").replaceChildren(...v.incidents.map(i => incident(i, v.at)));
    byId("no-incidents").hidden = v.incidents.length > 0;
    alive(null);
  } catch (e) {
    alive(e);
  }
}

// run compares now and tells its progress line by line.
async function run(dry) {
  const cabinet = byId("cabinet").value.trim();
  const body = cabinet ? { cabinets: [cabinet], dry_run: dry } : { all: true, dry_run: dry };
  byId("run").disabled = byId("try").disabled = true;
  say("comparing");
  try {
    const r = await fetch("/v1/fleet/reconcile", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!r.ok) {
      const v = await r.json();
      throw new Error(v.detail || v.title || "HTTP " + r.status);
    }
    let last = null, rest = "";
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) last = JSON.parse(line);
      if (last) say(`${count(last.done)} of ${plural(last.total, "cabinet")} compared`);
    }
    if (!last || !last.report) throw new Error("the answer ended early");
    const v = last.report;
    say(`${plural(v.cabinets, "cabinet")} compared in ${count(v.took_ms)} ms: ` + (v.findings === 0 ? "no difference" : `${plural(v.findings, "difference")}, ${dry ? "left as they are" : count(v.repaired) + " repaired"}`) +
      (v.failed ? `; ${count(v.failed)} could not be compared, see the log` : ""));
  } catch (e) {
    say("Not done: " + e.message);
  }
  byId("run").disabled = byId("try").disabled = false;
  load();
}

byId("run").addEventListener("click", () => run(false));
byId("try").addEventListener("click", () => run(true));
load();
setInterval(load, 5000);
