package main

import (
	"bufio"
	"crypto/md5"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// whole serves an object as it is: a file that net/http hands to the kernel with sendfile.
func whole(file *os.File, _ int64) io.ReadSeeker { return file }

// get serves an object's bytes, or a range of them, as `seen` shows it.
func (s *Server) get(w http.ResponseWriter, r *http.Request, object Object, seen func(*os.File, int64) io.ReadSeeker) {
	file, err := os.Open(object.path)
	if err != nil {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if info.Size() == 0 && r.Header.Get("Range") != "" {
		refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange") // S3 does; ServeContent answers 200
		return
	}
	w.Header().Set("ETag", etag(info))
	w.Header().Set("Content-Type", "binary/octet-stream")
	http.ServeContent(w, r, "", info.ModTime(), seen(file, info.Size()))
}

// etag is that of an object uploaded in parts, so that no client takes it for an md5.
func etag(info fs.FileInfo) string {
	return fmt.Sprintf("\"%016x%016x-1\"", info.ModTime().UnixNano(), info.Size())
}

// put writes an object, whole or not at all.
func put(w http.ResponseWriter, r *http.Request, object Object) {
	body, length := io.Reader(r.Body), r.ContentLength
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		body = &chunks{source: bufio.NewReader(r.Body)}
		length, _ = strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
	}
	folder := filepath.Dir(object.path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	file, err := os.CreateTemp(folder, unfinished)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	defer os.Remove(file.Name())
	defer file.Close()
	hash := md5.New()
	if written, err := io.Copy(io.MultiWriter(file, hash), body); err != nil || (length >= 0 && written != length) {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if err := os.Rename(file.Name(), object.path); err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("\"%x\"", hash.Sum(nil)))
}

// unfinished begins the name of an object that is being written.
const unfinished = ".unfinished-"

// chunks reads the body of an aws-chunked request: `SIZE[;chunk-signature=...]` in hex, the bytes, and so on to size 0.
type chunks struct {
	source *bufio.Reader
	left   int64
	ended  bool
}

func (c *chunks) Read(buffer []byte) (int, error) {
	if c.left == 0 && !c.ended {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if c.ended {
		return 0, io.EOF
	}
	count, err := c.source.Read(buffer[:min(int64(len(buffer)), c.left)])
	c.left -= int64(count)
	if err == nil && c.left == 0 {
		_, err = c.source.Discard(len("\r\n"))
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return count, err
}

func (c *chunks) next() error {
	line, err := c.source.ReadString('\n')
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
	if c.left, err = strconv.ParseInt(size, 16, 64); err != nil {
		return err
	}
	if c.left == 0 {
		c.ended = true
		_, err = io.Copy(io.Discard, c.source) // the trailers: checksums
	}
	return err
}
