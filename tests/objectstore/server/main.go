// objectstore serves the folders of a folder as S3 buckets, path-style and over HTTP, and fails on demand.
//
// It prints its address, and ends with its standard input: a test that is killed leaves no server behind.
// PUT /-/faults sets the faults, GET /-/counters tells what was asked for, DELETE /-/counters counts anew.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	root := flag.String("root", ".", "folder whose folders are the buckets")
	address := flag.String("address", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	key := flag.String("require-key", "", "access key that requests must be signed with; the signature is not checked")
	faults := flag.String("faults", "{}", "faults to begin with, as JSON")
	flag.Parse()
	server := &Server{root: *root, key: *key, counters: NewCounters(), injector: NewInjector()}
	if err := server.injector.Set([]byte(*faults)); err != nil {
		log.Fatalf("-faults: %v", err)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, http.HandlerFunc(server.serve)))
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "PUT /-/faults":
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = s.injector.Set(text)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	case "GET /-/counters":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.counters.Snapshot())
	case "DELETE /-/counters":
		s.counters.Reset()
	default:
		http.Error(w, "there are PUT /-/faults, GET /-/counters and DELETE /-/counters", http.StatusNotFound)
	}
}
