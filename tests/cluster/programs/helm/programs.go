//go:build programs

// Package programs names what is built from this module.
package programs

import (
	_ "helm.sh/helm/v3/cmd/helm"
)
