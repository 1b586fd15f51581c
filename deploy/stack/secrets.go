package stack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secretPath is where a stack keeps the password of a user of one service, in
// a file of its own, because the programs take passwords from files.
func secretPath(dir, service, user string) string {
	return filepath.Join(dir, "secrets", service, user+".password")
}

// secret reads a password of the stack, and draws it first if there is none:
// a folder that is started again keeps its passwords.
func secret(dir, service, user string) (string, error) {
	path := secretPath(dir, service, user)
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("stack: password of %s: %w", user, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("stack: password of %s: %w", user, err)
	}
	word := rand.Text()
	if err := replaceFile(path, []byte(word+"\n")); err != nil {
		return "", fmt.Errorf("stack: password of %s: %w", user, err)
	}
	return word, nil
}
