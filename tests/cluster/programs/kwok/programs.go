//go:build programs

// Package programs names what is built from this module.
package programs

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
