#!/usr/bin/env bash
# Checks of the nested module service/, called by the repository's CI. It needs Go, the Go module proxy and, for the page's
# test, Chromium, which it installs where apt-get can. protoc is only needed where the protocol changes (go generate).
set -euo pipefail
cd "$(dirname "$0")"
export GOFLAGS="${GOFLAGS:-} -mod=readonly"

say() { printf '\n== service: %s (%ss)\n' "$*" "$SECONDS"; }

say tools
if ! command -v chromium >/dev/null && command -v apt-get >/dev/null; then
	(apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium) >/dev/null 2>&1 || echo "no chromium here"
fi
if command -v chromium >/dev/null; then
	export CHROMIUM=require
fi
go mod download

say gofmt
fmt=$(gofmt -l .)
if [ -n "$fmt" ]; then
	echo "not formatted:"
	echo "$fmt"
	exit 1
fi

say vet
go vet ./...
go vet -tags long ./...

say staticcheck
go run honnef.co/go/tools/cmd/staticcheck@v0.7.0 ./...

say build
go build ./...
CGO_ENABLED=0 go build ./...

say "tests with the race detector"
go test -race -short -timeout 5m ./...

say "the daemon as a process: golden proofs, kill -9, cancellation"
go test -timeout 10m ./cmd/...

say done
