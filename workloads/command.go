package workloads

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"

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
	if strings.HasSuffix(command, `\`) {
		return nil, errors.New("ends with a backslash, with which bash would quote what KubeRay puts after it; leave it out")
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
		for _, variable := range variables(word) {
			if w.sets(variable) {
				lost = append(lost, variable)
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("bash would put in %s in the submitter's pod, which lacks it; write it in single quotes, '$%s', and the head puts it in",
		strict.List(lost), lost[0])
}

// variables lists those that bash puts in for a word.
func variables(word *syntax.Word) []string {
	var names []string
	syntax.Walk(word, func(node syntax.Node) bool {
		if p, ok := node.(*syntax.ParamExp); ok && p.Param != nil {
			names = append(names, p.Param.Value)
		}
		for _, operand := range operands(node) {
			// In arithmetic a name is a variable without a $ too.
			if w, ok := operand.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				names = append(names, w.Lit())
			}
		}
		return true
	})
	return names
}

// operands lists what the node computes with.
func operands(node syntax.Node) []syntax.ArithmExpr {
	switch n := node.(type) {
	case *syntax.ArithmExp:
		return []syntax.ArithmExpr{n.X}
	case *syntax.ArithmCmd:
		return []syntax.ArithmExpr{n.X}
	case *syntax.BinaryArithm:
		return []syntax.ArithmExpr{n.X, n.Y}
	case *syntax.UnaryArithm:
		return []syntax.ArithmExpr{n.X}
	case *syntax.ParenArithm:
		return []syntax.ArithmExpr{n.X}
	case *syntax.ParamExp:
		if n.Slice == nil {
			return []syntax.ArithmExpr{n.Index}
		}
		return []syntax.ArithmExpr{n.Index, n.Slice.Offset, n.Slice.Length}
	}
	return nil
}

// sets says whether the variable is one that head and workers are given, and the submitter is not.
func (w Workload) sets(variable string) bool {
	_, own := w.Env[variable]
	return own || strings.HasPrefix(variable, reservedEnv) || slices.Contains([]string{aks.KeyStorageAccount, aks.KeyLocation, pythonPath}, variable)
}

func parse(lang syntax.LangVariant, line string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
}

// place is where the parser stopped: in a line that the user has not written.
var place = regexp.MustCompile(`^\d+:\d+: `)

// reason is what the parser says, without the place.
func reason(err error) string { return place.ReplaceAllString(err.Error(), "") }
