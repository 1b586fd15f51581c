package stack

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// logSince is what a log holds from a position on, at most the last 256 KiB.
// A log that cannot be read reads as the reason.
func logSince(path string, from int64) []byte {
	const most = 256 << 10
	f, err := os.Open(path)
	if err != nil {
		return []byte(err.Error())
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		from = max(from, end-most)
	}
	text := make([]byte, most)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return []byte(err.Error())
	}
	return text[:n]
}

// lastLines are the last n lines of a text, each indented.
func lastLines(text []byte, n int) string {
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	lines = lines[max(0, len(lines)-n):]
	return "    " + string(bytes.Join(lines, []byte("\n    ")))
}
