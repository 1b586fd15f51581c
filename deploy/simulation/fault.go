package simulation

// Fault is something that goes wrong.
type Fault string

// Faults.
const (
	CloudDies    Fault = "a cloud process dies between two steps"
	Interleaved  Fault = "something else happens between two steps"
	LetterLost   Fault = "a message between cabinet and cloud is lost"
	LetterTwice  Fault = "a message between cabinet and cloud comes twice"
	LetterLate   Fault = "a message between cabinet and cloud is overtaken"
	QueueLost    Fault = "the queue loses a message it took"
	QueueTwice   Fault = "the queue brings a message twice"
	QueueLate    Fault = "the queue brings messages out of order"
	AckLost      Fault = "the queue's ack is lost"
	CallbackLost Fault = "the provider's callback is lost"
	CallbackTwo  Fault = "the provider's callback comes twice"
	TillAway     Fault = "the provider does not answer"
	RedisOld     Fault = "Redis comes back with an older dump"
	RedisEmpty   Fault = "Redis comes back empty"
	RedisEvicts  Fault = "Redis drops a key"
	RedisAway    Fault = "Redis does not answer"
	RedisMute    Fault = "Redis carries a call out and its answer is lost"
	MetLate      Fault = "a loss of Redis is met late"
	PowerCut     Fault = "a cabinet loses power"
	CutInCommit  Fault = "a cabinet loses power within a commit"
	Jammed       Fault = "a motor jams"
	Unsure       Fault = "the power goes while a motor turns"
	ClockWrong   Fault = "a cabinet's clock is years off"
	Offline      Fault = "a cabinet is offline for a while"
)

// Faults lists all of them.
func Faults() []Fault {
	return []Fault{CloudDies, Interleaved, LetterLost, LetterTwice, LetterLate, QueueLost, QueueTwice, QueueLate, AckLost, CallbackLost, CallbackTwo, TillAway,
		RedisOld, RedisEmpty, RedisEvicts, RedisAway, RedisMute, MetLate, PowerCut, CutInCommit, Jammed, Unsure, ClockWrong, Offline}
}
