package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// service is what a caller inside the cluster knows of a RayService.
type service struct {
	client *http.Client
	// url is that of Ray Serve's own Service, without a path.
	url, token string
}

// served waits until the RayService of the workload is ready.
func (e *env) served(workload string, within time.Duration) *service {
	e.Helper()
	reader := e.reader()
	var namespace string
	e.eventually(within, func() error {
		services, err := reader.Ray.RayV1().RayServices("").List(e.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, s := range services.Items {
			if s.Name != workload {
				continue
			}
			namespace = s.Namespace
			if !apimeta.IsStatusConditionTrue(s.Status.Conditions, string(rayv1.RayServiceReady)) {
				return fmt.Errorf("%s is not ready, %v: %w", workload, s.Status.Conditions, errNotYet)
			}
			return nil
		}
		return fmt.Errorf("%d RayServices, none of %s: %w", len(services.Items), workload, errNotYet)
	})
	token := e.outputs().ServiceTokens[workload]
	if token == "" {
		e.Fatalf("the stack has no token for %s", workload)
	}
	return &service{client: e.insider(), url: fmt.Sprintf("http://%s-serve-svc.%s.svc:8000", workload, namespace), token: token}
}

// insider answers a client that reaches the cluster's Services as pods do.
func (e *env) insider() *http.Client {
	e.Helper()
	sockets, err := e.dir.Sockets()
	must(e.T, err)
	found, err := filepath.Glob(filepath.Join(sockets, "*-egress.sock"))
	must(e.T, err)
	if len(found) != 1 {
		e.Fatalf("ways into the cluster: %v", found)
	}
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "egress"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", found[0])
		},
	}}
}

// outputs are those of the stack that tests need, secret ones among them.
type outputs struct {
	Kubeconfig string `json:"kubeconfig"`
	// ServiceTokens and Runs are by workload.
	ServiceTokens map[string]string `json:"serviceTokens"`
	Runs          map[string]struct {
		// ID is the run id, under which results lie.
		ID string `json:"id"`
	} `json:"runs"`
}

func (e *env) outputs() (o outputs) {
	e.Helper()
	must(e.T, json.Unmarshal([]byte(e.pulumi("stack", "output", "--json", "--show-secrets")), &o))
	return o
}

// ask sends a request, decodes its answer into answer, and answers its status.
func (s *service) ask(e *env, path, token string, body, answer any) int {
	e.Helper()
	method, payload := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		payload, err = json.Marshal(body)
		must(e.T, err)
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(e.Context(), method, s.url+path, bytes.NewReader(payload))
	must(e.T, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	must(e.T, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(e.T, err)
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			e.Errorf("%s answers %d %q: %v", path, response.StatusCode, text, err)
		}
	}
	return response.StatusCode
}

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// checkServedAs asks the service what the batch was asked; it must answer the
// same, with the same adapter, and only to those who have the token.
func (e *env) checkServedAs(s *service, adapter any, predictions string) {
	e.Helper()
	var health struct {
		Adapter struct {
			Digest string `json:"digest"`
		} `json:"adapter"`
	}
	if status := s.ask(e, "/llm/health", "", nil, &health); status != http.StatusOK || health.Adapter.Digest != adapter {
		e.Errorf("health: %d, adapter %q, want %v", status, health.Adapter.Digest, adapter)
	}
	const path = "/llm/v1/chat/completions"
	for _, token := range []string{"", "wrong" + s.token} {
		if status := s.ask(e, path, token, map[string]any{}, nil); status != http.StatusUnauthorized {
			e.Errorf("with the token %q it answers %d", token, status)
		}
	}
	asked := e.conversations()
	rows := lines[struct{ Prompt, Generated string }](e, predictions)
	if len(rows) == 0 {
		e.Fatalf("%s has no row", predictions)
	}
	for _, row := range rows[:min(3, len(rows))] {
		var answer struct {
			Choices []struct{ Message message }
		}
		body := map[string]any{"model": "Qwen2.5-7B-Instruct", "messages": asked[row.Prompt]}
		if status := s.ask(e, path, s.token, body, &answer); status != http.StatusOK || len(answer.Choices) != 1 {
			e.Errorf("%q: %d, %d choices", row.Prompt, status, len(answer.Choices))
		} else if got := answer.Choices[0].Message.Content; got != row.Generated {
			e.Errorf("%q: the service answers %q, the batch %q", row.Prompt, got, row.Generated)
		}
	}
}

// conversations are those of the staged test data, without their last message,
// by what the user says in them.
func (e *env) conversations() map[string][]message {
	e.Helper()
	staged, err := filepath.Glob(e.dir.Join("storage", "llm-pipeline", "data", "viggo", "*", "test.jsonl"))
	must(e.T, err)
	if len(staged) != 1 {
		e.Fatalf("the staged test data: %v", staged)
	}
	found := map[string][]message{}
	for _, row := range lines[struct{ Messages []message }](e, staged[0]) {
		asked := row.Messages[:len(row.Messages)-1]
		found[asked[len(asked)-1].Content] = asked
	}
	return found
}

// lines reads a file of one JSON object a line.
func lines[T any](e *env, path string) []T {
	e.Helper()
	data, err := os.ReadFile(path)
	must(e.T, err)
	var all []T
	for line := range bytes.Lines(data) {
		var one T
		must(e.T, json.Unmarshal(line, &one))
		all = append(all, one)
	}
	return all
}
