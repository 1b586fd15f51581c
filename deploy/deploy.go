// Package deploy holds what an operator runs on a machine; its folders hold
// the stack of real servers, the commands and the image builds.
package deploy

import _ "embed"

// InstallScript is install.sh: it brings the programs of the real stack to a
// Debian machine.
//
//go:embed install.sh
var InstallScript string
