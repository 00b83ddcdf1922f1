package queue

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Role is what a user of a farm may do.
type Role string

// The roles.
const (
	// Admin submits, looks, retries and cancels.
	Admin Role = "admin"
	// Computing workers ask the service for tasks and report to it. NATS refuses them all
	// subjects but the service's.
	Computing Role = "worker"
)

// inbox is where answers to a role's requests go. A worker's key has one of its own below.
func (r Role) inbox() string {
	if r == Computing {
		return "_INBOX_worker"
	}
	return "_INBOX_admin"
}

// permissions of a user, nil for all. A worker may send to nobody but the service, so that no
// request of its can have JetStream send an answer somewhere, and to subjects that end with its
// key only, by which the service knows who asks; and it may listen to nobody else's answers.
func (u *User) permissions() *server.Permissions {
	if u.Role != Computing {
		return nil
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{askSubject + "*." + u.Key}},
		Subscribe: &server.SubjectPermission{Allow: []string{u.Role.inbox() + "." + u.Key + ".>", wakeSubject}},
	}
}

// User is a public key and what its owner may do.
type User struct {
	Role Role
	Key  string
	// Name is what workers with the key are called, alone or followed by - and more, and no others.
	// With "" they may have every name that is nobody's.
	Name string
}

// ParseUsers reads a line for each: role, public key and, for workers, the name. # begins a comment.
func ParseUsers(data []byte) (users []User, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 || words[0] != string(Admin) && words[0] != string(Computing) || !nkeys.IsValidPublicUserKey(words[1]) {
			return nil, &OptionError{"users", fmt.Sprintf("line %d: want admin or worker and a public key, as enhance farm keys writes them", n)}
		}
		u := User{Role: Role(words[0]), Key: words[1]}
		if len(words) > 2 {
			u.Name = words[2]
		}
		if len(words) > 3 || len(words) > 2 && (u.Role != Computing || !IsWorkerName(u.Name)) {
			return nil, &OptionError{"users", fmt.Sprintf("line %d: want nothing after the key but a worker's name, of letters, digits, - and _", n)}
		}
		if slices.ContainsFunc(users, func(o User) bool { return o.Name == u.Name && u.Name != "" || o.Key == u.Key }) {
			return nil, &OptionError{"users", fmt.Sprintf("line %d: the key or the name is in a line above", n)}
		}
		users = append(users, u)
	}
	if len(users) == 0 && lines.Err() == nil {
		return nil, &OptionError{"users", "the file names no user"}
	}
	return users, lines.Err()
}

// ReadUsers reads a file of users.
func ReadUsers(path string) ([]User, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseUsers(data)
}

// NewKey makes a key: the seed is for the user alone, the public half for the server.
func NewKey() (seed, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	s, err := pair.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = pair.PublicKey()
	return string(s), public, err
}

// keyOption connects with a seed.
func keyOption(seed string) nats.Option {
	return func(o *nats.Options) error {
		pair, err := nkeys.FromSeed([]byte(seed))
		if err != nil {
			return err
		}
		public, err := pair.PublicKey()
		if err != nil {
			return err
		}
		return nats.Nkey(public, pair.Sign)(o)
	}
}
