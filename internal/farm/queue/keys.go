package queue

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"enhance/internal/farm/store"
)

// Role is what a user of a farm may do.
type Role string

// The roles.
const (
	// Admin submits, looks, retries and cancels.
	Admin Role = "admin"
	// Computing workers lease tasks and report. The server refuses them to submit and to
	// remove more than they were given. It does not check the reply subjects of their requests,
	// so that a worker of ill will can have an answer stored as a task or an order.
	Computing Role = "worker"
)

// inbox is where answers to a role's requests go; no role may listen to another's.
func (r Role) inbox() string {
	if r == Computing {
		return "_INBOX_worker"
	}
	return "_INBOX_admin"
}

// permissions of a role, nil for all.
func (r Role) permissions() *server.Permissions {
	if r != Computing {
		return nil
	}
	read := func(stream string) []string {
		return []string{"$JS.API.STREAM.INFO." + stream, "$JS.API.DIRECT.GET." + stream + ".>", "$JS.API.DIRECT.GET." + stream, "$JS.API.STREAM.MSG.GET." + stream}
	}
	may := []string{
		"$JS.API.INFO", "$JS.API.STREAM.INFO." + tasksStream, "$JS.API.CONSUMER.INFO." + tasksStream + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + tasksStream + ".*", "$JS.ACK." + tasksStream + ".>",
		"farm.dead.>", wakeSubject, "$KV." + begunBucket + ".>", "$KV." + workersBucket + ".>",
	}
	for _, bucket := range []string{ordersBucket, begunBucket, workersBucket} {
		may = append(may, read("KV_"+bucket)...)
	}
	files, photos, results := "OBJ_"+filesBucket, "OBJ_"+store.PhotosBucket, "OBJ_"+store.ResultsBucket
	for _, stream := range []string{files, photos, results, "KV_" + store.ReceiptsBucket, "KV_" + store.NamesBucket} {
		may = append(may, read(stream)...)
	}
	may = append(may, "$O."+store.ResultsBucket+".>", "$KV."+store.ReceiptsBucket+".>", "$KV."+store.NamesBucket+".>")
	for _, stream := range []string{files, photos, results, "KV_" + ordersBucket} { // to be told what is in them, as it comes
		may = append(may, "$JS.API.CONSUMER.CREATE."+stream+".>", "$JS.API.CONSUMER.DELETE."+stream+".>", "$JS.API.CONSUMER.INFO."+stream+".>", "$JS.FC."+stream+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: may},
		Subscribe: &server.SubjectPermission{Allow: []string{r.inbox() + ".>", wakeSubject}},
	}
}

// User is a public key and what its owner may do.
type User struct {
	Role Role
	Key  string
}

// ParseUsers reads a line for each: role and public key. # begins a comment.
func ParseUsers(data []byte) (users []User, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 || words[0] != string(Admin) && words[0] != string(Computing) || !nkeys.IsValidPublicUserKey(words[1]) {
			return nil, &OptionError{"users", fmt.Sprintf("line %d: want admin or worker and a public key, as enhance farm keys writes them", n)}
		}
		users = append(users, User{Role(words[0]), words[1]})
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
