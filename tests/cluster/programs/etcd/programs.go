//go:build programs

// Package programs names what is built from this module.
package programs

import (
	_ "go.etcd.io/etcd/server/v3"
)
