package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// service is what these tests look at of a service of compose.yaml.
type service struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
		Target     string `yaml:"target"`
	} `yaml:"build"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	Healthcheck map[string]any    `yaml:"healthcheck"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
}

type composition struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
}

// No engine runs these containers where our tests run, so the file is held to
// what can be checked without one.
func composed(t *testing.T) composition {
	t.Helper()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composition
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeHasEveryPartOfTheRealStack(t *testing.T) {
	c := composed(t)
	for _, name := range []string{"redis", "mysql", "mosquitto", "namesrv", "broker", "vend-cloud", "edge-c001", "edge-c002"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	for service, want := range map[string]string{
		"mysql": "--innodb-flush-log-at-trx-commit=1",
		"redis": "noeviction",
	} {
		if !slices.Contains(c.Services[service].Command, want) {
			t.Errorf("%s starts without %s: %q", service, want, c.Services[service].Command)
		}
	}
}

func TestComposePinsItsImages(t *testing.T) {
	for name, s := range composed(t).Services {
		_, tag, tagged := strings.Cut(s.Image, ":")
		if !tagged || tag == "latest" || tag == "" {
			t.Errorf("%s: image %q", name, s.Image)
		}
	}
}

func TestComposePublishesOnLoopbackOnly(t *testing.T) {
	taken := map[string]string{}
	for name, s := range composed(t).Services {
		for _, port := range s.Ports {
			parts := strings.Split(port, ":")
			if len(parts) != 3 || parts[0] != "127.0.0.1" {
				t.Errorf("%s publishes %s", name, port)
				continue
			}
			if other, twice := taken[parts[1]]; twice {
				t.Errorf("%s and %s both publish %s", name, other, parts[1])
			}
			taken[parts[1]] = name
		}
	}
}

func TestComposeRefersToWhatIsThere(t *testing.T) {
	c := composed(t)
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			_, named := c.Volumes[source]
			if _, err := os.Stat(source); err != nil && !named {
				t.Errorf("%s mounts %s, which is neither a file nor a volume", name, source)
			}
		}
		for other, when := range s.DependsOn {
			on, ok := c.Services[other]
			if !ok || when.Condition == "service_healthy" && on.Healthcheck == nil {
				t.Errorf("%s waits for %s, which never gets %s", name, other, when.Condition)
			}
		}
		if s.Build.Target != "" {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(string(dockerfile), " AS "+s.Build.Target+"\n") {
				t.Errorf("%s: the Dockerfile has no target %s", name, s.Build.Target)
			}
		}
	}
}

// binaries are those whose flags compose.yaml writes down; building them takes
// too long for `go test -short`.
func binaries() map[string]string {
	if testing.Short() {
		return nil
	}
	return map[string]string{"vend-cloud": "vendline/cloud/cmd/vend-cloud", "edge-c001": "vendline/edge/cmd/vend-edge"}
}

func TestComposeUsesFlagsThatTheBinariesHave(t *testing.T) {
	c := composed(t)
	for name, path := range binaries() {
		binary := filepath.Join(t.TempDir(), name)
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, path).CombinedOutput(); err != nil {
			t.Errorf("build %s: %v\n%s", path, err, out)
			continue
		}
		help, err := exec.CommandContext(t.Context(), binary, "--help").CombinedOutput()
		if err != nil {
			t.Errorf("%s --help: %v\n%s", path, err, help)
		}
		for _, argument := range c.Services[name].Command {
			flag, _, _ := strings.Cut(argument, "=")
			if !strings.Contains(string(help), flag) {
				t.Errorf("%s has no flag %s", path, flag)
			}
		}
		for variable := range c.Services[name].Environment {
			if !strings.Contains(string(help), variable) {
				t.Errorf("%s reads no variable %s", path, variable)
			}
		}
	}
}
