package realray

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"mvdan.cc/sh/v3/shell"

	"ray-on-aks/rehearsal/freeport"
	"ray-on-aks/rehearsal/process"
)

// objectStore is small, in bytes: Ray's default is a share of the memory of a
// pod that this machine does not have. Ray takes no less than 75 MiB.
const objectStore = 100 << 20

// node is a pod's node of Ray.
type node struct {
	pod *corev1.Pod
	// flags are those that KubeRay starts the node with.
	flags map[string]string
	// paths lead from the pod's mounts to folders of this machine.
	paths map[string]string
	env   map[string]string
	// gcs is the address of the cluster's head, dashboard that of its dashboard.
	gcs, dashboard string
	// ports are the node's own, by the flag that gives one. Each is given: a
	// raylet that has to be told by its agent gives up after some seconds, which
	// are few for a busy machine.
	ports map[string]string
	// serve is the port of the cluster's Serve proxy.
	serve string
	// temp takes Ray's own files, and scratch what the programs put on the pod's
	// disk; both go with the pod.
	temp, scratch string
	// began is when it was started; listened says that it has come up.
	began    time.Time
	listened bool
	process  *process.Process
}

// newNode gives the node ports of its own and, without a head, a cluster.
func newNode(pod *corev1.Pod, head *node, paths, env map[string]string) (*node, error) {
	flags, err := startFlags(env[rayutils.KUBERAY_GEN_RAY_START_CMD])
	if err != nil {
		return nil, err
	}
	ports, err := freeport.Find(len(portFlags) + 4)
	if err != nil {
		return nil, err
	}
	n := &node{pod: pod, flags: flags, paths: paths, env: env, ports: map[string]string{}}
	for i, flag := range portFlags {
		n.ports[flag] = ports[i]
	}
	if head != nil {
		n.gcs, n.dashboard, n.serve = head.gcs, head.dashboard, head.serve
		return n, nil
	}
	ports = ports[len(portFlags):]
	n.gcs, n.dashboard, n.serve = "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1], ports[2]
	n.ports["ray-client-server-port"] = ports[3] // heads alone have that server
	return n, nil
}

// portFlags are the ports that each node of Ray listens at.
var portFlags = []string{
	"dashboard-agent-grpc-port", "dashboard-agent-listen-port", "metrics-export-port", "node-manager-port", "object-manager-port",
	"runtime-env-agent-port",
}

// startFlags reads the flags of the command that KubeRay has made for the pod.
func startFlags(command string) (map[string]string, error) {
	words, err := shell.Fields(command, func(string) string { return "" })
	if err != nil || len(words) < 2 || words[0] != "ray" || words[1] != "start" {
		return nil, fmt.Errorf("KubeRay's command %q is no `ray start`: %w", command, err)
	}
	flags := map[string]string{}
	for i := 2; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value = words[i]
		}
		flags[strings.TrimPrefix(name, "--")] = value
	}
	return flags, nil
}

// args are KubeRay's, but for what belongs to a machine of the pod's own: its
// addresses, ports and folders.
func (n *node) args() []string {
	flags := maps.Clone(n.flags)
	maps.Copy(flags, map[string]string{
		"block": "", "disable-usage-stats": "", "node-ip-address": "127.0.0.1",
		"object-store-memory": strconv.Itoa(objectStore),
	})
	maps.Copy(flags, n.ports)
	if isHead(n.pod) {
		host, port, _ := strings.Cut(n.dashboard, ":")
		flags["dashboard-host"], flags["dashboard-port"] = host, port
		_, flags["port"], _ = strings.Cut(n.gcs, ":")
		flags["temp-dir"] = n.temp
		flags["include-dashboard"] = "true"
	} else {
		flags["address"] = n.gcs
	}
	args := []string{"start"}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if flags[name] == "" {
			args = append(args, "--"+name)
		} else {
			args = append(args, "--"+name+"="+flags[name])
		}
	}
	return args
}

// environ is the pod's environment, with its paths on this machine, and what
// keeps a real Ray patient and to itself.
func (n *node) environ(python, mark string) []string {
	env := map[string]string{}
	for name, value := range n.env {
		env[name] = n.local(value)
	}
	delete(env, rayutils.KUBERAY_GEN_RAY_START_CMD)
	host, port, _ := strings.Cut(n.gcs, ":")
	maps.Copy(env, map[string]string{
		"PATH": filepath.Join(python, "bin") + ":/usr/local/bin:/usr/bin:/bin", "HOME": os.Getenv("HOME"), "LANG": "C.UTF-8",
		rayutils.RAY_ADDRESS: n.gcs, rayutils.FQ_RAY_IP: host, rayutils.RAY_IP: host, rayutils.RAY_PORT: port,
		// A node of two cores with many pods is slow to start.
		"RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "600", "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "600", "RAY_worker_register_timeout_seconds": "600",
		"RAY_agent_register_timeout_ms": "600000", "RAY_memory_monitor_refresh_ms": "0",
		// Workers are started when there is work: a pod has more CPUs than this machine.
		"RAY_prestart_worker_first_driver": "0",
	})
	// One thread a process, and no model is fetched, unless the pod says otherwise.
	for name, value := range map[string]string{
		"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
		"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
	} {
		if _, ok := env[name]; !ok {
			env[name] = value
		}
	}
	// The disk of the pod's node, where a program keeps copies.
	for _, prefix := range []string{"AURORA", "BATCH", "GPT2", "LLM", "SERVE", "STAGE"} {
		if name := prefix + "_SCRATCH"; env[name] == "" {
			env[name] = n.scratch
		}
	}
	list := []string{mark, n.mark()}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// up says whether the node has come up: then its dashboard, or a worker's agent,
// listens.
func (n *node) up() bool {
	if n.listened {
		return true
	}
	address := n.dashboard
	if !isHead(n.pod) {
		address = "127.0.0.1:" + n.ports["dashboard-agent-listen-port"]
	}
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	n.listened = true
	conn.Close()
	return true
}

// mark is in the environment of all that runs in the pod.
func (n *node) mark() string { return "REHEARSED_POD=" + string(n.pod.UID) }

// local puts folders of this machine in the place of the pod's.
func (n *node) local(text string) string {
	for _, path := range slices.Sorted(maps.Keys(n.paths)) {
		text = strings.ReplaceAll(text, path, n.paths[path])
	}
	return text
}
