package sasl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// States of a negotiation, which its messages start with.
const (
	start    = 1
	ok       = 2
	bad      = 3
	failed   = 4
	complete = 5
)

const mechanism = "GSSAPI"

// Layers that protect frames. A server offers a set of them.
const (
	plain     = 1
	integrity = 2
	privacy   = 4
)

// ErrRefused is the error of a server that does not accept the client.
var ErrRefused = fmt.Errorf("%w: the server refused the ticket of Kerberos", shard.ErrDenied)

// ErrForeign is the error of a server that does not negotiate.
var ErrForeign = errors.New("the server does not negotiate as with Kerberos")

// Client authenticates a connection to the service of a principal, and returns what carries
// messages. Errors of a connection are its own.
func Client(conn io.ReadWriter, principal string, as *client.Client) (io.ReadWriter, error) {
	ticket, key, err := as.GetServiceTicket(principal)
	if err != nil {
		return nil, krb.Classify(err)
	}
	request, err := spnego.NewKRB5TokenAPREQ(as, ticket, key, []int{gssapi.ContextFlagInteg, gssapi.ContextFlagConf}, nil)
	if err != nil {
		return nil, krb.Classify(err)
	}
	token, err := request.Marshal()
	if err != nil {
		return nil, krb.Classify(err)
	}
	n := negotiation{conn}
	if err := n.send(start, []byte(mechanism)); err != nil {
		return nil, err
	}
	if err := n.send(ok, token); err != nil {
		return nil, err
	}
	offer, err := n.receive(ok)
	if err != nil {
		return nil, err
	}
	s := &seal{key: key}
	return n.choose(s, offer)
}

// choose answers the server's offer of layers with the lightest one.
func (n negotiation) choose(s *seal, offer []byte) (io.ReadWriter, error) {
	offered, err := s.open(offer)
	if err != nil || len(offered) != 4 {
		return nil, fmt.Errorf("%w: its offer of protection cannot be read: %w", ErrForeign, err)
	}
	f := &frames{conn: n.conn}
	answer := []byte{plain, 0, 0, 0}
	if offered[0]&plain == 0 {
		f.seal, answer = s, []byte{integrity, 0xff, 0xff, 0xff} // frames may be as large as can be said
		f.most = max(int(binary.BigEndian.Uint32(offered)&0xffffff)-overhead, 1)
		if offered[0]&integrity == 0 {
			answer[0] = privacy
		}
	}
	if offered[0]&(plain|integrity|privacy) == 0 {
		return nil, fmt.Errorf("%w: it offers no protection that is known", ErrForeign)
	}
	reply, err := s.close(answer)
	if err != nil {
		return nil, err
	}
	s.private = answer[0] == privacy
	if err := n.send(ok, reply); err != nil {
		return nil, err
	}
	_, err = n.receive(complete)
	return f, err
}

// A negotiation exchanges messages: a state, and a payload with its length.
type negotiation struct{ conn io.ReadWriter }

func (n negotiation) send(state byte, payload []byte) error {
	b := binary.BigEndian.AppendUint32([]byte{state}, uint32(len(payload)))
	_, err := n.conn.Write(append(b, payload...))
	return err
}

// maxMessage bounds the messages of a negotiation: tickets of large organisations have some 64 KiB.
const maxMessage = 1 << 20

// receive returns the payload of the next message, which has to be of a state. Empty ones before it
// only ask for the next.
func (n negotiation) receive(want byte) ([]byte, error) {
	for {
		var head [5]byte
		if _, err := io.ReadFull(n.conn, head[:]); err != nil {
			return nil, err
		}
		size := binary.BigEndian.Uint32(head[1:])
		if head[0] < start || head[0] > complete || size > maxMessage {
			return nil, ErrForeign
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(n.conn, payload); err != nil {
			return nil, err
		}
		switch {
		case head[0] == bad || head[0] == failed:
			return nil, fmt.Errorf("%w: %.200q", ErrRefused, payload)
		case head[0] == want && (size > 0 || want == complete):
			return payload, nil
		case head[0] != ok || size > 0:
			return nil, fmt.Errorf("%w: state %d came in place of %d", ErrForeign, head[0], want)
		}
		if err := n.send(ok, nil); err != nil {
			return nil, err
		}
	}
}
