package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// patience is how long the cluster may not answer.
const patience = 5 * time.Minute

// Run is a run of a workload as a stack's outputs name it.
type Run struct {
	// Name and Namespace are those of the object in the cluster.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Kind is RayJob or RayService.
	Kind string `json:"kind"`
	// Result is the address of what the run writes; "" where it writes nothing.
	Result string `json:"result"`
}

// Waiter waits for a run.
type Waiter struct {
	// Reader reads the cluster.
	Reader *Reader
	// Workload is the run's name in the stack's configuration.
	Workload string
	// Run is what is waited for.
	Run Run
	// Interval is the time between two looks.
	Interval time.Duration
	// Progress gets a line whenever something has changed.
	Progress io.Writer

	told map[string]string
}

// view is what one look showed.
type view struct {
	// news are what there is to tell, by topic, in order.
	news []news
	// ended says that waiting longer makes no sense; failure why it is no success.
	ended   bool
	failure error
}

type news struct{ topic, text string }

func (s *view) say(topic, format string, args ...any) {
	s.news = append(s.news, news{topic, fmt.Sprintf(format, args...)})
}

// Wait returns nil once the job has succeeded or the service is ready, and an
// error that says what became of it and what to do otherwise. It ends with ctx.
func (w *Waiter) Wait(ctx context.Context) error {
	look, err := w.looker()
	if err != nil {
		return err
	}
	w.told = map[string]string{}
	start, answered, last := time.Now(), time.Now(), "nothing is known of it"
	seen := false
	for {
		s, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return w.stopped(ctx, time.Since(start), last)
		case w.isGone(err):
			return w.missing(seen)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("%s: these credentials may not look: %w", w.Workload, err)
		case err != nil:
			w.tell(news{"cluster", fmt.Sprintf("the cluster does not answer: %v", err)})
			if time.Since(answered) > patience {
				return fmt.Errorf("%s: the cluster has not answered for %s: %w", w.Workload, patience, err)
			}
		default:
			seen, answered = true, time.Now()
			w.tell(news{topic: "cluster"})
			var texts []string
			for _, n := range s.news {
				w.tell(n)
				texts = append(texts, n.text)
			}
			last = strings.Join(texts, "; ")
			if s.ended {
				return s.failure
			}
		}
		select {
		case <-ctx.Done():
			return w.stopped(ctx, time.Since(start), last)
		case <-time.After(w.Interval):
		}
	}
}

// looker answers how to look at the run.
func (w *Waiter) looker() (func(context.Context) (view, error), error) {
	switch w.Run.Kind {
	case "RayJob":
		return w.lookAtJob, nil
	case "RayService":
		return w.lookAtService, nil
	}
	return nil, fmt.Errorf("%s is of kind %q; only a RayJob or a RayService can be waited for", w.Workload, w.Run.Kind)
}

// tell writes the text if the topic's last one was another. An empty text
// forgets the topic.
func (w *Waiter) tell(n news) {
	if w.told[n.topic] == n.text {
		return
	}
	w.told[n.topic] = n.text
	if n.text != "" {
		fmt.Fprintf(w.Progress, "%s %s: %s\n", time.Now().Format(time.TimeOnly), w.Workload, n.text)
	}
}

func (w *Waiter) object() string { return w.Run.Kind + " " + w.Run.Namespace + "/" + w.Run.Name }

// isGone tells that the run's object is not there from an API that is not there.
func (w *Waiter) isGone(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == w.Run.Name
}

func (w *Waiter) missing(seen bool) error {
	if seen {
		return fmt.Errorf("%s: %s was deleted while it was waited for; run pulumi up to make it again", w.Workload, w.object())
	}
	return fmt.Errorf("%s: there is no %s; it was deleted, or its creation failed: run pulumi up, with --refresh if it changes nothing",
		w.Workload, w.object())
}

func (w *Waiter) stopped(ctx context.Context, after time.Duration, last string) error {
	why := "the wait was interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the deadline has passed"
	}
	return fmt.Errorf("%s: %s after %s; the last that was seen: %s. %s goes on without this command; to wait on, run it again",
		w.Workload, why, after.Round(time.Second), last, w.object())
}
