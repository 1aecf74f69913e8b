// Package cuzkv1 is the generated code of the protocol cuzk.v1 that proving daemons speak, server and client. Programs take
// package client instead, which adds keys, tokens and the habits of an idempotent caller. It cannot be linked into a program
// that has other generated code for the same protobuf package.
package cuzkv1

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative cuzk.proto
