package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A comment has at most 65536 bytes, and holds the previews of all stacks.
const (
	// mostBytes is what one preview may take; what is cut is the end, and what
	// would be lost stands at the beginning.
	mostBytes = 8500
	// mostRows and mostPaths are what one table shows, and one row of it.
	mostRows, mostPaths = 50, 5
	// mostOfMessage is what of a message is shown.
	mostOfMessage = 4000
)

// marker is how the comment on a stack is found again, to be updated.
func marker(stack string) string { return "<!-- preview of stack " + stack + " -->" }

// comment writes the preview in Markdown.
func (p preview) comment(stack, against string) string {
	var b strings.Builder
	title := "Preview of `" + stack + "`"
	if against != "" {
		title += ", rehearsed against `" + against + "`"
	}
	fmt.Fprintf(&b, "%s\n### %s: %s\n", marker(stack), title, p.summary())
	if err := p.verdict(); err != nil {
		fmt.Fprintf(&b, "\n> [!CAUTION]\n> %s\n", strings.ReplaceAll(err.Error(), "\n", "\n> "))
	}
	for _, d := range p.errors() {
		fmt.Fprintf(&b, "\n%s", fenced(d.Message))
	}
	for _, kind := range kinds {
		steps := p.of(kind.ops)
		if len(steps) == 0 {
			continue
		}
		if kind.open {
			fmt.Fprintf(&b, "\n**%s (%d)**\n\n%s", kind.title, len(steps), table(steps))
			continue
		}
		fmt.Fprintf(&b, "\n<details><summary>%s (%d)</summary>\n\n%s\n</details>\n", kind.title, len(steps), table(steps))
	}
	return within(b.String(), mostBytes)
}

// within cuts a comment at the end of a line, and closes what is open there.
func within(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:strings.LastIndexByte(text[:most], '\n')+1]
	if strings.Count(text, "\n```")%2 == 1 {
		text += "```\n"
	}
	if strings.Count(text, "<details>") > strings.Count(text, "</details>") {
		text += "\n</details>\n"
	}
	return text + "\n… and more, which is in the log of the run\n"
}

// summary counts what would be done.
func (p preview) summary() string {
	if len(p.errors()) > 0 {
		return "failed"
	}
	var counts []string
	for _, kind := range kinds {
		if n := len(p.of(kind.ops)); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ToLower(kind.title)))
		}
	}
	if len(counts) == 0 {
		return "no changes"
	}
	return strings.Join(counts, ", ")
}

// table lists resources with their reasons.
func table(steps []step) string {
	var b strings.Builder
	b.WriteString("| resource | type | because of |\n|---|---|---|\n")
	for _, s := range steps[:min(mostRows, len(steps))] {
		reasons := s.DiffReasons
		if len(s.ReplaceReasons) > 0 {
			reasons = s.ReplaceReasons
		}
		more := ""
		if n := len(reasons) - mostPaths; n > 0 {
			reasons, more = reasons[:mostPaths], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "| %s | %s | %s%s |\n", code(s.URN.Name()), code(string(s.URN.Type())), code(strings.Join(reasons, ", ")), more)
	}
	if n := len(steps) - mostRows; n > 0 {
		fmt.Fprintf(&b, "\n… and %d more\n", n)
	}
	return b.String()
}

// code writes a text as code in a cell, whatever is in it.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`, "\n", " ").Replace(text) + "`"
}

// colors are the engine's marks for a terminal.
var colors = regexp.MustCompile(`<\{%[^%]*%\}>|\x1b\[[0-9;]*m`)

// fenced writes a message as it is, in a fence that nothing in it can close.
func fenced(message string) string {
	message = strings.TrimSpace(colors.ReplaceAllString(message, ""))
	if len(message) > mostOfMessage {
		message = strings.ToValidUTF8(message[:mostOfMessage], "") + "\n…"
	}
	fence := "```"
	for strings.Contains(message, fence) {
		fence += "`"
	}
	return fence + "text\n" + message + "\n" + fence + "\n"
}
