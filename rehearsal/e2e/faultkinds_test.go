package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/azurenative"
)

// fault is one, with its place in an update.
type fault struct {
	// what it is called, and what happens.
	what   string
	strike func(*env) error
	// arm is what the emulated cloud is asked for beforehand, for a fault of its own.
	arm *azurenative.Fault
	// removing says that it happens while the team is taken out.
	removing bool
	// step is the operation of the update at whose beginning it happens, counted
	// from 1, and delay the time from then on.
	step  int
	delay time.Duration
	// name is that of the team.
	name string
	// met is what became of the update, and struck says that the fault happened.
	met    string
	struck bool
}

func (f *fault) String() string {
	which := "bringing"
	if f.removing {
		which = "removing"
	}
	if f.arm != nil {
		return fmt.Sprintf("%s, %s, operation %d of the cloud", f.what, which, f.arm.After+1)
	}
	return fmt.Sprintf("%s, %s, step %d + %s", f.what, which, f.step, f.delay)
}

// strikes are the faults that come from outside of the cloud.
var strikes = []struct {
	what   string
	strike func(*env) error
}{
	{"engine killed", func(e *env) error { return kill(e.enginePID()) }},
	{"engine interrupted", func(e *env) error { return syscall.Kill(e.enginePID(), syscall.SIGINT) }},
	{"engine interrupted twice", interruptTwice},
	{"Kubernetes provider killed", func(e *env) error { return e.killPlugin("pulumi-resource-kubernetes") }},
	{"azure-native killed", func(e *env) error { return e.killPlugin("pulumi-resource-azure-native") }},
	{"language host killed", func(e *env) error { return e.killPlugin("pulumi-language-go") }},
	{"state on a full disk", fillStateDisk},
	{"API server killed", func(e *env) error { return e.killPart("kube-apiserver") }},
	{"etcd killed", func(e *env) error { return e.killPart("etcd") }},
	{"Kueue killed", func(e *env) error { return e.killPart("pod-kueue-*") }},
	{"KubeRay killed", func(e *env) error { return e.killPart("pod-kuberay-*") }},
	{"node lost", loseNode},
}

// refusals are the faults of the cloud.
var refusals = []struct {
	what  string
	fault azurenative.Fault
}{
	{"conflict", azurenative.Fault{Status: 409, Code: "Conflict"}},
	{"throttled", azurenative.Fault{Status: 429, Code: "TooManyRequests"}},
	{"server error", azurenative.Fault{Status: 500, Code: "InternalServerError"}},
	{"pool creation failed half-way", azurenative.Fault{Verb: "create", Type: azurenative.AgentPool, Status: 500, Code: "AllocationFailed", Half: true}},
	{"cluster update failed half-way", azurenative.Fault{Verb: "update", Type: azurenative.ManagedCluster, Status: 500, Code: "InternalError", Half: true}},
	{"role not replicated", azurenative.Fault{Verb: "create", Type: azurenative.RoleAssignment, Status: 400, Code: "PrincipalNotFound"}},
}

// draw makes the i-th fault. Each kind comes at its turn, at a random moment.
func (e *env) draw(random *rand.Rand, i int) *fault {
	f := &fault{name: fmt.Sprintf("t%d", i+1), removing: random.IntN(2) == 1,
		step: 1 + random.IntN(25), delay: time.Duration(random.IntN(400)) * time.Millisecond}
	if kind := i % (len(strikes) + len(refusals)); kind < len(strikes) {
		f.what, f.strike = strikes[kind].what, strikes[kind].strike
	} else {
		refusal := refusals[kind-len(strikes)]
		arm := refusal.fault
		if arm.Type == "" {
			arm.After = random.IntN(8)
		} else {
			f.removing = false
		}
		f.what, f.arm = refusal.what, &arm
	}
	return f
}

// suffer runs an update in which the fault happens, and notes what came of it.
func (e *env) suffer(f *fault) {
	e.Helper()
	var faults []azurenative.Fault
	if f.arm != nil {
		faults = append(faults, *f.arm)
	}
	e.tell(e.dir.Faults(), faults)
	defer func() { must(e.T, os.Remove(e.dir.Faults())) }()

	var struck sync.WaitGroup
	var problem error
	steps := &stepCounter{at: f.step, then: func() {
		if f.strike == nil {
			return
		}
		struck.Go(func() {
			time.Sleep(f.delay)
			problem = f.strike(e)
		})
	}}
	err := e.engine.Run(e.Context(), steps, "up", "--yes", "--skip-preview")
	struck.Wait()
	f.struck = problem == nil && (f.strike != nil && steps.seen >= f.step || f.arm != nil && err != nil)
	f.met = "the update went well"
	if err != nil {
		f.met = "the update failed"
	}
	if !f.struck {
		f.met += fmt.Sprintf(", without the fault: of %d steps; %v", steps.seen, problem)
	}
}

// apiAnswers waits until an API server that was killed is back: what keeps it takes
// the longer to start it again the more often it has ended.
func (e *env) apiAnswers() {
	e.Helper()
	e.eventually(2*time.Minute, func() error {
		_, err := e.reader().Kubernetes.Discovery().ServerVersion()
		return err
	})
}

// again is what a user does after a fault.
func (e *env) again() (string, error) {
	out, err := e.rehearsing(string(e.dir), "pulumi", "up", "--yes", "--skip-preview").CombinedOutput()
	return string(out), err
}

// stepLine is what the engine prints when an operation begins.
var stepLine = regexp.MustCompile(`(?m)^.* (creating|updating|deleting|replacing) \(0s\)`)

// stepCounter follows the engine's output and does something once at a step.
type stepCounter struct {
	at   int
	then func()

	seen int
	rest []byte
}

func (c *stepCounter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		c.rest = rest
		if !stepLine.Match(line) {
			continue
		}
		if c.seen++; c.seen == c.at {
			c.then()
		}
	}
}
