package drill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of the stack's DSN
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/cloud/queue/rocket"
	"vendline/deploy/launch"
	"vendline/deploy/stack"
)

// Site is a running Vendline: real servers, vend-cloud, and an agent per
// cabinet, each of them a process that can be killed.
type Site struct {
	Plan   Plan
	Stack  *stack.Stack
	Desc   *stack.Description
	Cloud  *stack.Server
	Agents map[string]*stack.Server // by cabinet
	Till   *Till
	Hold   time.Duration
	Times  Times

	links *Links
	book  *Book
	ahead time.Duration    // how far vend-cloud's clock was ahead since the last rest
	phone string           // address of vend-cloud for phones
	marks map[string]int64 // where each log ended before the last blow

	queue *rocket.Queue
	db    *sql.DB
	redis *redis.Client
	call  *caller
	final map[string]Verdict // verdicts that will not change; agents forget them in the end
}

// Times are how long faults last.
type Times struct {
	Pause time.Duration // a frozen process
	Slow  time.Duration // a slow link, a wrong clock
	Cut   time.Duration // a link that is half open
	Full  time.Duration // a disk
}

// Times of a site, short so that a drill is.
const (
	hold  = 6 * time.Second
	grace = 8 * time.Second
)

// OpenSite seeds the stack's database and starts Vendline on it, paid at till. The processes
// end with the stack; Close gives back the connections.
func OpenSite(ctx context.Context, s *stack.Stack, bin launch.Binaries, plan Plan, till *Till, book *Book, times Times) (*Site, error) {
	d, err := s.Description()
	if err != nil {
		return nil, err
	}
	site := &Site{Plan: plan, Stack: s, Desc: d, Agents: map[string]*stack.Server{}, Till: till, Hold: hold, Times: times, book: book, links: newLinks(), call: newCaller(), final: map[string]Verdict{}}
	through, agentMQTT, err := site.links.between(d)
	if err != nil {
		site.Close()
		return nil, err
	}
	if err := errors.Join(site.setClock(cloudClock, 0), site.setClock(agentsClock, 0)); err != nil {
		site.Close()
		return nil, err
	}
	if err := site.seed(ctx); err != nil {
		site.Close()
		return nil, fmt.Errorf("drill: seed: %w", err)
	}
	if site.db, err = sql.Open("mysql", d.MySQLDSN); err != nil {
		return nil, err
	}
	site.db.SetMaxOpenConns(8)
	site.redis = redis.NewClient(&redis.Options{
		Addr: d.RedisAddr, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	site.Cloud, err = launch.Cloud(ctx, s, bin, launch.CloudOptions{
		Name: "vend-cloud", At: through, Env: site.clockEnv(cloudClock), Extra: append([]string{"--hold", hold.String(), "--grace", grace.String()}, till.Flags()...),
	})
	if err != nil {
		site.Close()
		return nil, fmt.Errorf("drill: start vend-cloud: %w", err)
	}
	if site.phone, err = site.links.open(linkPhone, "127.0.0.1:0", site.Cloud.Addr(), httpHello("/openapi.json")); err != nil {
		site.Close()
		return nil, err
	}
	if site.queue, err = rocket.Open(ctx, d.RocketMQ, rocket.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		site.Close()
		return nil, fmt.Errorf("drill: look into the queue: %w", err)
	}
	for _, c := range plan.Cabinets {
		if site.Agents[c], err = launch.Agent(ctx, s, bin, launch.AgentOptions{
			Cabinet: c, MQTT: agentMQTT, Env: site.clockEnv(agentsClock), Extra: []string{"--beat", "500ms"},
		}); err != nil {
			site.Close()
			return nil, fmt.Errorf("drill: start the agent of %s: %w", c, err)
		}
	}
	return site, nil
}

// Close gives back the connections.
func (s *Site) Close() {
	s.call.close()
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.redis != nil {
		_ = s.redis.Close()
	}
	if s.queue != nil {
		_ = s.queue.Close()
	}
	s.links.close()
}

func (s *Site) seed(ctx context.Context) error {
	l, err := ledger.Open(ctx, ledger.MySQL(), s.Desc.MySQLDSN, ledger.Options{Clock: time.Now, ID: app.NewID, Token: app.NewToken})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.AddProducts(ctx, s.Plan.Products...); err != nil {
		return err
	}
	for _, c := range s.Plan.Cabinets {
		if err := l.AddCabinet(ctx, c, s.Plan.Opening()); err != nil {
			return err
		}
	}
	return nil
}

// CloudURL and AgentURLs are where people and firmware ask.
func (s *Site) CloudURL() string { return "http://" + s.phone }

// AgentURLs are the agents' local APIs, by cabinet.
func (s *Site) AgentURLs() map[string]string {
	urls := map[string]string{}
	for c, a := range s.Agents {
		urls[c] = "http://" + a.Addr()
	}
	return urls
}
