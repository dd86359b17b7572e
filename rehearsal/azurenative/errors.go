package azurenative

import (
	"fmt"
	"net/http"
)

// armError is a refusal as Azure Resource Manager words it.
type armError struct {
	status  int
	code    string
	message string
}

// Error names the emulator first, so that nobody takes it for Azure.
func (e armError) Error() string {
	return fmt.Sprintf("emulated azure-native: Status=%d Code=%q Message=%q", e.status, e.code, e.message)
}

func refuse(status int, code, format string, args ...any) error {
	return armError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func notFound(code, format string, args ...any) error {
	return refuse(http.StatusNotFound, code, format, args...)
}

func conflict(code, format string, args ...any) error {
	return refuse(http.StatusConflict, code, format, args...)
}

func badRequest(code, format string, args ...any) error {
	return refuse(http.StatusBadRequest, code, format, args...)
}
