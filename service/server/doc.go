// Package server is the proving daemon as a library: a bounded queue of journalled jobs before an engine, the protocol
// cuzk.v1 over gRPC, metrics and a status page. The program filgrothd wires it.
//
// Who proves in one's own process needs none of it and takes a filgroth.Engine.
package server
