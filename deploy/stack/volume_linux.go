package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// volumes are file systems of their own under a stack's folders. A guard, a
// shell that waits for the end of its input, takes them away: when it is told
// to, and as well when this process dies, however it dies.
type volumes struct {
	guard *exec.Cmd
	hold  io.Closer // closing it is the guard's signal
}

// mountVolumes gives folders of dir file systems of that many bytes.
func mountVolumes(dir string, sizes map[string]int64) (*volumes, error) {
	if len(sizes) == 0 {
		return nil, nil
	}
	script, names := "read -r _; r=0; for d; do umount \"$d\" 2>/dev/null || umount -l \"$d\" || r=1; done; exit $r", []string{}
	for name := range sizes {
		names = append(names, filepath.Join(dir, name))
	}
	slices.Sort(names)
	v := &volumes{guard: exec.Command("sh", append([]string{"-c", script, "guard"}, names...)...)}
	v.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := v.guard.StdinPipe()
	if err != nil {
		return nil, err
	}
	v.hold = in
	if err := v.guard.Start(); err != nil {
		return nil, fmt.Errorf("stack: start the guard of the volumes: %w", err)
	}
	for _, path := range names {
		name, _ := filepath.Rel(dir, path)
		if err := mountVolume(path, filepath.Join(dir, name+".img"), sizes[name]); err != nil {
			return nil, errors.Join(err, v.unmount())
		}
	}
	return v, nil
}

// mountVolume takes memory, or where that is refused a file.
func mountVolume(path, image string, size int64) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	inMemory := unix.Mount("vendline", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	if inMemory == nil {
		return nil
	}
	f, err := os.OpenFile(image, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, path}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("stack: a disk that can be full needs the right to mount (root): mount -t tmpfs at %s: %w; %v: %w: %s", path, inMemory, args, err, out)
		}
	}
	return nil
}

// unmount takes the volumes away; a second time does nothing.
func (v *volumes) unmount() error {
	if v == nil || v.hold == nil {
		return nil
	}
	_ = v.hold.Close()
	v.hold = nil
	if err := v.guard.Wait(); err != nil {
		return fmt.Errorf("stack: unmount the volumes: %w", err)
	}
	return nil
}
