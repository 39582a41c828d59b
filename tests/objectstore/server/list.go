package main

import (
	"encoding/xml"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// page is the answer of ListObjectsV2, and of ListObjects where that is asked for.
type page struct {
	XMLName                           xml.Name `xml:"ListBucketResult"`
	Name, Prefix, Delimiter           string
	MaxKeys, KeyCount                 int
	IsTruncated                       bool
	EncodingType                      string `xml:",omitempty"`
	NextContinuationToken, NextMarker string `xml:",omitempty"`
	Contents                          []listed
	CommonPrefixes                    []struct{ Prefix string }
}

type listed struct {
	Key, LastModified, ETag string
	Size                    int64
	StorageClass            string
}

func list(w http.ResponseWriter, query url.Values, bucket Object) {
	prefix, delimiter := query.Get("prefix"), query.Get("delimiter")
	answer := page{Name: bucket.bucket, Prefix: prefix, Delimiter: delimiter, MaxKeys: 1000}
	if most, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		answer.MaxKeys = min(most, answer.MaxKeys)
	}
	shown := func(text string) string { return text }
	if query.Get("encoding-type") == "url" {
		answer.EncodingType = "url"
		shown = url.QueryEscape
	}
	objects := found(bucket.path, prefix)
	after := max(query.Get("start-after"), query.Get("marker"), query.Get("continuation-token"))
	last := ""
	for _, key := range keys(objects) {
		name := grouped(key, prefix, delimiter)
		if name <= after || name == last {
			continue
		}
		if answer.KeyCount == answer.MaxKeys {
			answer.IsTruncated = true
			answer.NextContinuationToken, answer.NextMarker = last, shown(last)
			break
		}
		answer.KeyCount++
		last = name
		if name != key {
			answer.CommonPrefixes = append(answer.CommonPrefixes, struct{ Prefix string }{shown(name)})
		} else if info, err := objects[key].Info(); err == nil {
			modified := info.ModTime().UTC().Format("2006-01-02T15:04:05.000Z")
			answer.Contents = append(answer.Contents, listed{shown(key), modified, etag(info), info.Size(), "STANDARD"})
		}
	}
	answerXML(w, answer)
}

// found is every object of a bucket whose key has this prefix.
func found(bucket, prefix string) map[string]fs.DirEntry {
	objects := map[string]fs.DirEntry{}
	folder, _ := filepath.Split(filepath.FromSlash(prefix))
	filepath.WalkDir(filepath.Join(bucket, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), unfinished) {
			return nil
		}
		if key, err := filepath.Rel(bucket, path); err == nil && strings.HasPrefix(filepath.ToSlash(key), prefix) {
			objects[filepath.ToSlash(key)] = entry
		}
		return nil
	})
	return objects
}

// keys is in the order of S3: by bytes, where a folder walk puts `a/b` before `a-b`.
func keys(objects map[string]fs.DirEntry) []string {
	sorted := make([]string, 0, len(objects))
	for key := range objects {
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	return sorted
}

// grouped is a key as the list shows it: cut after the first delimiter behind the prefix.
func grouped(key, prefix, delimiter string) string {
	if delimiter != "" {
		if start, _, cut := strings.Cut(key[len(prefix):], delimiter); cut {
			return prefix + start + delimiter
		}
	}
	return key
}
