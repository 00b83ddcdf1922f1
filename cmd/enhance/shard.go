package main

import (
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// shard is one of several equal parts of all photos. A photo's part depends on its name
// and on nothing else, so that machines share photos without speaking to each other and
// a photo that is added moves no other.
type shard struct{ index, of uint64 }

// parseShard reads I/N.
func parseShard(text string) (shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.ParseUint(i, 10, 32)
	of, errOf := strconv.ParseUint(n, 10, 32)
	if !ok || err != nil || errOf != nil || index < 1 || index > of {
		return shard{}, usagef("--shard: %q: want I/N with I from 1 to N, such as 2/8", text)
	}
	return shard{index, of}, nil
}

// holds reports whether a photo of that name is in the part: the first 8 bytes of the
// name's SHA-256 modulo N are I-1.
func (s shard) holds(name string) bool {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])%s.of == s.index-1
}

// nameForShard is the photo's path below the folder in which it was found, or the path as
// it was given.
func (in *input) nameForShard() string {
	if in.found {
		return strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(in.name, in.top)), "/")
	}
	return strings.TrimPrefix(filepath.ToSlash(in.path), "./")
}

// ofShard leaves the targets of --shard.
func (o *order) ofShard(ts []target) ([]target, error) {
	if o.shard == "" {
		return ts, nil
	}
	s, err := parseShard(o.shard)
	if err != nil {
		return nil, err
	}
	all := len(ts)
	ts = slices.DeleteFunc(ts, func(t target) bool { return !s.holds(t.nameForShard()) })
	o.note("shard %s has %d of %s", o.shard, len(ts), photos(all))
	return ts, nil
}
