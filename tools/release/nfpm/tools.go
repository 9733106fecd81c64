// SPDX-License-Identifier: Apache-2.0

//go:build tools

// The program that makes .deb and .rpm of one description (../package.yaml), with all that it is made of, by checksum.
package nfpm

import _ "github.com/goreleaser/nfpm/v2/cmd/nfpm"
