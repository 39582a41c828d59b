module argosy.test/objectstore

go 1.24.0
