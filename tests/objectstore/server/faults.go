package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// The kinds of faults of an object that is read.
const (
	SlowDown  = "slow-down" // 503
	Cut       = "cut"       // half of the body that was announced, then the connection ends
	Wrong     = "wrong"     // as many bytes, of which the first is another
	Truncated = "truncated" // half of the object, as if it were all
	Missing   = "missing"   // 404
	Forbidden = "forbidden" // 403
	Stall     = "stall"     // the headers, then silence
	Skewed    = "skewed"    // 403 RequestTimeTooSkewed
)

var kinds = []string{SlowDown, Cut, Wrong, Truncated, Missing, Forbidden, Stall, Skewed}

// Faults is what goes wrong.
type Faults struct {
	LatencyMs   float64            `json:"latency_ms"`     // before each answer
	MostAtATime int64              `json:"most_at_a_time"` // with more requests in flight: SlowDown; 0: any number
	Seed        uint64             `json:"seed"`
	Shares      map[string]float64 `json:"shares"`  // kind -> share of the reads that it meets
	Objects     map[string]*OfOne  `json:"objects"` // BUCKET/KEY -> what happens to it
}

// OfOne is the fault of one object.
type OfOne struct {
	Kind  string `json:"kind"`
	Times int    `json:"times"` // how often, from the first read on; 0: always
	met   int
}

// Injector decides which request fails, and how.
type Injector struct {
	mutex  sync.Mutex
	faults Faults
}

func NewInjector() *Injector { return &Injector{} }

// Set replaces all faults.
func (i *Injector) Set(text []byte) error {
	var faults Faults
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&faults); err != nil {
		return err
	}
	for kind := range faults.Shares {
		if err := known(kind); err != nil {
			return err
		}
	}
	for _, one := range faults.Objects {
		if err := known(one.Kind); err != nil {
			return err
		}
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.faults = faults
	return nil
}

func known(kind string) error {
	for _, one := range kinds {
		if one == kind {
			return nil
		}
	}
	return fmt.Errorf("there is no fault %q; there are %v", kind, kinds)
}

// Next waits for as long as an answer takes, and gives the kind of the fault that the request meets, if any.
// `number` counts the reads of this object from 1; `inFlight` counts this request too.
func (i *Injector) Next(method string, object Object, number, inFlight int64) string {
	i.mutex.Lock()
	latency := time.Duration(i.faults.LatencyMs * float64(time.Millisecond))
	kind := i.kind(method, object, number, inFlight)
	i.mutex.Unlock()
	time.Sleep(latency)
	return kind
}

func (i *Injector) kind(method string, object Object, number, inFlight int64) string {
	if i.faults.MostAtATime > 0 && inFlight > i.faults.MostAtATime {
		return SlowDown
	}
	if object.key == "" || (method != http.MethodGet && method != http.MethodHead) {
		return ""
	}
	if one := i.faults.Objects[object.name]; one != nil && (one.Times == 0 || one.met < one.Times) {
		one.met++
		return one.Kind
	}
	for _, kind := range kinds {
		if share := i.faults.Shares[kind]; share > 0 && i.chance(kind, object, number) < share {
			return kind
		}
	}
	return ""
}

// chance is drawn from [0, 1): the same for the same read of an object, in whatever order requests come.
func (i *Injector) chance(kind string, object Object, number int64) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d", i.faults.Seed, kind, object.name, number))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, object Object, kind string) {
	switch kind {
	case SlowDown:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case Missing:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case Forbidden:
		refuse(w, http.StatusForbidden, "AccessDenied")
	case Skewed:
		refuse(w, http.StatusForbidden, "RequestTimeTooSkewed")
	case Wrong:
		s.get(w, r, object, func(file *os.File, _ int64) io.ReadSeeker { return &wrongReader{file, false} })
	case Truncated:
		s.get(w, r, object, func(file *os.File, size int64) io.ReadSeeker { return io.NewSectionReader(file, 0, size/2) })
	case Cut:
		s.get(&cutWriter{w, r, 2, 0}, r, object, whole)
	case Stall:
		s.get(&cutWriter{w, r, 0, 0}, r, object, whole)
	}
}

// wrongReader changes the first byte that is read after each seek: the first one of an answer.
type wrongReader struct {
	file *os.File
	done bool
}

func (f *wrongReader) Seek(offset int64, whence int) (int64, error) {
	f.done = false
	return f.file.Seek(offset, whence)
}

func (f *wrongReader) Read(buffer []byte) (int, error) {
	count, err := f.file.Read(buffer)
	if count > 0 && !f.done {
		buffer[0] ^= 0xff
		f.done = true
	}
	return count, err
}

// cutWriter sends one part of the body and then ends the connection; without a divisor it sends none, and stalls.
type cutWriter struct {
	http.ResponseWriter
	request *http.Request
	divisor int64
	left    int64
}

func (w *cutWriter) WriteHeader(status int) {
	length, _ := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
	if w.divisor > 0 {
		w.left = length / w.divisor
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *cutWriter) Write(body []byte) (int, error) {
	if int64(len(body)) <= w.left {
		w.left -= int64(len(body))
		return w.ResponseWriter.Write(body)
	}
	w.ResponseWriter.Write(body[:w.left])
	http.NewResponseController(w.ResponseWriter).Flush()
	if w.divisor == 0 {
		<-w.request.Context().Done()
	}
	panic(http.ErrAbortHandler)
}
