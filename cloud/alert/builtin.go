package alert

import "time"

// DatabaseAway is the name of the rule that needs no database.
const DatabaseAway = "database_away"

// Builtin are the rules there are, with their defaults, over what a process can
// read. change, which may be nil, adjusts each before its condition is made.
func Builtin(s Sources, change func(*Rule)) []Rule {
	var out []Rule
	add := func(there bool, r Rule, read func(*Rule) Condition) {
		if !there {
			return
		}
		r = r.withDefaults()
		if change != nil {
			change(&r)
		}
		if read != nil {
			mine := r
			r.Read = read(&mine)
		}
		out = append(out, r)
	}
	add(s.Shortages != nil, Rule{Name: "physical_shortage", Severity: Critical, After: 15 * time.Minute, Quiet: 5 * time.Minute,
		Help:    "More was promised than exists, and nobody could lose: drift was booked.",
		Runbook: "Count the cabinet (a stocktake fact settles the difference). Then look for who sold twice."},
		func(r *Rule) Condition {
			return lately(r, s.Shortages, "Shortages that nobody could lose, within %s: %d")
		})
	add(s.Drift != nil, Rule{Name: "stock_drift", Severity: Warning, After: time.Hour, Quiet: 5 * time.Minute,
		Help:    "A cabinet's units were not what the ledger had: a difference was booked as drift.",
		Runbook: "Look at the cabinet's facts; count it if it comes again."},
		func(r *Rule) Condition { return lately(r, s.Drift, "Drift facts within %s: %d") })
	add(s.Findings != nil, Rule{Name: "reconcile_finding", Severity: Critical, After: 30 * time.Minute, Quiet: 5 * time.Minute,
		Help:    "Redis and the ledger differed where they must not, and Redis was repaired.",
		Runbook: "Nothing is lost: the ledger decides. Find out why on /reconcile; a second finding of one cabinet is a bug."},
		func(r *Rule) Condition {
			return lately(r, s.Findings, "Differences between Redis and the ledger within %s: %d")
		})
	add(s.Letters != nil, Rule{Name: "dead_letter", Severity: Warning, Threshold: 1,
		Help:    "Messages that nobody could process wait for a person.",
		Runbook: "Read the reasons on /letters; repair the cause, then redrive, or discard with a note."},
		func(r *Rule) Condition { return letters(r, s) })
	add(s.Backlogs != nil, Rule{Name: "outbox_lag", Severity: Warning, After: 2 * time.Minute, For: 30 * time.Second,
		Help:    "Outbox rows of a kind wait for too long.",
		Runbook: "See what its runner logs and what it needs: the queue for stock and timer, Redis for redis, the provider for notice and refund."},
		func(r *Rule) Condition { return lag(r, s) })
	add(s.Depth != nil, Rule{Name: "queue_depth", Severity: Warning, Threshold: 10_000, For: time.Minute,
		Help:    "Step 8 is behind: stock messages pile up at the queue.",
		Runbook: "Is a consumer running? Then look at the database: step 8 is as fast as its commits."},
		func(r *Rule) Condition { return depth(r, s) })
	add(s.Incidents != nil, Rule{Name: "redis_fenced", Severity: Warning, After: 10 * time.Minute,
		Help:    "Redis, or a part of it, lost writes or was doubted: its stock was fenced and is rebuilt.",
		Runbook: "Sales go on. Find out why Redis restarted, failed over or evicted; set appendonly and noeviction."},
		func(r *Rule) Condition { return lately(r, s.Incidents, "Times that Redis was fenced within %s: %d") })
	add(s.RedisAway != nil, Rule{Name: "redis_away", Severity: Critical, For: 10 * time.Second, Quiet: 30 * time.Second,
		Help:    "Redis does not answer, or the circuit breaker is open: orders go by the ledger.",
		Runbook: "Start Redis. Nothing has to be repaired afterwards: stock is rebuilt on first touch."},
		func(*Rule) Condition { return redisAway(s) })
	add(s.Cabinets != nil, Rule{Name: "cabinet_offline", Severity: Warning, After: 10 * time.Minute,
		Help:    "Cabinets were not heard of for long.",
		Runbook: "Many at once: look at the broker and the network. One: call the site; it sells on within its allowance."},
		func(r *Rule) Condition {
			return cabinets(r, s, "not heard of for more than "+short(r.After), func(c Cabinet) bool { return c.Offline >= r.After && c.Offline > 0 })
		})
	add(s.Cabinets != nil, Rule{Name: "cabinet_gap", Severity: Critical, Quiet: 5 * time.Minute,
		Help:    "A cabinet's outbox was damaged and set aside: sales may be missing.",
		Runbook: "Keep the file that the agent renamed, count the cabinet, and compare with the payments."},
		func(r *Rule) Condition {
			return cabinets(r, s, "that lost an outbox", func(c Cabinet) bool { return c.Gap })
		})
	add(s.Cabinets != nil, Rule{Name: "cabinet_parked", Severity: Warning, For: time.Minute,
		Help:    "A cabinet has messages in quarantine that it cannot send.",
		Runbook: "Look at the agent's log: refused or oversize messages are parked; update the agent or the cloud."},
		func(r *Rule) Condition {
			return cabinets(r, s, "with parked messages", func(c Cabinet) bool { return c.Parked > 0 })
		})
	add(s.Cabinets != nil, Rule{Name: "cabinet_clock", Severity: Info, For: 5 * time.Minute, Quiet: 5 * time.Minute, Repeat: 24 * time.Hour,
		Help:    "A cabinet's clock is off by more than five minutes.",
		Runbook: "Nothing depends on it but its own log; set up NTP."},
		func(r *Rule) Condition {
			return cabinets(r, s, "with a wrong clock", func(c Cabinet) bool { return c.Skewed })
		})
	add(s.Cases != nil, Rule{Name: "refund_stuck", Severity: Critical,
		Help:    "A provider does not give money back.",
		Runbook: "Refund by hand at the provider's console, then close the case with its number."},
		func(r *Rule) Condition { return cases(r, s, "Refunds that are stuck", "refund_stuck") })
	add(s.Cases != nil, Rule{Name: "payment_mismatch", Severity: Critical,
		Help:    "Money came that was not what was asked, or for an order that does not exist.",
		Runbook: "Compare the case with the provider's console; refund what was not owed."},
		func(r *Rule) Condition {
			return cases(r, s, "Payments that do not match their orders", "payment_mismatch", "payment_unknown")
		})
	add(s.Cases != nil, Rule{Name: "shortage_case", Severity: Critical,
		Help:    "Paid orders could not be met.",
		Runbook: "Their money is on its way back. Count the cabinet, then close the case."},
		func(r *Rule) Condition { return cases(r, s, "Shortages that took paid orders back", "shortage") })
	add(s.Cases != nil, Rule{Name: "case_open", Severity: Warning, After: 24 * time.Hour, Repeat: 24 * time.Hour,
		Help:    "A case is open for long.",
		Runbook: "Somebody waits: the list is on the fleet page."},
		func(r *Rule) Condition { return cases(r, s, "Cases open for more than "+short(r.After)) })
	add(s.Calls != nil, Rule{Name: "provider_down", Severity: Critical, Threshold: 50, After: 5 * time.Minute, For: 15 * time.Second,
		Help:    "Payment providers do not answer.",
		Runbook: "See the provider's status page. Nothing is lost: callbacks, checks and refunds come again by themselves."},
		func(r *Rule) Condition { return provider(r, s) })
	add(s.Ping != nil, Rule{Name: "database_slow", Severity: Warning, After: 500 * time.Millisecond, For: 15 * time.Second,
		Help:    "The database takes long for the smallest of questions.",
		Runbook: "Look at its disk and its process list; everything here waits for its commits."},
		func(r *Rule) Condition { return slow(r, s) })
	add(s.Ping != nil, Rule{Name: DatabaseAway, Severity: Critical, For: 10 * time.Second, Quiet: 15 * time.Second,
		Help:    "The database does not answer a process. Told straight to the sinks, by each process.",
		Runbook: "Start the database. Cabinets keep their sales; nothing is lost."}, nil)
	return out
}

// Documented are all rules there are, with their defaults.
func Documented() []Rule { return Builtin(everything(), nil) }

// Names are their names.
func Names() []string {
	var out []string
	for _, r := range Documented() {
		out = append(out, r.Name)
	}
	return out
}
