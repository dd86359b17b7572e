package workloads

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// KubeRay pastes the command of a job between these, and the submitter's bash runs the line. What matters of it is its form: that of
// BuildJobSubmitCommand in KubeRay's controllers/ray/common/job.go, which a test holds this to.
const (
	lineBefore = "if ! ray job status --address a j >/dev/null 2>&1 ; then ray job submit --address a --no-wait --submission-id j -- "
	lineAfter  = " ; fi ; ray job logs --address a --follow j"
)

// checkCommand refuses what bash would refuse or take apart when the pods are up, and what Ray's shell on the head would.
func (w Workload) checkCommand(path string) error {
	if w.Entrypoint == "" {
		return nil
	}
	at, command := path+".entrypoint", strings.TrimSpace(w.Entrypoint)
	if command == "" {
		return fmt.Errorf("%s: has no command in it, got %q", at, w.Entrypoint)
	}
	words, err := submitted(command)
	if err == nil {
		err = w.checkVariables(words)
	}
	if err == nil {
		err = checkOnHead(words)
	}
	if err != nil {
		return fmt.Errorf("%s: got %q: %w", at, w.Entrypoint, err)
	}
	return nil
}

// submitted returns the words of the command that reach Ray, if that is all of them.
func submitted(command string) ([]*syntax.Word, error) {
	line, err := parse(syntax.LangBash, lineBefore+command+lineAfter)
	if err != nil {
		return nil, brokenLine(command, err)
	}
	if call := submission(line); call != nil && int(call.End().Offset()) == len(lineBefore+command) {
		i := slices.IndexFunc(call.Args, func(w *syntax.Word) bool { return w.Lit() == "--" })
		return call.Args[i+1:], nil
	}
	return nil, fmt.Errorf("bash would hand only its first command to Ray, and keep the rest and all redirections in the submitter's pod%s", inBash(command))
}

// submission returns the call of Ray in the line, if there is nothing in the line but what KubeRay puts there and the words of one command.
func submission(line *syntax.File) *syntax.CallExpr {
	if len(line.Stmts) != 2 {
		return nil
	}
	clause, ok := line.Stmts[0].Cmd.(*syntax.IfClause)
	if !ok || len(clause.Then) != 1 || clause.Else != nil {
		return nil
	}
	call, ok := clause.Then[0].Cmd.(*syntax.CallExpr)
	if !ok || len(clause.Then[0].Redirs) > 0 || clause.Then[0].Background {
		return nil
	}
	return call
}

// brokenLine says why bash refuses the line.
func brokenLine(command string, err error) error {
	alone, own := parse(syntax.LangBash, command)
	if own != nil {
		return fmt.Errorf("bash would refuse it: %s", reason(own))
	}
	commented := false
	syntax.Walk(alone, func(node syntax.Node) bool {
		_, comment := node.(*syntax.Comment)
		commented = commented || comment
		return true
	})
	if commented {
		return errors.New("has a comment, which would take in the rest of KubeRay's line; leave it out")
	}
	return fmt.Errorf("bash would refuse it within KubeRay's line: %s%s", reason(err), inBash(command))
}

// inBash suggests the command as one for a bash of its own, where that would do.
func inBash(command string) string {
	quoted, err := syntax.Quote(strings.TrimRight(command, "; \n"), syntax.LangBash)
	if err != nil {
		return ""
	}
	return suggested("bash -c " + quoted)
}

// suggested suggests the command if it would be accepted.
func suggested(command string) string {
	words, err := submitted(command)
	if err == nil {
		_, _, err = onHead(words)
	}
	if err != nil {
		return ""
	}
	return "; did you mean " + command + "?"
}

// checkVariables refuses variables of the run outside of single quotes: bash would put in what the submitter's pod has for them.
func (w Workload) checkVariables(words []*syntax.Word) error {
	var lost []string
	for _, word := range words {
		syntax.Walk(word, func(node syntax.Node) bool {
			if p, ok := node.(*syntax.ParamExp); ok && p.Param != nil && w.sets(p.Param.Value) {
				lost = append(lost, p.Param.Value)
			}
			return true
		})
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("bash would put in %s in the submitter's pod, which lacks it; write it in single quotes, '$%s', and the head puts it in",
		strict.List(lost), lost[0])
}

// sets says whether the variable is one that head and workers are given, and the submitter is not.
func (w Workload) sets(variable string) bool {
	_, own := w.Env[variable]
	return own || strings.HasPrefix(variable, reservedEnv) || slices.Contains([]string{aks.KeyStorageAccount, aks.KeyLocation, pythonPath}, variable)
}

// checkOnHead refuses words that are no command any more once Ray has joined them for the shell on the head: it quotes blanks alone.
func checkOnHead(words []*syntax.Word) error {
	fields, line, err := onHead(words)
	if err == nil {
		return nil
	}
	if line == "" {
		return fmt.Errorf("bash cannot expand it in the submitter's pod: %w", err)
	}
	return fmt.Errorf("bash takes the quotes off, and the shell on the head is given %s, which it refuses: %s%s", line, reason(err), twiceQuoted(fields))
}

// onHead returns what bash makes of the words, and the line that the shell on the head is given.
func onHead(words []*syntax.Word) (fields []string, line string, err error) {
	fields, err = expand.Fields(&expand.Config{
		// What a command puts in is not known here, and taken for a plain word.
		CmdSubst: func(out io.Writer, _ *syntax.CmdSubst) error {
			_, err := io.WriteString(out, "x")
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) {
			return "", errors.New("the head cannot read what a process there writes")
		},
	}, words...)
	if err != nil {
		return nil, "", err
	}
	line = joined(fields)
	_, err = parse(syntax.LangPOSIX, line)
	return fields, line, err
}

// twiceQuoted suggests the words with quotes that are left when bash has taken off a pair.
func twiceQuoted(fields []string) string {
	words := make([]string, len(fields))
	for i, word := range fields {
		var err error
		if !strings.ContainsAny(word, " \t\"") {
			word, err = syntax.Quote(word, syntax.LangPOSIX)
		}
		if err == nil {
			words[i], err = syntax.Quote(word, syntax.LangBash)
		}
		if err != nil {
			return ""
		}
	}
	return suggested(strings.Join(words, " "))
}

// joined is how Ray joins words, Python's subprocess.list2cmdline: an empty word and one with blanks is put in double quotes, and quotes
// within are escaped.
func joined(words []string) string {
	var line strings.Builder
	for i, word := range words {
		if i > 0 {
			line.WriteByte(' ')
		}
		quote := word == "" || strings.ContainsAny(word, " \t")
		if quote {
			line.WriteByte('"')
		}
		backslashes := 0
		for _, c := range word {
			switch c {
			case '\\':
				backslashes++
			case '"':
				// Those before a quote are doubled, and one more escapes it.
				line.WriteString(strings.Repeat(`\`, backslashes+1))
				backslashes = 0
			default:
				backslashes = 0
			}
			line.WriteRune(c)
		}
		if quote {
			line.WriteString(strings.Repeat(`\`, backslashes) + `"`)
		}
	}
	return line.String()
}

func parse(lang syntax.LangVariant, line string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
}

// place is where the parser stopped: in a line that the user has not written.
var place = regexp.MustCompile(`^\d+:\d+: `)

// reason is what the parser says, without the place.
func reason(err error) string { return place.ReplaceAllString(err.Error(), "") }
