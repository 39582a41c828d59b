package main

import (
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
)

// Counted is what was asked for and sent since the counters were set to zero.
type Counted struct {
	Requests     int64            `json:"requests"`
	Bytes        int64            `json:"bytes"` // of bodies
	Methods      map[string]int64 `json:"methods"`
	Reads        map[string]int64 `json:"reads"`  // BUCKET/KEY -> its GETs
	Faults       map[string]int64 `json:"faults"` // kind -> how many requests met it
	InFlight     int64            `json:"in_flight"`
	PeakInFlight int64            `json:"peak_in_flight"`
}

// Counters counts requests.
type Counters struct {
	mutex   sync.Mutex
	counted Counted
	bytes   atomic.Int64
}

func NewCounters() *Counters {
	counters := &Counters{}
	counters.Reset()
	return counters
}

// Reset begins anew, with the requests that are in flight.
func (c *Counters) Reset() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.counted.InFlight
	c.counted = Counted{
		Methods: map[string]int64{}, Reads: map[string]int64{}, Faults: map[string]int64{},
		InFlight: now, PeakInFlight: now,
	}
	c.bytes.Store(0)
}

// Begin counts a request, and gives the number of this read of the object and how many requests are in flight.
func (c *Counters) Begin(method string, object Object) (number, inFlight int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counted.Requests++
	c.counted.Methods[method]++
	c.counted.InFlight++
	c.counted.PeakInFlight = max(c.counted.PeakInFlight, c.counted.InFlight)
	if object.key != "" && method == http.MethodGet {
		c.counted.Reads[object.name]++
	}
	return c.counted.Reads[object.name], c.counted.InFlight
}

func (c *Counters) End() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counted.InFlight--
}

func (c *Counters) Fault(kind string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counted.Faults[kind]++
}

// Snapshot is what was counted up to now.
func (c *Counters) Snapshot() Counted {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	counted := c.counted
	counted.Bytes = c.bytes.Load()
	counted.Methods, counted.Reads = maps.Clone(counted.Methods), maps.Clone(counted.Reads)
	counted.Faults = maps.Clone(counted.Faults)
	return counted
}

// countingWriter counts a body's bytes, and keeps the way open for sendfile.
type countingWriter struct {
	http.ResponseWriter
	counters *Counters
}

func (w *countingWriter) Write(body []byte) (int, error) {
	count, err := w.ResponseWriter.Write(body)
	w.counters.bytes.Add(int64(count))
	return count, err
}

func (w *countingWriter) ReadFrom(source io.Reader) (int64, error) {
	count, err := io.Copy(w.ResponseWriter, source)
	w.counters.bytes.Add(count)
	return count, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
