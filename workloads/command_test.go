package workloads

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/common"
)

// submitLine is what the submitter's bash runs for a command.
func submitLine(t *testing.T, command string) string {
	t.Helper()
	words, err := common.BuildJobSubmitCommand(&rayv1.RayJob{
		Spec:   rayv1.RayJobSpec{Entrypoint: command, RayClusterSpec: &rayv1.RayClusterSpec{}},
		Status: rayv1.RayJobStatus{JobId: "j", DashboardURL: "http://a"},
	}, rayv1.K8sJobMode)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(words, " ")
}

// accepted are commands that reach Ray whole, with the line that the shell on the head is then given.
var accepted = map[string]string{
	`python /app/train.py --epochs 3`:        `python /app/train.py --epochs 3`,
	`  python a.py  `:                        `python a.py`,
	"python a.py \\\n --x":                   `python a.py --x`,
	`python -c "print('it works')"`:          `python -c "print('it works')"`,
	`python 'a b.py' --x=\"`:                 `python "a b.py" --x=\"`,
	`python a.py ''`:                         `python a.py ""`,
	`python -c "'print(1)'"`:                 `python -c 'print(1)'`,
	`bash -c 'cd /app && python a.py > log'`: `bash -c "cd /app && python a.py > log"`,
	`bash -c 'echo "a b" | cat'`:             `bash -c "echo \"a b\" | cat"`,
	`A=1 python a.py --out '$RUN_OUTPUT'`:    `A=1 python a.py --out $RUN_OUTPUT`,
	`time python a.py`:                       `time python a.py`,
	`python a.py "'x\'" 'y \'`:               `python a.py 'x\' "y \\"`,
	`python a.py "'--x=a;b'"`:                `python a.py '--x=a;b'`,
	"python -c 'import x\nx.main()'":         "python -c \"import x\nx.main()\"",
	`python a.py ${HOMEPAGE:=y} $((1 + 2))`:  `python a.py y 3`,
	`python a.py '~root/x'`:                  `python a.py ~root/x`,
}

func TestCommandsThatReachRay(t *testing.T) {
	for command, want := range accepted {
		if err := running(command).checkCommand("w"); err != nil {
			t.Error(err)
			continue
		}
		words, err := submitted(strings.TrimSpace(command))
		if err != nil {
			t.Fatal(err)
		}
		if _, line, err := onHead(words); err != nil || line != want {
			t.Errorf("%s: the head is given %s, want %s (%v)", command, line, want, err)
		}
	}
}

func TestCommandsThatBashTakesApart(t *testing.T) {
	const kept = "bash would hand only its first command to Ray, and keep the rest and all redirections in the submitter's pod"
	for command, want := range map[string]string{
		" \t":                      `w.entrypoint: has no command in it, got " \t"`,
		`(`:                        `bash would refuse it: `,
		`python a.py )`:            `bash would refuse it: `,
		`python -c 'print(1)`:      `bash would refuse it: reached EOF without closing quote`,
		`python -c "print(1)`:      `bash would refuse it: reached EOF without closing quote`,
		`python a.py &&`:           `bash would refuse it: `,
		`python a.py |`:            `bash would refuse it: `,
		`python a.py ;;`:           `bash would refuse it: `,
		`python a.py <<EOF`:        `bash would `,
		`echo $(`:                  `bash would refuse it: `,
		`python a.py ;`:            `bash would refuse it within KubeRay's line: `,
		`python a.py &`:            `bash would refuse it within KubeRay's line: `,
		`python a.py # quickly`:    `has a comment, which would take in the rest of KubeRay's line; leave it out`,
		`cd /app && python a.py`:   kept + `; did you mean bash -c 'cd /app && python a.py'?`,
		`python a.py | tee log`:    kept + `; did you mean bash -c 'python a.py | tee log'?`,
		`python a.py > log`:        kept + `; did you mean bash -c 'python a.py > log'?`,
		"python a.py\npython b.py": kept,
		`python a.py ; fi ; if true ; then python b.py`: kept,
		`python a.py ; else python b.py`:                kept,
		`python a.py \`:                                 `ends with a backslash, with which bash would quote what KubeRay puts after it; leave it out`,
		"python a.py \\\n":                              `ends with a backslash`,
		`for i in 1 2; do python a.py; done`:            `bash would refuse it within KubeRay's line: `,
		`python a.py $RUN_OUTPUT`:                       `bash would put in RUN_OUTPUT in the submitter's pod, which lacks it; write it in single quotes, '$RUN_OUTPUT', and the head puts it in`,
		`python a.py "${MINE}/x"`:                       `bash would put in MINE in the submitter's pod`,
		`python a.py $STORAGE_ACCOUNT`:                  `bash would put in STORAGE_ACCOUNT in`,
		`python -c 'print(1)'`:                          `the shell on the head is given "python -c print(1)", which it refuses: `,
		"python -c 'x(\ny'":                             `the shell on the head is given "python -c x(\ny", which it refuses: `,
		`python a.py --a='(1)' b`:                       `; did you mean python a.py "'--a=(1)'" b?`,
		`python a.py <(echo 1)`:                         `bash cannot expand it in the submitter's pod: `,
		`python a.py $((MINE+1))`:                       `bash would put in MINE in the submitter's pod`,
		`python a.py $(( (-MINE) ))`:                    `bash would put in MINE in the submitter's pod`,
		`python a.py ${x:MINE}`:                         `bash would put in MINE in the submitter's pod`,
		`python a.py ${x[MINE]}`:                        `bash would put in MINE in the submitter's pod`,
		`python a.py ~root/x`:                           `bash would put in the home of root in the submitter's pod; write it in single quotes, '~root', and the head puts it in`,
		`python a.py {~nobody/x,y}`:                     `bash would put in the home of nobody in the submitter's pod`,
	} {
		w := running(command)
		w.Env = map[string]string{"MINE": "x"}
		if err := w.checkCommand("w"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got: %v", command, want, err)
		} else if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "w.entrypoint: ") {
			t.Errorf("%q: a line without a path: %v", command, err)
		}
	}
}

// TestCommandsThatTheHeadTakesApart: Ray joins the words for a shell on the head, which must find the same words again.
func TestCommandsThatTheHeadTakesApart(t *testing.T) {
	const apart = `, which to it is not one command of these words`
	for command, want := range map[string]string{
		`python a.py --x='a;b'`:        `"python a.py --x=a;b"` + apart + `; did you mean python a.py "'--x=a;b'"?`,
		`python a.py --x='a;'`:         apart + `; did you mean python a.py "'--x=a;'"?`,
		`python a.py --filter='a|b' c`: apart + `; did you mean python a.py "'--filter=a|b'" c?`,
		`python a.py '#1' --epochs 3`:  apart + `; did you mean python a.py "'#1'" --epochs 3?`,
		`python a.py --x='a&b'`:        apart + `; did you mean python a.py "'--x=a&b'"?`,
		`python a.py '&'`:              apart + `; did you mean python a.py "'&'"?`,
		`python a.py 'a>b' c`:          apart + `; did you mean python a.py "'a>b'" c?`,
		`python a.py 'x\' 'y \'`:       apart + `; did you mean python a.py "'x\\'" 'y \'?`,
		"python a.py 'a\nb'":           `"python a.py a\nb"` + apart,
		"python a.py 'a\n'":            apart,
		`python '$RUN_OUTPUT' 'a;b'`:   apart + `; did you mean python '$RUN_OUTPUT' "'a;b'"?`,
		`python a.py '$RUN_OUTPUT;b'`:  apart,
		`'{' python a.py`:              `which it refuses: `,
		`if`:                           `"if", which it refuses: `,
		`'!' python a.py`:              apart,
		`python a.py '";'`:             apart,
	} {
		err := running(command).checkCommand("w")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: want %q, got: %v", command, want, err)
			continue
		}
		if got, _, suggests := strings.Cut(want, "; did you mean "); !suggests && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: a suggestion beyond %q: %v", command, got, err)
		}
	}
}

// TestTheLineIsKubeRays runs the line that KubeRay makes of each command, in the shells that Ray and KubeRay use: what Ray is given is what
// was written.
func TestTheLineIsKubeRays(t *testing.T) {
	if want := lineBefore + "python a.py" + lineAfter; strings.ReplaceAll(submitLine(t, "python a.py"), "http://a", "a") != want {
		t.Errorf("KubeRay's line is %s, and commands are checked in %s", submitLine(t, "python a.py"), want)
	}
	// A stand-in for ray: no job is known, and a submission prints its words.
	const ray = `ray() { case $2 in status) return 1;; submit) while [ "$1" != -- ]; do shift; done; shift; printf '<%s>' "$@";; esac; }; `
	for command := range accepted {
		words, err := submitted(strings.TrimSpace(command))
		if err != nil {
			t.Fatal(err)
		}
		fields, line, err := onHead(words)
		if err != nil {
			t.Fatal(err)
		}
		onHead := exec.Command("sh", "-c", "set -- "+line+"\necho $#")
		onHead.Env = []string{"RUN_OUTPUT=x"}
		if out, err := onHead.Output(); err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(len(fields)) {
			t.Errorf("%s: the head's shell finds %s words in %s, want %d (%v)", command, out, line, len(fields), err)
		}
		out, err := exec.Command("bash", "-ce", "--", ray+submitLine(t, command)).Output()
		if want := "<" + strings.Join(fields, "><") + ">"; err != nil || string(out) != want {
			t.Errorf("%s: Ray is given %s, want %s (%v)", command, out, want, err)
		}
	}
}

// TestJoinedIsPythons compares with what Ray calls.
func TestJoinedIsPythons(t *testing.T) {
	words := []string{"", "a b", `a"b`, `\`, `a\`, `a \`, `\"`, `\\" c`, "it's", "tab\there", `a\b`}
	code := "import subprocess, sys; print(subprocess.list2cmdline(sys.argv[1:]), end='')"
	for _, w := range append([][]string{words}, slices.Collect(slices.Chunk(words, 1))...) {
		out, err := exec.Command("python3", append([]string{"-c", code}, w...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := joined(w); got != string(out) {
			t.Errorf("%q: got %s, Python says %s", w, got, out)
		}
	}
}
