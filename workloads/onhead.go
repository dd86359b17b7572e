package workloads

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"ray-on-aks/internal/strict"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// checkOnHead refuses words that are not the same command any more once Ray has joined them for the shell on the head: it quotes blanks
// alone.
func checkOnHead(words []*syntax.Word) error {
	fields, line, err := onHead(words)
	switch {
	case err == nil:
		return nil
	case line == "":
		return err
	default:
		return fmt.Errorf("bash takes the quotes off, and the shell on the head is given %q, %w%s", line, err, twiceQuoted(fields))
	}
}

// HeadCommand returns the line that the shell on the head is given of a job's command, when bash has read it in the submitter's pod and Ray
// has joined its words. An error says why that is not the same command; such a one is refused at preview.
func HeadCommand(entrypoint string) (string, error) {
	words, err := submitted(strings.TrimSpace(entrypoint))
	if err != nil {
		return "", err
	}
	_, line, err := onHead(words)
	return line, err
}

// onHead returns what bash makes of the words, and the line that the shell on the head is given.
func onHead(words []*syntax.Word) (fields []string, line string, err error) {
	fields, err = expanded(words)
	if err != nil {
		return nil, "", err
	}
	line = joined(fields)
	return fields, line, checkLine(line, len(fields))
}

// checkLine refuses a line that to the shell on the head is another command than one of so many words. It may put in variables.
func checkLine(line string, words int) error {
	file, err := parse(syntax.LangPOSIX, line)
	if err != nil {
		return fmt.Errorf("which it refuses: %s", reason(err))
	}
	apart := errors.New("which to it is not one command of these words")
	if len(file.Stmts) != 1 || len(file.Stmts[0].Redirs) > 0 {
		return apart
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	// What is no part of the call lies around it: what ends a command or negates it, and comments.
	if !ok || len(call.Assigns)+len(call.Args) != words || call.Pos().Offset() != 0 || int(call.End().Offset()) != len(line) {
		return apart
	}
	return nil
}

// expanded returns what bash makes of the words in the submitter's pod, as far as that is known here.
func expanded(words []*syntax.Word) ([]string, error) {
	env := &submitterEnv{set: map[string]expand.Variable{}}
	fields, err := expand.Fields(&expand.Config{
		Env: env,
		// What a command puts in is not known here, and taken for a plain word.
		CmdSubst: func(out io.Writer, _ *syntax.CmdSubst) error {
			_, err := io.WriteString(out, "x")
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) {
			return "", errors.New("the head cannot read what a process there writes")
		},
	}, words...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("bash cannot expand it in the submitter's pod: %w", err)
	case len(env.homes) > 0:
		return nil, fmt.Errorf("bash would put in the home of %s in the submitter's pod; write it in single quotes, '~%s', and the head puts it in",
			strict.List(env.homes), env.homes[0])
	}
	return fields, nil
}

// submitterEnv is the submitter's environment, of which nothing is known but what the command itself sets.
type submitterEnv struct {
	set map[string]expand.Variable
	// homes are the users whose home the command asks for.
	homes []string
}

// homeOf begins the name by which the home of another user is asked for. What the environment does not answer is looked up among the users
// of this machine, which are not those of the pod.
const homeOf = "HOME "

// Get returns the variable of that name.
func (e *submitterEnv) Get(name string) expand.Variable {
	if user, ok := strings.CutPrefix(name, homeOf); ok {
		e.homes = append(e.homes, user)
		return expand.Variable{Set: true, Kind: expand.String, Str: "~" + user}
	}
	return e.set[name]
}

// Each calls f for all variables that are set.
func (e *submitterEnv) Each(f func(name string, variable expand.Variable) bool) {
	for name, variable := range e.set {
		if !f(name, variable) {
			return
		}
	}
}

// Set keeps what the command sets, as ${X:=y} does.
func (e *submitterEnv) Set(name string, variable expand.Variable) error {
	e.set[name] = variable
	return nil
}

// twiceQuoted suggests the words with quotes that are left when bash has taken off a pair, around those that need some on the head.
func twiceQuoted(fields []string) string {
	words := make([]string, len(fields))
	for i, word := range fields {
		var err error
		if !isWord(word) {
			if strings.ContainsAny(word, "$`\"") {
				// A second pair would keep the head from putting in a variable, and a double quote is escaped by Ray itself.
				return ""
			}
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

// isWord says whether the shell on the head takes what Ray makes of the word for one.
func isWord(word string) bool { return checkLine(joined([]string{"x", word, "x"}), 3) == nil }

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
