package main

// A tiny MQTT 3.1.1 client: one connection over a plain socket, QoS 0 and 1, and a goroutine that reads. It
// stands where YOUR LIBRARY will be, and goes when that is there; driver.go shows what has to change.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const patience = 10 * time.Second

const (
	typeConnect    = 1
	typeConnack    = 2
	typePublish    = 3
	typePuback     = 4
	typeSubscribe  = 8
	typeSuback     = 9
	typePingreq    = 12
	typeDisconnect = 14
)

var errMalformed = errors.New("the server sent a malformed packet")

// tinyClient's callbacks come from its goroutine, from Start on.
type tinyClient struct {
	OnAcknowledged func(id uint16) // PUBACK
	OnMessage      func(payload []byte)
	OnLost         func(cause error)

	socket  net.Conn
	reader  *bufio.Reader
	stopped chan struct{} // closed by Disconnect
	running sync.WaitGroup

	mutex  sync.Mutex // one packet at a time
	packet []byte
}

// tinyConnect returns when CONNACK is there.
func tinyConnect(address, clientID string, keepAlive time.Duration) (*tinyClient, error) {
	socket, err := net.DialTimeout("tcp", address, patience) // with TCP_NODELAY, Go's default
	if err != nil {
		return nil, err
	}
	client := &tinyClient{
		socket: socket, reader: bufio.NewReaderSize(socket, 1<<16), stopped: make(chan struct{}),
	}
	body := appendText(nil, "MQTT")
	body = append(body, 4, 2) // 3.1.1, clean session
	body = appendUint16(body, uint16(keepAlive/time.Second))
	body = appendText(body, clientID)
	code, err := client.ask(typeConnect, 0, body, typeConnack)
	if err == nil && code != 0 {
		err = fmt.Errorf("the server refused the connection (code %d)", code)
	}
	if err != nil {
		socket.Close()
		return nil, err
	}
	if keepAlive > 0 {
		client.running.Add(1)
		go client.ping(keepAlive / 2)
	}
	return client, nil
}

// Subscribe returns when SUBACK is there, with the granted QoS or 0x80: refused. Before Start.
func (client *tinyClient) Subscribe(filter string, qos byte) (byte, error) {
	body := appendText([]byte{0, 1}, filter)
	return client.ask(typeSubscribe, 2, append(body, qos), typeSuback)
}

// Start begins to read.
func (client *tinyClient) Start() {
	client.running.Add(1)
	go client.read()
}

// Publish returns when the kernel has taken it. id: 1 to 65535, not in use, for QoS 1.
func (client *tinyClient) Publish(topic string, payload []byte, qos byte, retain bool, id uint16) error {
	flags := qos << 1
	if retain {
		flags |= 1
	}
	head := appendText(nil, topic)
	if qos > 0 {
		head = appendUint16(head, id)
	}
	return client.send(typePublish, flags, head, payload)
}

// Disconnect leaves the server. No callback comes once it has returned.
func (client *tinyClient) Disconnect() {
	close(client.stopped)
	client.send(typeDisconnect, 0, nil, nil) // a connection that is lost already is left as well
	client.socket.Close()
	client.running.Wait()
}

func appendUint16(packet []byte, value uint16) []byte {
	return append(packet, byte(value>>8), byte(value))
}

func appendText(packet []byte, text string) []byte {
	return append(appendUint16(packet, uint16(len(text))), text...)
}

func (client *tinyClient) send(kind, flags byte, head, payload []byte) error {
	client.mutex.Lock()
	defer client.mutex.Unlock()
	packet := append(client.packet[:0], kind<<4|flags)
	left := len(head) + len(payload)
	for ; left > 127; left /= 128 {
		packet = append(packet, byte(left%128)|0x80)
	}
	packet = append(packet, byte(left))
	packet = append(append(packet, head...), payload...)
	client.packet = packet
	if err := client.socket.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := client.socket.Write(packet)
	return err
}

// ask returns the code in the answer.
func (client *tinyClient) ask(kind, flags byte, body []byte, answer byte) (byte, error) {
	if err := client.send(kind, flags, body, nil); err != nil {
		return 0, err
	}
	if err := client.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	defer client.socket.SetReadDeadline(time.Time{})
	for {
		first, body, err := client.next()
		if err != nil {
			return 0, err
		}
		if first>>4 == answer {
			if len(body) < 2 {
				return 0, errMalformed
			}
			return body[len(body)-1], nil
		}
	}
}

func (client *tinyClient) next() (first byte, body []byte, err error) {
	if first, err = client.reader.ReadByte(); err != nil {
		return 0, nil, err
	}
	length := 0
	for shift := 0; ; shift += 7 {
		part, err := client.reader.ReadByte()
		if err != nil {
			return 0, nil, err
		}
		if shift > 21 {
			return 0, nil, errMalformed
		}
		length |= int(part&0x7f) << shift
		if part&0x80 == 0 {
			break
		}
	}
	body = make([]byte, length)
	_, err = io.ReadFull(client.reader, body)
	return first, body, err
}

func (client *tinyClient) read() {
	defer client.running.Done()
	for {
		first, body, err := client.next()
		if err == nil {
			err = client.take(first, body)
		}
		if err != nil {
			select {
			case <-client.stopped:
			default:
				client.OnLost(err)
			}
			return
		}
	}
}

func (client *tinyClient) take(first byte, body []byte) error {
	switch first >> 4 {
	case typePuback:
		if len(body) < 2 {
			return errMalformed
		}
		client.OnAcknowledged(binary.BigEndian.Uint16(body))
	case typePublish:
		head := 2
		if len(body) >= 2 {
			head += int(binary.BigEndian.Uint16(body))
		}
		if first&0x06 == 0 {
			if len(body) < head {
				return errMalformed
			}
			client.OnMessage(body[head:])
			return nil
		}
		if len(body) < head+2 {
			return errMalformed
		}
		client.OnMessage(body[head+2:])
		return client.send(typePuback, 0, body[head:head+2], nil)
	}
	return nil
}

func (client *tinyClient) ping(every time.Duration) {
	defer client.running.Done()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-client.stopped:
			return
		case <-ticker.C:
			client.send(typePingreq, 0, nil, nil) // the reader finds out when it is lost
		}
	}
}
