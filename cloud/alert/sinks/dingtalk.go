package sinks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/alert"
)

// DingTalk lets a robot say 20 messages a minute and then hears nothing for ten:
// 15 leave room for clocks. What comes meanwhile goes into one message.
const (
	dingTalkPace = 4 * time.Second
	mostShown    = 12 // notifications in one message; the rest is counted
)

// DingTalk is a robot in a group chat.
type DingTalk struct {
	called string
	url    string
	secret []byte // empty: the robot is protected by keyword or address instead
	guard  Guard
	client *http.Client
	clock  func() time.Time
}

// NewDingTalk returns a robot; url has its access_token.
func NewDingTalk(called, url string, secret []byte, g Guard, clock func() time.Time) (*DingTalk, error) {
	if err := g.Check(url); err != nil {
		return nil, err
	}
	return &DingTalk{called, url, secret, g, client(g), clock}, nil
}

// Name implements alert.Sink.
func (s *DingTalk) Name() string { return s.called }

// Pace implements alert.Paced.
func (s *DingTalk) Pace() time.Duration { return dingTalkPace }

// Send implements alert.Sink: one message for the whole batch.
func (s *DingTalk) Send(ctx context.Context, batch []alert.Notification) []error {
	return alert.All(batch, s.send(ctx, batch))
}

func (s *DingTalk) send(ctx context.Context, batch []alert.Notification) error {
	body, err := dingTalkBody(batch)
	if err != nil {
		return err
	}
	to, err := SignDingTalk(s.url, s.secret, s.clock())
	if err != nil {
		return err
	}
	answer, err := post(ctx, s.client, s.guard, to, body, nil)
	if err != nil {
		return err
	}
	var said struct {
		Code    *int   `json:"errcode"`
		Message string `json:"errmsg"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Code == nil {
		return errors.New("the robot's answer cannot be read")
	}
	if *said.Code != 0 {
		return fmt.Errorf("the robot says %d: %s", *said.Code, said.Message)
	}
	return nil
}

// SignDingTalk adds timestamp and signature to a robot's URL: HMAC-SHA256 with
// the secret over "<ms>\n<secret>", in base64, escaped.
func SignDingTalk(robot string, secret []byte, at time.Time) (string, error) {
	if len(secret) == 0 {
		return robot, nil
	}
	u, err := url.Parse(robot)
	if err != nil {
		return "", errors.New("the robot's URL cannot be read")
	}
	ms := strconv.FormatInt(at.UnixMilli(), 10)
	m := hmac.New(sha256.New, secret)
	_, _ = m.Write([]byte(ms + "\n" + string(secret))) // never fails
	sign := "timestamp=" + ms + "&sign=" + url.QueryEscape(base64.StdEncoding.EncodeToString(m.Sum(nil)))
	if u.RawQuery != "" {
		sign = u.RawQuery + "&" + sign
	}
	u.RawQuery = sign
	return u.String(), nil
}

type markdown struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

func dingTalkBody(batch []alert.Notification) ([]byte, error) {
	var text strings.Builder
	for i, n := range batch {
		if i == mostShown {
			fmt.Fprintf(&text, "\n\n… and %d more", len(batch)-i)
			break
		}
		if i > 0 {
			text.WriteString("\n\n---\n\n")
		}
		fmt.Fprintf(&text, "#### %s\n\n%s", heading(n), escape(n.Summary))
		if n.State != alert.Resolved {
			fmt.Fprintf(&text, "\n\n> %s", escape(n.Runbook))
		}
		fmt.Fprintf(&text, "\n\nsince %s", n.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
		if n.URL != "" {
			fmt.Fprintf(&text, " · [alerts](%s)", n.URL)
		}
	}
	title := heading(batch[0])
	if len(batch) > 1 {
		title = fmt.Sprintf("Vendline: %d alerts", len(batch))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Type     string   `json:"msgtype"`
		Markdown markdown `json:"markdown"`
	}{"markdown", markdown{title, text.String()}})
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

func heading(n alert.Notification) string {
	state := strings.ToUpper(string(n.State))
	if n.Again {
		state = "STILL " + state
	}
	return fmt.Sprintf("[%s] %s · %s", state, n.Severity, n.Key)
}

// escape keeps text from being taken for Markdown.
func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "`", "\\`", "#", "\\#", "<", "&lt;", "\n", " ").Replace(s)
}
