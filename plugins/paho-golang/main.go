// The driver of Eclipse Paho MQTT Go. Drive hands messages to one goroutine for each connection, which
// publishes; another waits for the tokens in their order; the library's router calls the handler of each
// filter. README.md beside this file says what each completion stands for and why each setting is what it
// is.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"mqcore/driver"
)

const (
	connectPatience    = 10 * time.Second
	disconnectPatience = 2 * time.Second
)

// A message that was published.
type pending struct {
	token mqtt.Token
	slot  uint32
}

type connection struct {
	client    mqtt.Client
	toPublish chan driver.Message
	published chan pending
}

type paho struct {
	host        driver.Host
	topics      []string
	connections []*connection

	completed chan struct{} // a message was completed, or a connection lost
	leaving   chan struct{} // closed when Disconnect begins
	lost      chan error
	waiters   sync.WaitGroup

	mutex  sync.Mutex // one arrival at a time, over all connections
	sink   *driver.Sink
	isLeft bool
	early  int // messages that arrived before Drive
}

func init() {
	driver.Register(driver.Claims{
		ID:             "paho-golang",
		Library:        "Eclipse Paho MQTT Go",
		Shape:          driver.ShapeSync,
		Protocols:      driver.V311,
		PublishQoS:     driver.QoS0 | driver.QoS1 | driver.QoS2,
		SubscribeQoS:   driver.QoS0 | driver.QoS1 | driver.QoS2,
		Features:       driver.FeatureTLS | driver.FeatureFilterCallbacks | driver.FeatureManyConnections,
		MaxWindow:      65534,
		QoS0Completion: driver.QoS0Written,
	}, create)
}

func main() {}

func create(host driver.Host) (driver.Driver, error) {
	if build, ok := debug.ReadBuildInfo(); ok {
		host.Note("runtime.version", build.GoVersion)
		for _, module := range build.Deps {
			if module.Path == "github.com/eclipse/paho.mqtt.golang" {
				host.Note("library.version", module.Version)
			}
		}
	}
	return &paho{host: host}, nil
}

func (it *paho) Connect(run driver.Run) error {
	if err := run.RefuseOptions(); err != nil {
		return err
	}
	if run.IsV5() {
		return driver.Fail(driver.StatusUnsupported, "the library speaks MQTT 3.1.1")
	}
	it.topics = run.Topics()
	it.connections = nil
	it.completed = make(chan struct{}, 1)
	it.leaving = make(chan struct{})
	it.lost = make(chan error, run.ConnectionCount())
	it.isLeft = false
	it.early = 0
	for i := uint32(0); i < run.ConnectionCount(); i++ {
		if err := it.connect(run, i); err != nil {
			return err
		}
	}
	return nil
}

func (it *paho) connect(run driver.Run, index uint32) error {
	address := net.JoinHostPort(run.Host(), strconv.Itoa(int(run.Port())))
	options := mqtt.NewClientOptions().
		SetClientID(run.ClientID(index)).
		SetProtocolVersion(4).
		SetCleanSession(true).
		SetKeepAlive(run.KeepAlive()).
		SetConnectTimeout(connectPatience).
		SetAutoReconnect(false).
		SetConnectRetry(false).
		SetOrderMatters(true).
		SetConnectionLostHandler(func(_ mqtt.Client, cause error) { it.onLost(index, cause) })
	if file := run.CAFile(); file != "" {
		authority, err := os.ReadFile(file)
		if err != nil {
			return driver.Fail(driver.StatusConfig, "cannot read '%s': %v", file, err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(authority) {
			return driver.Fail(driver.StatusConfig, "no certificate in '%s'", file)
		}
		options.AddBroker("ssl://" + address).SetTLSConfig(&tls.Config{
			RootCAs: roots,
			// Called besides the library's own verification, and only once that has passed.
			VerifyConnection: func(state tls.ConnectionState) error {
				it.host.Note("tls.version", versionName(state.Version))
				it.host.Note("tls.cipher", tls.CipherSuiteName(state.CipherSuite))
				return nil
			},
		})
	} else {
		options.AddBroker("tcp://" + address)
	}

	made := &connection{
		client:    mqtt.NewClient(options),
		toPublish: make(chan driver.Message, run.Window()),
		published: make(chan pending, run.Window()),
	}
	it.connections = append(it.connections, made)
	for i, filter := range run.Filters() {
		i := uint32(i)
		made.client.AddRoute(filter, func(_ mqtt.Client, message mqtt.Message) {
			it.onMessage(message.Payload(), i, index)
		})
	}
	if err := await(made.client.Connect(), "CONNACK"); err != nil {
		return driver.Fail(driver.StatusNetwork, "connect to '%s': %v", address, err)
	}
	return subscribe(run, made.client)
}

// versionName is tls.VersionName of Go 1.21, in the words of OpenSSL.
func versionName(version uint16) string {
	switch version {
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return fmt.Sprintf("0x%04x", version)
}

func await(token mqtt.Token, what string) error {
	if !token.WaitTimeout(connectPatience) {
		return fmt.Errorf("no %s within %v", what, connectPatience)
	}
	return token.Error()
}

func subscribe(run driver.Run, client mqtt.Client) error {
	wanted := map[string]byte{}
	for _, filter := range run.Filters() {
		wanted[filter] = run.FilterQoS()
	}
	if len(wanted) == 0 {
		return nil
	}
	// Without a handler of its own: the routes have one for each filter.
	token := client.SubscribeMultiple(wanted, nil)
	if err := await(token, "SUBACK"); err != nil {
		return driver.Fail(driver.StatusNetwork, "subscribe: %v", err)
	}
	for filter, granted := range token.(*mqtt.SubscribeToken).Result() {
		if granted >= 0x80 {
			return driver.Fail(driver.StatusNetwork, "the broker refused to subscribe '%s' (code 0x%02x)",
				filter, granted)
		}
		if granted < run.FilterQoS() {
			return driver.Fail(driver.StatusUnsupported,
				"the broker granted QoS %d for '%s', QoS %d was asked for", granted, filter, run.FilterQoS())
		}
	}
	return nil
}

func (it *paho) onLost(index uint32, cause error) {
	it.lost <- driver.Fail(driver.StatusNetwork, "connection %d was lost: %v", index, cause)
	it.wake()
}

func (it *paho) onMessage(payload []byte, filter, index uint32) {
	it.mutex.Lock()
	defer it.mutex.Unlock()
	if it.sink != nil {
		it.sink.Received(payload, filter, index)
	} else if !it.isLeft {
		it.early++
	}
}

// wake tells Drive to ask again.
func (it *paho) wake() {
	select {
	case it.completed <- struct{}{}:
	default:
	}
}

// publish is not waited for: where the connection is lost, Publish blocks for 30 s.
func (it *paho) publish(to *connection) {
	for {
		select {
		case <-it.leaving:
			return
		case next := <-to.toPublish:
			token := to.client.Publish(it.topics[next.Topic()], next.QoS(), next.Retain(), next.Payload())
			to.published <- pending{token, next.Slot()}
		}
	}
}

// complete waits for tokens in the order in which the messages were published: the server acknowledges in that
// order (MQTT 3.1.1 section 4.6), so none waits for a later one.
func (it *paho) complete(from *connection, sink driver.Sink) {
	defer it.waiters.Done()
	for {
		select {
		case <-it.leaving:
			return
		case next := <-from.published:
			select {
			case <-it.leaving:
				return
			case <-next.token.Done():
			}
			status := driver.StatusOK
			if next.token.Error() != nil {
				status = driver.StatusNetwork
			}
			sink.Done(next.slot, status)
			it.wake()
		}
	}
}

func (it *paho) Drive(source driver.Source, sink driver.Sink) error {
	it.mutex.Lock()
	it.sink = &sink
	it.mutex.Unlock()
	for _, connection := range it.connections {
		it.waiters.Add(1)
		go it.complete(connection, sink)
		go it.publish(connection)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, message, wakeNs := source.Next()
		switch next {
		case driver.Send:
			it.connections[message.Connection()].toPublish <- message
		case driver.Wait, driver.Drain:
			select { // a connection that was lost wins over the time
			case err := <-it.lost:
				return err
			default:
			}
			if !timer.Stop() {
				select {
				case <-timer.C:
				default:
				}
			}
			timer.Reset(driver.Until(wakeNs))
			select {
			case <-timer.C:
			case <-it.completed:
			}
		default:
			return nil
		}
	}
}

func (it *paho) Disconnect() error {
	close(it.leaving)
	it.waiters.Wait()
	it.mutex.Lock()
	it.sink = nil
	it.isLeft = true
	it.mutex.Unlock()
	for _, connection := range it.connections {
		connection.client.Disconnect(uint(disconnectPatience / time.Millisecond))
	}
	it.connections = nil
	if it.early > 0 {
		it.host.Log(driver.LogWarning,
			fmt.Sprintf("%d messages arrived before drive() and were not reported", it.early))
	}
	return nil
}

func (it *paho) Destroy() {}
