package workloads

import "strings"

// literal writes a text so that Kubernetes, which takes $$ for $ and puts in what $(NAME) stands for, makes that text of it again. It does
// so in the values of variables and in the arguments of containers, and nowhere else.
// https://github.com/kubernetes/kubernetes/blob/v1.35.3/third_party/forked/golang/expansion/expand.go
func literal(text string) string {
	var doubled strings.Builder
	for i := range len(text) {
		doubled.WriteByte(text[i])
		if text[i] == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '(') {
			doubled.WriteByte('$')
		}
	}
	return doubled.String()
}
