package main

import (
	"encoding/xml"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Server answers S3's requests out of a folder.
type Server struct {
	root, key string
	counters  *Counters
	injector  *Injector
}

// Object is what a request is about. Its name is BUCKET/KEY, or BUCKET alone.
type Object struct {
	name, bucket, key, path string
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		s.control(w, r)
		return
	}
	object, ok := s.object(r.URL.Path)
	if !ok {
		refuse(w, http.StatusBadRequest, "InvalidArgument")
		return
	}
	number, inFlight := s.counters.Begin(r.Method, object)
	defer s.counters.End()
	counted := &countingWriter{w, s.counters}
	fault := s.injector.Next(r.Method, object, number, inFlight)
	switch {
	case s.key != "" && !isSignedWith(r, s.key):
		refuse(counted, http.StatusForbidden, "InvalidAccessKeyId")
	case fault != "":
		s.counters.Fault(fault)
		s.fail(counted, r, object, fault)
	default:
		s.answer(counted, r, object)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, object Object) {
	switch {
	case object.key == "":
		s.answerBucket(w, r, object)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.get(w, r, object, whole)
	case r.Method == http.MethodPut && r.URL.RawQuery == "" && r.Header.Get("X-Amz-Copy-Source") == "":
		put(w, r, object)
	case r.Method == http.MethodDelete:
		os.Remove(object.path)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *Server) answerBucket(w http.ResponseWriter, r *http.Request, object Object) {
	if r.Method == http.MethodPut && object.bucket != "" {
		os.MkdirAll(object.path, 0o755)
		return
	}
	if info, err := os.Stat(object.path); err != nil || !info.IsDir() {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	switch {
	case r.Method == http.MethodHead:
		w.Header().Set("X-Amz-Bucket-Region", "us-east-1")
	case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
		s.deleteMany(w, r, object)
	case r.Method != http.MethodGet || object.bucket == "":
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	case r.URL.Query().Has("location"):
		answerXML(w, struct {
			XMLName xml.Name `xml:"LocationConstraint"`
		}{})
	default:
		list(w, r.URL.Query(), object)
	}
}

// object finds what a path names; false for one that leads out of its bucket.
func (s *Server) object(path string) (Object, bool) {
	name := strings.TrimPrefix(path, "/")
	bucket, key, _ := strings.Cut(name, "/")
	if name == "" {
		return Object{path: s.root}, true
	}
	if !filepath.IsLocal(bucket) || (key != "" && !filepath.IsLocal(key)) || strings.HasSuffix(key, "/") {
		return Object{}, false
	}
	return Object{name, bucket, key, filepath.Join(s.root, bucket, key)}, true
}

func isSignedWith(r *http.Request, key string) bool {
	return strings.Contains(r.Header.Get("Authorization"), "Credential="+key+"/") ||
		strings.HasPrefix(r.URL.Query().Get("X-Amz-Credential"), key+"/")
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	xml.NewEncoder(w).Encode(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: code, Message: code})
}

func answerXML(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/xml")
	w.Write([]byte(xml.Header))
	xml.NewEncoder(w).Encode(answer)
}
