package s3test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// check holds a request against its signature (AWS Signature Version 4) and its body
// against the hash that was signed. It returns the code of what is wrong, "" for nothing.
func check(r *http.Request, body []byte) string {
	fields := map[string]string{}
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	for _, f := range strings.Split(text, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[k] = v
	}
	access, scope, _ := strings.Cut(fields["Credential"], "/")
	switch {
	case !ok:
		return "AccessDenied"
	case access != Access:
		return "InvalidAccessKeyId"
	}
	hash := r.Header.Get("X-Amz-Content-Sha256")
	if len(hash) == 64 && hash != sha(body) {
		return "XAmzContentSHA256Mismatch"
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	canonical := []string{r.Method, escape(r.URL.Path, true), canonicalQuery(r.URL.Query())}
	for _, name := range signed {
		v := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			v = r.Host
		case "content-length":
			v = strconv.FormatInt(r.ContentLength, 10)
		}
		canonical = append(canonical, name+":"+strings.TrimSpace(v))
	}
	canonical = append(canonical, "", fields["SignedHeaders"], hash)
	key := []byte("AWS4" + Secret)
	parts := strings.Split(scope, "/") // date, region, service, aws4_request
	if len(parts) != 4 || parts[1] != Region {
		return "AuthorizationHeaderMalformed"
	}
	for _, p := range parts {
		key = mac(key, p)
	}
	want := mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, sha([]byte(strings.Join(canonical, "\n")))}, "\n"))
	if hex.EncodeToString(want) != fields["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escape is the percent encoding of signatures.
func escape(text string, path bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 || path && c == '/' {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

func canonicalQuery(q url.Values) string {
	var all []string
	for k, vs := range q {
		for _, v := range vs {
			all = append(all, escape(k, false)+"="+escape(v, false))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "&")
}

// unchunk takes the chunks of a signed stream apart: SIZE;chunk-signature=...\r\n DATA \r\n.
func unchunk(body []byte) (data []byte) {
	for {
		head, rest, ok := bytes.Cut(body, []byte("\r\n"))
		size, _, _ := bytes.Cut(head, []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 64)
		if !ok || err != nil || n == 0 || int64(len(rest)) < n+2 {
			return data
		}
		data, body = append(data, rest[:n]...), rest[n+2:]
	}
}
