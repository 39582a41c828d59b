package main

import (
	"encoding/xml"
	"net/http"
	"os"
)

type deletedKey struct {
	Key string
}

// deleteMany removes the objects that a request names (S3's DeleteObjects). One that is not there counts as removed.
func (s *Server) deleteMany(w http.ResponseWriter, r *http.Request, bucket Object) {
	var asked struct {
		Objects []deletedKey `xml:"Object"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	for _, one := range asked.Objects {
		object, ok := s.object("/" + bucket.bucket + "/" + one.Key)
		if !ok {
			refuse(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		os.Remove(object.path)
	}
	answerXML(w, struct {
		XMLName xml.Name     `xml:"DeleteResult"`
		Deleted []deletedKey `xml:"Deleted"`
	}{Deleted: asked.Objects})
}
