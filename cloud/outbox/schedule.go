package outbox

import "time"

// MinAttempts is how often anything is tried before it is given up for failing.
// What no retry can make readable is given up at once.
const MinAttempts = 16

// Schedule says how often rows of a kind are tried, and what comes then. A claim
// counts as an attempt; a claim that the database does not answer is none.
type Schedule struct {
	Kind     Kind
	First    time.Duration // lease of the first claim; doubles with each, up to Longest
	Longest  time.Duration
	Attempts int    // after which it is given up; 0: never, it is tried for as long as it is there
	Stuck    int    // claims after which a row is told of as stuck; 0: waiting is its nature
	End      string // what a row comes to that is given up, or never carried out
}

// Schedules is the table of all kinds.
var Schedules = [...]Schedule{
	{KindStock, 20 * time.Second, 10 * time.Minute, 0, 8, "stays; a statement that fails on its own: see StatementRetries"},
	{KindTimer, 5 * time.Second, 10 * time.Minute, 0, 8, "stays; the sweeper does without it"},
	{KindRedis, 5 * time.Second, 10 * time.Minute, 0, 8, "stays; dead letter if refused by a stock just rebuilt"},
	{KindNotice, 5 * time.Second, 10 * time.Minute, MinAttempts, 12, "a case for a person"},
	{KindCheck, 15 * time.Second, 2 * time.Minute, 0, 0, "asked until the charge is paid or closed"},
	{KindLate, 5 * time.Second, 10 * time.Second, 0, 30, "the money goes back"},
	{KindRefund, 5 * time.Second, 10 * time.Minute, MinAttempts, 12, "a case for a person"},
	{KindCommand, 5 * time.Second, 30 * time.Second, 0, 0, "given up when the time to vend is over; the money goes back"},
	{KindReplace, 5 * time.Second, 10 * time.Minute, 0, 8, "stays; the holds end by themselves"},
	{KindPlanogram, 5 * time.Second, 5 * time.Minute, 0, 0, "told until the cabinet takes it, or there is a newer one"},
	{KindIntent, 15 * time.Second, 10 * time.Second, 0, 30, "refused as overloaded when its patience is over"},
	{KindCallback, 5 * time.Second, time.Hour, MinAttempts, 12, "dead letter"},
	{KindAlert, 15 * time.Second, time.Hour, MinAttempts, 12, "dead letter"},
	{KindIntake, 5 * time.Second, 10 * time.Minute, 0, 8, "stays; dead letter again if refused"},
}

// ScheduleOf is a kind's line of the table.
func ScheduleOf(k Kind) Schedule {
	for _, s := range Schedules {
		if s.Kind == k {
			return s
		}
	}
	return Schedule{Kind: k, First: 5 * time.Second, Longest: 10 * time.Minute}
}

// Retries is a schedule by failures instead of claims.
type Retries struct {
	Attempts       int // failures after which it is given up is one more
	First, Longest time.Duration
}

// StatementRetries is for a statement that fails on its own: 16 retries after
// the first try, then it is a dead letter. A database that is away costs none.
var StatementRetries = Retries{Attempts: MinAttempts, First: 2 * time.Second, Longest: 10 * time.Minute}

// After is how long to wait after the nth failure, from 1 on.
func (r Retries) After(n int) time.Duration {
	return min(r.First<<min(max(n-1, 0), 12), r.Longest)
}
